package zkserver

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestConnectionLimit(t *testing.T) {
	var lines logged
	s := start(t, Options{MaxConns: 3, MaxSessions: 4, Logger: lines.logger()})
	addr := s.Addr().String()
	var conns []*raw
	for range 3 {
		conns = append(conns, newRaw(t, addr))
	}
	fourth, err := dialRaw(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer fourth.nc.Close()
	fourth.wantClosed(t)
	if r := dialInside(t, s); r.connect(0, 1000, 0, make([]byte, 16)) != nil || r.session == 0 {
		t.Error("the process itself is not let in")
	}
	conns[0].nc.Close() // the session stays: a place for a connection, but not for a fifth session
	for lines.count("at most 4 allowed") == 0 {
		r, err := dialRaw(addr)
		if err != nil {
			t.Fatal(err)
		}
		if r.connect(0, 1000, 0, make([]byte, 16)) == nil {
			t.Fatal("a fifth session")
		}
		r.nc.Close()
	}
	conns[1].must(t, opCloseSession, nil)
	conns[1].nc.Close()
	for deadline := time.Now().Add(rawPatience); ; time.Sleep(time.Millisecond) { // the place is free when the connection is cleaned up
		r, err := dialRaw(addr)
		if err != nil {
			t.Fatal(err)
		}
		if r.connect(0, 1000, 0, make([]byte, 16)) == nil {
			r.nc.Close()
			break
		}
		r.nc.Close()
		if time.Now().After(deadline) {
			t.Fatal("no place after a connection has gone")
		}
	}
}

func TestTreeLimit(t *testing.T) {
	s := start(t, Options{MaxTreeBytes: 100_000})
	r := newRaw(t, s.Addr().String())
	r.create(t, "/a", make([]byte, 90_000), 0)
	for _, row := range []struct {
		op   int32
		body enc
	}{
		{opCreate, createBody("/b", make([]byte, 20_000), 0)},
		{opSetData, enc{}.str("/a").buf(make([]byte, 99_000)).int(-1)},
		{opSetACL, enc{}.str("/a").acls([3]string{"1", "digest", "user:" + strings.Repeat("x", 20_000)}).int(-1)},
	} {
		if reply := r.call(t, row.op, row.body); reply.Err != -125 {
			t.Errorf("op %d: error %d", row.op, reply.Err)
		}
	}
	r.must(t, opSetData, enc{}.str("/a").buf(make([]byte, 10)).int(-1))
	r.create(t, "/b", make([]byte, 20_000), 0)
	r.must(t, opDelete, enc{}.str("/b").int(-1))
	r.create(t, "/b", make([]byte, 80_000), 0)
}

func TestWatchLimit(t *testing.T) {
	s := start(t, Options{MaxWatches: 3})
	r := newRaw(t, s.Addr().String())
	paths := []string{"/1", "/2", "/3"}
	for _, path := range paths {
		r.create(t, path, nil, 0)
		r.must(t, opExists, enc{}.str(path).bool(true))
	}
	for _, row := range []struct {
		op   int32
		body enc
		err  int32
	}{
		{opExists, enc{}.str("/4").bool(true), -1},
		{opAddWatch, enc{}.str("/4").int(0), -1},
		{opSetWatches, enc{}.long(0).strs().strs("/4").strs(), -1},
		{opExists, enc{}.str("/4").bool(false), -101},
	} {
		if reply := r.call(t, row.op, row.body); reply.Err != row.err {
			t.Errorf("op %d: error %d", row.op, reply.Err)
		}
	}
	r.must(t, opSetData, enc{}.str("/1").buf(nil).int(-1))
	r.must(t, opExists, enc{}.str("/2").bool(true))
}

// 10,000 watches of one connection fire in order, and leave nothing behind.
func TestManyWatches(t *testing.T) {
	s := start(t, Options{})
	r, other := newRaw(t, s.Addr().String()), newRaw(t, s.Addr().String())
	const n = 10_000
	var wg sync.WaitGroup
	wg.Go(func() {
		for range n {
			if _, err := r.read(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range n {
		r.request(opExists, enc{}.str(fmt.Sprintf("/x%05d", i)).bool(true))
	}
	wg.Wait()
	wg.Go(func() {
		for range n {
			if reply, err := other.read(); err != nil || reply.Err != 0 {
				t.Error(reply.Err, err)
				return
			}
		}
	})
	for i := range n {
		other.request(opCreate, createBody(fmt.Sprintf("/x%05d", i), nil, 0))
	}
	wg.Wait()
	events := r.settle(t)
	if len(events) != n {
		t.Fatalf("%d events", len(events))
	}
	for i, ev := range events {
		if want := (wireEvent{1, fmt.Sprintf("/x%05d", i)}); ev != want {
			t.Fatalf("event %d: %v", i, ev)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches.count != 0 || len(s.watches.byPath) != 0 {
		t.Errorf("%d watches on %d paths left", s.watches.count, len(s.watches.byPath))
	}
}

// Lists and identities are bounded: both stay in memory, and the list of a create is compared with itself.
func TestAccessListLimits(t *testing.T) {
	s := start(t, Options{})
	r := newRaw(t, s.Addr().String())
	long := enc{}.int(50_000)
	for i := range int32(50_000) {
		long = long.int(i).str("auth").str("")
	}
	if reply := r.call(t, opCreate, enc{}.str("/a").buf(nil).raw(long).int(0)); reply.Err != -114 {
		t.Errorf("50,000 entries: error %d", reply.Err)
	}
	for i := range maxIdentities - 1 {
		r.must(t, opAuth, auth("digest", fmt.Sprintf("user%d:password", i)))
	}
	r.must(t, opAuth, auth("digest", "user0:password")) // known already
	list := enc{}.int(100)
	for i := range int32(100) {
		list = list.int(i).str("auth").str("")
	}
	if reply := r.call(t, opCreate, enc{}.str("/a").buf(nil).raw(list).int(0)); reply.Err != -114 {
		t.Errorf("100 entries for 63 identities each: error %d", reply.Err)
	}
	r.request(opAuth, auth("digest", "one:more"))
	r.wantClosed(t)
	r = newRaw(t, s.Addr().String())
	if reply := r.call(t, opAuth, auth("digest", strings.Repeat("x", 2000))); reply.Err != -115 {
		t.Errorf("long secret: error %d", reply.Err)
	}
}

// A multi that fails leaves nothing behind, be it that no other write comes for long.
func TestFailedMultisLeaveNothing(t *testing.T) {
	s := start(t, Options{})
	r := newRaw(t, s.Addr().String())
	r.create(t, "/there", nil, 0)
	for i := range 100 {
		path := fmt.Sprintf("/failed%d", i)
		body := enc{}.op(opCreate, createBody(path, nil, 1)).op(opSetData, enc{}.str("/there").buf([]byte("x")).int(-1)).
			op(opDelete, enc{}.str(path).int(-1)).op(opCheck, enc{}.str("/none").int(-1)).end()
		r.must(t, opMulti, body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.tree.dirty); n != 0 {
		t.Errorf("%d paths are marked as changed", n)
	}
}
