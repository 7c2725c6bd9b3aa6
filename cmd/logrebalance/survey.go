package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"logkit/lib/client"
	"logkit/lib/registry"
)

// survey is what there is of a group.
type survey struct {
	group       string
	kind        registry.Kind // "" for a group that only Kafka 0.8 has used
	coordinator int32         // of a kafka group
	members     []registry.Member
	topics      []*topicState
	gone        []string // topics that the group has offsets of, and that are no more
}

// topicState is a topic of a group.
type topicState struct {
	registry.Topic
	parts []*partState // by number
}

// partState is a partition of a group. Pointers are nil for what is not known.
type partState struct {
	topic      string
	partition  int32
	committed  int64 // registry.NoOffset for none
	start, end *int64
	owner      *string // member, or the whole thread of one that is not of our making
	live       bool    // the owner is a member that is there
	leaderless bool    // no broker is in charge
}

// lag is the number of ids between what is committed, or else the log's start, and the end of the log.
func (p *partState) lag() *int64 {
	if p.start == nil || p.end == nil {
		return nil
	}
	lag := max(0, *p.end-max(p.committed, *p.start))
	return &lag
}

func (p *partState) never() bool { return p.committed == registry.NoOffset }

// ahead is what a topic leaves that was made again, or a broker that has lost its disk.
func (p *partState) ahead() bool { return p.end != nil && p.committed > *p.end }

// expired says that records were deleted before the group has read them.
func (p *partState) expired() bool { return p.start != nil && !p.never() && p.committed < *p.start }

