package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"logkit/lib/cli"
	"logkit/lib/client"
	"logkit/lib/registry"
)

// moved is a partition whose offset is to be moved, or was.
type moved struct {
	Group       *string `json:"group"`
	GroupBase64 []byte  `json:"group_base64,omitempty"`
	Topic       string  `json:"topic"`
	Partition   int32   `json:"partition"`
	From        *int64  `json:"from"`
	To          *int64  `json:"to"`
	Executed    bool    `json:"executed"`
	of          registry.Topic
	from, to    int64 // registry.NoOffset for none
}

func (*moved) Columns() []string { return []string{"TOPIC", ">PARTITION", ">FROM", ">TO", "NOTE"} }

func (m *moved) Cells() []string {
	note := ""
	if m.from == m.to {
		note = "stays"
	}
	return []string{m.Topic, fmt.Sprint(m.Partition), cli.Known(m.From), cli.Known(m.To), note}
}

// checkMove is what the options of import, and of reset, have to agree on.
func (o *options) checkMove() error {
	if o.live && o.waitEmpty > 0 {
		return cli.Usagef("--live and --wait-empty exclude each other")
	}
	return o.checkUndo()
}

func (o *options) checkReset() error {
	given := 0
	for _, is := range []bool{o.to.IsSet(), o.shift != nil, o.fromFile != ""} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return cli.Usagef("one of --to, --shift and --from-file says where to")
	case o.fromFile != "" && o.allTopics:
		return cli.Usagef("--all-topics and --from-file exclude each other: the file names the topics")
	case o.fromFile == "" && o.allTopics == (len(o.topics) > 0):
		return cli.Usagef("either --topic or --all-topics says what of")
	}
	return o.checkMove()
}

func (o *options) reset(ctx context.Context, s *session, args []string) error {
	if o.fromFile != "" {
		return o.importFile(ctx, s, []string{args[0], o.fromFile})
	}
	g, err := s.group(ctx, args[0]) // a name that was mistyped is not a new group
	if err != nil {
		return err
	}
	return s.move(ctx, g, o.intent(nil), func(ctx context.Context) ([]*moved, error) {
		names, err := s.resetTopics(ctx, g)
		if err != nil {
			return nil, err
		}
		return s.targets(ctx, g, names, s.place)
	})
}

func (o *options) importFile(ctx context.Context, s *session, args []string) error {
	if args[1] == "" {
		return cli.Usagef("an empty FILE: allowed is the path of a file, and - for standard input")
	}
	lines, err := s.load(ctx, args[1], args[0])
	if err != nil {
		return err
	}
	g, err := s.Group(args[0])
	if err != nil {
		return err
	}
	wanted := map[string]map[int32]int64{}
	for _, l := range lines {
		if len(o.topics) > 0 && !slices.ContainsFunc(o.topics, func(c selection) bool {
			return c.topic == l.Topic && (c.partitions == nil || slices.Contains(c.partitions, l.Partition))
		}) {
			continue
		}
		if wanted[l.Topic] == nil {
			wanted[l.Topic] = map[int32]int64{}
		}
		wanted[l.Topic][l.Partition] = offsetOf(l.Offset)
	}
	for _, c := range o.topics {
		if wanted[c.topic] == nil {
			return fmt.Errorf("%s: topic %q: no offsets of it", args[1], c.topic)
		}
	}
	return s.move(ctx, g, o.intent(wanted), func(ctx context.Context) ([]*moved, error) {
		rows, err := s.targets(ctx, g, slices.Sorted(maps.Keys(wanted)), func(p *partition) (int64, error) {
			to, named := wanted[p.topic.Name][p.id]
			switch {
			case !named:
				return leftOut, nil
			case to == p.committed || to == registry.NoOffset:
				return to, nil // as it is, even where the log has gone on without it
			}
			return min(max(to, p.start), p.end), nil
		})
		if err != nil {
			return nil, err
		}
		return rows, allThere(wanted, rows)
	})
}

// allThere wants a row for each partition that a file names.
func allThere(wanted map[string]map[int32]int64, rows []*moved) error {
	there := map[string]map[int32]bool{}
	for _, r := range rows {
		if there[r.Topic] == nil {
			there[r.Topic] = map[int32]bool{}
		}
		there[r.Topic][r.Partition] = true
	}
	var errs []error
	for _, topic := range slices.Sorted(maps.Keys(wanted)) {
		for _, p := range slices.Sorted(maps.Keys(wanted[topic])) {
			if !there[topic][p] {
				errs = append(errs, fmt.Errorf("topic %q: no partition %d", topic, p))
			}
		}
	}
	return errors.Join(errs...)
}

