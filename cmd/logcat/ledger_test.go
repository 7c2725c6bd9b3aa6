package main

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// rounds lets followers see up to 30 messages whose fates are told in any order: every fifth is refused, the others are
// acknowledged. The text of a message is its number, and the last one ends with its file.
func rounds(t *testing.T, newFollower func(messages int64) (f follower, check func())) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		n := rnd.Int64N(30)
		f, check := newFollower(n)
		l := newLedger(f)
		var open []int64
		settle := func(i int) {
			line := open[i]
			open = append(open[:i], open[i+1:]...)
			is := acknowledged
			if line%5 == 0 {
				is = refused
			}
			l.settle([]int64{line}, is)
		}
		for line := int64(1); line <= n; line++ {
			text := strconv.AppendInt(nil, line, 10)
			m := message{line: line, bytes: text, size: int64(len(text)), last: line == n, from: source{"t", 7, line}, mark: mark{end: line}}
			if !l.hold(t.Context(), &m, nil, nil) {
				t.Fatal("not held")
			}
			open = append(open, line)
			for len(open) > 0 && rnd.IntN(3) > 0 {
				settle(rnd.IntN(len(open)))
			}
		}
		for len(open) > 0 {
			settle(rnd.IntN(len(open)))
		}
		if len(l.fates) != 0 {
			t.Fatal("holds what is settled")
		}
		check()
	}
}

// small is a follower that is full with one message.
type small struct{ held int }

func (s *small) hold(*message) { s.held++ }
func (s *small) settled(bool)  { s.held-- }
func (s *small) flush()        {}
func (s *small) full() bool    { return s.held > 0 }

// A ledger whose followers are full waits until something is settled, or there is a reason not to.
func TestLedgerWaits(t *testing.T) {
	l := newLedger(&small{})
	l.hold(t.Context(), &message{line: 1}, nil, nil)
	held := make(chan bool)
	go func() { held <- l.hold(t.Context(), &message{line: 2}, nil, nil) }()
	select {
	case <-held:
		t.Fatal("does not wait")
	case <-time.After(10 * time.Millisecond):
	}
	l.settle([]int64{1}, acknowledged)
	if !<-held {
		t.Error("given up, though there was room")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if l.hold(ended, &message{line: 3}, nil, nil) {
		t.Error("holds more than there is room for")
	}
	shut := make(chan struct{})
	close(shut)
	if l.hold(t.Context(), &message{line: 3}, shut, nil) || l.hold(t.Context(), &message{line: 3}, nil, shut) {
		t.Error("waits for a sink that has failed")
	}
	l.settle([]int64{3}, acknowledged) // not held: nothing happens
	l.settle([]int64{2}, acknowledged)
	if !l.hold(t.Context(), &message{line: 4}, nil, nil) {
		t.Error("no room when all is settled")
	}
}

func TestQueue(t *testing.T) {
	var q queue[int]
	next, want := 0, 0
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		if rnd.IntN(2) == 0 {
			q.push(next)
			next++
		} else if q.len() > 0 {
			if got := q.pop(); got != want {
				t.Fatalf("%d, want %d", got, want)
			}
			want++
		}
		if q.len() != next-want {
			t.Fatalf("length %d, want %d", q.len(), next-want)
		}
	}
}
