package consumer

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
)

// moment is something that happens in between two calls that a member makes to ZooKeeper, or to one of them.
type moment struct {
	name  string
	fault zkfake.Fault
	act   func(s *story)
	again bool // messages may be delivered twice: the session ends, and with it the right to commit
}

var moments = []moment{
	{name: "lost before it was sent", fault: zkfake.Lose},
	{name: "reply lost", fault: zkfake.LoseReply},
	{name: "session ends, sent in the next", fault: zkfake.ExpireBefore, again: true},
	{name: "session ends, lost", fault: zkfake.ExpireAndLose, again: true},
	{name: "carried out, session ends", fault: zkfake.ExpireAfter, again: true},
	{name: "reset", act: (*story).rewind},
	{name: "session ends and another one takes over", act: (*story).takeover, again: true},
	{name: "another one joins", act: func(s *story) { s.second() }},
	{name: "partition added", act: func(s *story) { s.w.grow(1); s.partitions.Add(1) }},
	{name: "wake of the group", act: (*story).wake},
}

// TestEveryMoment lets each of these happen at each call, one after the other, of a member that joins, claims, reads,
// commits, gives a partition up, follows a reset and leaves. Whenever it was, nothing is skipped, what was reset is read again, and in the end all is committed, by those who are to do it.
func TestEveryMoment(t *testing.T) {
	for _, m := range moments {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			happened := 0
			for tell(t, m, happened+1) {
				happened++
			}
			t.Logf("at %d calls", happened)
			if happened < 30 {
				t.Errorf("happened at %d calls, which proves little", happened)
			}
		})
	}
}

// story is one run.
type story struct {
	w          *world
	first      session // of one
	one        *runner
	mu         sync.Mutex
	two        *runner
	partitions atomic.Int64
	resetTo    atomic.Int64 // of partition 0
}

// tell runs the story with the moment at the n-th call of its first member; false if there was no such call.
func tell(t *testing.T, m moment, n int) bool {
	s := &story{w: newWorld(t, twin(), 2)}
	s.partitions.Store(2)
	w := s.w
	w.produce(3, 0, 1)
	var calls, came atomic.Int64
	s.first = w.target.session(t)
	s.first.fake.SetFaults(func(zkfake.Call) zkfake.Fault {
		if calls.Add(1) != int64(n) {
			return zkfake.None
		}
		came.Add(1)
		if m.act != nil {
			m.act(s)
		}
		return m.fault
	})
	s.one = w.joinBy(s.first, "one", quick)
	w.read()
	w.produce(3, 0, 1)
	two := s.second()
	w.await("two shares", func() bool {
		return len(owned(s.one))+len(owned(two)) == int(s.partitions.Load()) && len(owned(two)) > 0
	}, s.state)
	w.produce(3, 0, 1)
	w.read()
	s.rewind()
	w.produce(3, 0, 1)
	w.read()
	s.one.cancel()
	<-s.one.finished
	if err := s.one.Close(deadline(t)); err != nil && !(m.again && errors.Is(err, ErrUncommitted)) {
		t.Errorf("%s at call %d: %v", m.name, n, err)
	}
	s.one.s.Close()
	all := numbersTo(int(s.partitions.Load()))
	w.settled(shares{two: all})
	w.produce(3, all...)
	want := make([]int64, len(all))
	for i := range want {
		want[i] = end
	}
	w.committed(want...)
	two.leave()
	w.committed(want...)
	if owners := w.seats(); len(owners) > 0 {
		t.Errorf("%s at call %d: left behind %v", m.name, n, owners)
	}
	s.check(m, n)
	return came.Load() > 0
}

func quick(o *Options) {
	o.CommitEvery, o.Debounce, o.Retry = 2*time.Millisecond, time.Millisecond, time.Millisecond
}

func numbersTo(n int) (ids []int32) {
	for i := range n {
		ids = append(ids, int32(i))
	}
	return ids
}

func owned(r *runner) []int32 {
	all, _ := r.Assignment()
	return all["t"]
}

func (s *story) state() string {
	return fmt.Sprintf("one %v %s, two %v %s, owners %v", owned(s.one), s.one.story(), owned(s.two), s.two.story(), s.w.seats())
}

// second is the other member, whoever asks first.
func (s *story) second() *runner {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.two == nil {
		s.two = s.w.join("two", quick)
	}
	return s.two
}

func (s *story) wake() {
	if err := s.w.group.Rebalance(deadline(s.w.t)); err != nil && !errors.Is(err, registry.ErrNoGroup) {
		s.w.t.Error(err)
	}
}

// rewind sets partition 0 back to its second message, as logrebalance does.
func (s *story) rewind() {
	s.w.mu.Lock()
	to, begun := s.w.produced[0][1], len(s.w.delivered[0]) > 0
	s.w.mu.Unlock()
	if !begun { // then it would not be read again
		return
	}
	err := s.w.group.Reset(deadline(s.w.t), s.w.topic(), map[int32]int64{0: to}, true)
	must(s.w.t, err)
	s.resetTo.Store(to)
}

// takeover ends the first member's session, and waits until the other one has all.
func (s *story) takeover() {
	two := s.second()
	s.first.fake.Disconnect()
	s.first.fake.Expire()
	s.w.await("takeover", func() bool { return len(owned(two)) == int(s.partitions.Load()) }, s.state)
	s.first.fake.Reconnect()
}

func (s *story) check(m moment, n int) {
	t, w := s.w.t, s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, ids := range w.produced {
		got := w.delivered[p]
		if lost := missing(ids, got); len(lost) > 0 {
			t.Errorf("%s at call %d: partition %d: %v were skipped", m.name, n, p, lost)
		}
		twice := len(got) - len(ids)
		if p != 0 && twice > 0 && !m.again {
			t.Errorf("%s at call %d: partition %d: %v, of %v", m.name, n, p, got, ids)
		}
		if p == 0 && count(got, s.resetTo.Load()) < 2 {
			t.Errorf("%s at call %d: was reset to %d, and not read again from there: %v", m.name, n, s.resetTo.Load(), got)
		}
		if i := slices.Index(got, ids[0]); p == 0 && slices.Index(got[i+1:], ids[0]) >= 0 && !m.again {
			t.Errorf("%s at call %d: read again from further back than it was reset to: %v", m.name, n, got)
		}
	}
}

func count(list []int64, id int64) (n int) {
	for _, x := range list {
		if x == id {
			n++
		}
	}
	return n
}
