package consumer

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/assign"
	"logkit/lib/client"
	"logkit/lib/registry"
)

// The paper's example: 3 partitions and 2 consumers are 2 + 1.
func TestThreePartitionsTwoMembers(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		w := newWorld(t, target, 3)
		w.produce(5, 0, 1, 2)
		one := w.join("one", nil)
		w.settled(shares{one: {0, 1, 2}})
		w.read()
		two := w.join("two", nil)
		w.settled(shares{one: {0, 1}, two: {2}})
		if owners := w.seats(); !cmp.Equal(owners, map[int32]string{0: "one-0", 1: "one-0", 2: "two-0"}) {
			t.Errorf("%v", owners)
		}
		w.produce(5, 0, 1, 2)
		w.committed(end, end, end)
		one.leave()
		w.settled(shares{two: {0, 1, 2}})
		w.produce(5, 0, 1, 2)
		w.committed(end, end, end)
		w.once()
	})
}

// TestLoadBalance is the sequence of Kafka 0.7.2's own suite, where it can be had: a topic's partitions are there whether
// or not their broker is.
func TestLoadBalance(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		w := newWorld(t, target, 1)
		one := w.join("consumer1", nil)
		w.settled(shares{one: {0}})
		two := w.join("consumer2", nil)
		w.settled(shares{one: {0}, two: nil})
		if n := one.saw(Released); n != 0 {
			t.Errorf("%d partitions moved when a second consumer joined", n)
		}
		w.grow(4)
		w.settled(shares{one: {0, 1, 2}, two: {3, 4}})
		w.produce(3, 0, 1, 2, 3, 4)
		w.committed(end, end, end, end, end)
		w.log.change(func() { w.log.away[4] = true })
		w.produce(3, 0, 1, 2, 3)
		w.committed(end, end, end, end)
		w.settled(shares{one: {0, 1, 2}, two: {3, 4}})
		w.log.change(func() { delete(w.log.away, 4) })
		w.produce(3, 4)
		w.committed(end, end, end, end, end)
		w.once()
	})
}

func TestResetReadsAgainExactlyFromThere(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		w := newWorld(t, target, 2)
		w.produce(4, 0, 1)
		w.produce(4, 0, 1)
		one := w.join("one", nil)
		w.settled(shares{one: {0, 1}})
		w.read()
		w.committed(end, end)
		w.mu.Lock()
		back := w.produced[0][2] // inside a batch
		w.produced[0] = append(w.produced[0], w.produced[0][2:]...)
		w.mu.Unlock()
		must(t, w.group.Reset(deadline(t), w.topic(), map[int32]int64{0: back}, true))
		w.await("messages again", func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.delivered[0]) >= len(w.produced[0])
		}, nil)
		w.committed(end, end)
		w.once()
		if n := one.saw(Reset); n != 1 {
			t.Errorf("%d resets were told", n)
		}
	})
}

// A reset to no offset begins where --from says.
func TestResetToNothing(t *testing.T) {
	w := newWorld(t, twin(), 1)
	w.produce(4, 0)
	one := w.join("one", nil)
	w.settled(shares{one: {0}})
	w.read()
	w.committed(end)
	w.mu.Lock()
	w.produced[0] = append(w.produced[0], w.produced[0]...)
	w.mu.Unlock()
	must(t, w.group.Reset(deadline(t), w.topic(), map[int32]int64{0: registry.NoOffset}, true))
	w.await("messages again", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.delivered[0]) == len(w.produced[0])
	}, nil)
	w.committed(end)
	w.once()
}

// A member that hangs in write keeps its own partition for it, and nobody else waits: neither its other partitions, nor
// the others' own.
func TestPartitionsThatStayKeepFlowing(t *testing.T) {
	w := newWorld(t, twin(), 4)
	one := w.join("one", nil)
	w.settled(shares{one: {0, 1, 2, 3}}) // so that two claims no more than its share
	two := w.join("two", nil)
	w.settled(shares{one: {0, 1}, two: {2, 3}})
	two.shut()
	w.produce(1, 2)
	w.await("a write that hangs", two.blocked, nil)
	three := w.join("three", nil) // bytewise before two: takes 2 and leaves 3
	w.await("release of 3", func() bool { return w.seats()[2] == "two-0" && two.saw(Claimed) == 2 }, nil)
	w.produce(3, 0, 1)
	w.committed(end, end)
	if _, settled := three.Assignment(); settled {
		t.Error("has what another one is still writing of")
	}
	two.open()
	w.settled(shares{one: {0, 1}, three: {2}, two: {3}})
	w.produce(3, 0, 1, 2, 3)
	w.committed(end, end, end, end)
	w.once()
}

