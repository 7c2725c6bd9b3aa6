package logdir

import (
	"fmt"
	"path/filepath"

	"logkit/lib/commitlog"
)

// Create makes partitions of a topic, all of them or none, and makes s, which may be nil, the topic's settings. topicID
// is kept with each partition and tells topics of the same name apart. It is durable on return. Errors: ErrExists when one
// of them is there, hidden or not, *TopicNameError, *SettingError, or what the file system said; then what had been made
// is deleted as far as that is possible.
func (d *Dir) Create(topic, topicID string, numbers []int32, s Settings) error {
	if err := ValidTopic(topic); err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return fmt.Errorf("topic %q: %w", topic, err)
	}
	d.creating.Lock()
	defer d.creating.Unlock()
	if d.isClosed() {
		return commitlog.ErrClosed
	}
	if len(numbers) == 0 {
		return fmt.Errorf("topic %q: no partitions", topic)
	}
	for _, number := range numbers {
		if number < 0 || d.has(partition{topic, number}) {
			return fmt.Errorf("topic %q: partition %d: %w", topic, number, ErrExists)
		}
	}
	before := d.Settings(topic)
	if err := d.saveSettings(topic, s); err != nil {
		return err
	}
	if err := d.createPartitions(topic, topicID, numbers); err != nil {
		if undone := d.saveSettings(topic, before); undone != nil {
			d.options.Logger.Error("settings of a topic that was not created stay", "topic", topic, "reason", undone)
		}
		return err
	}
	return nil
}

// createPartitions makes partitions, durably, and shows them all at once. creating is held.
func (d *Dir) createPartitions(topic, topicID string, numbers []int32) error {
	if err := d.forgetMarks(d.has); err != nil {
		return err
	}
	logs, err := d.createLogs(topic, topicID, numbers)
	if err == nil {
		err = d.fsys.SyncDir(d.path)
	}
	if err != nil {
		d.undo(topic, numbers, logs)
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, log := range logs {
		d.add(partition{topic, numbers[i]}, log, topicID)
	}
	return nil
}

// undo deletes what has been made of partitions that are not to be.
func (d *Dir) undo(topic string, numbers []int32, logs []*commitlog.Log) {
	for _, log := range logs {
		log.Abandon()
	}
	for _, number := range numbers[:min(len(numbers), len(logs)+1)] { // one may be half made
		if err := d.fsys.RemoveAll(filepath.Join(d.path, partition{topic, number}.dir())); err != nil {
			d.options.Logger.Error("partition half created", "topic", topic, "partition", number, "reason", err)
		}
	}
}

func (d *Dir) createLogs(topic, topicID string, numbers []int32) (logs []*commitlog.Log, err error) {
	for _, number := range numbers {
		p := partition{topic, number}
		dir := filepath.Join(d.path, p.dir())
		err := d.fsys.MkdirAll(dir)
		if err == nil {
			err = writeTopicID(d.fsys, dir, topicID) // first: a log is never seen without it
		}
		if err != nil {
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
