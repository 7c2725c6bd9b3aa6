package consumer

import (
	"context"
	"time"

	"logkit/lib/registry"
)

// pulse is the last sign of life of a member: when the question was asked that ZooKeeper has answered last, whether it is
// registered in its session. The session can not end before a session timeout has passed since then, whatever happened to
// this process meanwhile.
//
// The member may be evicted before that. One that runs hears of it at once; one that was stopped, and goes on, has still to
// hear of what has come meanwhile: so a pause is as good as no answer.
type pulse struct {
	lease *registry.Lease
	asked time.Time
	wrote time.Time // when a write was last begun
}

// paused reports whether neither a question was answered nor a write begun for so long that the process may have been
// stopped in between.
func (p pulse) paused(now time.Time, timeout time.Duration) bool {
	return since(now, p.asked) >= timeout/4 && (p.wrote.IsZero() || since(now, p.wrote) >= timeout/4)
}

// since is the time that has passed by either clock: the monotonic one stands still while a machine is suspended, the other
// one may be set.
func since(now, then time.Time) time.Duration {
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}

// alive reports whether the session is sure to be there at a time, and the member in it.
func (p pulse) alive(now time.Time, timeout time.Duration) bool {
	return p.lease != nil && p.lease.Err() == nil && !p.asked.IsZero() && since(now, p.asked) < timeout-timeout/4 && !p.paused(now, timeout)
}

// beat asks ZooKeeper again and again, until the context ends, whether the member is registered. An answer that comes while
// the lease holds has come in its session.
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
		registered, err := t.m.group.Registered(t.ctx, t.lease, t.m.o.Member)
		switch {
		case err != nil || t.lease.Err() != nil:
		case !registered:
			t.watcher.Signal()
		default:
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
