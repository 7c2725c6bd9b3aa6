package zkserver

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// reapContainers is how often empty containers are looked for, as in ZooKeeper.
const reapContainers = time.Minute

// runTicker ends silent sessions and removes empty containers until the server is closed.
func (s *Server) runTicker() {
	every := max(s.opts.TickTime/4, time.Millisecond)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	last, reaped := bootTime(), s.sinceStart()
	for {
		select {
		case <-s.done:
			return
		case <-ticker.C:
		}
		last = s.tick(last)
		if s.sinceStart()-reaped > int64(reapContainers) {
			reaped = s.sinceStart()
			s.removeContainers()
		}
	}
}

// bootTime is a clock that nobody sets and that goes on while the machine is suspended, unlike Go's.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0 // never on Linux; suspensions are not noticed then
	}
	return time.Duration(ts.Nano())
}

// tick ends the sessions whose time is over, unless this server was not there for them: stopped, or kept from answering
// by its disk, for longer than a tick. Then they all get a fresh timeout. last is what the look before this one
// returned: when, by bootTime, it took place.
func (s *Server) tick(last time.Duration) (looked time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// In this order: a stop between the two calls counts now, and one behind them the next time.
	now := s.sinceStart()
	looked = bootTime()
	stopped := looked-last > s.opts.TickTime
	if began := s.committing.Load(); began != 0 && now-began > int64(s.opts.TickTime) {
		stopped = true
	}
	if stopped || s.refusal() != nil {
		for _, sess := range s.sessions {
			sess.touch(now)
		}
		return looked
	}
	for _, sess := range s.sessions {
		if sess.deadline.Load() > now {
			continue
		}
		c := sess.conn
		s.endSession(sess)
		s.log.Debug("zookeeper session expired", "session", inHex(sess.id), "timeout", sess.timeout)
		if c != nil {
			c.kill()
		}
	}
	return looked
}

// removeContainers deletes the container nodes that have had children and have none.
func (s *Server) removeContainers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusal() != nil {
		return
	}
	var empty []string
	for path := range s.tree.containers {
		if n := s.tree.find(path); n.creates > 0 && len(n.children) == 0 {
			empty = append(empty, path)
		}
	}
	slices.Sort(empty)
	for _, path := range empty {
		x := s.begin(0, nil)
		x.remove(path)
		s.publish(x)
	}
}
