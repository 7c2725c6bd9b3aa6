package logdir

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"logkit/lib/commitlog"
)

// deleteSuffix marks a directory whose partition has been deleted. Whatever is left of it goes at the next start.
const deleteSuffix = "-delete"

// maxFileName is the longest name of a directory that file systems take, in bytes.
const maxFileName = 255

// Delete removes partitions of a topic, all that there are when none are named, and their records. When it returns nil
// they are gone for good: their directories have been renamed, durably; their files are deleted then too, and what cannot
// be, or a crash leaves of them, goes at the next Open. With the last partition of the topic go its settings. Readers and
// waiting producers get commitlog.ErrDeleted. Errors: ErrNoTopic when one of them is not there, or what the file system
// said to the renaming; then they are there again.
func (d *Dir) Delete(topic string, numbers ...int32) error {
	d.creating.Lock()
	defer d.creating.Unlock()
	if d.isClosed() {
		return commitlog.ErrClosed
	}
	doomed, err := d.find(topic, numbers)
	if err != nil {
		return err
	}
	// Nobody may find the logs, or write to one, any more when their files are not where they were.
	d.forget(doomed)
	abandon(doomed)
	if err := d.setAside(doomed); err != nil {
		d.bringBack(doomed)
		return fmt.Errorf("topic %q: %w", topic, err)
	}
	// What is left behind here is found, and not believed, by the next Create or Open.
	err = errors.Join(d.forgetMarks(d.has), d.removeAll(doomed))
	if !d.hasTopic(topic) {
		err = errors.Join(err, d.saveSettings(topic, nil))
	}
	if err != nil {
		d.options.Logger.Error("a deleted topic has left something behind", "topic", topic, "reason", err)
	}
	return nil
}

// doomedLog is a log on its way out.
type doomedLog struct {
	partition
	log     *commitlog.Log // nil when it could not be opened
	topicID string
	hidden  bool
	renamed string // path that its directory has by now; "" while it has its own
}

// find collects partitions that are to be deleted, the highest first.
func (d *Dir) find(topic string, numbers []int32) (list []*doomedLog, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if len(numbers) == 0 {
		all, ok := d.topic(topic, func(partition) bool { return true })
		if !ok {
			return nil, fmt.Errorf("topic %q: %w", topic, ErrNoTopic)
		}
		numbers = all.Partitions
	}
	for _, number := range numbers {
		p := partition{topic, number}
		if !d.topics[topic][number] {
			return nil, fmt.Errorf("topic %q: partition %d: %w", topic, number, ErrNoTopic)
		}
		list = append(list, &doomedLog{partition: p, log: d.logs[p], topicID: d.ids[p], hidden: d.hidden[p]})
	}
	slices.SortFunc(list, func(a, b *doomedLog) int { return cmp.Compare(b.number, a.number) })
	return list, nil
}

// abandon ends the logs all at once: who waits for one need not wait for the flush of another.
func abandon(list []*doomedLog) {
	var all sync.WaitGroup
	for _, l := range list {
		if l.log != nil {
			all.Go(l.log.Abandon)
		}
	}
	all.Wait()
}

// setAside renames the directories, in the order of the list.
func (d *Dir) setAside(list []*doomedLog) error {
	for _, l := range list {
		name := filepath.Join(d.path, l.partition.renamed(deleteSuffix))
		if err := d.fsys.Rename(filepath.Join(d.path, l.dir()), name); err != nil {
			return err
		}
		l.renamed = name
	}
	return d.fsys.SyncDir(d.path)
}

// bringBack undoes setAside and forget, durably: the logs are opened once more. One whose directory does not come back is
// lost with the next Open.
func (d *Dir) bringBack(list []*doomedLog) {
	for _, l := range list {
		if err := d.bringBackOne(l); err != nil {
			d.options.Logger.Error("partition half deleted", "dir", filepath.Join(d.path, l.dir()), "reason", err)
		}
	}
	if err := d.fsys.SyncDir(d.path); err != nil { // lest a power loss bring back the other names
		d.options.Logger.Error("partitions that came back may be gone after a power loss", "topic", list[0].topic, "reason", err)
	}
}

func (d *Dir) bringBackOne(l *doomedLog) error {
	if l.renamed != "" {
		if err := d.fsys.Rename(l.renamed, filepath.Join(d.path, l.dir())); err != nil {
			return err
		}
	}
	log, err := commitlog.Open(d.env, filepath.Join(d.path, l.dir()), d.logOptions(l.partition), d.knownMarks().of(l.partition))
	d.mu.Lock()
	if err == nil {
		d.add(l.partition, log, l.topicID)
	}
	if l.hidden {
		d.hidden[l.partition] = true
	}
	d.mu.Unlock()
	if err != nil {
		d.addUnopened(l.partition, l.topicID, err)
	}
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

// renamed is another name for the directory of a partition: its own, cut where it would be too long, a dot, a random part
// and the suffix. A dot and letters behind the last hyphen make it no partition's.
func (p partition) renamed(suffix string) string {
	var random [8]byte
	rand.Read(random[:])
	tail := "." + hex.EncodeToString(random[:]) + suffix
	name := p.dir()
	return name[:min(len(name), maxFileName-len(tail))] + tail
}

func isDoomed(name string) bool { return strings.HasSuffix(name, deleteSuffix) }

// forget takes logs out of the maps.
func (d *Dir) forget(list []*doomedLog) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range list {
		d.drop(l.partition)
	}
}

func (d *Dir) hasTopic(topic string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.topics[topic]) > 0
}

// removeAll deletes directories that have been set aside.
func (d *Dir) removeAll(list []*doomedLog) error {
	var errs []error
	for _, l := range list {
		errs = append(errs, d.fsys.RemoveAll(l.renamed))
	}
	return errors.Join(errs...)
}
