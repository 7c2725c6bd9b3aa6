package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"logkit/lib/cli"
	"logkit/lib/registry"
)

func (o *options) checkStatus() error {
	if o.interval != defaultInterval && !o.watch {
		return cli.Usagef("--interval needs --watch")
	}
	return nil
}

func (o *options) status(ctx context.Context, s *session, args []string) error {
	if !o.watch {
		return s.showStatus(ctx, args[0], s.screen(), s.write)
	}
	return s.redraw(ctx, args[0])
}

// showStatus reads a group and shows it, in about so many lines.
func (s *session) showStatus(ctx context.Context, name string, screen int, show func([]byte) error) error {
	g, err := s.group(ctx, name)
	if err != nil {
		return err
	}
	v, err := s.survey(ctx, g, true)
	if err != nil {
		return err
	}
	if !s.o.watch {
		s.forgotten(v)
	}
	var text []byte
	if s.o.json {
		text, err = cli.Objects(v.rows())
	} else {
		text = v.text(s.now(), screen, s.width(), s.o.all)
	}
	if err == nil {
		err = show(text)
	}
	if err != nil {
		return err
	}
	return s.away // the rest was shown
}

// row is a partition as status shows it. What is not known is nil.
type row struct {
	Group       *string        `json:"group"`
	GroupBase64 []byte         `json:"group_base64,omitempty"`
	Kind        *registry.Kind `json:"kind"`
	Topic       string         `json:"topic"`
	Partition   int32          `json:"partition"`
	Owner       *string        `json:"owner"`
	OwnerBase64 []byte         `json:"owner_base64,omitempty"`
	MemberHost  *string        `json:"member_host"`
	Committed   *int64         `json:"committed"`
	LogStart    *int64         `json:"log_start"`
	LogEnd      *int64         `json:"log_end"`
	Lag         *int64         `json:"lag"`
	Notes       []string       `json:"notes"`
	owner       *string
}

func (*row) Columns() []string {
	return []string{"TOPIC", ">PARTITION", "OWNER", ">COMMITTED", ">LOG-START", ">LOG-END", ">LAG", "NOTE"}
}

func (r *row) Cells() []string {
	return []string{r.Topic, fmt.Sprint(r.Partition), cell(r.owner), cli.Known(r.Committed), cli.Known(r.LogStart),
		cli.Known(r.LogEnd), cli.Known(r.Lag), strings.Join(r.Notes, ", ")}
}

// Spare leaves what tells how far behind which partition is, and why.
func (*row) Spare() []string { return []string{"LOG-START", "LOG-END", "COMMITTED", "OWNER", "NOTE"} }

