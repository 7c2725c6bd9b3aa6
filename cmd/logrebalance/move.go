package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"time"

	"logkit/lib/cli"
	"logkit/lib/registry"
)

// move carries a plan out, or only shows it:
//
//  1. the lock, so that two runs do not mix
//  2. no members, or --live
//  3. the plan, which looks at the offsets as they are now
//  4. the undo file, whole and on disk
//  5. the offsets, as many at a time as fit in one step, each of which is checked for members again
//
// A run that ends in between leaves old or new offsets, of each partition the one or the other, and says which when it
// can. The same again goes on from there. A signal ends it between two steps: before the first one nothing is changed.
func (s *session) move(ctx context.Context, g *registry.Group, intent string, plan func(context.Context) ([]*moved, error)) error {
	if s.o.execute {
		if err := s.lock(ctx, g, "reset"); err != nil {
			return err
		}
	}
	var err error
	if s.undo, err = s.o.openUndo(g.Name(), intent); err != nil {
		return err
	}
	deadline := s.now().Add(s.o.waitEmpty)
	for {
		refused := s.admitted(ctx, g, deadline)
		if refused != nil && (s.o.execute || !errors.As(refused, new(*liveError))) {
			return refused
		}
		rows, err := plan(ctx)
		if err != nil {
			return err
		}
		if !s.o.execute {
			return errors.Join(s.showMoves(g, rows), refused)
		}
		begun, err := s.execute(ctx, g, rows)
		if !begun && err != nil {
			kept := s.undo.forget()
			if kept == nil && errors.Is(err, registry.ErrGroupInUse) && !s.o.live {
				continue // a member has come meanwhile: told, or waited for
			}
			return errors.Join(err, kept)
		}
		return errors.Join(s.showMoves(g, rows), err)
	}
}

// lock keeps others out, until the session ends.
func (s *session) lock(ctx context.Context, g *registry.Group, what string) error {
	lease, err := s.Lease(ctx)
	if err != nil {
		return err
	}
	err = g.Lock(ctx, lease, fmt.Sprintf("%s %s, %s, process %d", s.env.Name, what, whoever(), os.Getpid()))
	if errors.As(err, new(*registry.LockedError)) {
		return cli.WithHint(err, fmt.Sprintf("the lock of a process that was killed goes by itself, within %v", 2*s.Timeout()))
	}
	return err
}

func whoever() string {
	name, host := "somebody", "somewhere"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// liveError says that members are in the way.
type liveError struct{ error }

func (e *liveError) Unwrap() error { return e.error }

// admitted returns nil when the group has no members, or may have them. It waits for them to leave as --wait-empty says.
func (s *session) admitted(ctx context.Context, g *registry.Group, deadline time.Time) error {
	a, _, err := g.Arbiter(ctx, nil)
	if err != nil {
		return err
	}
	kafka := a.Kind == registry.KafkaGroup
	if s.o.live && !kafka {
		return nil
	}
	w := registry.NewWatcher()
	defer w.Close()
	for told := false; ; told = true {
		members, err := g.Members(ctx, w)
		if err != nil || len(members) == 0 {
			return err
		}
		v := &survey{group: g.Name(), members: members, kind: a.Kind, coordinator: a.Coordinator}
		left := deadline.Sub(s.now())
		if left <= 0 || !s.o.execute {
			switch {
			case s.o.live:
				return &liveError{cli.WithHint(errLive(v, ""), "--live is for groups of kind registry; members of this one keep their offsets to themselves")}
			case s.o.waitEmpty > 0 && !s.o.execute:
				return nil // what it would wait for may come
			case kafka:
				return &liveError{errLive(v, "--wait-empty 60s waits for them to leave")}
			}
			return &liveError{errLive(v, "--wait-empty 60s waits for them to leave, --live moves them while they run")}
		}
		if !told && s.o.verbose {
			s.env.Say("group %q: waiting for %s to leave", v.group, cli.Counted(len(members), "member"))
		}
		timer := time.NewTimer(left)
		select {
		case <-w.Dirty():
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		timer.Stop()
	}
}

// execute moves what is not where it shall be. It reports whether anything has, or may have, been moved.
func (s *session) execute(ctx context.Context, g *registry.Group, rows []*moved) (begun bool, err error) {
	open := slices.DeleteFunc(slices.Clone(rows), func(m *moved) bool { return m.Executed })
	if len(open) == 0 {
		return false, s.undo.finish()
	}
	if err := s.undo.begin(rows); err != nil {
		return false, err
	}
	step, stop := afterSignal(ctx)
	defer stop()
	done := 0
	for size := s.chunk; done < len(open); {
		chunk := firstOf(open[done:], size)
		offsets := make(map[int32]int64, len(chunk))
		for _, m := range chunk {
			offsets[m.Partition] = m.to
		}
		err := context.Cause(ctx)
		if err == nil {
			err = g.Reset(step, chunk[0].of, offsets, s.o.live)
		} else if done == 0 {
			return false, err
		}
		if errors.Is(err, registry.ErrTooLarge) && size > 1 {
			size = max(1, min(size, len(chunk))/2)
			continue
		}
		if err != nil {
			if done == 0 && errors.Is(err, registry.ErrGroupInUse) {
				return false, err // nothing is changed
			}
			return s.halfWay(ctx, g, open, s.whoCame(ctx, g, err))
		}
		for _, m := range chunk {
			m.Executed = true
		}
		done += len(chunk)
	}
	if _, told := signalled(ctx); told {
		s.env.Say("group %q: all %s moved", g.Name(), cli.Counted(len(open), "offset"))
	}
	return true, s.undo.finish()
}

// lastStep is how long a step goes on that is under way when a signal comes.
const lastStep = time.Second

// afterSignal is a context that ends a while after the other one: a step that was begun is brought to its end, which is
// then known.
func afterSignal(ctx context.Context) (context.Context, func()) {
	step, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(lastStep):
			cancel(context.Cause(ctx))
		case <-step.Done():
		}
	})
	return step, func() { unhook(); cancel(nil) }
}

