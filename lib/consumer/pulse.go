package consumer

import (
	"context"
	"time"

	"logkit/lib/registry"
)

// pulse is the last sign of life of a session: when the question was asked that ZooKeeper has answered last. The session
// can not end before a session timeout has passed since then, whatever happened to this process meanwhile.
type pulse struct {
	lease *registry.Lease
	asked time.Time
}

// alive reports whether the session is sure to be there at a time. Both clocks count: the monotonic one stands still
// while a machine is suspended, the other one may be set.
func (p pulse) alive(now time.Time, timeout time.Duration) bool {
	limit := timeout - timeout/4
	return p.lease != nil && p.lease.Err() == nil && !p.asked.IsZero() &&
		now.Sub(p.asked) < limit && now.Round(0).Sub(p.asked.Round(0)) < limit
}

// beat asks ZooKeeper again and again, until the context ends. An answer that comes while the lease holds has come in
// its session.
func (t *term) beat() {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-pause.C:
		}
		asked := time.Now()
		_, _, err := t.m.group.Arbiter(t.ctx, nil)
		if err == nil && t.lease.Err() == nil {
			t.m.mu.Lock()
			if t.m.pulse.lease == t.lease {
				was := t.m.alive()
				t.m.pulse.asked = asked
				if !was {
					t.m.broadcast()
				}
			}
			t.m.mu.Unlock()
		}
		pause.Reset(t.m.o.Session.Timeout() / 6)
	}
}

// alive reports whether what is owned may be delivered now. mu is held.
func (m *Member) alive() bool { return m.pulse.alive(time.Now(), m.o.Session.Timeout()) }

// sleep pauses, and reports whether the context is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
