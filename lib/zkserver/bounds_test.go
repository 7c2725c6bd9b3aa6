package zkserver

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// What is told of a missing node is the last change of its nearest ancestor, whatever the path looks like.
func TestAbsent(t *testing.T) {
	tree := newTree()
	tree.insert("/", &node{pzxid: 1})
	deepest := "/" + strings.Repeat("x", MaxPath-1)
	for i, path := range []string{"/a", "/a/b", "/a/b/c", "/d", deepest} {
		tree.insert(path, &node{pzxid: int64(i + 2)})
	}
	slow := func(path string) int64 {
		for path = parentOf(path); tree.find(path) == nil; {
			path = parentOf(path)
		}
		return tree.find(path).pzxid
	}
	paths := []string{"", "x", "x/y", "//", "/a/", "/a//b", "/a/b/x", "/d/x/y/z", deepest + "x", deepest + "/x", deepest + "/x/y"}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		path := ""
		for range rng.IntN(8) {
			path += string("//abcd"[rng.IntN(6)])
		}
		paths = append(paths, path)
	}
	for _, path := range paths {
		if got, want := tree.absent(path), slow(path); got != want && tree.nodes[path] == nil {
			t.Errorf("%.40q: %d, want %d", path, got, want)
		}
	}
}

// A frame full of slashes keeps nobody waiting, although each is an ancestor that could be there.
func TestDeepAbsentPath(t *testing.T) {
	s := start(t, Options{})
	r := newRaw(t, s.Addr().String())
	body := enc{}
	for i := range 1000 { // a tree in which looking up is hashing
		body = body.op(opCreate, createBody("/n"+strings.Repeat("x", i), nil, 0))
	}
	r.must(t, opMulti, body.end())
	began := time.Now()
	for _, op := range []int32{opExists, opGetData, opGetChildren} {
		if reply := r.call(t, op, enc{}.str(strings.Repeat("/a", (MaxFrame-100)/2)).bool(false)); reply.Err != int32(codeNoNode) {
			t.Errorf("op %d: error %d", op, reply.Err)
		}
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("%v for three answers", took)
	}
}

// Many reads of a large node in one request are answered up to a limit, each with a result or an error.
func TestHugeMultiRead(t *testing.T) {
	s := start(t, Options{})
	r := newRaw(t, s.Addr().String())
	const size, reads = 300_000, 50_000 // 15 GB
	r.create(t, "/b", make([]byte, size), 0)
	body := enc{}
	for range reads {
		body = body.op(opGetData, enc{}.str("/b").bool(false))
	}
	before := heap()
	d := r.must(t, opMultiRead, body.end())
	if grown := heap() - before; grown > 32<<20 {
		t.Errorf("heap grown by %d bytes", grown)
	}
	for i := range reads {
		op, done, code := d.int(), d.bool(), d.int()
		switch {
		case done:
			t.Fatalf("end after %d results", i)
		case i < 4 && op == opGetData && code == 0:
			if n := len(d.buf()); n != size {
				t.Fatalf("result %d: %d bytes", i, n)
			}
			d.stat()
		case i < 4 || op != opError || code != int32(codeSystemError) || d.int() != code:
			t.Fatalf("result %d: op %d, error %d", i, op, code)
		}
	}
	if op, done := d.int(), d.bool(); op != -1 || !done {
		t.Error("no end marker")
	}
}

// Clients that never read their events are given up when all of them together have too many; those that read are not.
func TestManyNeverReadTheirEvents(t *testing.T) {
	var lines logged
	// On a busy machine the silent clients must not go because their sessions end, nor the others run out of patience.
	const patience = 2 * time.Minute
	s := start(t, Options{Logger: lines.logger(), MinSessionTimeout: patience, MaxSessionTimeout: patience})
	addr := s.Addr().String()
	reader, other := newRaw(t, addr), newRaw(t, addr)
	reader.nc.SetDeadline(time.Now().Add(patience))
	other.nc.SetDeadline(time.Now().Add(patience))
	path := "/" + strings.Repeat("x", 30_000)
	other.create(t, path, nil, 0)
	reader.must(t, opAddWatch, enc{}.str(path).int(0))
	const deaf, n = 24, 440 // of 30 kB each: 13 MB for each client, 317 MB in all
	for range deaf {
		newRaw(t, addr).must(t, opAddWatch, enc{}.str(path).int(0))
	}
	var most int64
	for range n {
		other.must(t, opSetData, enc{}.str(path).buf(nil).int(-1))
		if events := reader.settle(t); len(events) != 1 {
			t.Fatalf("%d events", len(events))
		}
		most = max(most, s.unread.Load())
	}
	if most > outboxTotal+1<<20 {
		t.Errorf("%d bytes unread", most)
	}
	if lines.count("does not read its events") == 0 {
		t.Error("nobody given up")
	}
	s.mu.Lock()
	for c := range s.conns {
		c.kill()
	}
	s.mu.Unlock()
	for deadline := time.Now().Add(rawPatience); s.unread.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes unread without connections", s.unread.Load())
		}
	}
}
