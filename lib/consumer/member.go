package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"logkit/lib/client"
	"logkit/lib/registry"
)

// Member is a member of a group. Next and Batch.Deliver are for one goroutine; Confirm, Assignment and Close are for any.
type Member struct {
	o      Options
	group  *registry.Group
	reader Reader
	ends   map[partition]int64 // where reading ends; nil with Follow

	ctx      context.Context // ends when everything shall
	cancel   context.CancelCauseFunc
	work     context.Context // ends, with Close, before: there is still to be released
	quit     context.CancelCauseFunc
	finished chan struct{} // closed when the loop has ended
	helpers  sync.WaitGroup
	wake     chan struct{} // something the loop may wait for has happened
	telling  sync.Mutex
	// reads is held from a change of what is to be read until the reader was told, so that it is told in that order.
	// The reader takes what it is told at once. It is locked before mu.
	reads sync.Mutex

	// The loop's.
	session int64            // in which the claims were made
	reset   string           // mark of the last reset that was seen
	topics  map[string]known // as they were seen last
	away    bool             // ZooKeeper, and it was told

	// The caller's.
	chunks []client.Chunk // that are still to be handed over

	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, with every change of what follows that somebody may wait for
	claims  map[partition]*claim
	pulse   pulse
	settled bool  // the claims are the target
	err     error // why the member has ended
	left    int   // partitions of which not all that was delivered was committed then
	tags    int64 // of spans, so far
}

// known is what a member knows of a topic.
type known struct {
	registry.Topic
	first int // partitions when it was seen first: those from there on were added
}

// Join starts a member. Without Options.Follow it asks the brokers for the ends of the topics, and returns what comes in
// the way; all else is told by Next. Close must be called.
func Join(ctx context.Context, o Options) (*Member, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	group, err := o.Session.Group(o.Group)
	if err != nil {
		return nil, err
	}
	m := &Member{
		o: o, group: group,
		finished: make(chan struct{}), wake: make(chan struct{}, 1),
		changed: make(chan struct{}), claims: map[partition]*claim{}, topics: map[string]known{},
	}
	if !o.Follow {
		if m.ends, err = readEnds(ctx, o); err != nil {
			return nil, err
		}
	}
	m.ctx, m.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	m.work, m.quit = context.WithCancelCause(m.ctx)
	m.reader = o.Source.NewReader(o.Reader)
	go m.run()
	return m, nil
}

// readEnds asks for the ends of all partitions that there are.
func readEnds(ctx context.Context, o Options) (map[partition]int64, error) {
	ends := map[partition]int64{}
	for _, name := range o.Topics {
		topic, err := o.Source.Topic(ctx, name, false)
		if errors.Is(err, client.ErrUnknownTopic) && o.Wait {
			continue
		}
		if err != nil {
			return nil, err
		}
		ids := make([]int32, len(topic.Partitions))
		for i, p := range topic.Partitions {
			ids[i] = p.ID
		}
		found, err := o.Source.Offsets(ctx, name, ids, client.AtEnd)
		if err != nil {
			return nil, err
		}
		for id, end := range found {
			ends[partition{name, id}] = end
		}
	}
	return ends, nil
}

// Name is the member's in the group.
func (m *Member) Name() string { return m.o.Member }

// Assignment returns the partitions that the member owns, in order, and whether those are all it shall have.
func (m *Member) Assignment() (owned map[string][]int32, settled bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	owned = map[string][]int32{}
	for p := range m.claims {
		owned[p.topic] = append(owned[p.topic], p.id)
	}
	for _, ids := range owned {
		slices.Sort(ids)
	}
	return owned, m.settled && m.err == nil
}

// Close ends the member: what was delivered is committed, its partitions are released and it leaves the group, so that
// others take over at once. It waits until that is done, or the context ends: ZooKeeper then does it when the session
// ends. A write that does not come back is not waited for longer than Drain, nor than the context. ErrUncommitted: some
// of what was delivered will be delivered again.
func (m *Member) Close(ctx context.Context) error {
	m.quit(ErrClosed)
	var errs []error
	select {
	case <-m.finished:
	case <-ctx.Done():
		errs = append(errs, context.Cause(ctx))
		m.cancel(ErrClosed)
		<-m.finished
	}
	m.cancel(ErrClosed)
	m.helpers.Wait()
	m.reader.Close()
	if m.left > 0 {
		errs = append(errs, fmt.Errorf("%w: %d partitions", ErrUncommitted, m.left))
	}
	return errors.Join(errs...)
}

// run holds one lease after the other.
func (m *Member) run() {
	defer close(m.finished)
	pause := m.o.Debounce
	for {
		began := time.Now()
		err := m.term()
		if final(err) {
			m.end(err)
			return
		}
		if time.Since(began) > m.o.Session.Timeout() {
			pause = m.o.Debounce
		}
		m.suspended(err)
		select {
		case <-time.After(pause):
		case <-m.work.Done():
			m.end(ErrClosed)
			return
		}
		pause = min(2*pause, time.Second)
	}
}

// final reports whether an error ends the member, rather than a lease.
func final(err error) bool {
	for _, e := range []error{ErrClosed, ErrEvicted, registry.ErrClosed, client.ErrUnavailable, client.ErrUnknownTopic} {
		if errors.Is(err, e) {
			return true
		}
	}
	return errors.As(err, new(*TopicError)) || errors.As(err, new(*StrategyError)) || errors.As(err, new(*registry.KindError))
}

// suspended tells that a lease has ended.
func (m *Member) suspended(err error) {
	kind := Retried
	if errors.Is(err, registry.ErrFenced) || errors.Is(err, registry.ErrExpired) {
		kind, m.away = Away, true
	}
	m.tell(Event{Kind: kind, Err: err})
}

// end lets everything that waits return err.
func (m *Member) end(err error) {
	m.reads.Lock()
	defer m.reads.Unlock()
	m.mu.Lock()
	m.err = err
	m.settled = false
	claims := m.claims
	m.claims = map[partition]*claim{}
	for _, c := range claims {
		c.gone = true
		if c.mark > c.owned.Offset {
			m.left++
		}
	}
	m.broadcast()
	m.mu.Unlock()
	for p := range claims {
		m.reader.Remove(p.topic, p.id)
	}
}

// tell must not be called with mu held.
func (m *Member) tell(e Event) {
	if m.o.Told != nil {
		m.telling.Lock()
		defer m.telling.Unlock()
		m.o.Told(e)
	}
}

// broadcast wakes everybody who waits for a change. mu is held.
func (m *Member) broadcast() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// poke wakes the loop.
func (m *Member) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// leaseOf waits for a lease: as long as it takes when following, else no longer than Patience.
func (m *Member) leaseOf(ctx context.Context) (*registry.Lease, error) {
	if m.o.Follow {
		return m.o.Session.Lease(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, m.o.Patience)
	defer cancel()
	lease, err := m.o.Session.Lease(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = &client.ZooKeeperError{Addr: "of the group", Err: fmt.Errorf("no session within %v", m.o.Patience)}
	}
	return lease, err
}
