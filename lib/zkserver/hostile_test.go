package zkserver

import (
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// heap is what is in use after a collection, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// Whatever comes to the port costs its own connection and one line.
func TestGarbage(t *testing.T) {
	var lines logged
	s := start(t, Options{Logger: lines.logger()})
	addr := s.Addr().String()
	bystander := newRaw(t, addr)
	bystander.create(t, "/a", nil, flagEphemeral)

	if _, err := (&http.Client{Timeout: 5 * time.Second}).Get("http://" + addr); err == nil {
		t.Error("speaks HTTP")
	}
	if _, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true}); err == nil {
		t.Error("speaks TLS")
	}
	http.DefaultClient.CloseIdleConnections()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		noise := make([]byte, 1+rng.IntN(300))
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		nc.Write(noise)
		nc.(*net.TCPConn).CloseWrite()
		nc.SetReadDeadline(time.Now().Add(rawPatience))
		io.Copy(io.Discard, nc)
		nc.Close()
	}
	if n := lines.count("level=WARN"); n < 95 || n > 110 {
		t.Errorf("%d lines about 102 bad connections", n)
	}
	// Noise in a session.
	for i := range 100 {
		r := newRaw(t, addr)
		noise := make([]byte, 8+rng.IntN(100))
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		op := []byte{0, 0, 0, byte(i % 25)}
		copy(noise[4:], op)
		r.send(noise)
		r.nc.SetReadDeadline(time.Now().Add(rawPatience))
		r.frame() // some answer, or none
		r.nc.Close()
	}
	bystander.must(t, opExists, enc{}.str("/a").bool(false))
}

