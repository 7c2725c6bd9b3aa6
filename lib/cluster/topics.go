package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"logkit/lib/logdir"
	"logkit/lib/registry"
)

// CreateTopic creates a topic with those replicas, one broker for each partition, and settings. On return the partitions
// that are this broker's are durable and served; others know of theirs by a watch. Errors: registry.ErrTopicExists,
// registry.ErrTopicDeleted, what ZooKeeper said, or the file system: then the topic is gone again.
func (m *Member) CreateTopic(ctx context.Context, name string, replicas [][]int32, settings logdir.Settings) (registry.Topic, error) {
	t, err := m.create(ctx, name, "", replicas, settings)
	if err != nil {
		return t, err
	}
	err = m.served(ctx, t)
	if disk := (*DiskError)(nil); errors.As(err, &disk) {
		return t, errors.Join(err, m.DeleteTopic(ctx, t))
	}
	return t, err
}

// AddPartitions gives a topic more partitions, as CreateTopic does. What the disk refuses of them is tried again later.
func (m *Member) AddPartitions(ctx context.Context, t registry.Topic, added [][]int32) error {
	t, err := m.session.AddPartitions(ctx, t, added)
	if err != nil {
		return err
	}
	return m.served(ctx, t)
}

// DeleteTopic deletes a topic. On return it is gone from ZooKeeper and from this broker.
func (m *Member) DeleteTopic(ctx context.Context, t registry.Topic) error {
	if err := m.session.DeleteTopic(ctx, t); err != nil {
		return err
	}
	return m.until(ctx, func() (bool, error) {
		if now, known := m.Cluster().Topics[t.Name]; known && now.ID == t.ID {
			return false, nil
		}
		here := m.dir.PartitionsOf(t.Name)
		if !slices.ContainsFunc(here, func(p logdir.Partition) bool { return p.TopicID == t.ID }) {
			return true, nil
		}
		return false, m.failure(t.Name)
	})
}

// ChangeSettings lets edit change, in place, what has been set for a topic; it may be called more than once. On return
// the change holds here; on others it does when their watch has told them. *DiskError: it holds, but not here yet.
func (m *Member) ChangeSettings(ctx context.Context, topic string, edit func(logdir.Settings) error) error {
	err := m.session.ChangeSettings(ctx, topic, func(set map[string]string) error { return edit(set) })
	if err != nil {
		return err
	}
	if err := m.apply(ctx); err != nil {
		return err
	}
	defer m.applied()
	if _, here := m.dir.Topic(topic); !here {
		return nil
	}
	settings, err := m.settings(ctx, topic)
	if err != nil {
		return err
	}
	err = m.dir.SetSettings(topic, settings)
	if errors.Is(err, logdir.ErrNoTopic) { // deleted meanwhile
		return fmt.Errorf("topic %q: %w", topic, registry.ErrNoTopic)
	}
	return disk(err)
}

// Settings are what has been set for a topic, wherever its partitions are.
func (m *Member) Settings(ctx context.Context, topic string) (logdir.Settings, error) {
	if _, here := m.dir.Topic(topic); here {
		return m.dir.Settings(topic), nil
	}
	return m.settings(ctx, topic)
}

// Find looks a topic up that the last look at the tree has not shown: it may have been created since, by another broker.
// When it was, Find waits until this broker knows it.
func (m *Member) Find(ctx context.Context, name string) (t registry.Topic, found bool, err error) {
	if t, found = m.Cluster().Topics[name]; found {
		return t, true, nil
	}
	t, found, err = m.session.Topic(ctx, name)
	if err != nil || !found || t.Deleting {
		return t, false, err
	}
	err = m.until(ctx, func() (bool, error) {
		t, found = m.Cluster().Topics[name]
		return found, nil
	})
	return t, found, err
}

// Spread lays n partitions over the brokers that are there, evenly.
func (m *Member) Spread(n int) ([][]int32, error) {
	return registry.Spread(slices.Collect(maps.Keys(m.Brokers())), registry.Load(m.Cluster().Topics), n)
}

// served waits until the partitions of t that are this broker's are served.
func (m *Member) served(ctx context.Context, t registry.Topic) error {
	return m.until(ctx, func() (bool, error) {
		now, known := m.Cluster().Topics[t.Name]
		if !known || now.ID != t.ID || len(now.Replicas) < len(t.Replicas) {
			return false, nil
		}
		for number := range t.Replicas {
			if n := int32(number); m.Leads(t, n) && !m.isServed(t, n) {
				return false, m.failure(t.Name)
			}
		}
		return true, nil
	})
}

// isServed tells whether a partition is served here, or never will be before the next start.
func (m *Member) isServed(t registry.Topic, number int32) bool {
	if _, ok := m.Log(t.Name, number); ok {
		return true
	}
	return slices.ContainsFunc(m.dir.PartitionsOf(t.Name), func(p logdir.Partition) bool {
		return p.Number == number && p.TopicID == t.ID && p.Err != nil
	})
}

// failure is why a topic is not served here as it should be.
func (m *Member) failure(topic string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed[topic]
}

// until waits for what rounds of the follower bring. done is not called in the middle of one.
func (m *Member) until(ctx context.Context, done func() (bool, error)) error {
	for {
		m.mu.Lock()
		rounds := m.rounds
		m.mu.Unlock()
		if err := m.apply(ctx); err != nil {
			return err
		}
		ok, err := done()
		m.applied()
		if ok || err != nil {
			return err
		}
		select {
		case <-rounds:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
