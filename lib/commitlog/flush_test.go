package commitlog

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"logkit/lib/record"
	"logkit/lib/vfs"
)

// Nobody sees a record before it is flushed, and everything appended during one flush shares the next.
func TestVisibleOnlyAfterFlush(t *testing.T) {
	g := newGate(vfs.OS)
	l := openTest(t, g, t.TempDir(), Options{}, Checkpoint{})
	release := g.hold()
	defer release()
	var last []int64
	for i := range 20 {
		data, h := batch(t, record.None, number(i))
		base, err := l.Append(data, h, true)
		if err != nil {
			t.Fatal(err)
		}
		last = append(last, base)
		if i == 0 {
			<-g.begun
		}
	}
	if p := l.Positions(); p.HighWatermark != 0 {
		t.Fatalf("high watermark %d during the first flush, want 0", p.HighWatermark)
	}
	if got := read(t, l, 0, 1000); got != nil {
		t.Fatalf("%d bytes read during the first flush", len(got))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.WaitVisible(ctx, last[0]); !errors.Is(err, context.Canceled) {
		t.Fatalf("WaitVisible with a cancelled context: %v", err)
	}
	hint := make(chan struct{}, 1)
	l.Watch(hint)
	defer l.Unwatch(hint)
	before := g.count()
	release()
	<-hint
	if err := l.WaitVisible(t.Context(), last[19]); err != nil {
		t.Fatal(err)
	}
	if n := g.count() - before; n != 1 {
		t.Errorf("%d more flushes for 19 batches, want 1", n)
	}
	if n := len(readAll(t, l)); n != 20 {
		t.Errorf("%d batches, want 20", n)
	}
}

func TestFlushByCountAndByTime(t *testing.T) {
	l := openTest(t, vfs.OS, t.TempDir(), Options{FlushMessages: 5, FlushInterval: time.Hour}, Checkpoint{})
	var h record.Header
	for i := range 5 {
		if p := l.Positions(); p.HighWatermark != 0 {
			t.Fatalf("visible after %d of 5 records", i)
		}
		h = mustAppend(t, l, false, number(i))
	}
	if err := l.WaitVisible(t.Context(), h.LastOffset()); err != nil {
		t.Fatal(err)
	}
	l.SetOptions(Options{FlushInterval: time.Millisecond})
	h = mustAppend(t, l, false, "by time")
	if err := l.WaitVisible(t.Context(), h.LastOffset()); err != nil {
		t.Fatal(err)
	}
}

func TestFailedFlushIsSticky(t *testing.T) {
	g := newGate(vfs.OS)
	failed := make(chan error, 1)
	l := openTest(t, g, t.TempDir(), Options{OnFailure: func(err error) { failed <- err }}, Checkpoint{})
	mustAppend(t, l, true, "good")
	g.fail(syscall.EIO)
	data, h := batch(t, record.None, "lost")
	base, err := l.Append(data, h, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.WaitVisible(t.Context(), base); !errors.Is(err, ErrStorage) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("WaitVisible: %v, want a storage error that wraps EIO", err)
	}
	g.fail(nil)
	data, h = batch(t, record.None, "later")
	if _, err := l.Append(data, h, true); !errors.Is(err, ErrStorage) {
		t.Errorf("Append after a failed flush: %v, want a storage error", err)
	}
	equal(t, valuesOf(t, readAll(t, l)), []string{"good"})
	if err := <-failed; !errors.Is(err, syscall.EIO) {
		t.Errorf("OnFailure got %v", err)
	}
}
