package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"logkit/lib/assign"
	"logkit/lib/cli"
	"logkit/lib/client"
	"logkit/lib/consumer"
	"logkit/lib/registry"
)

// share is a run of the tool as a member of a group.
type share struct {
	*tail
	member  *consumer.Member
	session *registry.Session
	confirm *confirmations // nil without --confirm
	at      point          // of the output, as it was written

	mu      sync.Mutex
	shown   map[partition]int64 // ids below were printed, or are being printed, by this process
	strange map[partition]bool  // it was told that others are confirmed
}

func newShare(o *options, env *cli.Env, c *client.Client) *share {
	return &share{tail: newTail(o, env, c), shown: map[partition]int64{}, strange: map[partition]bool{}}
}

func (s *share) run(ctx context.Context, topics []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	topics = unique(topics)
	s.titles(topics)
	err := s.join(ctx, topics, cancel)
	if s.confirm != nil {
		defer s.confirm.close()
	}
	if err != nil {
		return s.result(ctx, err)
	}
	stuck, err := patiently(ctx, func() error { return s.print(ctx) })
	if stuck { // what is in that write comes again
		s.leave(ctx)
		return err
	}
	return s.result(ctx, errors.Join(err, s.leave(ctx)))
}

// mention tells what is no failure.
func (s *share) mention(format string, args ...any) {
	if !s.o.quiet {
		s.env.Say(format, args...)
	}
}

// join begins to be a member. What goes wrong with that is told by print.
func (s *share) join(ctx context.Context, topics []string, fail func(error)) error {
	if s.o.confirm != "" {
		var err error
		if s.confirm, err = openConfirmations(s.o.confirm, s.mention); err != nil {
			return err
		}
	}
	session, err := s.c.DialZooKeeper(ctx, client.ZooKeeper{
		Servers: s.o.zookeeper.Servers, Chroot: s.o.zookeeper.Chroot, SessionTimeout: time.Duration(s.o.sessionTimeout),
	})
	if err != nil {
		return err
	}
	s.session = session
	s.member, err = consumer.Join(ctx, consumer.Options{
		Session: session, Source: consumer.FromClient(s.c), Group: string(s.o.group), Topics: topics,
		Strategy: assign.Strategy(s.o.strategy), Latest: s.o.from == "latest", Follow: s.o.following(), Wait: s.o.retry,
		Confirm: s.confirm != nil, Patience: s.o.timeout, Told: s.event,
		Reader: client.ReaderOptions{Outage: s.told},
	})
	if err != nil {
		return err
	}
	if s.o.verbose {
		s.env.Say("group %q: member %q", s.o.group, s.member.Name())
	}
	if s.confirm != nil {
		s.confirm.begin(func(topic string, id int32, next int64) error {
			if !slices.Contains(topics, topic) {
				return fmt.Errorf("not a topic that is read, allowed are %s", strings.Join(topics, ", "))
			}
			s.confirmedBy(partition{topic, id}, next)
			return nil
		}, fail, func() {
			s.mention("--confirm: %s: nobody has opened it for writing yet; nothing is committed before", s.o.confirm)
		})
	}
	return nil
}

// print prints what comes, until there is nothing more to come.
func (s *share) print(ctx context.Context) error {
	for !s.out.full() {
		b, err := s.next(ctx)
		switch {
		case err == nil:
			err = s.printBatch(ctx, b)
		case errors.Is(err, io.EOF), errors.Is(err, errIdle):
			return s.confirmed(ctx)
		}
		if err != nil {
			return err
		}
	}
	return s.confirmed(ctx)
}

var errIdle = errors.New("nothing came")

// next waits for a batch, or, with --idle, for nothing.
func (s *share) next(ctx context.Context) (*consumer.Batch, error) {
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if s.o.idle > 0 {
		idle := time.AfterFunc(time.Duration(s.o.idle), func() { cancel(s.idled()) })
		defer idle.Stop()
	}
	b, err := s.member.Next(waiting)
	if errors.Is(err, consumer.ErrEvicted) {
		err = fmt.Errorf("group %q: %w", s.o.group, err)
	}
	return b, err
}

// idled is what a silence means: a broker that is away is silent, too.
func (s *share) idled() error {
	if s.outage.Load() {
		return fmt.Errorf("%w for %v", client.ErrUnavailable, s.o.idle.String())
	}
	return errIdle
}

// confirmed waits until all that was printed is confirmed. Whoever reads may go away instead, which ctx tells.
func (s *share) confirmed(ctx context.Context) error {
	if s.confirm == nil {
		return nil
	}
	return s.member.Confirmed(ctx)
}

