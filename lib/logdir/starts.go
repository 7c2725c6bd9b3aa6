package logdir

import (
	"maps"
	"sync"

	"logkit/lib/commitlog"
)

// logOptions are the options of one log.
func (d *Dir) logOptions(p partition) commitlog.Options {
	o := d.Effective(p.topic).Log
	o.SaveStart = func(start int64) error { return d.saveStart(p, start) }
	return o
}

// saveStart remembers that start is the smallest id of a log, durably.
func (d *Dir) saveStart(p partition, start int64) error {
	d.startsMu.Lock()
	defer d.startsMu.Unlock()
	starts := maps.Clone(d.starts)
	if starts == nil {
		starts = make(checkpoint)
	}
	starts[p] = []int64{start}
	if err := starts.write(d.fsys, d.path, logStartFile); err != nil {
		return err
	}
	d.starts = starts
	return nil
}

// forgetMarks drops, durably, what is remembered of logs that are not there, lest logs made under their names be taken
// for them. keep tells which are there.
func (d *Dir) forgetMarks(keep func(partition) bool) error {
	if err := d.forgetIn(&d.startsMu, &d.starts, logStartFile, keep); err != nil {
		return err
	}
	return d.forgetIn(&d.checkpoints, &d.written, recoveryPointFile, keep)
}

func (d *Dir) forgetIn(mu *sync.Mutex, known *checkpoint, file string, keep func(partition) bool) error {
	mu.Lock()
	defer mu.Unlock()
	kept, changed := known.only(keep)
	if !changed {
		return nil
	}
	if err := kept.write(d.fsys, d.path, file); err != nil {
		return err
	}
	*known = kept
	return nil
}

// only is a copy of c with those entries that are to be kept. changed: they are not all.
func (c checkpoint) only(keep func(partition) bool) (kept checkpoint, changed bool) {
	kept = make(checkpoint, len(c))
	for p, numbers := range c {
		if keep(p) {
			kept[p] = numbers
		}
	}
	return kept, len(kept) != len(c)
}

// has tells whether a partition is there, served or not.
func (d *Dir) has(p partition) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.topics[p.topic][p.number]
}
