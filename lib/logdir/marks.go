package logdir

import (
	"errors"
	"path/filepath"
	"time"

	"logkit/lib/commitlog"
)

// marks are the checkpoint files as a start finds them.
type marks struct{ clean, points, starts checkpoint }

// readMarks reads the checkpoint files and deletes clean-shutdown, durably: from here on the logs may change. A damaged
// file counts as missing, which costs a longer start, and is said.
func (d *Dir) readMarks() (marks, error) {
	var m marks
	for _, file := range []struct {
		name string
		n    int
		to   *checkpoint
	}{{cleanFile, 4, &m.clean}, {recoveryPointFile, 1, &m.points}, {logStartFile, 1, &m.starts}} {
		c, err := readCheckpoint(d.fsys, d.path, file.name, file.n)
		if errors.Is(err, ErrCheckpoint) {
			d.options.Logger.Error("checkpoint is not used", "reason", err)
		} else if err != nil {
			return m, err
		}
		*file.to = c
	}
	d.written, d.starts = m.points, m.starts
	if m.clean == nil {
		return m, nil
	}
	if err := d.fsys.Remove(filepath.Join(d.path, cleanFile)); err != nil {
		return m, err
	}
	return m, d.fsys.SyncDir(d.path)
}

// of is what is known of one log.
func (m marks) of(p partition) commitlog.Checkpoint {
	var c commitlog.Checkpoint
	if v := m.points[p]; v != nil {
		c.RecoveryPoint = v[0]
	}
	if v := m.starts[p]; v != nil {
		c.Start = v[0]
	}
	if v := m.clean[p]; v != nil {
		c.Clean = &commitlog.Clean{Base: v[0], Size: v[1], High: v[2], End: v[3]}
	}
	return c
}

func (d *Dir) checkpointLoop() {
	ticker := time.NewTicker(d.options.CheckpointInterval)
	defer ticker.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-ticker.C:
			if err := d.Checkpoint(); err != nil {
				d.options.Logger.Error("recovery points are not written", "reason", err)
			}
		}
	}
}

// Checkpoint writes down up to where each log is durable, so that a start after a crash reads only what came later. It
// writes nothing when nothing has moved.
func (d *Dir) Checkpoint() error {
	d.checkpoints.Lock()
	defer d.checkpoints.Unlock()
	points := make(checkpoint)
	d.keepUnopened(points)
	moved := false
	var errs []error
	for p, log := range d.all() {
		point := log.RecoveryPoint()
		if known := d.written[p]; known != nil && known[0] == point {
			points[p] = known
			continue
		}
		moved = true
		point, err := log.Checkpoint()
		if err != nil {
			errs = append(errs, err)
			if known := d.written[p]; known != nil {
				points[p] = known
			}
			continue
		}
		points[p] = []int64{point}
	}
	if !moved {
		return nil
	}
	if err := points.write(d.fsys, d.path, recoveryPointFile); err != nil {
		return errors.Join(append(errs, err)...)
	}
	d.written = points
	return errors.Join(errs...)
}
