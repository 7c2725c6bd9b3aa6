package consumer

import (
	"context"
	"errors"
	"io"
	"testing"

	"logkit/lib/client"
)

func toTheEnd(o *Options) { o.Follow = false }

// Without Follow a member ends at the ends as they were at its start: kcat#86 and others, where a group with an empty
// partition, and one that is read already, hangs.
func TestEnd(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		w := newWorld(t, target, 3)
		w.produce(3, 0, 2)
		first := w.join("first", toTheEnd)
		if err := first.ended(); err != io.EOF {
			t.Fatalf("%v", err)
		}
		first.leave()
		w.committed(end, 0, end)
		w.produce(3, 0)
		w.log.change(func() { w.log.topics["t"][1].base = 7 }) // gap, as of control batches that are no messages
		again := w.join("again", toTheEnd)
		if err := again.ended(); err != io.EOF {
			t.Fatalf("%v", err)
		}
		w.once()
	})
}

// What comes after the start is not read, not in a partition that is added either.
func TestEndIsThatOfTheStart(t *testing.T) {
	w := newWorld(t, twin(), 1)
	w.produce(2, 0)
	one := w.join("one", func(o *Options) { o.Follow = false })
	one.shut()
	w.await("a write", one.blocked, nil)
	kept := w.log.produce("t", 0, 2)
	w.log.add("t", 1)
	w.log.produce("t", 1, 2)
	_, err := w.admin.AddPartitions(deadline(t), w.topic(), replicas(1, 1))
	must(t, err)
	one.open()
	if err := one.ended(); err != io.EOF {
		t.Fatalf("%v", err)
	}
	one.leave()
	w.once()
	w.committed(end, -1)
	w.mu.Lock()
	w.produced[0] = append(w.produced[0], kept...)
	w.mu.Unlock()
	two := w.join("two", nil)
	w.settled(shares{two: {0, 1}})
	w.await("the rest", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.delivered[1]) == 2 && len(w.delivered[0]) == 4
	}, nil)
}

// Several members share what there is, and all of them end: also one for whom there is no partition.
func TestEndOfSeveral(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		w := newWorld(t, target, 2)
		w.produce(3, 0, 1)
		w.produce(3, 0, 1)
		one := w.join("one", toTheEnd)
		one.shut()
		w.await("a write", one.blocked, nil)
		two := w.join("two", toTheEnd)
		three := w.join("without", toTheEnd)
		if err := three.ended(); err != io.EOF {
			t.Errorf("%v", err)
		}
		three.leave()
		one.open()
		for _, r := range []*runner{one, two} {
			if err := r.ended(); err != io.EOF {
				t.Errorf("%v", err)
			}
			r.leave()
		}
		w.once()
		w.committed(end, end)
	})
}

// A member waits for its share: what a dead one still holds is its own when the session has ended.
func TestEndWaitsForTheShare(t *testing.T) {
	w := newWorld(t, twin(), 1)
	w.produce(3, 0)
	dead := w.join("z", nil) // the other one comes first
	w.settled(shares{dead: {0}})
	w.committed(end)
	dead.s.cut(true)
	w.await("the end of the lease", func() bool { return dead.saw(Away) == 1 }, nil)
	w.produce(3, 0)
	one := w.join("one", toTheEnd)
	w.await("registration", func() bool {
		members, err := w.group.Members(deadline(t), nil)
		must(t, err)
		return len(members) == 2
	}, nil)
	dead.s.fake.Expire()
	if err := one.ended(); err != io.EOF {
		t.Fatalf("%v", err)
	}
	one.leave()
	w.committed(end)
	w.once()
}

func TestEndWithoutZooKeeper(t *testing.T) {
	w := newWorld(t, twin(), 1)
	w.produce(3, 0)
	one := w.join("one", func(o *Options) { o.Follow, o.Patience = false, sessionTimeout/20 })
	one.shut()
	w.await("a write", one.blocked, nil)
	one.s.cut(true)
	w.await("the end of the lease", func() bool { return one.saw(Away) == 1 }, nil)
	one.open()
	if err := one.ended(); !errors.Is(err, client.ErrUnavailable) {
		t.Fatalf("%v", err)
	}
	if err := one.Close(deadline(t)); !errors.Is(err, ErrUncommitted) {
		t.Errorf("closed with %v", err)
	}
}

func TestEndWithoutBroker(t *testing.T) {
	w := newWorld(t, twin(), 1)
	w.log.away[0] = true
	s := w.target.session(t)
	_, err := Join(context.Background(), Options{Session: s.Session, Source: w.log, Group: "g", Topics: []string{"t"}})
	if !errors.Is(err, client.ErrUnavailable) {
		t.Fatalf("%v", err)
	}
}
