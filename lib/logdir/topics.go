package logdir

import (
	"maps"
	"slices"

	"logkit/lib/commitlog"
)

// Topic is a topic of which the directory has partitions.
type Topic struct {
	Name       string
	Partitions int32 // they are numbered from 0
}

// Log returns the log of a partition. ok is false when the directory does not have it.
func (d *Dir) Log(topic string, number int32) (log *commitlog.Log, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	log, ok = d.logs[partition{topic, number}]
	return log, ok
}

// all returns a copy of the map of logs.
func (d *Dir) all() map[partition]*commitlog.Log {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return maps.Clone(d.logs)
}

// Topic returns a topic by its name. ok is false when the directory has no partition of it.
func (d *Dir) Topic(name string) (t Topic, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	n, ok := d.topics[name]
	return Topic{name, n}, ok
}

// Topics returns all topics, sorted by name.
func (d *Dir) Topics() []Topic {
	d.mu.RLock()
	defer d.mu.RUnlock()
	topics := make([]Topic, 0, len(d.topics))
	for _, name := range slices.Sorted(maps.Keys(d.topics)) {
		topics = append(topics, Topic{name, d.topics[name]})
	}
	return topics
}
