package consumer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"logkit/lib/assign"
	"logkit/lib/registry"
)

// term is the time of one lease, and of one arbiter of the group.
type term struct {
	m       *Member
	ctx     context.Context // ends with the lease
	work    context.Context // and with Close
	lease   *registry.Lease
	arbiter registry.Arbiter
	watcher *registry.Watcher
	roster  *registry.Roster
	timer   *time.Timer // fires when the next step is due
	due     time.Time
	pause   time.Duration // after an error
	audit   bool          // there may be partitions that this session owns and nobody knows of
}

// parallel is how many calls to ZooKeeper are made at a time.
const parallel = 16

// term waits for a lease and acts for the group until it ends, or the member does; see final.
func (m *Member) term() error {
	lease, err := m.leaseOf(m.work)
	if err != nil {
		if m.work.Err() != nil {
			err = ErrClosed
		}
		return err
	}
	t := &term{m: m, lease: lease, watcher: registry.NewWatcher(), timer: time.NewTimer(0), due: time.Now(), pause: m.o.Debounce}
	ctx, cancel := context.WithCancelCause(m.ctx)
	work, quit := context.WithCancelCause(ctx)
	defer context.AfterFunc(m.work, func() { quit(ErrClosed) })()
	t.ctx, t.work = ctx, work
	t.roster = m.group.Roster(t.watcher)
	var running sync.WaitGroup
	running.Go(func() {
		select {
		case <-lease.Done():
			cancel(lease.Err())
		case <-ctx.Done():
		}
	})
	err = t.begin()
	if err == nil {
		running.Go(t.beat)
		if m.away {
			m.away = false
			m.tell(Event{Kind: Back})
		}
		err = t.run()
	}
	if err = t.cause(err); final(err) {
		t.retire()
	}
	cancel(ErrClosed)
	running.Wait()
	t.watcher.Close()
	t.timer.Stop()
	return err
}

// cause replaces an error that came of an end by the reason of that end.
func (t *term) cause(err error) error {
	switch {
	case final(err):
		return err
	case t.m.work.Err() != nil:
		return ErrClosed
	case t.lease.Err() != nil:
		return t.lease.Err()
	}
	return err
}

// begin makes the lease the one that counts: in the same session as before with what was claimed in it, else with nothing.
func (t *term) begin() (err error) {
	m := t.m
	if t.arbiter, err = m.group.Lead(t.work, registry.RegistryGroup, -1); err != nil {
		return err
	}
	claims := t.owned()
	if t.lease.ID() != m.session {
		for _, c := range claims {
			t.drop(c, registry.ErrExpired)
		}
		claims = nil
		t.audit = m.session != 0
	}
	m.session = t.lease.ID()
	if err := t.join(); err != nil {
		return err
	}
	if err := t.recheck(claims); err != nil {
		return err
	}
	m.mu.Lock()
	m.pulse = pulse{lease: t.lease}
	m.mu.Unlock()
	return nil
}

// join registers the member, unless the group is one of another strategy. A registration of an earlier session goes when
// that session does.
func (t *term) join() error {
	m := t.m
	members, err := t.roster.Refresh(t.work)
	if err != nil {
		return err
	}
	if _, err := t.allies(members); err != nil {
		return err
	}
	me := registry.Member{ID: m.o.Member, Subscription: map[string]int32{}, Pattern: registry.Static, Strategy: string(m.o.Strategy)}
	for _, topic := range m.o.Topics {
		me.Subscription[topic] = 1
	}
	return m.group.Join(t.work, t.lease, t.arbiter, me)
}

// allies are the members that assign partitions as the group does: as the one of them does that was there first. The
// member is refused when it is not among them.
func (t *term) allies(members []registry.Member) ([]registry.Member, error) {
	if len(members) == 0 {
		return nil, nil
	}
	first := slices.MinFunc(members, func(a, b registry.Member) int { return int(min(max(a.Order-b.Order, -1), 1)) })
	if s, err := assign.Parse(first.Strategy); err != nil || s != t.m.o.Strategy {
		theirs := first.Strategy
		if err == nil {
			theirs = string(s)
		}
		return nil, &StrategyError{Group: t.m.o.Group, Member: first.ID, Mine: t.m.o.Strategy, Theirs: theirs}
	}
	return slices.DeleteFunc(slices.Clone(members), func(m registry.Member) bool { return m.Strategy != first.Strategy }), nil
}

