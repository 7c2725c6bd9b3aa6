package zkserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
)

// dump is everything that clients could find out about the tree.
func (s *Server) dump() map[string]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := map[string]string{}
	for path, n := range s.tree.nodes {
		all[path] = fmt.Sprintf("%+v %+v %#v owner %x creates %d", n.stat(), aclOf(n), n.data, n.owner, n.creates)
	}
	for id, sess := range s.sessions {
		all[fmt.Sprintf("session %x", id)] = fmt.Sprintf("%x %v", sess.password, sess.timeout)
	}
	all["ephemerals"] = fmt.Sprint(s.tree.ephemerals)
	all["containers"] = fmt.Sprint(s.tree.containers)
	all["bytes"] = fmt.Sprint(s.tree.bytes)
	return all
}

func TestReopen(t *testing.T) {
	dir := t.TempDir()
	s := start(t, Options{Dir: dir})
	r := newRaw(t, s.Addr().String())
	r.must(t, opAuth, auth("digest", "user:password"))
	r.create(t, "/null", nil, 0)
	r.create(t, "/empty", []byte{}, 0)
	r.create(t, "/e", []byte("x"), flagEphemeral)
	r.create(t, "/big", make([]byte, 900_000), 0)
	r.create(t, "/null/s-", nil, flagSequence)
	r.create(t, "/null/s-", nil, flagSequence)
	r.must(t, opDelete, enc{}.str("/null/s-0000000001").int(-1))
	r.must(t, opCreateContainer, createBody("/c", nil, modeContainer))
	r.must(t, opSetData, enc{}.str("/null").buf([]byte("y")).int(-1))
	r.must(t, opSetData, enc{}.str("/null").buf(nil).int(-1))
	r.must(t, opCreate, enc{}.str("/private").buf(nil).acls([3]string{"31", "auth", ""}).int(0))
	r.must(t, opSetACL, enc{}.str("/null").acls([3]string{"1", "world", "anyone"}, [3]string{"31", "ip", "127.0.0.1"}).int(-1))
	before, zxid := s.dump(), r.lastZxid
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = start(t, Options{Dir: dir})
	if diff := cmp.Diff(before, s.dump()); diff != "" {
		t.Error(diff)
	}
	next, err := r.resume(s.Addr().String())
	if err != nil || next.session != r.session {
		t.Fatal(err, next)
	}
	defer next.nc.Close()
	if owner := next.getStat(t, "/e").Owner; owner != r.session {
		t.Errorf("owner %x", owner)
	}
	if reply := next.call(t, opCreate, createBody("/null/s-", nil, flagSequence)); reply.Err != 0 || reply.Zxid <= zxid {
		t.Errorf("%+v after zxid %x", reply, zxid)
	} else if path := (&dec{reply.Body}).str(); path != "/null/s-0000000002" {
		t.Error(path)
	}
}