// printBatch prints the messages of a batch. They go out in writes of their own, so that what is to be committed is known, and
// what is another member's meanwhile stays unwritten.
func (s *share) printBatch(ctx context.Context, b *consumer.Batch) error {
	for _, d := range b.Damage {
		s.damage(d)
	}
	next := b.From
	for _, batch := range b.Batches {
		err := s.it.Reset(batch)
		if err == nil && s.it.Header().Attributes.Control() {
			continue
		}
		for err == nil && s.it.Next(&s.rec) {
			if s.rec.Offset < next || s.rec.Offset >= b.End {
				continue
			}
			s.out.add(b.Topic, b.Partition, &s.rec)
			next = s.rec.Offset + 1
			if s.out.full() || len(s.out.buf) >= outputBytes {
				if going, err := s.deliver(ctx, b, next); !going {
					return err
				}
			}
		}
		if err == nil {
			err = s.it.Err()
		}
		if err != nil {
			s.damage(&client.DamageError{Topic: b.Topic, Partition: b.Partition, Offset: max(next, s.it.Header().BaseOffset), Err: err})
			next = max(next, s.it.Header().LastOffset()+1)
		}
	}
	_, err := s.deliver(ctx, b, next)
	return err
}

// deliver writes what is in the buffer. It returns false when no more of the batch is to be printed.
func (s *share) deliver(ctx context.Context, b *consumer.Batch, next int64) (going bool, err error) {
	if next == b.From {
		return true, nil
	}
	err = b.Deliver(ctx, next, func() error {
		s.mu.Lock()
		at := partition{b.Topic, b.Partition}
		s.shown[at] = max(s.shown[at], next)
		s.mu.Unlock()
		return s.out.flush()
	})
	if err == nil {
		s.at = s.out.point()
		return !s.out.full(), nil
	}
	s.out.forget(s.at)
	if errors.Is(err, consumer.ErrRevoked) {
		err = nil
	}
	return false, err
}

// confirmedBy takes a position that was read back. What this process has not printed is another one's: somebody who was
// started with one that is gone may still be writing. That is no failure, but it may be a mistake.
func (s *share) confirmedBy(p partition, next int64) {
	s.mu.Lock()
	shown, any := s.shown[p]
	wrong := next > shown
	tell := wrong && !s.strange[p]
	s.strange[p] = s.strange[p] || wrong
	s.mu.Unlock()
	if !wrong {
		s.member.Confirm(p.topic, p.id, next)
		return
	}
	if !tell {
		return
	}
	printed := "nothing of it was"
	if any {
		printed = fmt.Sprintf("those below %d were", shown)
	}
	s.env.Say("--confirm: %s: topic %q: partition %d: ids below %d are confirmed, and %s printed here: not committed", s.o.confirm, p.topic, p.id, next, printed)
}

// leave commits what was printed, and lets the others have the partitions.
func (s *share) leave(ctx context.Context) error {
	if s.member == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leavePatience)
	defer cancel()
	if s.confirm != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), cli.ErrStdoutClosed) {
		short, done := context.WithTimeout(limited, leavePatience/2)
		s.member.Confirmed(short)
		done()
	}
	err := s.member.Close(limited)
	if s.confirm != nil {
		s.confirm.close()
	}
	s.session.Close()
	if errors.Is(err, consumer.ErrUncommitted) {
		return fmt.Errorf("group %q: %w", s.o.group, consumer.ErrUncommitted)
	}
	return nil // others take over when the session ends
}

// event tells a person what happens to the member.
func (s *share) event(e consumer.Event) {
	loud := s.o.following() && !s.o.quiet
	where := fmt.Sprintf("topic %q: partition %d", e.Topic, e.Partition)
	switch e.Kind {
	case consumer.OutOfRange:
		s.fail(fmt.Errorf("%w: going on at %d, messages may have been lost", e.Err, e.Offset))
	case consumer.Reset:
		s.mention("%s: reset to offset %d", where, e.Offset)
	case consumer.Away:
		s.outage.Store(true)
		if loud {
			s.env.Say("zookeeper: connection lost; nothing is printed before it is back")
		}
	case consumer.Back:
		s.outage.Store(false)
		if loud {
			s.env.Say("zookeeper reachable again")
		}
	case consumer.Trouble:
		if loud {
			s.env.Say("%v; trying again", e.Err)
		}
	case consumer.Claimed, consumer.Released:
		if s.o.verbose {
			s.env.Say("%s: %s%s", where, map[consumer.Kind]string{consumer.Claimed: "taken", consumer.Released: "given up"}[e.Kind], position(e.Offset))
		}
	case consumer.Begun:
		if s.o.verbose {
			s.env.Say("%s: begins at offset %d", where, e.Offset)
		}
	case consumer.Lost:
		if s.o.verbose {
			s.env.Say("%s: lost at offset %d, what was printed last comes again: %v", where, e.Offset, e.Err)
		}
	case consumer.Retried:
		if s.o.verbose {
			s.env.Say("group %q: %v; trying again", s.o.group, e.Err)
		}
	}
}

// position words where a partition is taken, or given up.
func position(offset int64) string {
	if offset == registry.NoOffset {
		return ", nothing committed"
	}
	return fmt.Sprintf(" at offset %d", offset)
}
