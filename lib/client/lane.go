package client

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// lane is the way of a producer's records into one partition. Its goroutine runs from the first record on:
//
//	Add -> open -> ready -> queue -> flight -> acknowledged, refused, or back to the front of the queue
//
// One batch is in flight, at most one more waits encoded in the queue, unless a refused batch was taken apart. An open
// batch is taken when it is full, or when it is due and nothing is in flight: under load batches grow by themselves.
type lane struct {
	p         *Producer
	partition int32
	wake      chan struct{}
	answers   chan answer

	// Held by p.mu.
	started  bool
	troubled bool // the last answer was no acknowledgement
	open     *batch
	due      time.Time // when the open batch has lingered long enough
	ready    []*batch

	// Of the lane's goroutine alone.
	queue    []*batch // encoded, in the order of sending
	flight   *batch
	attempt  int       // how often the batch in flight has been sent before
	cause    error     // of the last failed attempt
	since    time.Time // since when an answer is awaited without success; zero when none is
	resumeAt time.Time // end of the pause before the next attempt
	pause    backoff
}

// answer is what became of the batch in flight.
type answer struct {
	base int64
	err  error
}

func newLane(p *Producer, partition int32) *lane {
	return &lane{p: p, partition: partition, wake: make(chan struct{}, 1), answers: make(chan answer, 1)}
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
		case a := <-l.answers:
			if !l.settle(a) {
				return
			}
		case <-l.p.ctx.Done():
			if l.flight != nil { // its request ends with the context, and may still have brought an acknowledgement
				l.settle(<-l.answers)
			}
			return
		}
	}
}

// step does what can be done without waiting, and says for how long to wait for more at most (0 = until something
// happens), or that nothing will come any more.
func (l *lane) step() (wait time.Duration, done bool) {
	if len(l.queue) == 0 {
		b, wait, done := l.take()
		if b == nil {
			return wait, done
		}
		if err := b.encode(); err != nil {
			l.p.giveUp(&PartitionError{Topic: l.p.opts.Topic, Partition: l.partition, Err: err})
			return 0, true
		}
		l.queue = append(l.queue, b)
	}
	if l.flight != nil {
		return 0, false
	}
	if wait := time.Until(l.resumeAt); wait > 0 {
		return wait, false
	}
	l.launch()
	return l.step() // the next batch is encoded while this one is under way
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
	if l.flight != nil {
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

// launch sends the first batch of the queue.
func (l *lane) launch() {
	b := l.queue[0]
	l.queue = append(l.queue[:0], l.queue[1:]...)
	l.flight = b
	if l.since.IsZero() {
		l.since = time.Now()
	}
	again := l.attempt > 0
	deadline := l.since.Add(l.p.timeout)
	go func() {
		ctx, cancel := context.WithDeadline(l.p.ctx, deadline)
		defer cancel()
		base, err := l.p.send.send(ctx, l.partition, b.wire, again)
		l.answers <- answer{base, err}
	}()
}

// settle deals with the answer for the batch in flight, and reports whether the lane goes on.
func (l *lane) settle(a answer) bool {
	b := l.flight
	l.flight = nil
	if l.trouble(a.err != nil); a.err == nil {
		l.progress()
		l.p.acked(l.partition, b, a.base)
		l.p.release(b)
		return true
	}
	switch {
	case l.p.ctx.Err() != nil: // nobody waits any more
		return false
	case refusal(a.err) && len(b.lines) == 1:
		l.progress()
		l.p.mu.Lock()
		l.p.stats.Refused++
		l.p.mu.Unlock()
		l.p.refused(b.lines[0], a.err)
		l.p.release(b)
		return true
	case refusal(a.err):
		l.progress()
		halves, err := l.p.split(b)
		if err == nil {
			l.queue = append(halves, l.queue...)
			return true
		}
		a.err = err
	case retriable(a.err) && time.Since(l.since) < l.p.timeout:
		l.queue = append([]*batch{b}, l.queue...)
		l.attempt++
		l.cause = a.err
		l.resumeAt = time.Now().Add(l.pause.next())
		return true
	case errors.Is(a.err, context.DeadlineExceeded) && l.cause != nil:
		a.err = l.cause // says more than that time ran out during the last attempt
	}
	l.p.giveUp(&PartitionError{Topic: l.p.opts.Topic, Partition: l.partition, Err: l.p.send.explain(a.err)})
	return false
}

// progress notes that the broker has dealt with a batch.
func (l *lane) progress() {
	l.attempt, l.cause, l.since, l.pause, l.resumeAt = 0, nil, time.Time{}, backoff{}, time.Time{}
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