// A write that does not come back for too long is not waited for: what it was about is delivered again, by another.
func TestWriteThatDoesNotComeBack(t *testing.T) {
	w := newWorld(t, twin(), 1)
	two := w.join("two", func(o *Options) { o.Drain = sessionTimeout / 10 })
	w.settled(shares{two: {0}})
	two.shut()
	w.produce(1, 0)
	w.await("a write that hangs", two.blocked, nil)
	one := w.join("one", nil)
	w.settled(shares{one: {0}})
	w.committed(end)
	two.open()
	w.await("both deliveries", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.delivered[0]) == 2 && w.by["one"] == 1 && w.by["two"] == 1
	}, nil)
	w.committed(end)
}

func TestStrategyOfTheGroup(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		w := newWorld(t, target, 3)
		one := w.join("one", func(o *Options) { o.Strategy = assign.Sticky })
		w.settled(shares{one: {0, 1, 2}})
		two := w.join("a", nil)
		var refused *StrategyError
		if err := two.ended(); !errors.As(err, &refused) || *refused != (StrategyError{Group: "g", Member: "one", Mine: assign.Range, Theirs: "sticky"}) {
			t.Errorf("%v", err)
		}
		if members, err := w.group.Members(deadline(t), nil); err != nil || len(members) != 1 {
			t.Errorf("%+v, %v", members, err)
		}
		three := w.join("a", func(o *Options) { o.Strategy = assign.Sticky })
		w.settled(shares{one: {0, 1}, three: {2}}) // by range, a would have 0 and 1
		w.produce(3, 0, 1, 2)
		w.committed(end, end, end)
		one.leave()
		w.settled(shares{three: {0, 1, 2}})
		if n := three.saw(Released); n != 0 {
			t.Errorf("%d partitions moved for nothing", n)
		}
		w.once()
	})
}

func TestGroupOfTheOtherKind(t *testing.T) {
	w := newWorld(t, twin(), 1)
	a, err := w.group.Lead(deadline(t), registry.KafkaGroup, 1)
	must(t, err)
	lease, err := w.admin.Lease(deadline(t))
	must(t, err)
	must(t, w.group.Join(deadline(t), lease, a, registry.Member{ID: "kafka", Pattern: registry.Static}))
	var kind *registry.KindError
	if err := w.join("one", nil).ended(); !errors.As(err, &kind) || kind.Kind != registry.KafkaGroup {
		t.Errorf("%v", err)
	}
}

func TestEvicted(t *testing.T) {
	w := newWorld(t, twin(), 2)
	one := w.join("one", nil)
	two := w.join("two", nil)
	w.settled(shares{one: {0}, two: {1}})
	lease, err := one.s.Lease(deadline(t))
	must(t, err)
	must(t, w.group.Leave(deadline(t), lease, "one"))
	if err := one.ended(); !errors.Is(err, ErrEvicted) {
		t.Errorf("%v", err)
	}
	w.settled(shares{two: {0, 1}})
}

func TestTopicIsDeleted(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		w := newWorld(t, target, 2)
		one := w.join("one", nil)
		patient := w.join("two", func(o *Options) { o.Wait = true })
		w.settled(shares{one: {0}, patient: {1}})
		w.produce(3, 0, 1)
		w.committed(end, end)
		must(t, w.admin.DeleteTopic(deadline(t), w.topic()))
		var gone *TopicError
		if err := one.ended(); !errors.As(err, &gone) || gone.Topic != "t" {
			t.Errorf("%v", err)
		}
		w.settled(shares{patient: nil})
		w.once()
		clear(w.produced)
		clear(w.delivered)
		w.create(1)
		w.produce(3, 0)
		w.settled(shares{patient: {0}})
		w.committed(end)
		w.once()
	})
}

// A topic that was deleted and created again while nobody looked is another one.
func TestTopicIsCreatedAgain(t *testing.T) {
	w := newWorld(t, twin(), 1)
	w.produce(9, 0)
	one := w.join("one", nil)
	w.settled(shares{one: {0}})
	w.committed(end)
	one.s.cut(true)
	must(t, w.admin.DeleteTopic(deadline(t), w.topic()))
	w.create(1)
	one.s.cut(false)
	var gone *TopicError
	if err := one.ended(); !errors.As(err, &gone) || !gone.Again {
		t.Errorf("%v", err)
	}
}

func TestTopicThatIsNotThere(t *testing.T) {
	w := newWorld(t, twin(), 1)
	if err := w.join("one", func(o *Options) { o.Topics = []string{"t", "u"} }).ended(); !errors.Is(err, client.ErrUnknownTopic) {
		t.Errorf("%v", err)
	}
	if owners := w.seats(); len(owners) > 0 {
		t.Errorf("left behind: %v", owners)
	}
}

