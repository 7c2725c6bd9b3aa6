package zkserver

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// logged is a logger whose lines can be counted.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// onCommit puts f in front of every commit from here on; an error of f takes the commit's place.
func (s *Server) onCommit(f func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commit = func(changes []change) error {
		if err := f(); err != nil {
			return err
		}
		return s.store.commit(changes)
	}
}

// gate holds commits back until it is opened.
type gate struct {
	entered, open chan struct{}
	once          sync.Once
}

func (s *Server) gate(t *testing.T) *gate {
	g := &gate{entered: make(chan struct{}, 100), open: make(chan struct{})}
	s.onCommit(func() error { g.entered <- struct{}{}; <-g.open; return nil })
	t.Cleanup(g.release)
	return g
}

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

// silent fails if anything comes within a moment.
func (r *raw) silent(t *testing.T, what string) {
	t.Helper()
	r.nc.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	defer r.nc.SetReadDeadline(time.Now().Add(rawPatience))
	frame, err := r.frame()
	var timeout net.Error
	if err == nil {
		t.Errorf("%s: frame %x", what, frame)
	} else if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("%s: %v", what, err)
	}
}

// While a commit is under way, nothing that it will make durable is told, and everything else is.
func TestNothingIsToldBeforeItIsDurable(t *testing.T) {
	s := start(t, Options{})
	addr := s.Addr().String()
	writer, reader, watcher := newRaw(t, addr), newRaw(t, addr), newRaw(t, addr)
	for _, path := range []string{"/a", "/b", "/gone", "/dir", "/dir/sub"} {
		writer.create(t, path, nil, 0)
	}
	watcher.must(t, opGetData, enc{}.str("/a").bool(true))
	watcher.must(t, opGetChildren, enc{}.str("/b").bool(true))

	g := s.gate(t)
	told := s.durable.Load()
	writer.request(opSetData, enc{}.str("/a").buf([]byte("x")).int(-1))
	<-g.entered
	writer.request(opDelete, enc{}.str("/gone").int(-1))
	writer.request(opGetData, enc{}.str("/b").bool(false)) // old, but behind a write
	writer.silent(t, "writer")
	watcher.silent(t, "watcher")

	for _, read := range []struct {
		op   int32
		body enc
		err  int32
	}{
		{opGetData, enc{}.str("/b").bool(false), 0},
		{opGetChildren2, enc{}.str("/dir").bool(false), 0},
		{opGetData, enc{}.str("/dir/none").bool(false), -101},
		{opCountChildren, enc{}.str("/dir"), 0},
		{opWhoAmI, nil, 0},
	} {
		if reply := reader.call(t, read.op, read.body); reply.Err != read.err || reply.Zxid > told {
			t.Errorf("op %d: error %d, zxid %x; %x is durable", read.op, reply.Err, reply.Zxid, told)
		}
	}
	for _, r := range []*raw{writer, reader} { // a pong overtakes
		r.nc.Write(enc{}.int(8).int(-2).int(opPing))
		if reply, err := r.read(); err != nil || reply.Xid != -2 {
			t.Errorf("pong: %+v, %v", reply, err)
		}
	}
	for _, read := range []struct {
		op   int32
		body enc
	}{
		{opGetData, enc{}.str("/a").bool(false)},
		{opExists, enc{}.str("/gone").bool(false)},
		{opExists, enc{}.str("/gone/below").bool(false)},
		{opGetChildren, enc{}.str("/").bool(false)},
		{opCountChildren, enc{}.str("/")},
		{opSync, enc{}.str("/")},
		{opDelete, enc{}.str("/gone").int(-1)},
	} {
		r := newRawSession(t, s, reader)
		r.request(read.op, read.body)
		r.silent(t, string(read.body))
		reader = r
	}

	g.release()
	for _, want := range []int32{0, 0, 0} {
		if reply, err := writer.read(); err != nil || reply.Err != want {
			t.Errorf("%+v, %v", reply, err)
		}
	}
	if events := watcher.settle(t); !slices.Equal(events, []wireEvent{{3, "/a"}}) {
		t.Error(events)
	}
}

// newRawSession moves a session to another connection, which needs no commit.
func newRawSession(t *testing.T, s *Server, r *raw) *raw {
	t.Helper()
	next, err := r.resume(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { next.nc.Close() })
	return next
}

