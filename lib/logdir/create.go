package logdir

import (
	"fmt"
	"path/filepath"

	"logkit/lib/commitlog"
)

// Create makes a topic with the given number of partitions, at least one, and with those settings, which may be nil. It
// is durable on return. Errors: ErrExists, *TopicNameError, *SettingError, or what the file system said; then the topic
// is not there, and what had been made of it is deleted as far as that is possible.
func (d *Dir) Create(topic string, partitions int32, s Settings) error {
	if err := ValidTopic(topic); err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return fmt.Errorf("topic %q: %w", topic, err)
	}
	if partitions < 1 {
		return fmt.Errorf("topic %q: %d partitions, at least 1 allowed", topic, partitions)
	}
	d.creating.Lock()
	defer d.creating.Unlock()
	if _, ok := d.Topic(topic); ok {
		return fmt.Errorf("topic %q: %w", topic, ErrExists)
	}
	if d.isClosed() {
		return commitlog.ErrClosed
	}
	if err := d.saveSettings(topic, s); err != nil {
		return err
	}
	return d.createPartitions(topic, 0, partitions)
}

// AddPartitions gives a topic more partitions, up to the given number of them. It is durable on return. Errors:
// ErrNoTopic, ErrFewer when the number is not higher than before, or what the file system said.
func (d *Dir) AddPartitions(topic string, partitions int32) error {
	d.creating.Lock()
	defer d.creating.Unlock()
	t, ok := d.Topic(topic)
	if !ok {
		return fmt.Errorf("topic %q: %w", topic, ErrNoTopic)
	}
	if partitions <= t.Partitions {
		return fmt.Errorf("topic %q: %d partitions, it has %d: %w", topic, partitions, t.Partitions, ErrFewer)
	}
	return d.createPartitions(topic, t.Partitions, partitions)
}

// createPartitions makes the partitions [from, to) of a topic, durably, and shows them all at once. creating is held.
func (d *Dir) createPartitions(topic string, from, to int32) error {
	if d.isClosed() {
		return commitlog.ErrClosed
	}
	if err := d.forgetMarks(d.has); err != nil {
		return err
	}
	logs, err := d.createLogs(topic, from, to)
	if err == nil {
		err = d.fsys.SyncDir(d.path)
	}
	if err != nil {
		d.undo(topic, from, to, logs)
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, log := range logs {
		d.add(partition{topic, from + int32(i)}, log)
	}
	return nil
}

// undo deletes what has been made of partitions that are not to be.
func (d *Dir) undo(topic string, from, to int32, logs []*commitlog.Log) {
	for _, log := range logs {
		log.Abandon()
	}
	for number := from; number < min(to, from+int32(len(logs))+1); number++ { // one may be half made
		if err := d.fsys.RemoveAll(filepath.Join(d.path, partition{topic, number}.dir())); err != nil {
			d.options.Logger.Error("partition half created", "topic", topic, "partition", number, "reason", err)
		}
	}
}

func (d *Dir) createLogs(topic string, from, to int32) (logs []*commitlog.Log, err error) {
	for number := from; number < to; number++ {
		p := partition{topic, number}
		dir := filepath.Join(d.path, p.dir())
		if err := d.fsys.MkdirAll(dir); err != nil {
			return logs, fmt.Errorf("topic %q: partition %d: %w", topic, number, err)
		}
		log, err := commitlog.Open(d.env, dir, d.logOptions(p), commitlog.Checkpoint{})
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
