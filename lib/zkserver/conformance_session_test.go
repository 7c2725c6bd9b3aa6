package zkserver

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func auth(scheme, secret string) enc { return enc{}.int(0).str(scheme).buf([]byte(secret)) }

// The hash of user:password, as zkCli and every recipe writes it.
const userDigest = "user:tpUq/4Pn5A64fVZyQ0gOJ8ZWqkY="

func TestAccess(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		r, stranger := newRaw(t, target.addr), newRaw(t, target.addr)
		dir := area(t, r)
		r.must(t, opAuth, auth("digest", "user:password"))
		restrict := func(name, perms string) string {
			path := dir + name
			r.must(t, opCreate, enc{}.str(path).buf([]byte("x")).acls([3]string{perms, "auth", ""}).int(0))
			r.must(t, opCreate, enc{}.str(path+"/c").buf(nil).acls(open).int(0))
			return path
		}
		all := restrict("/all", "31")
		for _, row := range []struct {
			name string
			op   int32
			body enc
		}{
			{"create below", opCreate, createBody(all+"/x", nil, 0)},
			{"delete below", opDelete, enc{}.str(all + "/c").int(-1)},
			{"set", opSetData, enc{}.str(all).buf(nil).int(-1)},
			{"set acl", opSetACL, enc{}.str(all).acls(open).int(-1)},
			{"get acl", opGetACL, enc{}.str(all)},
			{"get", opGetData, enc{}.str(all).bool(false)},
			{"children", opGetChildren, enc{}.str(all).bool(false)},
			{"children2", opGetChildren2, enc{}.str(all).bool(false)},
			{"count", opCountChildren, enc{}.str(all)},
			{"denied beats missing", opDelete, enc{}.str(all + "/none").int(-1)},
		} {
			if reply := stranger.call(t, row.op, row.body); reply.Err != -102 {
				t.Errorf("%s: error %d", row.name, reply.Err)
			}
		}
		if reply := stranger.call(t, opExists, enc{}.str(all).bool(false)); reply.Err != 0 {
			t.Errorf("exists, which everybody may: error %d", reply.Err)
		}
		d := stranger.must(t, opMulti, enc{}.op(opCheck, enc{}.str(all).int(0)).end())
		if got := multiResults(d, ""); !slices.Equal(got, []string{"-1 err -102 code -102"}) {
			t.Error("check in a multi:", got)
		}

		// What auth stands for is written out, and hidden from those who may read but not administer.
		acl := r.must(t, opGetACL, enc{}.str(all)).acls()
		if diff := cmp.Diff([][3]string{{"31", "digest", userDigest}}, acl); diff != "" {
			t.Error(diff)
		}
		r.must(t, opSetACL, enc{}.str(all).acls([3]string{"31", "digest", userDigest}, [3]string{"1", "world", "anyone"}, [3]string{"1", "world", "anyone"}).int(0))
		acl = stranger.must(t, opGetACL, enc{}.str(all)).acls()
		if diff := cmp.Diff([][3]string{{"31", "digest", "user:x"}, {"1", "world", "anyone"}}, acl); diff != "" {
			t.Error(diff)
		}

		// Whoever knows the password is the user.
		stranger.must(t, opAuth, auth("digest", "user:password"))
		stranger.must(t, opSetData, enc{}.str(all).buf(nil).int(-1))
		var who []string
		d = stranger.must(t, opWhoAmI, nil)
		for range d.int() {
			who = append(who, d.str()+" "+d.str())
		}
		if slices.Sort(who); !slices.Equal(who, []string{"digest user", "ip 127.0.0.1"}) {
			t.Error("who am I:", who)
		}

		for id, err := range map[string]int32{"127.0.0.1": 0, "127.0.0.0/8": 0, "10.0.0.0/8": -102, "10.1.2.3": -102} {
			path := r.must(t, opCreate, enc{}.str(dir+"/ip").buf(nil).acls([3]string{"1", "ip", id}).int(flagSequence)).str()
			if reply := r.call(t, opGetData, enc{}.str(path).bool(false)); reply.Err != err {
				t.Errorf("ip %s: error %d", id, reply.Err)
			}
		}
		if reply := r.call(t, opAuth, auth("kerberos", "x")); reply.Err != -115 {
			t.Errorf("unknown scheme: error %d", reply.Err)
		}
		r.wantClosed(t)
	})
}

// Closing a session takes its ephemeral nodes away, in one transaction, with events; others' stay.
func TestCloseSession(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		r, other := newRaw(t, target.addr), newRaw(t, target.addr)
		dir := area(t, other)
		r.create(t, dir+"/e", nil, flagEphemeral)
		other.create(t, dir+"/mine", nil, flagEphemeral)
		r.create(t, dir+"/p", nil, 0)
		if own := r.must(t, opGetEphemerals, enc{}.str(dir)).strs(); !slices.Equal(own, []string{dir + "/e"}) {
			t.Error("ephemerals:", own)
		}
		if own := r.must(t, opGetEphemerals, enc{}.str(dir+"/x")).strs(); len(own) != 0 {
			t.Error("ephemerals elsewhere:", own)
		}
		other.must(t, opExists, enc{}.str(dir+"/e").bool(true))
		other.must(t, opGetChildren, enc{}.str(dir).bool(true))
		r.must(t, opGetData, enc{}.str(dir+"/e").bool(true))
		reply := r.call(t, opCloseSession, nil)
		if !slices.Equal(reply.Events, []wireEvent{{2, dir + "/e"}}) || reply.Err != 0 || len(reply.Body) != 0 {
			t.Errorf("%+v", reply)
		}
		r.wantClosed(t)
		if events := other.settle(t); !slices.Equal(events, []wireEvent{{2, dir + "/e"}, {4, dir}}) {
			t.Error(events)
		}
		names := other.must(t, opGetChildren, enc{}.str(dir).bool(false)).strs()
		if slices.Sort(names); !slices.Equal(names, []string{"mine", "p"}) {
			t.Error(names)
		}
	})
}

// A silent session ends after its timeout, and not before; pings keep it.
func TestExpiry(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		watcher := newRaw(t, target.addr)
		dir := area(t, watcher)
		r, err := dialRaw(target.addr)
		if err == nil {
			err = r.connect(0, 600, 0, make([]byte, 16))
		}
		if err != nil {
			t.Fatal(err)
		}
		defer r.nc.Close()
		r.create(t, dir+"/e", nil, flagEphemeral)
		// Pings for longer than the timeout, and then silence.
		for range 5 {
			r.xid = -2 - 1
			if reply := r.call(t, opPing, nil); reply.Err != 0 || len(reply.Body) != 0 {
				t.Fatalf("%+v", reply)
			}
			time.Sleep(200 * time.Millisecond)
		}
		watcher.must(t, opExists, enc{}.str(dir+"/e").bool(true))
		silent := time.Now().Add(-200 * time.Millisecond)
		if _, err := watcher.frame(); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(silent); waited < 590*time.Millisecond || waited > 6*time.Second {
			t.Errorf("a session of 600 ms ended after %v", waited)
		}
		r.wantClosed(t)
	})
}
