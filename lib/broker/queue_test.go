package broker

import (
	"errors"
	"testing"
)

type fakeAnswer struct {
	bytes    int64
	released *int
}

func (f fakeAnswer) cost() int64         { return f.bytes }
func (f fakeAnswer) write(*output) error { return nil }
func (f fakeAnswer) release()            { *f.released++ }

func TestQueueBounds(t *testing.T) {
	for _, test := range []struct {
		name     string
		maxCount int
		maxBytes int64
	}{
		{"count", 3, 1 << 30},
		{"bytes", 100, 3 * freeBytes},
	} {
		t.Run(test.name, func(t *testing.T) {
			released := 0
			memory := newBudget(1)
			q := newQueue(test.maxCount, test.maxBytes, memory)
			for range 3 {
				if !q.room() {
					t.Fatal("no room")
				}
				q.put(fakeAnswer{freeBytes, &released})
			}
			room := make(chan bool)
			go func() { room <- q.room() }()

			a, _ := q.take(never(t))
			select {
			case <-room:
				t.Fatal("room while three answers are owed, one of them being written")
			default:
			}
			if memory.used != 2*freeBytes {
				t.Fatalf("%d bytes charged, want what three answers have above the free part", memory.used)
			}
			q.done(a)
			if !<-room || released != 1 || memory.used != freeBytes {
				t.Fatalf("released %d, %d bytes charged", released, memory.used)
			}
		})
	}
}

func TestQueueEnds(t *testing.T) {
	released := 0
	memory := newBudget(10_000)
	q := newQueue(10, 10_000, memory)
	q.put(fakeAnswer{1, &released})
	q.put(fakeAnswer{1, &released})
	q.close()
	a, err := q.take(never(t))
	if a == nil || err != nil {
		t.Fatalf("%v, %v: what was put before close must come", a, err)
	}
	q.done(a)
	q.lose()
	if a, err := q.take(func() error { return nil }); a != nil || err != nil {
		t.Fatalf("%v, %v after lose", a, err)
	}
	q.put(fakeAnswer{1, &released})
	if q.room() || released != 3 || memory.used != 0 {
		t.Fatalf("room, or released %d of 3, or %d bytes charged", released, memory.used)
	}
}

func TestQueueTakePassesTheErrorOfIdle(t *testing.T) {
	want := errors.New("x")
	q := newQueue(1, 1, newBudget(1))
	if a, err := q.take(func() error { return want }); a != nil || err != want {
		t.Fatalf("%v, %v", a, err)
	}
}

func never(t *testing.T) func() error {
	return func() error {
		t.Error("idle called although there is an answer")
		return nil
	}
}
