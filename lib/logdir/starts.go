package logdir

import (
	"maps"

	"logkit/lib/commitlog"
)

// logOptions are the options of one log.
func (d *Dir) logOptions(p partition) commitlog.Options {
	o := d.options.Log
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
	d.startsMu.Lock()
	defer d.startsMu.Unlock()
	if starts, changed := d.starts.only(keep); changed {
		if err := starts.write(d.fsys, d.path, logStartFile); err != nil {
			return err
		}
		d.starts = starts
	}
	d.checkpoints.Lock()
	defer d.checkpoints.Unlock()
	if points, changed := d.written.only(keep); changed {
		if err := points.write(d.fsys, d.path, recoveryPointFile); err != nil {
			return err
		}
		d.written = points
	}
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

// has tells whether the log of a partition is open.
func (d *Dir) has(p partition) bool {
	_, ok := d.Log(p.topic, p.number)
	return ok
}
