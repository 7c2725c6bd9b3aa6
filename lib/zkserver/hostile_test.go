package zkserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
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

// Requests that are larger than most share what memory there is for them. A client that does not get its replies, or does
// not read them, keeps none of it: its next request is not read.
func TestLargeFrameSlots(t *testing.T) {
	s := start(t, Options{MaxOutstanding: 3})
	r := dialInside(t, s)
	if err := r.connect(0, 10_000, 0, make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	r.create(t, "/big", nil, 0)
	g := s.gate(t)
	set := enc{}.str("/big").buf(make([]byte, 100_000)).int(-1)
	for range 3 {
		if _, err := r.request(opSetData, set); err != nil {
			t.Fatal(err)
		}
	}
	r.nc.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := r.request(opSetData, set); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a fourth request is read: %v", err)
	}
	for deadline := time.Now().Add(rawPatience); !busy(s, 3) || len(s.large) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d slots taken", len(s.large))
		}
	}
	next, err := r.resume(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer next.nc.Close()
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
