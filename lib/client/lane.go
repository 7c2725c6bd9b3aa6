package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// inFlight is how many requests of one partition are under way at once: the broker's disk has work while answers travel.
const inFlight = 4

// lane is the way of a producer's records into one partition. Its goroutine runs from the first record on:
//
//	Add -> open -> ready -> queue -> flight -> acknowledged, refused, or back to the front of the queue
//
// Batches are handed to the network in order, up to inFlight of them ahead of the answers; one more waits encoded. An
// open batch is taken when it is full, or when it is due and nothing is in flight: under load batches grow by
// themselves. When an answer is none, or a refusal, nothing is sent until all answers are there; then what was not
// stored goes again, the oldest first, one at a time until a batch is stored.
//
// A connection that breaks loses all that follows on it, so the order is kept. Only a broker that does not know idempotent
// producers, and refuses one batch for a passing reason and stores the next one, a full disk that is not full any more,
// can bring the two out of order.
type lane struct {
	p         *Producer
	partition int32
	wake      chan struct{}
	answers   chan *flying

	// Held by p.mu.
	started  bool
	troubled bool // the last answer was no acknowledgement
	open     *batch
	due      time.Time // when the open batch has lingered long enough
	ready    []*batch

	// Of the lane's goroutine alone.
	numbers  numbering
	queue    []*batch        // encoded, in the order of sending
	flight   []*flying       // sent, in that order, and not dealt with
	ctx      context.Context // of the flight
	cancel   context.CancelFunc
	expired  bool      // the flight was cut off after the timeout
	broken   bool      // an answer was none: the rest of the flight has to land
	attempt  int       // how often sending has failed since a batch was stored
	cause    error     // of the last failed attempt
	since    time.Time // since when an answer is awaited without success; zero when none is
	resumeAt time.Time // end of the pause before the next attempt
	pause    backoff
}

// flying is a batch in flight. Its outcome is there once it was announced on the lane's answers; outcomes are dealt with
// in the order of sending.
type flying struct {
	batch *batch
	outcome
	landed bool // of the lane's goroutine
}

func newLane(p *Producer, partition int32) *lane {
	return &lane{
		p: p, partition: partition, wake: make(chan struct{}, 1), answers: make(chan *flying, inFlight),
		numbers: numbering{epoch: unnumbered},
	}
}

// start runs the lane's goroutine if it does not run yet. The mutex is held.
func (l *lane) start() {
	if !l.started {
		l.started = true
		l.p.running.Add(1)
		go l.run()
	}
}

// seal ends the open batch. The mutex is held.
func (l *lane) seal() {
	l.ready = append(l.ready, l.open)
	l.open = nil
	l.wakeUp()
}

func (l *lane) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *lane) run() {
	defer l.p.running.Done()
	defer l.land()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, done := l.step()
		if done {
			return
		}
		if wait > 0 {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
		select {
		case <-l.wake:
		case <-timer.C:
		case f := <-l.answers:
			f.landed = true
			for len(l.flight) > 0 && l.flight[0].landed {
				if !l.settle(l.flight[0]) {
					return
				}
			}
		case <-l.p.ctx.Done():
			return
		}
	}
}

// step does what can be done without waiting, and says for how long to wait for more at most (0 = until something
// happens), or that nothing will come any more.
func (l *lane) step() (wait time.Duration, done bool) {
	for {
		if len(l.queue) == 0 {
			b, wait, done := l.take()
			if b == nil {
				return l.watch(wait), done
			}
			if err := b.encode(); err != nil {
				l.giveUp(err)
				return 0, true
			}
			l.queue = append(l.queue, b)
		}
		if len(l.flight) > 0 && (l.broken || len(l.flight) >= l.depth()) {
			return l.watch(0), false
		}
		l.broken = false
		if wait := time.Until(l.resumeAt); wait > 0 {
			return l.watch(wait), false
		}
		l.launch()
	}
}

// watch shortens a wait so that a flight without an answer is cut off in time.
func (l *lane) watch(wait time.Duration) time.Duration {
	if len(l.flight) == 0 || l.expired {
		return wait
	}
	left := time.Until(l.since.Add(l.p.timeout))
	if left <= 0 {
		l.expired = true
		l.cancel()
		return wait
	}
	if wait == 0 {
		return left
	}
	return min(wait, left)
}

// depth is how many batches may be in flight.
func (l *lane) depth() int {
	if l.attempt > 0 {
		return 1
	}
	return inFlight
}

// take returns the next batch, or nil and how long to wait for one, or that there will be none.
func (l *lane) take() (b *batch, wait time.Duration, done bool) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if len(l.ready) > 0 {
		b = l.ready[0]
		l.ready = append(l.ready[:0], l.ready[1:]...)
		return b, 0, false
	}
	if len(l.flight) > 0 {
		return nil, 0, false
	}
	if l.open == nil {
		return nil, 0, l.p.closing
	}
	if wait := time.Until(l.due); wait > 0 && !l.p.closing {
		return nil, wait, false
	}
	b, l.open = l.open, nil
	return b, 0, false
}

