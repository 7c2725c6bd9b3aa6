package zkserver

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What is expected here is expected of this server and of Debian's ZooKeeper alike.

// area gives a test a part of the tree to itself: the real server is shared by all tests.
func area(t *testing.T, r *raw) string {
	t.Helper()
	name := "/" + strings.ReplaceAll(strings.Split(t.Name(), "/")[0], "/", "-")
	return r.create(t, fmt.Sprintf("%s-%d", name, time.Now().UnixNano()), nil, 0)
}

func (r *raw) getStat(t *testing.T, path string) wireStat {
	t.Helper()
	return r.must(t, opExists, enc{}.str(path).bool(false)).stat()
}

func TestHandshake(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		t.Run("timeouts are clamped", func(t *testing.T) {
			for asked, granted := range map[int32]int32{0: 400, -5: 400, 1000: 1000, 1 << 30: 8000} {
				r, err := dialRaw(target.addr)
				if err != nil {
					t.Fatal(err)
				}
				defer r.nc.Close()
				if err := r.connect(0, asked, 0, make([]byte, 16)); err != nil {
					t.Fatal(err)
				}
				if r.timeout != granted || r.session == 0 || len(r.password) != 16 || len(r.reply) != 37 {
					t.Errorf("asked for %d ms: got %d, session %x, reply of %d bytes", asked, r.timeout, r.session, len(r.reply))
				}
			}
		})
		// The C client reads a fixed number of bytes, and go-zookeeper fewer: who sends no read-only byte gets none.
		t.Run("no read-only byte", func(t *testing.T) {
			r, err := dialRaw(target.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer r.nc.Close()
			r.send(connectBody(0, 1000, 0, make([]byte, 16)))
			frame, err := r.frame()
			if err != nil || len(frame) != 36 {
				t.Errorf("reply of %d bytes, %v", len(frame), err)
			}
		})
		t.Run("resume", func(t *testing.T) {
			r := newRaw(t, target.addr)
			dir := area(t, r)
			r.create(t, dir+"/e", nil, flagEphemeral)
			next, err := r.resume(target.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer next.nc.Close()
			if next.session != r.session || !slices.Equal(next.password, r.password) {
				t.Errorf("session %x resumed as %x", r.session, next.session)
			}
			r.wantClosed(t)
			if owner := next.getStat(t, dir+"/e").Owner; owner != r.session {
				t.Errorf("owner %x", owner)
			}
		})
		refused := func(name string, session func(r *raw) (int64, []byte)) {
			t.Run(name, func(t *testing.T) {
				r := newRaw(t, target.addr)
				id, password := session(r)
				next, err := dialRaw(target.addr)
				if err == nil {
					err = next.connect(0, 5000, id, password)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer next.nc.Close()
				if next.session != 0 || next.timeout != 0 || !slices.Equal(next.password, make([]byte, 16)) {
					t.Errorf("session %x, timeout %d, password %x", next.session, next.timeout, next.password)
				}
				next.wantClosed(t)
			})
		}
		refused("unknown session", func(r *raw) (int64, []byte) { return 0x77, make([]byte, 16) })
		refused("wrong password", func(r *raw) (int64, []byte) { return r.session, make([]byte, 16) })
		refused("short password", func(r *raw) (int64, []byte) { return r.session, nil })
		refused("closed session", func(r *raw) (int64, []byte) {
			r.must(t, opCloseSession, nil)
			r.wantClosed(t)
			return r.session, r.password
		})
		t.Run("ahead of the server", func(t *testing.T) {
			r, err := dialRaw(target.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer r.nc.Close()
			r.send(connectBody(1<<62, 1000, 0, make([]byte, 16)).bool(false))
			r.wantClosed(t)
		})
	})
}

// TestErrors holds each refusal to its code: one row, one request.
func TestErrors(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		r := newRaw(t, target.addr)
		dir := area(t, r)
		r.create(t, dir+"/a", []byte("x"), 0)
		r.create(t, dir+"/a/b", nil, 0)
		r.create(t, dir+"/e", nil, flagEphemeral)
		noACL := func(path string) enc { return enc{}.str(path).buf(nil).int(0).int(0) }
		withACL := func(path, perms, scheme, id string) enc {
			return enc{}.str(path).buf(nil).acls([3]string{perms, scheme, id}).int(0)
		}
		for _, row := range []struct {
			name string
			op   int32
			body enc
			err  int32
		}{
			{"create existing", opCreate, createBody(dir+"/a", nil, 0), -110},
			{"create root", opCreate, createBody("/", nil, 0), -110},
			{"create without parent", opCreate, createBody(dir+"/x/y", nil, 0), -101},
			{"create below ephemeral", opCreate, createBody(dir+"/e/y", nil, 0), -108},
			{"create existing below ephemeral", opCreate, createBody(dir+"/e/", nil, 0), -8},
			{"create relative", opCreate, createBody("x", nil, 0), -8},
			{"create empty path", opCreate, createBody("", nil, 0), -8},
			{"create trailing slash", opCreate, createBody(dir+"/x/", nil, 0), -101},
			{"create double slash", opCreate, createBody(dir+"//x", nil, 0), -101},
			{"create dot", opCreate, createBody(dir+"/.", nil, 0), -8},
			{"create dot dot", opCreate, createBody(dir+"/..", nil, 0), -8},
			{"create dots in a name", opCreate, createBody(dir+"/a..b", nil, 0), 0},
			{"create null character", opCreate, createBody(dir+"/\x00", nil, 0), -8},
			{"create control character", opCreate, createBody(dir+"/\x1f", nil, 0), -8},
			{"create private use character", opCreate, createBody(dir+"/\ue000", nil, 0), -8},
			{"create in other scripts", opCreate, createBody(dir+"/żółw-日本", nil, 0), 0},
			{"create without list", opCreate, noACL(dir + "/x"), -114},
			{"create null list", opCreate, enc{}.str(dir + "/x").buf(nil).int(-1).int(0), -114},
			{"create unknown scheme", opCreate, withACL(dir+"/x", "31", "kerberos", "me"), -114},
			{"create digest without password", opCreate, withACL(dir+"/x", "31", "digest", "me"), -114},
			{"create ip without address", opCreate, withACL(dir+"/x", "31", "ip", "me"), -114},
			{"create auth without any", opCreate, withACL(dir+"/x", "31", "auth", ""), -114},
			{"create bad list beats missing parent", opCreate, noACL(dir + "/x/y"), -114},
			{"create unknown flags", opCreate, createBody(dir+"/x", nil, 7), -8},
			{"create negative flags", opCreate, createBody(dir+"/x", nil, -1), -8},
			{"create ttl", opCreateTTL, createBody(dir+"/x", nil, 5).long(1000), -6},
			{"delete missing", opDelete, enc{}.str(dir + "/x").int(-1), -101},
			{"delete below missing", opDelete, enc{}.str(dir + "/x/y").int(-1), -101},
			{"delete with children", opDelete, enc{}.str(dir + "/a").int(-1), -111},
			{"delete wrong version", opDelete, enc{}.str(dir + "/a/b").int(7), -103},
			{"delete wrong version beats children", opDelete, enc{}.str(dir + "/a").int(7), -103},
			{"delete root", opDelete, enc{}.str("/").int(-1), -8},
			{"delete built in", opDelete, enc{}.str("/zookeeper").int(-1), -8},
			{"delete quota", opDelete, enc{}.str("/zookeeper/quota").int(-1), -8},
			{"delete relative", opDelete, enc{}.str("x").int(-1), -8},
			{"delete trailing slash", opDelete, enc{}.str(dir + "/a/").int(-1), -101},
			{"set missing", opSetData, enc{}.str(dir + "/x").buf(nil).int(-1), -101},
			{"set wrong version", opSetData, enc{}.str(dir + "/a").buf(nil).int(5), -103},
			{"set relative", opSetData, enc{}.str("x").buf(nil).int(-1), -8},
			{"set trailing slash", opSetData, enc{}.str(dir + "/a/").buf(nil).int(-1), -8},
			{"set read-only", opSetData, enc{}.str("/zookeeper/config").buf(nil).int(-1), -102},
			{"get missing", opGetData, enc{}.str(dir + "/x").bool(false), -101},
			{"get relative", opGetData, enc{}.str("x").bool(false), -101},
			{"exists missing", opExists, enc{}.str(dir + "/x").bool(false), -101},
			{"exists null character", opExists, enc{}.str(dir + "/\x00").bool(false), -8},
			{"children missing", opGetChildren, enc{}.str(dir + "/x").bool(true), -101},
			{"children2 missing", opGetChildren2, enc{}.str(dir + "/x").bool(true), -101},
			{"acl missing", opGetACL, enc{}.str(dir + "/x"), -101},
			{"count missing", opCountChildren, enc{}.str(dir + "/x"), -101},
			{"set acl missing", opSetACL, enc{}.str(dir + "/x").acls(open).int(-1), -101},
			{"set acl empty", opSetACL, enc{}.str(dir + "/a").acls().int(-1), -114},
			{"set acl wrong version", opSetACL, enc{}.str(dir + "/a").acls(open).int(9), -103},
			{"no watch to check", opCheckWatches, enc{}.str(dir + "/nothing").int(3), -121},
			{"no watch to remove", opRemoveWatches, enc{}.str(dir + "/nothing").int(3), -121},
			{"unknown kind of watch", opRemoveWatches, enc{}.str(dir + "/a").int(9), -5},
			{"unknown mode of watch", opAddWatch, enc{}.str(dir + "/a").int(9), -5},
			{"reconfig", opReconfig, enc{}.str("").str("").str("").long(-1), -123},
			{"truncated create", opCreate, enc{}.str(dir + "/x"), -5},
			{"truncated read", opGetData, enc{}.int(100), -5},
			{"truncated multi", opMulti, enc{}.int(1), -5},
			{"negative length", opGetData, enc{}.int(-7).bool(false), -5},
			{"unknown op in multi", opMulti, enc{}.int(55).bool(false).int(-1), -5},
			{"huge count", opSetWatches, enc{}.long(0).int(1 << 30), -5},
			{"bytes behind the record", opExists, enc{}.str(dir + "/a").bool(false).long(7), 0},
			{"unknown op", 999, nil, -6}, // which also ends the connection, so this is the last row
		} {
			t.Run(row.name, func(t *testing.T) {
				reply := r.call(t, row.op, row.body)
				if reply.Err != row.err {
					t.Errorf("error %d, want %d", reply.Err, row.err)
				}
				if row.err != 0 && len(reply.Body) != 0 {
					t.Errorf("body %x behind an error", reply.Body)
				}
			})
		}
		r.wantClosed(t)
	})
}

