package commitlog

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newEnv is what a log on fsys needs, saying what it says to the test.
func newEnv(t testing.TB, fsys vfs.FS) *segment.Env {
	t.Helper()
	files := segment.NewFiles(fsys, 4)
	t.Cleanup(func() { files.Close() })
	return &segment.Env{FS: fsys, Files: files, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), IndexInterval: 200}
}

// openTest opens a log and, at the end of the test, closes it and reads it once more from start to end.
func openTest(t testing.TB, fsys vfs.FS, dir string, options Options, from Checkpoint) *Log {
	t.Helper()
	l, err := Open(newEnv(t, fsys), dir, options, from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := l.Close(); err == nil {
			verify(t, fsys, dir)
		}
	})
	return l
}

// verify holds the files of a closed log against the join rule: checksums, ids, and names.
func verify(t testing.TB, fsys vfs.FS, dir string) {
	t.Helper()
	l, err := Open(newEnv(t, fsys), dir, Options{}, Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	next := int64(-1)
	for _, b := range readAll(t, l) {
		h, err := record.ParseHeader(b)
		if err == nil {
			err = record.CheckCRC(b)
		}
		if err != nil {
			t.Fatal(err)
		}
		if next >= 0 && h.BaseOffset != next {
			t.Fatalf("batch with base id %d, the one before it makes it %d", h.BaseOffset, next)
		}
		next = h.NextBase()
	}
}

// batch encodes records with the given values.
func batch(t testing.TB, codec record.Codec, values ...string) ([]byte, record.Header) {
	t.Helper()
	b := record.NewBuilder(codec)
	for _, v := range values {
		b.Append(record.Record{Timestamp: 1000, Value: []byte(v)})
	}
	data, err := b.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := record.ParseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	return data, h
}

// mustAppend appends a batch of the given values and returns its header, with its base id.
func mustAppend(t testing.TB, l *Log, flush bool, values ...string) record.Header {
	t.Helper()
	data, h := batch(t, record.None, values...)
	base, err := l.Append(data, h, flush)
	if err != nil {
		t.Fatal(err)
	}
	h.BaseOffset = base
	if flush {
		if err := l.WaitVisible(t.Context(), h.LastOffset()); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// read returns the bytes of one Read.
func read(t testing.TB, l *Log, id, maxBytes int64) []byte {
	t.Helper()
	s, err := l.Read(id, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if s.Handle == nil {
		return nil
	}
	data := make([]byte, s.Len)
	if _, err := s.Handle.ReadAt(data, s.Pos); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return data
}

// split cuts a run of whole batches into batches.
func split(t testing.TB, data []byte) (batches [][]byte) {
	t.Helper()
	for len(data) > 0 {
		h, err := record.ParseHeader(data)
		if err != nil {
			t.Fatal(err)
		}
		if h.Size() > int64(len(data)) {
			t.Fatalf("batch of %d bytes, %d are there", h.Size(), len(data))
		}
		batches = append(batches, data[:h.Size()])
		data = data[h.Size():]
	}
	return batches
}

// readAll reads a log from its start to its end, by the ids that the batches themselves say.
func readAll(t testing.TB, l *Log) (batches [][]byte) {
	t.Helper()
	for id := l.Positions().Start; ; {
		part := split(t, read(t, l, id, 500))
		if part == nil {
			return batches
		}
		batches = append(batches, part...)
		last, _ := record.ParseHeader(part[len(part)-1])
		id = last.LastOffset() + 1
	}
}

// valuesOf decodes the values of batches.
func valuesOf(t testing.TB, batches [][]byte) (values []string) {
	t.Helper()
	var it record.Iterator
	for _, b := range batches {
		if err := it.Reset(b); err != nil {
			t.Fatal(err)
		}
		for r := (record.Record{}); it.Next(&r); {
			values = append(values, string(r.Value))
		}
		if it.Err() != nil {
			t.Fatal(it.Err())
		}
	}
	return values
}

// gate is a file system whose files wait with Sync until the test lets them go on.
type gate struct {
	vfs.FS
	mu    sync.Mutex
	held  chan struct{} // Sync waits for it to be closed; nil: does not wait
	err   error         // what Sync returns
	syncs int
	begun chan struct{} // receives when a Sync begins
}

func newGate(fsys vfs.FS) *gate { return &gate{FS: fsys, begun: make(chan struct{}, math.MaxInt16)} }

// hold makes every Sync of a log wait until the returned function is called.
func (g *gate) hold() (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := make(chan struct{})
	g.held = held
	return sync.OnceFunc(func() {
		g.mu.Lock()
		g.held = nil
		g.mu.Unlock()
		close(held)
	})
}

func (g *gate) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.syncs
}

func (g *gate) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil || filepath.Ext(f.Name()) != segment.LogSuffix {
		return f, err
	}
	return &gatedFile{f, g}, nil
}

func (g *gate) Create(name string) (vfs.File, error)    { return g.wrap(g.FS.Create(name)) }
func (g *gate) OpenWrite(name string) (vfs.File, error) { return g.wrap(g.FS.OpenWrite(name)) }

type gatedFile struct {
	vfs.File
	gate *gate
}

func (f *gatedFile) Sync() error {
	g := f.gate
	g.mu.Lock()
	held, err := g.held, g.err
	g.syncs++
	g.mu.Unlock()
	select {
	case g.begun <- struct{}{}:
	default:
	}
	if held != nil {
		<-held
	}
	if err != nil {
		return err
	}
	return f.File.Sync()
}

func number(i int) string { return fmt.Sprintf("message %d", i) }

func equal(t testing.TB, got, want []string) {
	t.Helper()
	if !bytes.Equal([]byte(fmt.Sprint(got)), []byte(fmt.Sprint(want))) || len(got) != len(want) {
		t.Fatalf("%d values %.300q\nwant %d values %.300q", len(got), got, len(want), want)
	}
}
