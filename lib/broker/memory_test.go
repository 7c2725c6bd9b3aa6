package broker

import (
	"context"
	"testing"

	"logkit/lib/record"
)

func TestClassOf(t *testing.T) {
	last, lastSize := -1, 0
	for n := 1; n <= 1<<30; n += 1 + n/13 {
		class, size := classOf(n)
		if size < n || n > minBuffer && size > n+n/4+1 {
			t.Fatalf("%d bytes: buffer of %d", n, size)
		}
		if class < last || class >= bufferClasses || (class == last) != (size == lastSize) {
			t.Fatalf("%d bytes: class %d of %d bytes after class %d of %d", n, class, size, last, lastSize)
		}
		last, lastSize = class, size
	}
	if class, size := classOf(1<<31 - 1); class >= bufferClasses || size < 1<<31-1 {
		t.Fatalf("largest: class %d of %d bytes", class, size)
	}
}

func TestBufferPoolReusesAClass(t *testing.T) {
	var p bufferPool
	b := p.get(5000)
	if len(b.b) != 5000 || cap(b.b) != 5120 {
		t.Fatalf("len %d cap %d", len(b.b), cap(b.b))
	}
	p.put(b)
	if b := p.get(5120); len(b.b) != 5120 {
		t.Fatalf("len %d", len(b.b))
	}
}

func TestBudget(t *testing.T) {
	ctx := context.Background()
	b := newBudget(100)
	mustAcquire := func(n int64) {
		t.Helper()
		if err := b.acquire(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	wait := func(ctx context.Context, n int64) <-chan error {
		before := waiting(b)
		got := make(chan error, 1)
		go func() { got <- b.acquire(ctx, n) }()
		for waiting(b) == before {
			select {
			case err := <-got:
				t.Fatalf("claim of %d: %v, want it to wait", n, err)
			default:
			}
		}
		return got
	}

	mustAcquire(60)
	mustAcquire(40)
	large := wait(ctx, 70)
	small := wait(ctx, 10)
	b.release(40) // room for the small one, which waits behind the large one all the same
	if waiting(b) != 2 {
		t.Fatal("a small claim has overtaken a large one")
	}
	b.release(60)
	if err := <-large; err != nil {
		t.Fatal(err)
	}
	if err := <-small; err != nil {
		t.Fatal(err)
	}
	b.release(80)

	mustAcquire(1000) // alone, whatever it is
	cancelled, cancel := context.WithCancel(ctx)
	gone := wait(cancelled, 1)
	cancel()
	if err := <-gone; err != context.Canceled {
		t.Fatalf("%v, want %v", err, context.Canceled)
	}
	b.release(1000)

	b.force(150)
	over := wait(ctx, 1)
	b.release(150)
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	b.release(1)
	if b.used != 0 || waiting(b) != 0 {
		t.Fatalf("%d bytes used, %d waiting at the end", b.used, waiting(b))
	}
}

func waiting(b *budget) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiters.Len()
}

// TestCheckingIsBounded: a batch that holds much more than usual is checked, but two of them not at the same time; they
// are in nobody else's way.
func TestCheckingIsBounded(t *testing.T) {
	s := serve(t, setup{})
	usual := batch(t, record.Zstd, "a value")
	large := batch(t, record.Zstd, string(make([]byte, usualDecompressed+1)))
	for _, b := range [][]byte{usual, large} {
		if _, err := s.check(b, DefaultMaxMessageBytes); err != nil {
			t.Error(err)
		}
	}
	s.checkingLarge <- struct{}{} // somebody is at it
	waiting := make(chan error)
	go func() {
		_, err := s.check(large, DefaultMaxMessageBytes)
		waiting <- err
	}()
	for range 2 * cap(s.checking) {
		if _, err := s.check(usual, DefaultMaxMessageBytes); err != nil {
			t.Error(err)
		}
	}
	select {
	case err := <-waiting:
		t.Errorf("two at the same time: %v", err)
	default:
	}
	<-s.checkingLarge
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}