// rows are all partitions of a group.
func (v *survey) rows() []*row {
	var rows []*row
	group := name(v.group)
	for _, p := range v.partitions() {
		r := &row{Group: group.text, GroupBase64: group.raw, Topic: p.topic, Partition: p.partition,
			Kind: v.kindOrNil(), LogStart: p.start, LogEnd: p.end, Lag: p.lag(), Notes: v.notes(p), owner: p.owner}
		if !p.never() {
			r.Committed = &p.committed
		}
		if p.owner != nil {
			owner, host := name(*p.owner), v.host(*p.owner)
			r.Owner, r.OwnerBase64 = owner.text, owner.raw
			if host != "" {
				r.MemberHost = &host
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// kindOrNil is nil for a group that only Kafka 0.8 has used.
func (v *survey) kindOrNil() *registry.Kind {
	if v.kind == "" {
		return nil
	}
	return &v.kind
}

// The notes on a partition.
const (
	noteNever    = "never committed"
	noteAhead    = "ahead of the end"
	noteExpired  = "unread records deleted"
	noteNoOwner  = "no owner"
	noteStale    = "owner is no member"
	noteNoLeader = "no leader"
)

func (v *survey) notes(p *partState) []string {
	notes := []string{}
	add := func(is bool, note string) {
		if is {
			notes = append(notes, note)
		}
	}
	add(p.never(), noteNever)
	add(p.ahead(), noteAhead)
	add(p.expired(), noteExpired)
	add(v.orphan(p), noteNoOwner)
	add(p.owner != nil && !p.live, noteStale)
	add(p.leaderless, noteNoLeader)
	return notes
}

// orphan tells whether nobody owns a partition although there are members who want its topic. Who owns what of a kafka
// group only its coordinator knows.
func (v *survey) orphan(p *partState) bool {
	return p.owner == nil && v.kind != registry.KafkaGroup && slices.ContainsFunc(v.members, func(m registry.Member) bool {
		return subscribes(&m, p.topic)
	})
}

// sum is all of a group, or of a topic of it.
type sum struct {
	partitions, owned, never, ahead int
	unknown                         int   // partitions whose lag is not known
	lag, most                       int64 // of the others
	behind                          int   // those with a lag
}

func total(parts []*partState) sum {
	t := sum{partitions: len(parts)}
	for _, p := range parts {
		if p.owner != nil && p.live {
			t.owned++
		}
		if p.never() {
			t.never++
		}
		if p.ahead() {
			t.ahead++
		}
		if lag := p.lag(); lag != nil {
			t.lag += *lag
			t.most = max(t.most, *lag)
			if *lag > 0 {
				t.behind++
			}
		} else {
			t.unknown++
		}
	}
	return t
}

// lagCell is a lag of so many partitions: the least it can be where some of it is not known.
func (t sum) lagCell(lag int64) string {
	switch {
	case t.unknown == 0:
		return fmt.Sprint(lag)
	case t.unknown == t.partitions:
		return "-"
	}
	return fmt.Sprintf(">=%d", lag)
}

// cells is a row of any columns.
type cells struct{ columns, cells, spare []string }

func (c cells) Columns() []string { return c.columns }
func (c cells) Cells() []string   { return c.cells }
func (c cells) Spare() []string   { return c.spare }

// text is a group for a person: itself, its members, its partitions. When that takes more lines than the screen, topics
// stand for their partitions, and of too long lists the first are shown: --all shows everything.
func (v *survey) text(now time.Time, screen, width int, all bool) []byte {
	t := total(v.partitions())
	out := table([]cells{{[]string{"GROUP", "KIND", ">MEMBERS", ">TOPICS", ">PARTITIONS", ">OWNED", ">LAG"},
		[]string{cli.Cell(v.group), kindCell(v.kindOrNil()), fmt.Sprint(len(v.members)), fmt.Sprint(len(v.topics)),
			fmt.Sprint(t.partitions), v.ownedCell(t), t.lagCell(t.lag)}, []string{"KIND", "TOPICS", "OWNED", "PARTITIONS", "MEMBERS"}}}, width)
	const frame = 2 + 2 + 2 // headings, and the lines between the tables
	if all || frame+len(v.members)+t.partitions <= screen {
		screen = frame + len(v.members) + t.partitions
		out = section(out, v.memberLines(now), screen, width, "member")
		return section(out, v.rows(), screen, width, "partition")
	}
	room := (screen - frame) / 2
	topics := v.topicLines()
	if room < 1 { // for a row of each
		return section(out, topics, screen-4, width, "topic")
	}
	out = section(out, v.memberLines(now), max(room, screen-frame-len(topics)), width, "member")
	return section(out, topics, max(room, screen-frame-len(v.members)), width, "topic")
}

// section adds a table of at most so many rows, the first ones.
func section[T cli.Row](out []byte, rows []T, most, width int, what string) []byte {
	if len(rows) == 0 {
		return out
	}
	out = append(out, '\n')
	shown := rows
	if len(rows) > most {
		shown = rows[:max(1, most-1)]
	}
	out = append(out, table(shown, width)...)
	if rest := len(rows) - len(shown); rest > 0 {
		out = fmt.Appendf(out, "... and %d more %s: --all shows all\n", rest, plural(rest, what))
	}
	return out
}

func plural(n int, noun string) string {
	_, noun, _ = strings.Cut(cli.Counted(n, noun), " ")
	return noun
}

func (v *survey) ownedCell(t sum) string {
	if v.kind == registry.KafkaGroup {
		return "-"
	}
	return fmt.Sprint(t.owned)
}

func (v *survey) memberLines(now time.Time) []cells {
	owned := map[string][]*partState{}
	for _, p := range v.partitions() {
		if p.owner != nil {
			owned[*p.owner] = append(owned[*p.owner], p)
		}
	}
	columns := []string{"MEMBER", "HOST", ">JOINED", "STRATEGY", ">OWNS", ">LAG"}
	var lines []cells
	for _, m := range v.members {
		t := total(owned[m.ID])
		host, strategy, age := "-", m.Strategy, "-"
		if h := v.host(m.ID); h != "" {
			host = cli.Cell(h)
		}
		if strategy == "" {
			strategy = "range"
		}
		if !m.Joined.IsZero() {
			age = ago(now.Sub(m.Joined))
		}
		lines = append(lines, cells{columns, []string{cli.Cell(m.ID), host, age, strategy,
			fmt.Sprint(t.partitions), t.lagCell(t.lag)}, []string{"HOST", "STRATEGY", "JOINED", "OWNS"}})
	}
	return lines
}

// ago is a time span in its largest unit, or the two largest: members' clocks are not ours.
func ago(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return d.Truncate(time.Second).String()
	case d < time.Hour:
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
	case d < 24*time.Hour:
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// topicLines are the topics, those that are furthest behind first.
func (v *survey) topicLines() []cells {
	columns := []string{"TOPIC", ">PARTITIONS", ">OWNED", ">LAG", ">LARGEST-LAG", "NOTE"}
	topics := slices.Clone(v.topics)
	slices.SortStableFunc(topics, func(a, b *topicState) int {
		x, y := total(a.parts).lag, total(b.parts).lag
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	var lines []cells
	for _, topic := range topics {
		t := total(topic.parts)
		count := map[string]int{}
		for _, p := range topic.parts {
			for _, note := range v.notes(p) {
				count[note]++
			}
		}
		var notes []string
		for _, note := range []string{noteNever, noteAhead, noteExpired, noteNoOwner, noteStale, noteNoLeader} {
			if count[note] > 0 {
				notes = append(notes, fmt.Sprintf("%d %s", count[note], note))
			}
		}
		lines = append(lines, cells{columns, []string{topic.Name, fmt.Sprint(t.partitions), v.ownedCell(t), t.lagCell(t.lag),
			t.lagCell(t.most), strings.Join(notes, ", ")}, []string{"OWNED", "LARGEST-LAG", "PARTITIONS", "NOTE"}})
	}
	return lines
}