// run takes steps when they are due.
func (t *term) run() error {
	commit := time.NewTicker(t.m.o.CommitEvery)
	defer commit.Stop()
	for {
		var err error
		select {
		case <-t.work.Done():
			return context.Cause(t.work)
		case <-t.watcher.Dirty():
			// Changes come in swarms, and all members hear of them at once.
			t.schedule(t.m.o.Debounce/2 + rand.N(t.m.o.Debounce))
		case <-t.timer.C:
			t.due = time.Time{}
			if err = t.step(); err == nil {
				t.pause = t.m.o.Debounce
				t.schedule(t.m.o.Resync/2 + rand.N(t.m.o.Resync))
			}
		case <-commit.C:
			err = t.commit()
		case <-t.m.wake:
			err = t.finish()
		}
		switch {
		case err == nil:
		case final(err) || t.work.Err() != nil || errors.Is(err, registry.ErrTerm) || errors.Is(err, registry.ErrExpired) || errors.Is(err, registry.ErrFenced):
			return err
		default:
			t.m.tell(Event{Kind: Retried, Err: err})
			t.schedule(t.pause)
			t.pause = min(2*t.pause, time.Second)
		}
	}
}

// schedule lets the next step be due after a pause, unless it is due before that.
func (t *term) schedule(pause time.Duration) {
	due := time.Now().Add(pause)
	if !t.due.IsZero() && t.due.Before(due) {
		return
	}
	t.due = due
	t.timer.Reset(pause)
}

// owned returns the claims, in order.
func (t *term) owned() []*claim {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	claims := make([]*claim, 0, len(t.m.claims))
	for _, c := range t.m.claims {
		claims = append(claims, c)
	}
	slices.SortFunc(claims, func(a, b *claim) int { return comparePartitions(a.partition, b.partition) })
	return claims
}

// recheck finds out which of the claims still hold, and where they were reset to.
func (t *term) recheck(claims []*claim) error {
	return each(len(claims), func(i int) error {
		return t.outcome(claims[i], t.m.group.Recheck(t.work, t.lease, claims[i].owned))
	})
}

// outcome does what an error demands that concerns one claim alone. Others are returned.
func (t *term) outcome(c *claim, err error) error {
	var reset *registry.ResetError
	switch {
	case errors.As(err, &reset):
		t.m.tell(Event{Kind: Reset, Topic: c.topic, Partition: c.id, Offset: reset.Offset})
		t.m.begin([]*claim{c}, func(int) int64 { return reset.Offset })
		return nil
	case errors.Is(err, registry.ErrNotOwner):
		t.drop(c, err)
		return nil
	}
	return err
}

// drop forgets a claim that holds no longer. What was delivered and not committed will be delivered again, by another.
func (t *term) drop(c *claim, err error) {
	m := t.m
	m.reads.Lock()
	m.mu.Lock()
	c.gone = true
	delete(m.claims, c.partition)
	m.settled = false
	mark := c.mark
	m.broadcast()
	m.mu.Unlock()
	m.reader.Remove(c.topic, c.id)
	m.reads.Unlock()
	if mark != c.owned.Offset {
		m.tell(Event{Kind: Lost, Topic: c.topic, Partition: c.id, Offset: mark, Err: err})
	} else {
		m.tell(Event{Kind: Released, Topic: c.topic, Partition: c.id, Offset: mark})
	}
}

// retire releases everything and leaves the group, as long as the lease holds and it does not take too long.
func (t *term) retire() {
	m := t.m
	for _, c := range t.owned() {
		t.close(c)
	}
	ctx, cancel := context.WithTimeout(t.ctx, m.o.Drain)
	defer cancel()
	err := t.release(ctx)
	for err == nil && len(t.owned()) > 0 {
		select {
		case <-m.wake:
			err = t.release(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if t.audit && err == nil {
		err = t.disown(ctx)
	}
	if err == nil {
		err = m.group.Leave(ctx, t.lease, m.o.Member)
	}
	if err != nil && t.lease.Err() == nil {
		m.tell(Event{Kind: Retried, Err: fmt.Errorf("leaving the group: %w", err)})
	}
}

// each calls f for all numbers below n, some at a time, all of them, and returns the errors.
func each(n int, f func(i int) error) error {
	errs := make([]error, n)
	limit := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i := range n {
		limit <- struct{}{}
		wg.Go(func() {
			errs[i] = f(i)
			<-limit
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
