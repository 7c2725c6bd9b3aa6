package logdir

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"logkit/lib/commitlog"
)

// deleteSuffix marks a directory whose partition has been deleted. Whatever is left of it goes at the next start.
const deleteSuffix = "-delete"

// maxFileName is the longest name of a directory that file systems take, in bytes.
const maxFileName = 255

// Delete removes a topic and its records. When it returns, the topic is gone for good: its directories have been
// renamed, durably; their files are deleted then too, and what a crash leaves of them goes at the next Open. Readers get
// commitlog.ErrDeleted. Errors: ErrNoTopic, or what the file system said.
func (d *Dir) Delete(topic string) error {
	d.creating.Lock()
	defer d.creating.Unlock()
	if d.isClosed() {
		return commitlog.ErrClosed
	}
	t, ok := d.Topic(topic)
	if !ok {
		return fmt.Errorf("topic %q: %w", topic, ErrNoTopic)
	}
	doomed, err := d.setAside(t)
	if err != nil {
		return fmt.Errorf("topic %q: %w", topic, err)
	}
	logs := d.forget(t)
	if err := d.forgetMarks(d.has); err != nil {
		return fmt.Errorf("topic %q: %w", topic, err)
	}
	if err := d.saveSettings(topic, nil); err != nil {
		return fmt.Errorf("topic %q: %w", topic, err)
	}
	for _, log := range logs {
		log.Abandon()
	}
	return d.removeAll(doomed)
}

// setAside renames the directories of a topic. The highest partition goes first: after a crash in between, what is left
// is a topic with fewer partitions, not one with a hole.
func (d *Dir) setAside(t Topic) (doomed []string, err error) {
	for number := t.Partitions - 1; number >= 0; number-- {
		p := partition{t.Name, number}
		if _, ok := d.Log(t.Name, number); !ok {
			continue
		}
		name := filepath.Join(d.path, p.doomed())
		if err := d.fsys.Rename(filepath.Join(d.path, p.dir()), name); err != nil {
			return doomed, err
		}
		doomed = append(doomed, name)
	}
	return doomed, d.fsys.SyncDir(d.path)
}

// doomed is the name of the directory of a deleted partition: the old one, cut where it would be too long, a dot, a
// random part and the suffix. A dot and letters behind the last hyphen make it no partition's.
func (p partition) doomed() string {
	var random [8]byte
	rand.Read(random[:])
	tail := "." + hex.EncodeToString(random[:]) + deleteSuffix
	name := p.dir()
	return name[:min(len(name), maxFileName-len(tail))] + tail
}

func isDoomed(name string) bool { return strings.HasSuffix(name, deleteSuffix) }

// forget takes a topic out of the maps and returns its logs.
func (d *Dir) forget(t Topic) (logs []*commitlog.Log) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for number := range t.Partitions {
		p := partition{t.Name, number}
		if log := d.logs[p]; log != nil {
			logs = append(logs, log)
			delete(d.logs, p)
		}
	}
	delete(d.topics, t.Name)
	return logs
}

// removeAll deletes directories that have been set aside. What it cannot delete stays until the next start.
func (d *Dir) removeAll(doomed []string) error {
	var errs []error
	for _, dir := range doomed {
		errs = append(errs, d.fsys.RemoveAll(dir))
	}
	return errors.Join(errs...)
}
