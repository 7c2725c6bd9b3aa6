package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"logkit/lib/logdir"
	"logkit/lib/registry"
)

// DiskError is what the file system of this broker refused.
type DiskError struct{ Err error }

func (e *DiskError) Error() string { return e.Err.Error() }
func (e *DiskError) Unwrap() error { return e.Err }

func disk(err error) error {
	if err == nil {
		return nil
	}
	return &DiskError{err}
}

// atOnce is how many topics are aligned at the same time when all are: each asks ZooKeeper something.
const atOnce = 16

// alignAll aligns all topics, of the tree and of the directory, and forgets tombstones that stand for nothing.
func (m *Member) alignAll(ctx context.Context) error {
	names := maps.Clone(m.here())
	for name := range m.Cluster().Topics {
		if names[name] == nil {
			names[name] = []logdir.Partition{}
		}
	}
	sorted := slices.Sorted(maps.Keys(names))
	err := registry.Each(len(sorted), atOnce, func(i int) error { return m.try(ctx, sorted[i]) })
	if err != nil {
		return err
	}
	return m.unbury(ctx)
}

// here are the partitions of the directory by topic.
func (m *Member) here() map[string][]logdir.Partition {
	by := make(map[string][]logdir.Partition)
	for _, p := range m.dir.Partitions() {
		by[p.Topic] = append(by[p.Topic], p)
	}
	return by
}

// align brings the directory in line with the tree, as far as one topic is concerned. The package comment has the rules.
func (m *Member) align(ctx context.Context, name string) (err error) {
	m.look(name)
	defer func() { m.looked(name, err == nil) }()
	t, known := m.Cluster().Topics[name]
	t.Name = name
	var settings logdir.Settings
	if known && m.hasPart(t) {
		if settings, err = m.settings(ctx, name); err != nil {
			return err
		}
	}
	buried, err := m.resolve(ctx, t, known)
	if err != nil {
		return err
	}
	if err := m.serve(t, settings); err != nil {
		return err
	}
	for _, id := range buried {
		if err := m.session.Unbury(ctx, id, m.id); err != nil {
			return err
		}
	}
	return nil
}

func (m *Member) hasPart(t registry.Topic) bool {
	for number := range t.Replicas {
		if m.Leads(t, int32(number)) {
			return true
		}
	}
	return false
}

// resolve decides about the partitions that are there, and returns the ids of deleted topics that are gone now.
func (m *Member) resolve(ctx context.Context, t registry.Topic, known bool) (buried []string, err error) {
	var dead []int32
	for _, p := range m.dir.PartitionsOf(t.Name) {
		ours := known && m.Leads(t, p.Number)
		switch {
		case ours && p.TopicID == t.ID && !p.Hidden && p.Err == nil:
			continue
		case p.Err != nil && (p.TopicID == "" || p.Damaged() || known && p.TopicID == t.ID):
			continue // said when it could not be opened
		case ours && (p.TopicID == t.ID || p.TopicID == ""):
			m.logger.Info("partition taken in", "topic", p.Topic, "partition", p.Number)
			if err := m.dir.Adopt(p.Topic, p.Number, t.ID); err != nil {
				return nil, disk(err)
			}
			continue
		case p.Damaged() || p.TopicID == "" || known && p.TopicID == t.ID:
			m.hide(p, t, known)
			continue
		}
		gone := slices.Contains(buried, p.TopicID)
		if !gone {
			if gone, err = m.session.Buried(ctx, p.TopicID, m.id); err != nil {
				return nil, err
			}
		}
		switch {
		case gone:
			dead = append(dead, p.Number)
			if !slices.Contains(buried, p.TopicID) {
				buried = append(buried, p.TopicID)
			}
		case ours:
			if err := m.setAside(p, t); err != nil {
				return nil, disk(err)
			}
		default:
			m.hide(p, t, known)
		}
	}
	if len(dead) == 0 {
		return nil, nil
	}
	if err := m.dir.Delete(t.Name, dead...); err != nil {
		for _, number := range dead {
			m.dir.Hide(t.Name, number) // gone for all, and tried again
		}
		return nil, disk(err)
	}
	m.logger.Info("partitions of a deleted topic removed", "topic", t.Name, "partitions", len(dead))
	return buried, nil
}

