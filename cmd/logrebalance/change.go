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
	return changed(s, g, true, triggered{of(g), len(members), true}, "%s told", cli.Counted(len(members), "member"))
}

// What a change was, or would be, as --json tells it.
type (
	triggered struct {
		ofGroup
		Members  int  `json:"members"`
		Executed bool `json:"executed"`
	}
	evicted struct {
		ofGroup
		Member       *string `json:"member"`
		MemberBase64 []byte  `json:"member_base64,omitempty"`
		Partitions   int     `json:"partitions"`
		Executed     bool    `json:"executed"`
	}
	deleted struct {
		ofGroup
		Offsets  int  `json:"offsets"`
		Executed bool `json:"executed"`
	}
	ofGroup struct {
		Group       *string `json:"group"`
		GroupBase64 []byte  `json:"group_base64,omitempty"`
	}
)

func of(g *registry.Group) ofGroup {
	n := nameOf(g)
	return ofGroup{n.text, n.raw}
}

// changed tells of a change to a group: an object with --json, else a line, where it was done only to those who want to
// hear of success.
func changed[T any](s *session, g *registry.Group, executed bool, object T, format string, args ...any) error {
	if s.o.json {
		text, err := cli.Objects([]T{object})
		if err != nil {
			return err
		}
		return s.write(text)
	}
	if s.o.verbose || !executed {
		s.env.Say("group %q: %s", g.Name(), fmt.Sprintf(format, args...))
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
	member, id := args[1], name(args[1])
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
		err := changed(s, g, false, evicted{of(g), id.text, id.raw, owned, false}, "member %q: would be evicted, with %s", member, cli.Counted(owned, "partition"))
		s.hintExecute("evicts it; if it is alive after all, it ends")
		return err
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
	return changed(s, g, true, evicted{of(g), id.text, id.raw, owned, true}, "member %q: evicted, with %s", member, cli.Counted(owned, "partition"))
}

func noMember(v *survey, member string) error {
	err := fmt.Errorf("group %q: member %q: no such member", v.group, member)
	if len(v.members) == 0 {
		return cli.WithHint(err, "the group has no members")
	}
	return cli.WithHint(err, "there are "+strings.Join(v.memberNames(), ", "))
}

// hintExecute says how it is done. An object says that it is not done, to a program that knows how.
func (s *session) hintExecute(what string) {
	if !s.o.quiet && !s.o.json {
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
		err := changed(s, g, false, deleted{of(g), offsets, false}, "would be deleted, with %s", cli.Counted(offsets, "offset"))
		s.hintExecute("deletes it for good; 'logrebalance export' keeps the offsets")
		return err
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
	return changed(s, g, true, deleted{of(g), offsets, true}, "deleted, with %s", cli.Counted(offsets, "offset"))
}

// errLive refuses, and says who is in the way.
func errLive(v *survey, hint string) error {
	err := fmt.Errorf("group %q has %s: %s", v.group, cli.Counted(len(v.members), "live member"), strings.Join(v.memberNames(), ", "))
	if hint == "" {
		return err
	}
	return cli.WithHint(err, hint)
}
