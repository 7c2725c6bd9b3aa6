package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// Topic is what a topic's node says.
type Topic struct {
	Name     string
	ID       string    // random, given at creation; "" for topics that are not ours
	Replicas [][]int32 // brokers of each partition; the first one leads while it is there; {NoBroker}: nobody knows
	Deleting bool      // for good: there is no way back
}

// NoBroker stands for the broker of a partition of which nobody knows who has it: it has no leader until one claims it.
const NoBroker = -1

// Errors of topics.
var (
	ErrTopicExists  = errors.New("registry: topic exists")
	ErrTopicDeleted = errors.New("registry: topic is being deleted")
	ErrNoTopic      = errors.New("registry: no such topic")
	ErrPartitions   = errors.New("registry: another number of partitions")
)

// CreateTopic creates a topic with an id, its partitions and settings, all at once: no one ever sees a part of it. It is
// there on return. ErrTopicExists, ErrTopicDeleted: the name is in use, still. ErrTooLarge: more partitions than one
// request to ZooKeeper holds, 1,700 for a name of 20 bytes; AddPartitions goes on from there.
func (s *Session) CreateTopic(ctx context.Context, name string, replicas [][]int32, settings map[string]string) (Topic, error) {
	return s.createTopic(ctx, name, NewID, replicas, settings)
}

// AdoptTopic is CreateTopic for a topic that has an id already: its partitions are there, and the tree does not know it.
func (s *Session) AdoptTopic(ctx context.Context, name, id string, replicas [][]int32, settings map[string]string) (Topic, error) {
	if err := checkID(id); err != nil {
		return Topic{}, err
	}
	return s.createTopic(ctx, name, func() string { return id }, replicas, settings)
}

func (s *Session) createTopic(ctx context.Context, name string, newID func() string, replicas [][]int32, settings map[string]string) (Topic, error) {
	if err := CheckTopic(name); err != nil {
		return Topic{}, err
	}
	if err := checkReplicas(replicas); err != nil {
		return Topic{}, fmt.Errorf("topic %q: %w", name, err)
	}
	t := Topic{Name: name, Replicas: replicas}
	var tried []string
	err := s.change(ctx, name, func(ctx context.Context) ([]any, error) {
		found, ok, err := s.Topic(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case ok && slices.Contains(tried, found.ID):
			t.ID = found.ID
			return nil, errDone
		case ok && found.Deleting:
			return nil, ErrTopicDeleted
		case ok:
			return nil, ErrTopicExists
		}
		t.ID = newID() // another one each time: what was created and deleted meanwhile stays deleted
		tried = append(tried, t.ID)
		config, err := s.planSettings(ctx, name, settings)
		if err != nil {
			return nil, err
		}
		marked, err := s.exists(ctx, deleteMark(name))
		if err != nil {
			return nil, err
		}
		if marked {
			return nil, ErrTopicDeleted
		}
		ops := []any{config, s.opCreate(topicPath(name), t.encode(), 0), s.opCreate(partitions(name), nil, 0)}
		return append(ops, s.opPartitions(name, 0, replicas)...), nil
	})
	if err != nil {
		return Topic{}, fmt.Errorf("topic %q: %w", name, err)
	}
	return t, nil
}

func checkReplicas(replicas [][]int32) error {
	if len(replicas) == 0 {
		return errors.New("0 partitions, allowed is at least 1")
	}
	for p, brokers := range replicas {
		if !validReplicas(brokers) {
			return fmt.Errorf("partition %d: replicas %v, allowed are ids of brokers", p, brokers)
		}
	}
	return nil
}

func validReplicas(brokers []int32) bool {
	return len(brokers) > 0 && (slices.Min(brokers) >= 0 || len(brokers) == 1 && brokers[0] == NoBroker)
}

// ClaimPartitions makes a broker the one that has partitions of a topic, all at once, as the operator says who knows that
// it has them. Where the topic has fewer, it gets more, and those in between NoBroker. Errors as with AddPartitions.
func (s *Session) ClaimPartitions(ctx context.Context, t Topic, broker int32, numbers []int32) (Topic, error) {
	want := t
	err := s.change(ctx, t.Name, func(ctx context.Context) ([]any, error) {
		found, stat, err := s.same(ctx, t)
		if err != nil {
			return nil, err
		}
		want = found
		want.Replicas = slices.Clone(found.Replicas)
		for _, number := range numbers {
			for int(number) >= len(want.Replicas) {
				want.Replicas = append(want.Replicas, []int32{NoBroker})
			}
			want.Replicas[number] = []int32{broker}
		}
		if slices.EqualFunc(found.Replicas, want.Replicas, slices.Equal[[]int32]) {
			return nil, errDone
		}
		had := len(found.Replicas)
		ops := []any{s.opSet(topicPath(t.Name), want.encode(), stat.Version)}
		for number := range had {
			if !slices.Equal(found.Replicas[number], want.Replicas[number]) {
				path := statePath(partitionPath(t.Name, int32(number)))
				ops = append(ops, s.opSet(path, encodeState(want.Replicas[number]), anyVersion))
			}
		}
		return append(ops, s.opPartitions(t.Name, had, want.Replicas[had:])...), nil
	})
	if err != nil {
		return t, fmt.Errorf("topic %q: %w", t.Name, err)
	}
	return want, nil
}

// opPartitions creates the nodes of partitions from a number on.
func (s *Session) opPartitions(topic string, from int, replicas [][]int32) []any {
	ops := make([]any, 0, 2*len(replicas))
	for i, brokers := range replicas {
		path := partitionPath(topic, int32(from+i))
		ops = append(ops, s.opCreate(path, nil, 0), s.opCreate(statePath(path), encodeState(brokers), 0))
	}
	return ops
}

