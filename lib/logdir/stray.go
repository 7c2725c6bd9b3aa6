package logdir

import (
	"errors"
	"fmt"
	"path/filepath"

	"logkit/lib/commitlog"
)

// straySuffix marks the directory of a partition that another one of its name has taken the place of.
const straySuffix = "-stray"

// SetAside makes place for another partition of the same name: the log is closed, and its directory gets another name,
// which it returns, durably. Nothing of it is deleted, now or later. ErrNoTopic: it is not there.
func (d *Dir) SetAside(topic string, number int32) (name string, err error) {
	d.creating.Lock()
	defer d.creating.Unlock()
	if d.isClosed() {
		return "", commitlog.ErrClosed
	}
	p := partition{topic, number}
	d.mu.Lock()
	there, l := d.topics[topic][number], &doomedLog{partition: p, log: d.logs[p], topicID: d.ids[p], hidden: d.hidden[p]}
	d.drop(p)
	d.mu.Unlock()
	if !there {
		return "", fmt.Errorf("topic %q: partition %d: %w", topic, number, ErrNoTopic)
	}
	var closed error
	if l.log != nil {
		_, closed = l.log.Close()
	}
	name = filepath.Join(d.path, p.renamed(straySuffix))
	if err := d.fsys.Rename(filepath.Join(d.path, p.dir()), name); err != nil {
		return "", errors.Join(err, closed, d.bringBackOne(l))
	}
	return name, errors.Join(d.fsys.SyncDir(d.path), d.forgetMarks(d.has))
}