func TestStat(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		r := newRaw(t, target.addr)
		dir := area(t, r)
		made := r.call(t, opCreate2, createBody(dir+"/n", []byte("abc"), 0))
		d := dec{made.Body}
		path, first := d.str(), d.stat()
		want := wireStat{Czxid: made.Zxid, Mzxid: made.Zxid, Pzxid: made.Zxid, Ctime: first.Ctime, Mtime: first.Ctime, DataLength: 3}
		if diff := cmp.Diff(want, first); path != dir+"/n" || diff != "" {
			t.Fatal(path, diff)
		}
		if age := time.Since(time.UnixMilli(first.Ctime)); age < -time.Second || age > time.Minute {
			t.Errorf("made %v ago", age)
		}
		// A child changes its parent's pzxid and cversion, not its version or mzxid.
		child := r.call(t, opCreate, createBody(dir+"/n/c", nil, 0))
		want.Pzxid, want.Cversion, want.NumChildren = child.Zxid, 1, 1
		if diff := cmp.Diff(want, r.getStat(t, dir+"/n")); diff != "" {
			t.Error("after a child:", diff)
		}
		gone := r.call(t, opDelete, enc{}.str(dir+"/n/c").int(0))
		want.Pzxid, want.Cversion, want.NumChildren = gone.Zxid, 2, 0
		if diff := cmp.Diff(want, r.getStat(t, dir+"/n")); diff != "" {
			t.Error("after its deletion:", diff)
		}
		set := r.call(t, opSetData, enc{}.str(dir+"/n").buf([]byte("longer")).int(0))
		after := (&dec{set.Body}).stat()
		want.Mzxid, want.Version, want.DataLength, want.Mtime = set.Zxid, 1, 6, after.Mtime
		if diff := cmp.Diff(want, after); diff != "" || after.Mtime < after.Ctime {
			t.Error("after a change:", diff)
		}
		r.must(t, opSetACL, enc{}.str(dir+"/n").acls(open).int(0))
		want.Aversion = 1
		if diff := cmp.Diff(want, r.getStat(t, dir+"/n")); diff != "" {
			t.Error("after an access list:", diff)
		}
		for op, body := range map[int32]enc{opGetData: enc{}.str(dir + "/n").bool(false), opGetChildren2: enc{}.str(dir + "/n").bool(false), opGetACL: enc{}.str(dir + "/n")} {
			d := r.must(t, op, body)
			switch op {
			case opGetData:
				if data := d.buf(); string(data) != "longer" {
					t.Errorf("data %q", data)
				}
			case opGetChildren2:
				d.strs()
			case opGetACL:
				d.acls()
			}
			if diff := cmp.Diff(want, d.stat()); diff != "" || len(d.b) != 0 {
				t.Errorf("op %d: %s, %d bytes left", op, diff, len(d.b))
			}
		}
		r.create(t, dir+"/e", nil, flagEphemeral)
		if owner := r.getStat(t, dir+"/e").Owner; owner != r.session {
			t.Errorf("owner %x, session %x", owner, r.session)
		}
		r.must(t, opCreateContainer, createBody(dir+"/c", nil, modeContainer))
		if owner := r.getStat(t, dir+"/c").Owner; owner != 0 {
			t.Errorf("owner of a container %x", owner)
		}
	})
}