// AddPartitions adds partitions to the ones that t has, all at once or, where they are too many for one request, some
// at once: whoever looks sees a whole topic, of fewer partitions. t is as it was read; ErrPartitions: it has another
// number by now. ErrNoTopic, ErrTopicDeleted: it is gone, or another one of that name.
func (s *Session) AddPartitions(ctx context.Context, t Topic, added [][]int32) (Topic, error) {
	if err := checkReplicas(added); err != nil {
		return t, fmt.Errorf("topic %q: %w", t.Name, err)
	}
	for len(added) > 0 {
		n := min(len(added), s.partitionsPerMulti(t))
		if n == 0 {
			return t, fmt.Errorf("topic %q of %d partitions: %w", t.Name, len(t.Replicas), ErrTooLarge)
		}
		more, err := s.addPartitions(ctx, t, added[:n])
		if err != nil {
			return t, fmt.Errorf("topic %q: %w", t.Name, err)
		}
		t, added = more, added[n:]
	}
	return t, nil
}

// partitionsPerMulti is how many partitions can be added at once, with room to spare.
func (s *Session) partitionsPerMulti(t Topic) int {
	path := partitionPath(t.Name, maxPartition)
	replica := t.Replicas[0]
	each := opSize(s.opCreate(path, nil, 0)) + opSize(s.opCreate(statePath(path), encodeState(replica), 0)) +
		len(`,"":[]`) + 10 + 12*len(replica)
	room := maxMulti - len(t.encode()) - 2*keptChanges*(64+len(s.root)) - 4096
	return max(room/each, 0)
}

const maxPartition = 1<<31 - 1

func (s *Session) addPartitions(ctx context.Context, t Topic, added [][]int32) (Topic, error) {
	want := t
	want.Replicas = slices.Concat(t.Replicas, added)
	unknown := false
	err := s.change(ctx, t.Name, func(ctx context.Context) ([]any, error) {
		found, stat, err := s.same(ctx, t)
		if err != nil {
			return nil, err
		}
		if unknown && slices.EqualFunc(found.Replicas, want.Replicas, slices.Equal[[]int32]) {
			return nil, errDone
		}
		if len(found.Replicas) != len(t.Replicas) {
			return nil, fmt.Errorf("%d partitions, expected were %d: %w", len(found.Replicas), len(t.Replicas), ErrPartitions)
		}
		unknown = true
		return append([]any{s.opSet(topicPath(t.Name), want.encode(), stat.Version)},
			s.opPartitions(t.Name, len(t.Replicas), added)...), nil
	})
	return want, err
}

// same reads the topic that t was read from, and returns an error when it is another one by now.
func (s *Session) same(ctx context.Context, t Topic) (Topic, *zk.Stat, error) {
	data, stat, found, err := s.find(ctx, topicPath(t.Name))
	if err != nil {
		return t, nil, err
	}
	if !found {
		return t, nil, ErrNoTopic
	}
	now, err := decodeTopic(t.Name, data)
	switch {
	case err != nil:
		return t, nil, at(topicPath(t.Name), err)
	case now.ID != t.ID:
		return t, nil, ErrNoTopic
	case now.Deleting:
		return now, stat, ErrTopicDeleted
	}
	return now, stat, nil
}

// Topic reads one topic. One that is being deleted is found, too.
func (s *Session) Topic(ctx context.Context, name string) (t Topic, found bool, err error) {
	data, _, found, err := s.find(ctx, topicPath(name))
	if err != nil || !found {
		return Topic{}, false, err
	}
	t, err = decodeTopic(name, data)
	return t, err == nil, at(topicPath(name), err)
}

// WatchTopic is Topic for whoever is concerned with few topics, and with no brokers: see View for those who are. The
// watcher becomes dirty when the topic changes, is deleted, or, where there is none, is created.
func (s *Session) WatchTopic(ctx context.Context, name string, w *Watcher) (t Topic, found bool, err error) {
	if err := CheckTopic(name); err != nil {
		return Topic{}, false, err
	}
	data, found, err := s.dataW(ctx, w, topicPath(name))
	if err != nil || !found {
		return Topic{}, false, err
	}
	t, err = decodeTopic(name, data)
	return t, err == nil, at(topicPath(name), err)
}

// Topics reads all topics. What nobody can read is left out, and logged.
func (s *Session) Topics(ctx context.Context) (map[string]Topic, error) {
	names, _, err := s.children(ctx, topicsPath)
	if err != nil {
		return nil, err
	}
	return s.topicsNamed(ctx, names)
}

// topicsNamed reads the topics of these names that there are.
func (s *Session) topicsNamed(ctx context.Context, names []string) (map[string]Topic, error) {
	read := make([]Topic, len(names))
	err := s.each(len(names), func(i int) error {
		data, _, found, err := s.find(ctx, topicPath(names[i]))
		if err != nil || !found {
			return err
		}
		if read[i], err = decodeTopic(names[i], data); err != nil {
			s.options.Logger.Warn("topic left out", "path", topicPath(names[i]), "error", err)
		}
		return nil
	})
	topics := make(map[string]Topic, len(names))
	for _, t := range read {
		if t.Name != "" {
			topics[t.Name] = t
		}
	}
	return topics, err
}

// State reads the state node of a partition.
func (s *Session) State(ctx context.Context, topic string, partition int32) (PartitionState, error) {
	path := statePath(partitionPath(topic, partition))
	data, _, err := s.get(ctx, path)
	if err != nil {
		return PartitionState{}, err
	}
	state, err := decodeState(data)
	return state, at(path, err)
}
