package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"logkit/lib/cli"
	"logkit/lib/registry"
)

// listed is a line of list.
type listed struct {
	Group       *string        `json:"group"`
	GroupBase64 []byte         `json:"group_base64,omitempty"`
	Kind        *registry.Kind `json:"kind"`
	Members     int            `json:"members"`
	Topics      []string       `json:"topics"`
	name        string
}

func (*listed) Columns() []string { return []string{"GROUP", "KIND", ">MEMBERS", ">TOPICS"} }

func (l *listed) Cells() []string {
	return []string{cli.Cell(l.name), kindCell(l.Kind), fmt.Sprint(l.Members), fmt.Sprint(len(l.Topics))}
}

func kindCell(k *registry.Kind) string {
	if k == nil {
		return "-"
	}
	return string(*k)
}

func (o *options) list(ctx context.Context, s *session, _ []string) error {
	names, err := s.Groups(ctx)
	if err != nil {
		return err
	}
	if o.quiet && !o.json {
		var lines []byte
		for _, name := range names {
			if s.env.StdoutTerminal() { // in a pipe names are as they are
				name = cli.Cell(name)
			}
			lines = append(append(lines, name...), '\n')
		}
		return s.write(lines)
	}
	rows := make([]*listed, len(names))
	err = each(len(names), func(i int) (err error) {
		rows[i], err = s.listed(ctx, names[i])
		return err
	})
	if err != nil {
		return err
	}
	// A group may be deleted while it is looked at.
	return print(s, slices.DeleteFunc(rows, func(l *listed) bool { return l == nil }))
}

func (s *session) listed(ctx context.Context, group string) (*listed, error) {
	g, err := s.Group(group)
	if err != nil {
		return nil, err
	}
	n := name(group)
	l := &listed{Group: n.text, GroupBase64: n.raw, name: group, Topics: []string{}}
	var committed []string
	var members []registry.Member
	found := false
	err = together(
		func() error {
			a, led, err := g.Arbiter(ctx, nil)
			if led {
				l.Kind = &a.Kind
			}
			return err
		},
		func() (err error) { members, err = g.Members(ctx, nil); return err },
		func() (err error) { committed, err = g.CommittedTopics(ctx); return err },
		func() (err error) { found, err = g.Exists(ctx); return err },
	)
	if err != nil || !found {
		return nil, err
	}
	topics := map[string]bool{}
	for _, t := range committed {
		topics[t] = true
	}
	for _, m := range members {
		if m.Pattern == registry.Static {
			for t := range m.Subscription {
				topics[t] = true
			}
		}
	}
	l.Members = len(members)
	l.Topics = slices.AppendSeq(l.Topics, maps.Keys(topics))
	slices.Sort(l.Topics)
	return l, nil
}