// whoCame names the members that have come while a group without any was being reset.
func (s *session) whoCame(ctx context.Context, g *registry.Group, err error) error {
	if !errors.Is(err, registry.ErrGroupInUse) {
		return err
	}
	members, failed := g.Members(ctx, nil)
	if failed != nil || len(members) == 0 {
		return err
	}
	return errLive(&survey{group: g.Name(), members: members}, "")
}

// firstOf are at most n rows of one topic.
func firstOf(rows []*moved, n int) []*moved {
	for i, m := range rows {
		if i == n || m.Topic != rows[0].Topic {
			return rows[:i]
		}
	}
	return rows
}

// lookAround is how long a run that has failed tries to find out what it has done.
const lookAround = 5 * time.Second

// halfWay says what became of each partition when a step has failed, whose outcome may not be known, or was not taken
// because of a signal.
func (s *session) halfWay(ctx context.Context, g *registry.Group, rows []*moved, cause error) (begun bool, _ error) {
	code, told := signalled(ctx)
	limit := lookAround
	if told {
		limit = lastStep
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	var errs []error
	some, rest := false, false // are moved, or may be; are not
	for _, of := range byTopic(rows) {
		topic := of[0].of
		var partitions []int32
		for _, m := range of {
			partitions = append(partitions, m.Partition)
		}
		offsets, err := g.Offsets(ctx, topic, partitions)
		if err != nil {
			some, rest = true, true
			errs = append(errs, fmt.Errorf("group %q: topic %q: partition %s: not known whether they were moved", g.Name(), topic.Name, ranges(partitions)))
			continue
		}
		var old, moved []int32
		for i, m := range of {
			if m.Executed = offsets[i] != m.from; m.Executed {
				moved = append(moved, m.Partition)
			} else {
				old = append(old, m.Partition)
			}
		}
		if len(moved) > 0 {
			some = true
			errs = append(errs, fmt.Errorf("group %q: topic %q: partition %s: moved", g.Name(), topic.Name, ranges(moved)))
		}
		if len(old) > 0 {
			rest = true
			errs = append(errs, fmt.Errorf("group %q: topic %q: partition %s: as before", g.Name(), topic.Name, ranges(old)))
		}
	}
	switch {
	case !some && (told || errors.Is(cause, context.Canceled)):
		return false, cause // interrupted, and nothing is changed
	case told && !rest:
		s.env.Say("group %q: all %s moved", g.Name(), cli.Counted(len(rows), "offset"))
		return true, s.undo.finish()
	}
	last := len(errs) - 1
	errs[last] = cli.WithHint(errs[last], s.theRest())
	if told {
		for i := range errs {
			errs[i] = cli.WithCode(code, errs[i])
		}
	}
	return true, errors.Join(append([]error{cause}, errs...)...)
}

// theRest is how a run that has ended half way is brought to its end. What is moved by a number of ids would be moved by
// twice as many, where nobody has written down what it was.
func (s *session) theRest() string {
	if s.o.shift != nil && s.undo == nil {
		return "--topic with the partitions that are as before does the rest: without --undo-file the same command would shift the others again"
	}
	return "the same command again does the rest"
}

func byTopic(rows []*moved) (all [][]*moved) {
	for start := 0; start < len(rows); {
		of := firstOf(rows[start:], len(rows))
		all = append(all, of)
		start += len(of)
	}
	return all
}

// showMoves prints the plan, or what was done: the same lines.
func (s *session) showMoves(g *registry.Group, rows []*moved) error {
	changes := 0
	for _, m := range rows {
		if m.from != m.to {
			changes++
		}
	}
	switch {
	case s.o.json:
		return print(s, rows)
	case s.o.quiet:
		return nil
	}
	err := s.printMoves(rows)
	if err != nil {
		return err
	}
	switch {
	case changes == 0:
		s.env.Say("group %q: %s, all where they shall be", g.Name(), cli.Counted(len(rows), "offset"))
	case !s.o.execute:
		s.env.Say("group %q: %s, %d of them would be moved", g.Name(), cli.Counted(len(rows), "offset"), changes)
		s.hintExecute("moves them")
	case s.o.verbose:
		s.env.Say("group %q: %s, %d of them moved", g.Name(), cli.Counted(len(rows), "offset"), changes)
	}
	return nil
}

// printMoves shows topics instead of partitions where those are more than fit on a screen.
func (s *session) printMoves(rows []*moved) error {
	screen := s.screen() - 2
	if s.o.all || len(rows) <= screen {
		return print(s, rows)
	}
	columns := []string{"TOPIC", ">PARTITIONS", ">MOVED", ">IDS-BACK", ">IDS-FORWARD"}
	var lines []cells
	for _, of := range byTopic(rows) {
		var changed int
		var back, forward int64
		for _, m := range of {
			if m.from != m.to {
				changed++
			}
			back += max(0, m.from-m.to)
			forward += max(0, m.to-m.from)
		}
		lines = append(lines, cells{columns: columns, cells: []string{of[0].Topic, fmt.Sprint(len(of)), fmt.Sprint(changed), fmt.Sprint(back), fmt.Sprint(forward)}})
	}
	return s.write(slices.Clone(section(nil, lines, screen, s.width(), "topic")[1:]))
}
