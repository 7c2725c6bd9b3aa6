package zkserver

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// A commit ends between the writer's look at what is durable and its asking to be woken by the next one. Nobody will
// wake it then, and a frame that needs no commit must all the same.
func TestCommitEndsWhileItIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var durable, total atomic.Int64
		frame := func(b []byte) []byte { return append(b, 'x') }
		o := newOutbox(&durable, &total, func() { durable.Store(1) }) // and no release: it came too early
		o.add(1, 1, frame)
		b, marks, ok := o.next(nil, nil)
		if !ok || len(b) != 5 || len(marks) != 1 {
			t.Fatalf("%d bytes, %d frames, %v", len(b), len(marks), ok)
		}
		o.written(1)

		sent := false
		go func() {
			_, marks, ok := o.next(nil, nil)
			sent = ok && len(marks) == 1
		}()
		synctest.Wait()
		o.add(1, 1, frame) // the reply to a read
		synctest.Wait()
		if !sent {
			t.Error("the writer sleeps on a frame that may go out")
		}
		o.close()
	})
}

// While the first frame waits for its commit, those behind it do not wake the writer; the commit does.
func TestFramesBehindOneThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var durable, total atomic.Int64
		frame := func(b []byte) []byte { return append(b, 'x') }
		asked := 0
		o := newOutbox(&durable, &total, func() { asked++ })
		o.add(1, 1, frame)
		sent := 0
		go func() {
			_, marks, _ := o.next(nil, nil)
			sent = len(marks)
		}()
		synctest.Wait()
		o.add(0, 1, frame)
		synctest.Wait()
		if sent != 0 || asked != 1 {
			t.Fatalf("%d frames sent, a commit asked for %d times", sent, asked)
		}
		durable.Store(1)
		o.release()
		synctest.Wait()
		if sent != 2 {
			t.Errorf("%d frames sent, want both, in one go", sent)
		}
		o.close()
	})
}
