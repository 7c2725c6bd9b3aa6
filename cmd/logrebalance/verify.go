package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"logkit/lib/cli"
	"logkit/lib/registry"
)

// verify wants one live owner for every partition: that there are not two is the work of ZooKeeper. With --wait it looks
// again whenever the members change, and now and then, for owners come and go without them.
func (o *options) verify(ctx context.Context, s *session, args []string) error {
	deadline := s.now().Add(o.wait)
	w := registry.NewWatcher()
	defer w.Close()
	for {
		v, problems, err := s.problems(ctx, args[0], w)
		left := deadline.Sub(s.now())
		switch early := left > 0; {
		case err != nil && !(early && errors.As(err, new(*unknownGroupError))):
			return err
		case err == nil && !(early && len(problems) > 0):
			return s.verified(v, problems)
		}
		select {
		case <-w.Dirty():
		case <-time.After(min(left, 250*time.Millisecond)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *session) problems(ctx context.Context, name string, w *registry.Watcher) (*survey, []*row, error) {
	g, err := s.group(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if s.o.wait > 0 {
		if _, err := g.Members(ctx, w); err != nil { // for the watch
			return nil, nil, err
		}
	}
	v, err := s.survey(ctx, g, false)
	if err != nil {
		return nil, nil, err
	}
	if v.kind == registry.KafkaGroup {
		return nil, nil, errCoordinator(v)
	}
	var problems []*row
	for i, p := range v.partitions() {
		if p.owner == nil || !p.live {
			r := v.rows()[i]
			problems = append(problems, r)
		}
	}
	return v, problems, nil
}

func (s *session) verified(v *survey, problems []*row) error {
	if len(problems) == 0 {
		if s.o.verbose {
			s.env.Say("group %q: %s, each with one live owner", v.group, cli.Counted(len(v.partitions()), "partition"))
		}
		return nil
	}
	if s.o.json {
		if err := print(s, problems); err != nil {
			return err
		}
	}
	var none, stale []*row
	for _, r := range problems {
		if r.owner == nil {
			none = append(none, r)
		} else {
			stale = append(stale, r)
		}
	}
	hint := "the members are sharing them out, perhaps: --wait 10s gives them time"
	if len(v.members) == 0 {
		hint = "the group has no members"
	}
	s.tell(v.group, none, func(r *row) string { return "no owner" })
	s.tell(v.group, stale, func(r *row) string { return fmt.Sprintf("owner %q is no member", *r.owner) })
	if !s.o.quiet {
		s.env.Hint("%s", hint)
	}
	return cli.WithCode(cli.ExitFailed, cli.ErrReported)
}

// tell says what is wrong with partitions, in one line for those of a topic that have the same.
func (s *session) tell(group string, rows []*row, what func(*row) string) {
	for i := 0; i < len(rows); {
		var partitions []int32
		j := i
		for ; j < len(rows) && rows[j].Topic == rows[i].Topic && what(rows[j]) == what(rows[i]); j++ {
			partitions = append(partitions, rows[j].Partition)
		}
		s.env.Say("group %q: topic %q: partition %s: %s", group, rows[i].Topic, ranges(partitions), what(rows[i]))
		i = j
	}
}