func (m *Member) setAside(p logdir.Partition, t registry.Topic) error {
	name, err := m.dir.SetAside(p.Topic, p.Number)
	if err == nil {
		m.logger.Error("partition is of another topic of that name, which nobody has deleted: it is kept, and not served",
			"topic", p.Topic, "partition", p.Number, "topic_id", p.TopicID, "expected", t.ID, "kept_in", name)
	}
	return err
}

// hide keeps a partition from being served, and says why, once.
func (m *Member) hide(p logdir.Partition, t registry.Topic, known bool) {
	m.dir.Hide(p.Topic, p.Number)
	reason, hint := "zookeeper does not know the topic", "--adopt makes it one"
	switch {
	case p.Damaged():
		reason, hint = "the id of its topic is damaged", "to serve it: stop logd, remove the partition.metadata beside the log, start it"
	case known && p.TopicID != t.ID && p.TopicID != "":
		reason, hint = "it is of another topic of that name", "none: read it with logsegdump"
	case known && (int(p.Number) >= len(t.Replicas) || t.Replicas[p.Number][0] == registry.NoBroker):
		reason, hint = "zookeeper does not know who has it", "--adopt claims it"
	case known:
		holder := t.Replicas[p.Number][0]
		reason, hint = fmt.Sprintf("it is broker %d's", holder),
			fmt.Sprintf("if this is the directory of broker %d: --id %d --adopt, on a copy that has no other id", holder, holder)
	}
	m.once(slog.LevelError, p.Topic, fmt.Sprintf("%d %s", p.Number, reason), "partition is kept, and not served: "+reason,
		"topic", p.Topic, "partition", p.Number, "topic_id", p.TopicID, "hint", hint)
}

// serve begins the logs that are missing, and lets the settings hold.
func (m *Member) serve(t registry.Topic, settings logdir.Settings) error {
	taken := make(map[int32]bool)
	for _, p := range m.dir.PartitionsOf(t.Name) {
		taken[p.Number] = true
	}
	var missing []int32
	for number := range t.Replicas {
		if n := int32(number); m.Leads(t, n) && !taken[n] {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 {
		if err := m.dir.Create(t.Name, t.ID, missing, settings); err != nil {
			return disk(err)
		}
		m.logger.Info("partitions begun", "topic", t.Name, "partitions", len(missing), "first", missing[0])
	}
	if _, any := m.dir.Topic(t.Name); any && settings != nil {
		return disk(m.dir.SetSettings(t.Name, settings))
	}
	return nil
}

// settings reads what has been set for a topic. What this broker does not understand is left out, and said once.
func (m *Member) settings(ctx context.Context, name string) (logdir.Settings, error) {
	set, err := m.session.Settings(ctx, name)
	if err != nil {
		return nil, err
	}
	usable := make(logdir.Settings, len(set))
	for key, value := range set {
		if err := (logdir.Settings{key: value}).Check(); err != nil {
			m.once(slog.LevelWarn, name, key+"="+value, "setting is not used", "topic", name, "reason", err)
			continue
		}
		usable[key] = value
	}
	return usable, nil
}

// unbury takes away tombstones of this broker that nothing lies under: a crash came between, or there never was anything.
func (m *Member) unbury(ctx context.Context) error {
	ids, err := m.session.Tombstones(ctx, m.id)
	if err != nil || len(ids) == 0 {
		return err
	}
	used := make(map[string]bool)
	for _, t := range m.Cluster().Topics {
		used[t.ID] = true // it may have been buried since the tree was read
	}
	for _, p := range m.dir.Partitions() {
		used[p.TopicID] = true
	}
	for _, id := range ids {
		if used[id] {
			continue
		}
		if err := m.session.Unbury(ctx, id, m.id); err != nil {
			return err
		}
	}
	return nil
}