// resetTopics are the topics that are named, or all of the group.
func (s *session) resetTopics(ctx context.Context, g *registry.Group) ([]string, error) {
	if s.o.allTopics {
		v, err := s.survey(ctx, g, false)
		if err != nil {
			return nil, err
		}
		s.forgotten(v)
		var names []string
		for _, t := range v.topics {
			names = append(names, t.Name)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("group %q: it has no topics", g.Name())
		}
		return names, nil
	}
	names := map[string]bool{}
	for _, c := range s.o.topics {
		names[c.topic] = true
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// partition is what is known of one whose place is sought.
type partition struct {
	topic      registry.Topic
	id         int32
	committed  int64
	start, end int64
	time       int64 // id of the first record at the time that --to names, or later
}

// leftOut is the place of a partition that is not touched.
const leftOut = math.MinInt64

// targets finds out, for all partitions of the topics, or those that --topic leaves, where they are and where they shall be.
// What is wrong with some of them is told of all, and nothing is changed.
func (s *session) targets(ctx context.Context, g *registry.Group, topics []string, place func(*partition) (int64, error)) ([]*moved, error) {
	found := make([][]*moved, len(topics))
	errs := make([]error, len(topics))
	err := each(len(topics), func(i int) error {
		var err error
		found[i], err = s.targetsOf(ctx, g, topics[i], place)
		if ctx.Err() != nil || errors.Is(err, client.ErrUnavailable) && !errors.As(err, new(*client.NoLeaderError)) {
			return err
		}
		errs[i] = err
		return nil
	})
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

func (s *session) targetsOf(ctx context.Context, g *registry.Group, name string, place func(*partition) (int64, error)) ([]*moved, error) {
	topic, found, err := s.Topic(ctx, name)
	if err != nil {
		return nil, err
	}
	if !found || topic.Deleting {
		return nil, &client.UnknownTopicError{Topic: name}
	}
	chosen, err := s.chosen(topic)
	if err != nil {
		return nil, err
	}
	committed, err := g.Offsets(ctx, topic, chosen)
	if err != nil {
		return nil, err
	}
	starts, ends, err := s.ranges(ctx, name, chosen)
	if err != nil {
		return nil, err
	}
	times, err := s.times(ctx, name, slices.Sorted(maps.Keys(ends)))
	if err != nil {
		return nil, err
	}
	var rows []*moved
	var errs []error
	dark := &client.NoLeaderError{Topic: name} // nobody knows where they begin and end
	group := nameOf(g)
	for i, id := range chosen {
		start, led := starts[id]
		p := &partition{topic: topic, id: id, committed: committed[i], start: start, end: ends[id], time: times[id]}
		to, err := place(p)
		switch {
		case to == leftOut && err == nil:
			continue
		case !led:
			dark.Partitions = append(dark.Partitions, id)
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		rows = append(rows, &moved{Group: group.text, GroupBase64: group.raw, Topic: name, Partition: id, of: topic,
			from: committed[i], to: to, From: savedOffset(committed[i]), To: savedOffset(to), Executed: committed[i] == to})
	}
	if len(dark.Partitions) > 0 {
		errs = append(errs, dark)
	}
	return rows, errors.Join(errs...)
}

func nameOf(g *registry.Group) named { return name(g.Name()) }

// times looks up the time that --to names.
func (s *session) times(ctx context.Context, topic string, led []int32) (map[int32]int64, error) {
	to := s.o.to.Resolve(s.now())
	if to.Kind != cli.OffsetTime || len(led) == 0 {
		return nil, nil
	}
	return s.logs.Offsets(ctx, topic, led, to.Value)
}

// place is where --to or --shift put a partition. Beyond the end means the end; before the start is an error where an id
// was named, for nobody could tell which records were meant.
func (s *session) place(p *partition) (int64, error) {
	if by := s.o.shift; by != nil {
		if to, begun := s.undo.target(p.topic.Name, p.id, p.committed); begun { // not by twice as much
			return min(max(to, p.start), p.end), nil
		}
		from := max(p.committed, p.start) // never committed counts from the start, as the lag does
		if *by > 0 && from > math.MaxInt64-*by {
			return p.end, nil
		}
		return min(max(from+*by, p.start), p.end), nil
	}
	switch s.o.to.Kind {
	case cli.OffsetEarliest:
		return p.start, nil
	case cli.OffsetLatest:
		return p.end, nil
	case cli.OffsetID:
		id := s.o.to.Value
		if id < p.start {
			return 0, cli.WithHint(&client.OutOfRangeError{Topic: p.topic.Name, Partition: p.id, Offset: id, Start: p.start, End: p.end},
				"--to earliest is the start of each partition")
		}
		return min(id, p.end), nil
	default:
		return min(max(p.time, p.start), p.end), nil // records may have come, or gone, since it was looked up
	}
}
