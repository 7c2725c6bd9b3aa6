package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"logkit/lib/assign"
	"logkit/lib/cli"
	"logkit/lib/registry"
)

// planned is a partition in a plan.
type planned struct {
	Group        *string `json:"group"`
	GroupBase64  []byte  `json:"group_base64,omitempty"`
	Topic        string  `json:"topic"`
	Partition    int32   `json:"partition"`
	Owner        *string `json:"owner"`
	OwnerBase64  []byte  `json:"owner_base64,omitempty"`
	Member       *string `json:"member"`
	MemberBase64 []byte  `json:"member_base64,omitempty"`
	Moves        bool    `json:"moves"`
	owner        *string
	member       string
}

func (*planned) Columns() []string { return []string{"TOPIC", ">PARTITION", "OWNER", "MEMBER", "NOTE"} }

func (p *planned) Cells() []string {
	note := ""
	if p.Moves {
		note = "moves"
	}
	return []string{p.Topic, fmt.Sprint(p.Partition), cell(p.owner), cli.Cell(p.member), note}
}

// plan shows the assignment that each member will compute. With --members it is the one after they have come, or the
// others have gone: those who are not there yet are taken to want every topic of the group.
func (o *options) plan(ctx context.Context, s *session, args []string) error {
	g, err := s.group(ctx, args[0])
	if err != nil {
		return err
	}
	v, err := s.survey(ctx, g, false)
	if err != nil {
		return err
	}
	rows, err := o.assigned(v)
	if err != nil {
		return err
	}
	moves := 0
	for _, r := range rows {
		if r.Moves {
			moves++
		}
	}
	if o.json {
		return print(s, rows)
	}
	switch screen := s.screen(); {
	case len(rows) == 0:
		return fmt.Errorf("group %q: no topics that its members want", v.group)
	case !o.all && len(rows)+2 > screen:
		shares := o.shares(rows)
		err = s.write(section(nil, shares, max(2, screen-4), s.width(), "member")[1:])
	default:
		err = print(s, rows)
	}
	if err == nil && !o.quiet {
		s.env.Say("group %q: %s, %d of them for another member than now", v.group, cli.Counted(len(rows), "partition"), moves)
	}
	return err
}

func (o *options) assigned(v *survey) ([]*planned, error) {
	if v.kind == registry.KafkaGroup {
		return nil, errCoordinator(v)
	}
	members := v.members
	if o.members != nil {
		members = o.supposed(v)
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("group %q: no members, who would have the partitions: --members names some", v.group)
	}
	strategy, err := assign.Parse(cmp.Or(o.strategy, v.strategy()))
	if err != nil {
		return nil, fmt.Errorf("group %q: %w", v.group, err)
	}
	group := name(v.group)
	var rows []*planned
	for _, t := range v.topics {
		var wanted []string
		for i := range members {
			if subscribes(&members[i], t.Name) {
				wanted = append(wanted, members[i].ID)
			}
		}
		if len(wanted) == 0 {
			continue
		}
		for _, p := range t.assigned(strategy, wanted) {
			p.Group, p.GroupBase64 = group.text, group.raw
			rows = append(rows, p)
		}
	}
	return rows, nil
}

// assigned are the partitions of a topic, sorted. All of them count for the shares, also those that are not to be shown.
func (t *topicState) assigned(strategy assign.Strategy, members []string) []*planned {
	owners := map[int32]string{}
	shown := map[int32]*partState{}
	for _, p := range t.parts {
		shown[p.partition] = p
		if p.owner != nil {
			owners[p.partition] = *p.owner
		}
	}
	all := make([]int32, len(t.Replicas))
	for i := range all {
		all[i] = int32(i)
	}
	var rows []*planned
	for member, partitions := range strategy.Assign(members, all, owners) {
		for _, id := range partitions {
			p := shown[id]
			if p == nil {
				continue
			}
			n := name(member)
			r := &planned{Topic: t.Name, Partition: id, Member: n.text, MemberBase64: n.raw, member: member, owner: p.owner,
				Moves: p.owner == nil || *p.owner != member}
			if p.owner != nil {
				owner := name(*p.owner)
				r.Owner, r.OwnerBase64 = owner.text, owner.raw
			}
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *planned) int { return int(a.Partition - b.Partition) })
	return rows
}

// supposed are the members that --members names: those who are there as they are, the others as such who want everything.
func (o *options) supposed(v *survey) []registry.Member {
	everything := map[string]int32{}
	for _, t := range v.topics {
		everything[t.Name] = 1
	}
	var members []registry.Member
	for _, id := range o.members {
		m := registry.Member{ID: id, Subscription: everything, Pattern: registry.Static}
		for _, there := range v.members {
			if there.ID == id {
				m = there
			}
		}
		members = append(members, m)
	}
	return members
}

// shares are the partitions of each member.
func (o *options) shares(rows []*planned) []cells {
	type share struct{ topic, member string }
	partitions, moves := map[share][]int32{}, map[share]int{}
	for _, r := range rows {
		key := share{r.Topic, r.member}
		partitions[key] = append(partitions[key], r.Partition)
		if r.Moves {
			moves[key]++
		}
	}
	keys := slices.SortedFunc(maps.Keys(partitions), func(a, b share) int {
		return slices.Compare([]string{a.topic, a.member}, []string{b.topic, b.member})
	})
	columns := []string{"TOPIC", "MEMBER", ">PARTITIONS", ">MOVE", "WHICH"}
	var lines []cells
	for _, k := range keys {
		lines = append(lines, cells{columns: columns, cells: []string{k.topic, cli.Cell(k.member), fmt.Sprint(len(partitions[k])),
			fmt.Sprint(moves[k]), shortened(ranges(partitions[k]))}})
	}
	return lines
}

// shortened keeps a list to what fits a line.
func shortened(list string) string {
	const most = 40
	if len(list) > most {
		return list[:most] + "..."
	}
	return list
}

func errCoordinator(v *survey) error {
	return fmt.Errorf("group %q is of kind %s: its members are broker %d's, which coordinates them, to command", v.group, v.kind, v.coordinator)
}