// A disk that fails ends all writing, is reported once, and leaves what was durable readable.
func TestDiskFails(t *testing.T) {
	var lines logged
	s := start(t, Options{Logger: lines.logger()})
	addr := s.Addr().String()
	writer, watcher, reader := newRaw(t, addr), newRaw(t, addr), newRaw(t, addr)
	for _, path := range []string{"/a", "/b"} {
		writer.create(t, path, []byte("old"), 0)
	}
	watcher.must(t, opGetData, enc{}.str("/a").bool(true))
	s.onCommit(func() error { return syscall.EIO })

	writer.request(opSetData, enc{}.str("/a").buf([]byte("new")).int(-1))
	writer.wantClosed(t)  // the outcome is unknown
	watcher.wantClosed(t) // the event will never be true
	<-s.Failed()
	if err := s.Err(); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	for _, row := range []struct {
		op   int32
		body enc
		err  int32
	}{
		{opCreate, createBody("/c", nil, 0), -1},
		{opSetData, enc{}.str("/b").buf(nil).int(-1), -1},
		{opMulti, enc{}.op(opDelete, enc{}.str("/b").int(-1)).end(), -1},
		{opGetData, enc{}.str("/b").bool(false), 0},
		{opGetData, enc{}.str("/a").bool(false), -1}, // what is there is neither the old nor the new
	} {
		if reply := reader.call(t, row.op, row.body); reply.Err != row.err {
			t.Errorf("op %d %q: error %d, want %d", row.op, []byte(row.body), reply.Err, row.err)
		}
	}
	reader = newRawSession(t, s, reader) // sessions may move, but not begin
	reader.must(t, opGetData, enc{}.str("/b").bool(false))
	next, err := dialRaw(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer next.nc.Close()
	next.send(connectBody(0, 1000, 0, make([]byte, 16)))
	next.wantClosed(t)
	if err := s.ExpireSession(reader.session); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	if err := s.Close(); !errors.Is(err, syscall.EIO) {
		t.Error("closed:", err)
	}
	if n := lines.count("level=ERROR"); n != 1 {
		t.Errorf("%d lines about it", n)
	}

	again := start(t, Options{Dir: s.opts.Dir})
	r := newRaw(t, again.Addr().String())
	if data := r.must(t, opGetData, enc{}.str("/a").bool(false)).buf(); string(data) != "old" {
		t.Errorf("data %q", data)
	}
}

// A full disk is waited for: what has been applied is kept and tried again, the rest is refused meanwhile.
func TestDiskFull(t *testing.T) {
	var lines logged
	s := start(t, Options{Logger: lines.logger()})
	addr := s.Addr().String()
	writer, other := newRaw(t, addr), newRaw(t, addr)
	full, attempts := true, make(chan struct{}, 100)
	var mu sync.Mutex
	s.onCommit(func() error {
		mu.Lock()
		defer mu.Unlock()
		attempts <- struct{}{}
		if full {
			return syscall.ENOSPC
		}
		return nil
	})
	writer.request(opCreate, createBody("/a", nil, 0))
	<-attempts
	for full := false; !full; time.Sleep(time.Millisecond) { // until the answer of the disk has been noticed
		s.mu.Lock()
		full = s.full
		s.mu.Unlock()
	}
	if reply := other.call(t, opCreate, createBody("/c", nil, 0)); reply.Err != -1 {
		t.Errorf("error %d", reply.Err)
	}
	writer.silent(t, "the write that was applied")
	if err := s.ExpireSession(other.session); !errors.Is(err, errFull) {
		t.Error(err)
	}
	mu.Lock()
	full = false
	mu.Unlock()
	if reply, err := writer.read(); err != nil || reply.Err != 0 {
		t.Errorf("%+v, %v", reply, err)
	}
	other.create(t, "/b", nil, 0)
	if s.Err() != nil || lines.count("disk full") != 1 || lines.count("room again") != 1 {
		t.Error(s.Err(), lines.b.String())
	}
}

// A disk that hangs keeps the server from answering: nobody's session ends over it.
func TestDiskHangs(t *testing.T) {
	s := start(t, Options{})
	addr := s.Addr().String()
	r, err := dialRaw(addr)
	if err == nil {
		err = r.connect(0, 800, 0, make([]byte, 16))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.nc.Close()
	g := s.gate(t)
	r.request(opCreate, createBody("/e", nil, flagEphemeral))
	<-g.entered
	time.Sleep(2 * time.Second) // several timeouts
	g.release()
	if reply, err := r.read(); err != nil || reply.Err != 0 {
		t.Fatalf("%+v, %v", reply, err)
	}
	if owner := r.getStat(t, "/e").Owner; owner != r.session {
		t.Errorf("owner %x", owner)
	}
}

// The same on a file system that really is full, where this process may mount one: what bbolt has written of a
// transaction that it could not finish is no harm.
func TestFileSystemFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("no file system to fill:", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	var lines logged
	s := start(t, Options{Dir: filepath.Join(dir, "data"), Logger: lines.logger()})
	r := newRaw(t, s.Addr().String())
	r.create(t, "/first", nil, 0)
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	f.Close()
	for i := range 40 { // until the room that the database has kept is used up
		r.request(opCreate, createBody(fmt.Sprintf("/n%02d", i), make([]byte, 8000), 0))
	}
	for deadline := time.Now().Add(rawPatience); lines.count("disk full") == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never full")
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	made := 0
	for range 40 {
		reply, err := r.read()
		if err != nil {
			t.Fatal(err)
		}
		if reply.Err == 0 {
			made++
		}
	}
	r.create(t, "/last", nil, 0)
	before := s.dump()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	verify(t, s.opts.Dir)
	s = start(t, Options{Dir: s.opts.Dir})
	if diff := cmp.Diff(before, s.dump()); diff != "" {
		t.Error(diff)
	}
	t.Logf("%d of 40 made", made)
	if err := s.Close(); err != nil { // before the file system goes
		t.Error(err)
	}
}
