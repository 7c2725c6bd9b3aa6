package logdir

import "time"

// BeginRetention lets the logs forget what they may, from now on, by their settings. It is called once, when these are
// known.
func (d *Dir) BeginRetention() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.background.Go(d.retentionLoop)
	}
}

// retentionLoop deletes what the logs may forget, every so often.
func (d *Dir) retentionLoop() {
	ticker := time.NewTicker(d.options.RetentionCheck)
	defer ticker.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-ticker.C:
			d.Retain(time.Now())
		}
	}
}

// Retain deletes what the logs may forget at the given time. A log that cannot is said and does not stop the others.
func (d *Dir) Retain(now time.Time) {
	for p, log := range d.all() {
		if d.isHidden(p) {
			continue
		}
		segments, bytes, err := log.Retain(d.Effective(p.topic).Retention, now)
		if err != nil {
			if log.Err() == nil { // else it has been said when the log failed
				d.options.Logger.Error("retention", "log", p.dir(), "reason", err)
			}
			continue
		}
		if segments > 0 {
			d.options.Logger.Info("segments expired", "log", p.dir(), "segments", segments, "bytes", bytes,
				"start", log.Positions().Start)
		}
	}
}

// DefaultRetentionCheck is how often expired segments are looked for.
const DefaultRetentionCheck = time.Minute
