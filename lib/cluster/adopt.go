package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"

	"logkit/lib/logdir"
	"logkit/lib/registry"
)

// adopt makes a topic of the partitions of each name that the tree does not know; they keep their records and settings. Of
// a topic that it knows, by its id, it claims those of which nobody knows who has them.
func (m *Member) adopt(ctx context.Context) error {
	here := m.here()
	for _, name := range slices.Sorted(maps.Keys(here)) {
		if t, known := m.Cluster().Topics[name]; known {
			if err := m.claim(ctx, t, here[name]); err != nil {
				return err
			}
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

// claim claims those partitions that are there of a topic, and that no other broker is known to have.
func (m *Member) claim(ctx context.Context, t registry.Topic, here []logdir.Partition) error {
	var numbers []int32
	for _, p := range here {
		known := int(p.Number) < len(t.Replicas)
		if t.ID != "" && p.TopicID == t.ID && !m.Leads(t, p.Number) && (m.options.Alone || !known || t.Replicas[p.Number][0] == registry.NoBroker) {
			numbers = append(numbers, p.Number)
		}
	}
	for chunk := range slices.Chunk(numbers, 500) { // as fit into a request
		var err error
		if t, err = m.session.ClaimPartitions(ctx, t, m.id, chunk); err != nil {
			return err
		}
	}
	if len(numbers) > 0 {
		m.logger.Warn("partitions claimed: they were here, and zookeeper did not know who had them", "topic", t.Name, "partitions", len(numbers))
	}
	return nil
}

func (m *Member) adoptTopic(ctx context.Context, name string, partitions []logdir.Partition) error {
	count := partitions[len(partitions)-1].Number + 1
	replicas := make([][]int32, count)
	for i := range replicas {
		replicas[i] = []int32{registry.NoBroker} // another broker may have it, and claim it
		if m.options.Alone {
			replicas[i][0] = m.id
		}
	}
	for _, p := range partitions {
		replicas[p.Number][0] = m.id
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
		"missing", int(count)-len(partitions))
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