func TestBuiltInTree(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		r := newRaw(t, target.addr)
		for path, want := range map[string]wireStat{
			"/zookeeper":        {Cversion: -2, NumChildren: 2},
			"/zookeeper/quota":  {},
			"/zookeeper/config": {Aversion: -1},
		} {
			d := r.must(t, opGetData, enc{}.str(path).bool(false))
			if data := d.buf(); data == nil || len(data) != 0 {
				t.Errorf("%s: data %v, empty wanted", path, data)
			}
			if diff := cmp.Diff(want, d.stat()); diff != "" {
				t.Errorf("%s: %s", path, diff)
			}
		}
		if acl := r.must(t, opGetACL, enc{}.str("/zookeeper/config")).acls(); !slices.Equal(acl, [][3]string{{"1", "world", "anyone"}}) {
			t.Errorf("access list %v", acl)
		}
	})
}

func TestNullIsNotEmpty(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		r := newRaw(t, target.addr)
		dir := area(t, r)
		for _, data := range [][]byte{nil, {}, {0}} {
			r.must(t, opSetData, enc{}.str(dir).buf(data).int(-1))
			if got := r.must(t, opGetData, enc{}.str(dir).bool(false)).buf(); (got == nil) != (data == nil) || !slices.Equal(got, data) {
				t.Errorf("%#v came back as %#v", data, got)
			}
		}
	})
}

