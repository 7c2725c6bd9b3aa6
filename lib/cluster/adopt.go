package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"

	"logkit/lib/logdir"
	"logkit/lib/registry"
)

// adopt makes a topic of the partitions of each name that the tree does not know. They keep their records and settings;
// numbers that are missing among them are begun without records.
func (m *Member) adopt(ctx context.Context) error {
	here := m.here()
	for _, name := range slices.Sorted(maps.Keys(here)) {
		if _, known := m.Cluster().Topics[name]; known {
			continue
		}
		partitions, err := m.unburied(ctx, here[name])
		if err != nil {
			return err
		}
		if len(partitions) == 0 {
			continue
		}
		if err := m.adoptTopic(ctx, name, partitions); err != nil {
			return err
		}
	}
	return nil
}

// unburied are the partitions that nobody has deleted.
func (m *Member) unburied(ctx context.Context, list []logdir.Partition) (kept []logdir.Partition, err error) {
	for _, p := range list {
		dead := false
		if p.TopicID != "" && !p.Damaged() {
			if dead, err = m.session.Buried(ctx, p.TopicID, m.id); err != nil {
				return nil, err
			}
		}
		if !dead {
			kept = append(kept, p)
		}
	}
	return kept, nil
}

func (m *Member) adoptTopic(ctx context.Context, name string, partitions []logdir.Partition) error {
	count := partitions[len(partitions)-1].Number + 1
	replicas := make([][]int32, count)
	for i := range replicas {
		replicas[i] = []int32{m.id}
	}
	t, err := m.create(ctx, name, commonID(partitions), replicas, m.dir.Settings(name))
	if errors.Is(err, registry.ErrTopicExists) {
		return nil // another broker was first: align decides
	}
	if err != nil {
		return err
	}
	for _, p := range partitions {
		if p.TopicID == t.ID || p.Err != nil {
			continue
		}
		if err := m.dir.Adopt(name, p.Number, t.ID); err != nil {
			return err
		}
	}
	m.logger.Warn("topic adopted: its partitions were here, and zookeeper did not know it", "topic", name, "partitions", count,
		"without_records", int(count)-len(partitions))
	return nil
}

// commonID is the id that all partitions have, so that they are at home again where they come from; "" when there is none.
func commonID(partitions []logdir.Partition) string {
	id := ""
	for _, p := range partitions {
		switch {
		case p.Err != nil: // it may not have been readable
		case p.Damaged() || id != "" && p.TopicID != id:
			return ""
		default:
			id = p.TopicID
		}
	}
	return id
}

// create creates a topic of any number of partitions, in several steps where one is not enough. An empty id is chosen.
func (m *Member) create(ctx context.Context, name, id string, replicas [][]int32, settings logdir.Settings) (t registry.Topic, err error) {
	for n := len(replicas); ; n /= 2 {
		if id == "" {
			t, err = m.session.CreateTopic(ctx, name, replicas[:n], settings)
		} else {
			t, err = m.session.AdoptTopic(ctx, name, id, replicas[:n], settings)
		}
		if errors.Is(err, registry.ErrTooLarge) && n > 1 {
			continue
		}
		if err == nil && n < len(replicas) {
			return m.session.AddPartitions(ctx, t, replicas[n:])
		}
		return t, err
	}
}