// Connections that promise large frames and send little take little memory.
func TestHalfFrames(t *testing.T) {
	s := start(t, Options{})
	addr := s.Addr().String()
	conns := make([]*raw, 200)
	for i := range conns {
		conns[i] = newRaw(t, addr)
	}
	before := heap()
	for _, r := range conns {
		r.nc.Write(enc{}.int(60_000).int(1).int(opSetData).raw(make([]byte, 100)))
	}
	for _, r := range conns[:largeFrames/2] {
		r.nc.Write(make([]byte, 100))
	}
	other := newRaw(t, addr)
	other.settle(t)
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("%d bytes for 200 half frames", grown)
	}
	// Frames that are larger still have to share slots, which come free again when their connections go.
	for _, r := range conns {
		r.nc.Close()
	}
	stuck := make([]*raw, largeFrames)
	for i := range stuck {
		stuck[i] = newRaw(t, addr)
		stuck[i].nc.Write(enc{}.int(MaxFrame).raw(make([]byte, 10)))
	}
	for len(s.large) < largeFrames {
		time.Sleep(time.Millisecond)
	}
	xid, _ := other.request(opCreate, createBody("/big", make([]byte, 200_000), 0))
	for _, r := range stuck {
		r.nc.Close()
	}
	if reply, err := other.read(); err != nil || reply.Xid != xid || reply.Err != 0 {
		t.Errorf("%+v, %v", reply, err)
	}
}

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
	inside := func() *raw {
		nc, err := s.Dial()
		if err != nil {
			t.Fatal(err)
		}
		nc.SetDeadline(time.Now().Add(rawPatience))
		t.Cleanup(func() { nc.Close() })
		return &raw{nc: nc}
	}
	if r := inside(); r.connect(0, 1000, 0, make([]byte, 16)) != nil || r.session == 0 {
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

// A client that never reads its events is given up when they have become too many.
func TestEventsNeverRead(t *testing.T) {
	var lines logged
	s := start(t, Options{Logger: lines.logger()})
	deaf, other := newRaw(t, s.Addr().String()), newRaw(t, s.Addr().String())
	path := "/" + strings.Repeat("x", 20_000)
	other.create(t, path, nil, 0)
	deaf.must(t, opAddWatch, enc{}.str(path).int(0))
	var wg sync.WaitGroup
	const n = 2500 // of 20 kB each, 50 MB
	wg.Go(func() {
		for range n {
			if reply, err := other.read(); err != nil || reply.Err != 0 {
				t.Error(reply.Err, err)
				return
			}
		}
	})
	for range n {
		other.request(opSetData, enc{}.str(path).buf(nil).int(-1))
	}
	wg.Wait()
	if lines.count("does not read its events") != 1 {
		t.Error(lines.b.String())
	}
	if text := word(t, s.Addr().String(), "wchs"); !strings.Contains(text, "Total watches:0") {
		t.Error(text)
	}
}

// A client that never reads its replies is not read from either, until its session is over.
func TestRepliesNeverRead(t *testing.T) {
	s := start(t, Options{})
	r, other := newRaw(t, s.Addr().String()), newRaw(t, s.Addr().String())
	other.create(t, "/big", make([]byte, 500_000), 0)
	deaf, err := dialRaw(s.Addr().String())
	if err == nil {
		err = deaf.connect(0, 1000, 0, make([]byte, 16))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.nc.Close()
	before := heap()
	failed := make(chan struct{})
	go func() {
		defer close(failed)
		for { // until the server has had enough
			if _, err := deaf.request(opGetData, enc{}.str("/big").bool(false)); err != nil {
				return
			}
		}
	}()
	for gone := false; !gone; {
		select {
		case <-failed:
			gone = true
		case <-time.After(100 * time.Millisecond):
			r.settle(t) // everybody else is served
		}
		if grown := heap() - before; grown > 16<<20 {
			t.Fatalf("%d bytes for a client that reads nothing", grown)
		}
	}
}

// A multi as large as a frame may be, of the smallest operations there are, and one over deep paths.
func TestHugeMulti(t *testing.T) {
	s := start(t, Options{})
	r := newRaw(t, s.Addr().String())
	body := enc{}
	for len(body) < MaxFrame-100 {
		body = body.op(opCheck, enc{}.str("/").int(-1))
	}
	if got := multiResults(r.must(t, opMulti, body.end()), ""); len(got) < 40_000 || got[len(got)-1] != "13 err 0" {
		t.Errorf("%d results, the last %s", len(got), got[len(got)-1])
	}
	body = enc{}
	count := 0
	for ; len(body) < MaxFrame-100; count++ {
		body = body.op(opCreate, createBody(fmt.Sprintf("/n%06d", count), nil, 0))
	}
	if got := multiResults(r.must(t, opMulti, body.end()), "/"); len(got) != count {
		t.Errorf("%d results", len(got))
	}
	names := r.must(t, opGetChildren, enc{}.str("/").bool(false)).strs()
	if len(names) != count+1 {
		t.Errorf("%d children", len(names))
	}
	// The last one fails: everything is taken back.
	body = enc{}
	for i := range count / 2 {
		body = body.op(opDelete, enc{}.str(fmt.Sprintf("/n%06d", i)).int(-1))
	}
	body = body.op(opDelete, enc{}.str("/none").int(-1))
	r.must(t, opMulti, body.end())
	if n := r.must(t, opCountChildren, enc{}.str("/")).int(); int(n) != count+3 {
		t.Errorf("%d nodes", n)
	}
	path := ""
	body = enc{}
	for len(path) < 1000 {
		path += "/d"
		body = body.op(opCreate, createBody(path, nil, 0))
	}
	r.must(t, opAddWatch, enc{}.str("/").int(1))
	if reply := r.call(t, opMulti, body.end()); len(reply.Events) != 500 {
		t.Errorf("%d events", len(reply.Events))
	}
	if reply := r.call(t, opCreate, createBody("/"+strings.Repeat("x", MaxPath), nil, 0)); reply.Err != -8 {
		t.Errorf("path longer than the database takes: error %d", reply.Err)
	}
	r.create(t, "/"+strings.Repeat("x", MaxPath-1), nil, 0)
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

// A long path counts for as many watches as it is long.
func TestLongWatches(t *testing.T) {
	s := start(t, Options{MaxWatches: 3000})
	r := newRaw(t, s.Addr().String())
	path := "/" + strings.Repeat("x", 500_000)
	for i, err := range []int32{-101, -101, -1} {
		if reply := r.call(t, opExists, enc{}.str(fmt.Sprint(path, i)).bool(true)); reply.Err != err {
			t.Errorf("watch %d: error %d", i, reply.Err)
		}
	}
}

// A connection that waits for room with a large frame in its hands gives back its slot when it is closed.
func TestLargeFrameSlots(t *testing.T) {
	s := start(t, Options{MaxOutstanding: 3})
	r := newRaw(t, s.Addr().String())
	r.create(t, "/big", nil, 0)
	g := s.gate(t)
	for range 5 {
		r.request(opSetData, enc{}.str("/big").buf(make([]byte, 100_000)).int(-1))
	}
	for deadline := time.Now().Add(rawPatience); len(s.large) == 0 || !busy(s, 3); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not held back")
		}
	}
	next, err := r.resume(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer next.nc.Close()
	for deadline := time.Now().Add(rawPatience); len(s.large) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d slots taken", len(s.large))
		}
	}
	g.release()
	if version := next.getStat(t, "/big").Version; version != 3 {
		t.Errorf("version %d: the requests that were not answered", version)
	}
}

// busy reports whether so many replies are outstanding.
func busy(s *Server, n int) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.outstanding() == n
}
