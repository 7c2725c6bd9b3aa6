package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"logkit/lib/cli"
	"logkit/lib/registry"
)

func (o *options) trigger(ctx context.Context, s *session, args []string) error {
	g, err := s.group(ctx, args[0])
	if err != nil {
		return err
	}
	a, _, err := g.Arbiter(ctx, nil)
	if err != nil {
		return err
	}
	if a.Kind == registry.KafkaGroup {
		return errCoordinator(&survey{group: g.Name(), kind: a.Kind, coordinator: a.Coordinator})
	}
	members, err := g.Members(ctx, nil)
	if err != nil {
		return err
	}
	if err := g.Rebalance(ctx); err != nil {
		return err
	}
	if o.verbose {
		s.env.Say("group %q: %s told", g.Name(), cli.Counted(len(members), "member"))
	}
	return nil
}

func (o *options) evict(ctx context.Context, s *session, args []string) error {
	g, err := s.group(ctx, args[0])
	if err != nil {
		return err
	}
	v, err := s.survey(ctx, g, false)
	if err != nil {
		return err
	}
	if v.kind == registry.KafkaGroup {
		return errCoordinator(v)
	}
	member := args[1]
	there := slices.IndexFunc(v.members, func(m registry.Member) bool { return m.ID == member })
	if there < 0 {
		return noMember(v, member)
	}
	owned := 0
	for _, p := range v.partitions() {
		if p.live && *p.owner == member {
			owned++
		}
	}
	if !o.execute {
		s.env.Say("group %q: member %q: would be evicted, with %s", v.group, member, cli.Counted(owned, "partition"))
		s.hintExecute("evicts it; if it is alive after all, it ends")
		return nil
	}
	if err := s.lock(ctx, g, "evict"); err != nil {
		return err
	}
	switch owned, err = g.Evict(ctx, member); {
	case errors.Is(err, registry.ErrNoMember):
		return noMember(v, member)
	case err != nil:
		return err
	}
	if o.verbose {
		s.env.Say("group %q: member %q: evicted, with %s", v.group, member, cli.Counted(owned, "partition"))
	}
	return nil
}

func noMember(v *survey, member string) error {
	err := fmt.Errorf("group %q: member %q: no such member", v.group, member)
	if len(v.members) == 0 {
		return cli.WithHint(err, "the group has no members")
	}
	return cli.WithHint(err, "there are "+strings.Join(v.memberNames(), ", "))
}

func (s *session) hintExecute(what string) {
	if !s.o.quiet {
		s.env.Hint("--execute %s", what)
	}
}

// memberNames are at most a few, for a message.
func (v *survey) memberNames() []string {
	const most = 10
	var names []string
	for i, m := range v.members {
		if i == most {
			return append(names, fmt.Sprintf("and %d more", len(v.members)-most))
		}
		text := fmt.Sprintf("%q", m.ID)
		if host := v.host(m.ID); host != "" {
			text += " on " + host
		}
		names = append(names, text)
	}
	return names
}

func (o *options) delete(ctx context.Context, s *session, args []string) error {
	g, err := s.group(ctx, args[0])
	if err != nil {
		return err
	}
	v, err := s.survey(ctx, g, false)
	if err != nil {
		return err
	}
	if len(v.members) > 0 {
		return errLive(v, "it can be deleted when they have left")
	}
	offsets := 0
	for _, p := range v.partitions() {
		if !p.never() {
			offsets++
		}
	}
	if !o.execute {
		s.env.Say("group %q: would be deleted, with %s", v.group, cli.Counted(offsets, "offset"))
		s.hintExecute("deletes it for good; 'logrebalance export' keeps the offsets")
		return nil
	}
	if err := s.lock(ctx, g, "delete"); err != nil {
		return err
	}
	switch err := g.Delete(ctx); {
	case errors.Is(err, registry.ErrGroupInUse):
		if v, err := s.survey(ctx, g, false); err == nil && len(v.members) > 0 {
			return errLive(v, "it can be deleted when they have left")
		}
		return err
	case err != nil && !errors.Is(err, registry.ErrNoGroup): // else it was somebody else
		return err
	}
	if o.verbose {
		s.env.Say("group %q: deleted, with %s", v.group, cli.Counted(offsets, "offset"))
	}
	return nil
}

// errLive refuses, and says who is in the way.
func errLive(v *survey, hint string) error {
	err := fmt.Errorf("group %q has %s: %s", v.group, cli.Counted(len(v.members), "live member"), strings.Join(v.memberNames(), ", "))
	if hint == "" {
		return err
	}
	return cli.WithHint(err, hint)
}
