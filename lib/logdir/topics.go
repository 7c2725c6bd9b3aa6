package logdir

import (
	"fmt"
	"maps"
	"path/filepath"
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

// Create makes a topic with the given number of partitions, at least one. It is durable on return. Errors: ErrExists,
// *TopicNameError, or what the file system said; then the topic is not there until the next Open, which may find some of
// its partitions.
func (d *Dir) Create(topic string, partitions int32) error {
	if err := ValidTopic(topic); err != nil {
		return err
	}
	if partitions < 1 {
		return fmt.Errorf("topic %q: %d partitions, at least 1 allowed", topic, partitions)
	}
	d.creating.Lock()
	defer d.creating.Unlock()
	if d.isClosed() {
		return commitlog.ErrClosed
	}
	if _, ok := d.Topic(topic); ok {
		return fmt.Errorf("topic %q: %w", topic, ErrExists)
	}
	logs, err := d.createLogs(topic, partitions)
	if err == nil {
		err = d.fsys.SyncDir(d.path)
	}
	if err != nil {
		for _, log := range logs {
			log.Close()
		}
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for number, log := range logs {
		d.add(partition{topic, int32(number)}, log)
	}
	return nil
}

func (d *Dir) createLogs(topic string, partitions int32) (logs []*commitlog.Log, err error) {
	for number := range partitions {
		dir := filepath.Join(d.path, partition{topic, number}.dir())
		if err := d.fsys.MkdirAll(dir); err != nil {
			return logs, fmt.Errorf("topic %q: partition %d: %w", topic, number, err)
		}
		log, err := commitlog.Open(d.env, dir, d.options.Log, commitlog.Checkpoint{})
		if err != nil {
			return logs, fmt.Errorf("topic %q: partition %d: %w", topic, number, err)
		}
		logs = append(logs, log)
	}
	return logs, nil
}

func (d *Dir) isClosed() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.closed
}