// launch sends the first batch of the queue, and returns when it is on its way.
func (l *lane) launch() {
	b := l.queue[0]
	l.queue = append(l.queue[:0], l.queue[1:]...)
	if len(l.flight) == 0 {
		l.ctx, l.cancel = context.WithCancel(l.p.ctx)
		l.expired = false
	}
	l.numbers.number(b)
	f := &flying{batch: b}
	l.flight = append(l.flight, f)
	if l.since.IsZero() {
		l.since = time.Now()
	}
	ctx, again := l.ctx, l.attempt > 0
	sent := make(chan struct{})
	go func() {
		once := sync.OnceFunc(func() { close(sent) })
		defer once()
		f.outcome = l.p.send.send(ctx, l.partition, b.wire, again, once)
		l.answers <- f
	}()
	cutOff := time.AfterFunc(time.Until(l.since.Add(l.p.timeout)), l.cancel)
	<-sent
	l.expired = !cutOff.Stop() || l.expired
}

// landed takes the first batch out of the flight, whose outcome has been dealt with.
func (l *lane) landed() {
	f := l.flight[0]
	l.flight = append(l.flight[:0], l.flight[1:]...)
	if f.settled != nil {
		f.settled()
	}
	if len(l.flight) == 0 {
		l.cancel()
	}
}

// settle deals with the outcome of the first batch in flight, and reports whether the lane goes on.
func (l *lane) settle(a *flying) bool {
	defer l.landed()
	l.trouble(a.err != nil)
	if a.err == nil {
		l.stored(a)
		return true
	}
	if l.expired {
		a.err = context.DeadlineExceeded
	}
	behind := l.broken && l.numbers.on() // something before it is not stored, and so it is not either
	l.broken = true
	switch {
	case l.p.ctx.Err() != nil: // nobody waits any more
		return false
	case behind && (outOfSequence(a.err) || refusal(a.err)):
		l.putBack(a.batch)
		return true
	case refusal(a.err) && len(a.batch.lines) == 1:
		l.renumber()
		l.progress()
		l.p.mu.Lock()
		l.p.stats.Refused++
		l.p.mu.Unlock()
		l.p.refused(a.batch.lines[0], a.err)
		l.p.release(a.batch)
		return true
	case refusal(a.err):
		l.renumber()
		l.progress()
		halves, err := l.p.split(a.batch)
		if err == nil {
			l.putBack(halves...)
			return true
		}
		a.err = err
	case (retriable(a.err) || l.numbers.on() && outOfSequence(a.err)) && time.Since(l.since) < l.p.timeout:
		if outOfSequence(a.err) {
			l.renumber()
		}
		l.putBack(a.batch)
		l.attempt++
		l.cause = a.err
		l.resumeAt = time.Now().Add(l.pause.next())
		return true
	case errors.Is(a.err, context.DeadlineExceeded) && l.cause != nil:
		a.err = l.cause // says more than that time ran out during the last attempt
	}
	l.giveUp(a.err)
	return false
}

// renumber lets the count begin anew.
func (l *lane) renumber() {
	if l.numbers.on() {
		l.numbers.restart()
	}
}

// stored accounts for a batch that was acknowledged.
func (l *lane) stored(a *flying) {
	l.progress()
	l.p.acked(l.partition, a.batch, a.base)
	l.p.release(a.batch)
}

// giveUp ends the lane because of err.
func (l *lane) giveUp(err error) {
	l.p.giveUp(&PartitionError{Topic: l.p.opts.Topic, Partition: l.partition, Err: l.p.send.explain(err)})
}

// land waits for the rest of the flight when the lane ends: some of it may have been stored.
func (l *lane) land() {
	for len(l.flight) > 0 {
		for f := l.flight[0]; !f.landed; {
			(<-l.answers).landed = true
		}
		if f := l.flight[0]; f.err == nil {
			l.stored(f)
		}
		l.landed()
	}
}

// putBack queues batches again, where they belong.
func (l *lane) putBack(batches ...*batch) {
	l.queue = append(l.queue, batches...)
	slices.SortStableFunc(l.queue, func(a, b *batch) int { return cmp.Compare(a.first, b.first) })
}

// progress notes that the broker has dealt with a batch, while its answer still counts as in flight.
func (l *lane) progress() {
	l.attempt, l.cause, l.since, l.pause, l.resumeAt = 0, nil, time.Time{}, backoff{}, time.Time{}
	if len(l.flight) > 1 {
		l.since = time.Now()
	}
}

func (l *lane) trouble(is bool) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.troubled = is
}

// refusal reports whether a broker refused a batch for something that may be the fault of one of its records alone.
func refusal(err error) bool {
	for _, fault := range []error{
		kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.CorruptMessage,
	} {
		if errors.Is(err, fault) {
			return true
		}
	}
	return false
}