func TestOffsetsOutOfRange(t *testing.T) {
	for _, row := range []struct {
		what           string
		latest, follow bool
		offset         int64 // committed; -1 for the end of what was deleted, less one
		from           int   // batch that is read first, of which 0 and 1 were deleted
	}{
		{"deleted unread, from earliest", false, true, 0, 2},
		{"deleted unread, from latest", true, true, 0, 4},
		{"behind the end, from earliest", false, true, 1 << 40, 2},
		{"behind the end, from latest", true, true, 1 << 40, 4},
		{"behind the end, and to the end", false, false, 1 << 40, 2},
		{"deleted unread, and to the end", false, false, 0, 2},
	} {
		t.Run(row.what, func(t *testing.T) {
			w := newWorld(t, twin(), 1)
			for range 4 {
				w.produce(2, 0)
			}
			w.log.expire("t", 0, 2)
			must(t, w.group.Reset(deadline(t), w.topic(), map[int32]int64{0: row.offset}, false))
			w.produced[0] = w.produced[0][2*row.from:]
			one := w.join("one", func(o *Options) { o.Latest, o.Follow = row.latest, row.follow })
			w.await("a word about it", func() bool { return one.saw(OutOfRange) == 1 }, nil)
			if row.follow {
				w.settled(shares{one: {0}})
				w.produce(2, 0)
			} else if err := one.ended(); err != io.EOF {
				t.Errorf("%v", err)
			}
			w.once()
			one.leave()
			w.committed(end)
		})
	}
}

// From latest: where a group begins is committed at once, so that it is not another place for whoever follows; and
// partitions that are added are read from their beginning.
func TestFromLatest(t *testing.T) {
	w := newWorld(t, twin(), 2)
	w.produce(3, 0, 1)
	latest := func(o *Options) { o.Latest = true }
	one := w.join("one", latest)
	w.settled(shares{one: {0, 1}})
	w.committed(end, end)
	one.leave()
	clear(w.produced)
	w.produce(3, 0, 1) // while nobody is there
	w.log.add("t", 1)
	two := w.join("two", latest)
	w.settled(shares{two: {0, 1}})
	w.produce(3, 2)
	_, err := w.admin.AddPartitions(deadline(t), w.topic(), replicas(2, 1))
	must(t, err)
	w.settled(shares{two: {0, 1, 2}})
	w.committed(end, end, end)
	w.once()
}

// From latest, a partition that is added while the group has no members is read from its beginning, and so are the first
// messages of it: nothing is skipped of a topic that the group reads. A group that begins takes none for added, whichever
// member is first to come to them.
func TestFromLatestWhileNobodyIsThere(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		w := newWorld(t, target, 2)
		w.produce(3, 0, 1)
		w.grow(1)
		w.produce(3, 2)
		latest := func(o *Options) { o.Latest = true }
		one := w.join("one", latest)
		w.settled(shares{one: {0, 1, 2}})
		w.committed(end, end, end)
		one.leave()
		clear(w.produced)
		w.grow(2)
		w.produce(3, 0, 4) // and nothing in 3, yet
		two := w.join("two", latest)
		three := w.join("three", latest)
		w.settled(shares{three: {0, 1, 2}, two: {3, 4}})
		w.produce(3, 3)
		w.committed(end, w.log.end("t", 1), w.log.end("t", 2), end, end)
		w.once()
		two.leave()
		three.leave()
	})
}

// A topic that is made again is another one: what the group has begun with is what there was when it came to it.
func TestFromLatestOfATopicMadeAgain(t *testing.T) {
	w := newWorld(t, twin(), 2)
	latest := func(o *Options) { o.Latest = true }
	one := w.join("one", latest)
	w.settled(shares{one: {0, 1}})
	one.leave()
	must(t, w.admin.DeleteTopic(deadline(t), w.topic()))
	w.await("the end of the topic", func() bool {
		_, found, err := w.admin.Topic(deadline(t), "t")
		must(t, err)
		return !found
	}, nil)
	w.create(2)
	w.produce(3, 0, 1)
	clear(w.produced) // none of it
	two := w.join("two", latest)
	w.settled(shares{two: {0, 1}})
	w.committed(w.log.end("t", 0), w.log.end("t", 1))
	w.produce(2, 1)
	w.once()
}

// A broker that does not answer holds up its own partitions, and no rebalance.
func TestBrokerThatIsAway(t *testing.T) {
	w := newWorld(t, twin(), 3)
	w.log.change(func() { w.log.away[1] = true })
	w.produce(3, 0, 1, 2)
	one := w.join("one", nil)
	w.settled(shares{one: {0, 1, 2}})
	w.committed(end, registry.NoOffset, end)
	two := w.join("two", nil)
	w.settled(shares{one: {0, 1}, two: {2}})
	w.log.change(func() { delete(w.log.away, 1) })
	w.committed(end, end, end)
	w.once()
}