// After a restart the process's own old session goes at once, and every other one has its whole timeout from there.
func TestSessionsOfEarlierRuns(t *testing.T) {
	dir := t.TempDir()
	s := start(t, Options{Dir: dir})
	own, other := newRaw(t, s.Addr().String()), newRaw(t, s.Addr().String())
	own.create(t, "/broker", nil, flagEphemeral)
	other.create(t, "/member", nil, flagEphemeral)
	other.create(t, "/plain", nil, 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = start(t, Options{Dir: dir})
	id, ok := s.Owner("/broker")
	if !ok || id != own.session {
		t.Errorf("owner %x, %v", id, ok)
	}
	if _, ok := s.Owner("/plain"); ok {
		t.Error("a node that is not ephemeral has an owner")
	}
	for range 2 { // the second time there is nothing to do
		if err := s.ExpireSession(id); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := s.Owner("/broker"); ok {
		t.Error("the node outlives its session")
	}
	if next, err := own.resume(s.Addr().String()); err != nil || next.session != 0 {
		t.Errorf("resumed: %v", err)
	}
	next, err := other.resume(s.Addr().String())
	if err != nil || next.session != other.session {
		t.Fatalf("%+v, %v", next, err)
	}
	// A connection ends with its session, however that ends.
	if err := s.ExpireSession(next.session); err != nil {
		t.Fatal(err)
	}
	next.wantClosed(t)
}

func TestFreshTimeoutAfterRestart(t *testing.T) {
	dir := t.TempDir()
	s := start(t, Options{Dir: dir})
	r, err := dialRaw(s.Addr().String())
	if err == nil {
		err = r.connect(0, 600, 0, make([]byte, 16))
	}
	if err != nil {
		t.Fatal(err)
	}
	r.create(t, "/e", nil, flagEphemeral)
	r.nc.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(700 * time.Millisecond) // longer than the timeout, while there is no server
	s = start(t, Options{Dir: dir})
	watcher := newRaw(t, s.Addr().String())
	began := time.Now()
	watcher.must(t, opExists, enc{}.str("/e").bool(true))
	if _, err := watcher.frame(); err != nil {
		t.Fatal(err)
	}
	if lasted := time.Since(began); lasted < 500*time.Millisecond || lasted > 6*time.Second {
		t.Errorf("gone after %v", lasted)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	s := start(t, Options{Dir: dir})
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrLocked) {
		t.Error("second server:", err)
	}
	var taken *net.OpError
	if _, err := Open(Options{Dir: t.TempDir(), Listen: s.Addr().String()}); !errors.As(err, &taken) {
		t.Error("taken port:", err)
	}
	if _, err := Open(Options{}); err == nil {
		t.Error("no directory")
	}
	if _, err := Open(Options{Dir: filepath.Join(os.Args[0], "x")}); err == nil {
		t.Error("directory below a file")
	}
	if _, err := Open(Options{Dir: dir, MinSessionTimeout: 2, MaxSessionTimeout: 1}); err == nil {
		t.Error("impossible timeouts")
	}
}

// TestDial serves go-zookeeper inside the process, without TCP.
func TestDial(t *testing.T) {
	s, err := Open(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if s.Addr() != nil {
		t.Error(s.Addr())
	}
	c, _, err := zk.Connect([]string{"embedded:0"}, 4*time.Second, zk.WithLogInfo(false), zk.WithHostProvider(fixedHost{}),
		zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) { return s.Dial() }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create("/a", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Error(err)
	}
	if _, _, changed, err := c.ExistsW("/a"); err != nil {
		t.Error(err)
	} else if err := c.Delete("/a", -1); err != nil {
		t.Error(err)
	} else if ev := <-changed; ev.Type != zk.EventNodeDeleted {
		t.Error(ev)
	}
	c.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Dial(); !errors.Is(err, ErrClosed) {
		t.Error("dial after close:", err)
	}
	if err := s.ExpireSession(1); !errors.Is(err, ErrClosed) {
		t.Error("expiry after close:", err)
	}
}

type fixedHost struct{}

func (fixedHost) Init([]string) error  { return nil }
func (fixedHost) Len() int             { return 1 }
func (fixedHost) Next() (string, bool) { return "embedded:0", false }
func (fixedHost) Connected()           {}

// Sessions end and move while others write: in the end exactly the nodes of the living are left.
func TestSessionsUnderLoad(t *testing.T) {
	s := start(t, Options{})
	addr := s.Addr().String()
	root := newRaw(t, addr)
	for _, path := range []string{"/members", "/work"} {
		root.create(t, path, nil, 0)
	}
	stop := make(chan struct{})
	var load, members sync.WaitGroup
	for i := range 2 {
		r := newRaw(t, addr)
		load.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if reply, err := r.try(opCreate, createBody(fmt.Sprintf("/work/%d-%d", i, n), make([]byte, 100), 0)); err != nil || reply.Err != 0 {
					t.Error(reply.Err, err)
					return
				}
			}
		})
	}
	const n = 40
	var living []string
	for i := range n {
		name := fmt.Sprintf("m%02d", i)
		if i%2 == 0 {
			living = append(living, name)
		}
		members.Go(func() {
			r, err := dialRaw(addr)
			if err == nil {
				err = r.connect(0, 1000, 0, make([]byte, 16))
			}
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { r.nc.Close() }()
			if reply, err := r.try(opCreate, createBody("/members/"+name, nil, flagEphemeral)); err != nil || reply.Err != 0 {
				t.Error(reply.Err, err)
			}
			for move := 0; i%2 == 0 && move < 12; move++ { // the others fall silent
				time.Sleep(200 * time.Millisecond)
				next, err := r.resume(addr)
				if err != nil || next.session != r.session {
					t.Errorf("%s, move %d: %v", name, move, err)
					return
				}
				r.nc.Close()
				r = next
			}
			if i%2 == 0 {
				names := memberNames(t, r)
				if !slices.Contains(names, name) {
					t.Errorf("%s is gone", name)
				}
			}
		})
	}
	deadline := time.Now().Add(rawPatience)
	for names := []string(nil); !slices.Equal(names, living); time.Sleep(20 * time.Millisecond) {
		if names = memberNames(t, root); time.Now().After(deadline) {
			t.Fatalf("left: %v, want %v", names, living)
		}
	}
	members.Wait()
	close(stop)
	load.Wait()
}

func memberNames(t *testing.T, r *raw) []string {
	t.Helper()
	reply, err := r.try(opGetChildren, enc{}.str("/members").bool(false))
	if err != nil || reply.Err != 0 {
		t.Error(reply.Err, err)
		return nil
	}
	return sortedStrings(&dec{reply.Body})
}
