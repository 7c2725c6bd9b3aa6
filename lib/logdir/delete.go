package logdir

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"logkit/lib/commitlog"
)

// deleteSuffix marks a directory whose partition has been deleted. Whatever is left of it goes at the next start.
const deleteSuffix = "-delete"

// maxFileName is the longest name of a directory that file systems take, in bytes.
const maxFileName = 255

// Delete removes a topic and its records. When it returns nil, the topic is gone for good: its directories have been
// renamed, durably; their files are deleted then too, and what cannot be, or a crash leaves of them, goes at the next
// Open. Readers and waiting producers get commitlog.ErrDeleted. Errors: ErrNoTopic, or what the file system said to the
// renaming; then the topic is there again.
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
	// Nobody may find the logs, or write to one, any more when their files are not where they were.
	logs := d.forget(t)
	abandon(logs)
	doomed, err := d.setAside(t, logs)
	if err != nil {
		d.bringBack(logs, doomed)
		return fmt.Errorf("topic %q: %w", topic, err)
	}
	// What is left behind here is found, and not believed, by the next Create or Open.
	err = errors.Join(d.forgetMarks(d.has), d.saveSettings(topic, nil), d.removeAll(doomed))
	if err != nil {
		d.options.Logger.Error("a deleted topic has left something behind", "topic", topic, "reason", err)
	}
	return nil
}

// abandon ends the logs all at once: who waits for one need not wait for the flush of another.
func abandon(logs map[partition]*commitlog.Log) {
	var all sync.WaitGroup
	for _, log := range logs {
		all.Go(log.Abandon)
	}
	all.Wait()
}

// setAside renames the directories of a topic. The highest partition goes first: after a crash in between, what is left
// is a topic with fewer partitions, not one with a hole.
func (d *Dir) setAside(t Topic, logs map[partition]*commitlog.Log) (doomed map[partition]string, err error) {
	doomed = make(map[partition]string, len(logs))
	for number := t.Partitions - 1; number >= 0; number-- {
		p := partition{t.Name, number}
		if logs[p] == nil {
			continue
		}
		name := filepath.Join(d.path, p.doomed())
		if err := d.fsys.Rename(filepath.Join(d.path, p.dir()), name); err != nil {
			return doomed, err
		}
		doomed[p] = name
	}
	return doomed, d.fsys.SyncDir(d.path)
}

// bringBack undoes setAside and forget: the logs are opened once more. One that cannot be is missing until the next Open,
// or lost when its directory does not come back.
func (d *Dir) bringBack(logs map[partition]*commitlog.Log, doomed map[partition]string) {
	for p := range logs {
		if err := d.bringBackOne(p, doomed[p]); err != nil {
			d.options.Logger.Error("partition half deleted", "dir", filepath.Join(d.path, p.dir()), "reason", err)
		}
	}
}

func (d *Dir) bringBackOne(p partition, doomed string) error {
	dir := filepath.Join(d.path, p.dir())
	if doomed != "" {
		if err := d.fsys.Rename(doomed, dir); err != nil {
			return err
		}
	}
	log, err := commitlog.Open(d.env, dir, d.logOptions(p), d.knownMarks().of(p))
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(p, log)
	return nil
}

// knownMarks are the checkpoint files as they were last written.
func (d *Dir) knownMarks() (m marks) {
	d.startsMu.Lock()
	m.starts = d.starts
	d.startsMu.Unlock()
	d.checkpoints.Lock()
	m.points = d.written
	d.checkpoints.Unlock()
	return m
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
func (d *Dir) forget(t Topic) map[partition]*commitlog.Log {
	d.mu.Lock()
	defer d.mu.Unlock()
	logs := make(map[partition]*commitlog.Log, t.Partitions)
	for number := range t.Partitions {
		p := partition{t.Name, number}
		if log := d.logs[p]; log != nil {
			logs[p] = log
			delete(d.logs, p)
		}
	}
	delete(d.topics, t.Name)
	return logs
}

// removeAll deletes directories that have been set aside.
func (d *Dir) removeAll(doomed map[partition]string) error {
	var errs []error
	for _, dir := range doomed {
		errs = append(errs, d.fsys.RemoveAll(dir))
	}
	return errors.Join(errs...)
}