func TestSequence(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		r := newRaw(t, target.addr)
		dir := area(t, r)
		var got []string
		add := func(name string, flags int32) {
			got = append(got, strings.TrimPrefix(r.create(t, dir+name, nil, flags), dir))
		}
		add("/s-", flagSequence)
		add("/plain", 0) // counts as well
		add("/s-", flagSequence|flagEphemeral)
		r.must(t, opDelete, enc{}.str(dir+"/s-0000000002").int(-1))
		add("/s-", flagSequence) // never the same number again
		add("/", flagSequence)
		want := []string{"/s-0000000000", "/plain", "/s-0000000002", "/s-0000000003", "/0000000004"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestChildren(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		r := newRaw(t, target.addr)
		dir := area(t, r)
		for _, name := range []string{"/b", "/a", "/a/c", "/a/c/d"} {
			r.create(t, dir+name, nil, 0)
		}
		names := r.must(t, opGetChildren, enc{}.str(dir).bool(false)).strs()
		if slices.Sort(names); !slices.Equal(names, []string{"a", "b"}) {
			t.Errorf("children %v", names)
		}
		if n := r.must(t, opCountChildren, enc{}.str(dir)).int(); n != 4 {
			t.Errorf("%d nodes below", n)
		}
		if p := r.must(t, opSync, enc{}.str(dir+"/anything")).str(); p != dir+"/anything" {
			t.Errorf("synced %q", p)
		}
	})
}