// survey reads a group. With ends it asks the brokers for the ends of the logs, too, after the offsets: so a group that
// goes on meanwhile does not seem to be ahead of them.
func (s *session) survey(ctx context.Context, g *registry.Group, ends bool) (*survey, error) {
	v := &survey{group: g.Name()}
	var committed, owned []string
	err := together(
		func() error {
			a, found, err := g.Arbiter(ctx, nil)
			if found {
				v.kind, v.coordinator = a.Kind, a.Coordinator
			}
			return err
		},
		func() (err error) { v.members, err = g.Members(ctx, nil); return err },
		func() (err error) { committed, err = g.CommittedTopics(ctx); return err },
		func() (err error) { owned, err = g.OwnedTopics(ctx); return err },
	)
	if err != nil {
		return nil, err
	}
	names, err := s.topicsOf(ctx, v, append(committed, owned...))
	if err != nil {
		return nil, err
	}
	states := make([]*topicState, len(names))
	err = each(len(names), func(i int) (err error) {
		states[i], err = s.topicState(ctx, g, v, names[i], ends)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, t := range states {
		if t == nil {
			v.gone = append(v.gone, names[i])
		} else {
			v.topics = append(v.topics, t)
		}
	}
	return v, nil
}

// topicsOf are the topics of a group, by what it has and by what its members want, those that --topic leaves.
func (s *session) topicsOf(ctx context.Context, v *survey, has []string) ([]string, error) {
	names := map[string]bool{}
	for _, name := range has {
		names[name] = true
	}
	for i := range v.members {
		if v.members[i].Pattern == registry.Static {
			for name := range v.members[i].Subscription {
				names[name] = true
			}
			continue
		}
		all, err := s.Topics(ctx)
		if err != nil {
			return nil, err
		}
		for name := range all {
			if subscribes(&v.members[i], name) {
				names[name] = true
			}
		}
	}
	for name := range names {
		if len(s.o.topics) > 0 && !slices.ContainsFunc(s.o.topics, func(c selection) bool { return c.topic == name }) {
			delete(names, name)
		}
	}
	for _, c := range s.o.topics {
		if !names[c.topic] {
			return nil, fmt.Errorf("group %q: topic %q: nothing of it in the group", v.group, c.topic)
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// subscribes tells whether a member wants a topic.
func subscribes(m *registry.Member, topic string) bool {
	if m.Pattern == registry.Static {
		return m.Subscription[topic] > 0
	}
	for pattern := range m.Subscription {
		// Kafka 0.8 takes commas for alternatives, and the whole name has to match.
		re, err := regexp.Compile("^(?:" + strings.ReplaceAll(strings.Trim(pattern, `"'`), ",", "|") + ")$")
		if err == nil && re.MatchString(topic) == (m.Pattern == registry.WhiteList) {
			return true
		}
	}
	return false
}

// topicState returns nil for a topic that is not there any longer.
func (s *session) topicState(ctx context.Context, g *registry.Group, v *survey, name string, ends bool) (*topicState, error) {
	topic, found, err := s.Topic(ctx, name)
	if err != nil || !found || topic.Deleting {
		return nil, err
	}
	t := &topicState{Topic: topic}
	chosen, err := s.chosen(topic)
	if err != nil {
		return nil, err
	}
	for _, p := range chosen {
		t.parts = append(t.parts, &partState{topic: name, partition: p})
	}
	var offsets []int64
	var held map[int32]registry.Holder
	err = together(
		func() (err error) { offsets, err = g.Offsets(ctx, topic, chosen); return err },
		func() (err error) { held, err = g.Holders(ctx, name); return err },
	)
	if err != nil {
		return nil, err
	}
	sessions := make(map[int64]bool, len(v.members))
	for _, m := range v.members {
		sessions[m.Session] = m.Session != 0
	}
	for i, p := range t.parts {
		p.committed = offsets[i]
		if h, owned := held[p.partition]; owned {
			owner := ownerName(h.Thread)
			p.owner, p.live = &owner, sessions[h.Session]
		}
	}
	if !ends || s.logs == nil {
		return t, nil
	}
	starts, stops, err := s.ranges(ctx, name, chosen)
	switch {
	case errors.Is(err, client.ErrUnknownTopic):
		return nil, nil
	case err != nil:
		return nil, err
	}
	for _, p := range t.parts {
		p.start, p.end = pick(starts, p.partition), pick(stops, p.partition)
		p.leaderless = p.end == nil
	}
	return t, nil
}

// ownerName is the member that a thread belongs to.
func ownerName(thread string) string {
	if member, ok := registry.ThreadMember(thread); ok {
		return member
	}
	return thread
}

// chosen are the partitions of a topic that --topic leaves.
func (s *session) chosen(t registry.Topic) ([]int32, error) {
	all := make([]int32, len(t.Replicas))
	for p := range all {
		all[p] = int32(p)
	}
	var some []int32
	for _, c := range s.o.topics {
		if c.topic != t.Name {
			continue
		}
		if c.partitions == nil {
			return all, nil
		}
		for _, p := range c.partitions {
			if int(p) >= len(all) {
				return nil, &client.NoPartitionError{Topic: t.Name, Partition: p, Count: int32(len(all))}
			}
		}
		some = append(some, c.partitions...)
	}
	if len(s.o.topics) == 0 {
		return all, nil
	}
	slices.Sort(some)
	return slices.Compact(some), nil
}

// ranges asks the brokers for the ids of partitions, which are sorted. Those without a leader are missing in the answer: nobody could tell.
func (s *session) ranges(ctx context.Context, topic string, partitions []int32) (starts, ends map[int32]int64, err error) {
	found, err := s.logs.Topic(ctx, topic, false)
	if err != nil {
		return nil, nil, err
	}
	var led []int32
	for _, p := range found.Partitions {
		if _, wanted := slices.BinarySearch(partitions, p.ID); wanted && p.Leader >= 0 {
			led = append(led, p.ID)
		}
	}
	if len(led) == 0 {
		return nil, nil, nil
	}
	err = together(
		func() (err error) { starts, err = s.logs.Offsets(ctx, topic, led, client.AtStart); return err },
		func() (err error) { ends, err = s.logs.Offsets(ctx, topic, led, client.AtEnd); return err },
	)
	return starts, ends, err
}

func pick(ids map[int32]int64, partition int32) *int64 {
	if id, ok := ids[partition]; ok {
		return &id
	}
	return nil
}

// partitions are those of all topics.
func (v *survey) partitions() (all []*partState) {
	for _, t := range v.topics {
		all = append(all, t.parts...)
	}
	return all
}

// strategy is the group's: that of the member who was there first, to which the others have to conform.
func (v *survey) strategy() string {
	if len(v.members) == 0 {
		return ""
	}
	first := slices.MinFunc(v.members, func(a, b registry.Member) int { return cmp.Compare(a.Order, b.Order) })
	return first.Strategy
}

// host is the machine of a member, where its name tells: GROUP_HOST-MILLISECONDS-RANDOM, as Kafka 0.8 made them; else "".
func (v *survey) host(member string) string {
	rest, ok := strings.CutPrefix(member, v.group+"_")
	if !ok {
		return ""
	}
	parts := strings.Split(rest, "-")
	if len(parts) < 3 {
		return ""
	}
	return strings.Join(parts[:len(parts)-2], "-")
}

// forgotten says which topics are left out, and why.
func (s *session) forgotten(v *survey) {
	for _, name := range v.gone {
		if !s.o.quiet {
			s.env.Say("group %q: topic %q: no such topic, its offsets are left out", v.group, name)
		}
	}
}
