package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"logkit/lib/cli"
	"logkit/lib/client"
	"logkit/lib/record"
)

// The exit statuses of a monitoring plugin (Nagios and its kin).
const (
	checkOK = iota
	checkWarning
	checkCritical
	checkUnknown
)

var checkWords = []string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}

var checkExits = append([]cli.Exit{
	{Code: checkOK, Meaning: "all is well"},
	{Code: checkWarning, Meaning: "warning"},
	{Code: checkCritical, Meaning: "critical"},
	{Code: checkUnknown, Meaning: "unknown: no answer, or no such group"},
}, cli.Exits(cli.ExitUsage, cli.ExitHungUp, cli.ExitInterrupted, cli.ExitTerminated)...)

// monitored runs a check. Its errors are the one line that a monitor takes, with status 3, but for those of the command line.
func (o *options) monitored(check func(context.Context, *session, []string) error) func(context.Context, *cli.Env, []string) error {
	run := o.with(needsBroker, check)
	return func(ctx context.Context, env *cli.Env, args []string) error {
		if err := o.checkLoudness(); err != nil {
			return err
		}
		if o.warning != nil && o.critical != nil && *o.warning > *o.critical {
			return cli.Usagef("--warning %s is above --critical %s", o.warning, o.critical)
		}
		err := run(ctx, env, args)
		var verdict *verdictError
		switch {
		case err == nil, errors.As(err, &verdict), errors.Is(err, cli.ErrStdoutClosed), ctx.Err() != nil:
			return err
		}
		line, failed := o.noAnswer(args[0], err)
		if failed != nil {
			return failed
		}
		_, unsaid := io.WriteString(env.Stdout, line)
		if unsaid != nil && !errors.Is(unsaid, cli.ErrStdoutClosed) {
			env.Say("%s", err)
		}
		return verdictOf(checkUnknown)
	}
}

// noAnswer is the line of a check that has found out nothing, and why.
func (o *options) noAnswer(group string, err error) (string, error) {
	reason := oneLine(strings.ReplaceAll(err.Error(), "\n", "; "))
	if !o.json {
		return fmt.Sprintf("%s: %s\n", checkWords[checkUnknown], reason), nil
	}
	n := name(group)
	return objectOf(checked{Group: n.text, GroupBase64: n.raw, Status: checkWords[checkUnknown], Unit: o.unit() + "s", Reason: &reason})
}

// verdictError carries the status of a check that has printed its line.
type verdictError struct{ error }

func (e *verdictError) Unwrap() error { return e.error }

func verdictOf(status int) error {
	if status == checkOK {
		return nil
	}
	return cli.WithCode(status, &verdictError{cli.ErrReported})
}

// oneLine keeps control characters, and the bar that begins the performance data, out of the line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '|':
			return '/'
		case r < ' ' || r == 0x7f:
			return ' '
		}
		return r
	}, text)
}

func (o *options) check(ctx context.Context, s *session, args []string) error {
	g, err := s.group(ctx, args[0])
	if err != nil {
		return err
	}
	v, err := s.survey(ctx, g, true)
	if err != nil {
		return err
	}
	t := total(v.partitions())
	lag := t.lag
	if o.records {
		if lag, t.behind, err = s.countRecords(ctx, v); err != nil {
			return err
		}
	}
	verdict := o.judge(v, t, lag)
	line := verdict.line
	if o.json {
		if line, err = checkJSON(v, t, verdict, lag, o.unit()+"s"); err != nil {
			return err
		}
	}
	if err := s.write([]byte(line)); err != nil && !errors.Is(err, cli.ErrStdoutClosed) { // the status is an answer by itself
		return err
	}
	return verdictOf(verdict.status)
}

// unit is what the lag is counted in.
func (o *options) unit() string {
	if o.records {
		return "record"
	}
	return "byte"
}

// verdict is what a check has found out.
type verdict struct {
	status int
	line   string  // with performance data
	reason *string // why the status is unknown
}

// add makes a verdict worse. What is known to be critical counts more than what is not known, and that more than a warning.
func (v *verdict) add(status int) {
	rank := []int{checkOK: 0, checkWarning: 1, checkUnknown: 2, checkCritical: 3}
	if rank[status] > rank[v.status] {
		v.status = status
	}
}

// judge makes the verdict. Where the lag of some partitions is not known, that of the others is the least it can be.
func (o *options) judge(v *survey, t sum, lag int64) (made verdict) {
	var said []string
	say := func(at int, format string, args ...any) {
		made.add(at)
		said = append(said, fmt.Sprintf(format, args...))
	}
	behind := fmt.Sprintf("%s behind in %s", cli.Counted(lag, o.unit()), cli.Counted(t.partitions, "partition"))
	if t.behind > 0 && t.behind < t.partitions {
		behind = fmt.Sprintf("%s behind in %d of %s", cli.Counted(lag, o.unit()), t.behind, cli.Counted(t.partitions, "partition"))
	}
	if t.unknown > 0 {
		behind = "at least " + behind
	}
	switch {
	case o.critical != nil && lag > int64(*o.critical):
		say(checkCritical, "%s (critical above %s)", behind, o.critical)
	case o.warning != nil && lag > int64(*o.warning):
		say(checkWarning, "%s (warning above %s)", behind, o.warning)
	default:
		say(checkOK, "%s", behind)
	}
	if t.unknown > 0 {
		say(checkUnknown, "lag of %s not known: no leader", cli.Counted(t.unknown, "partition"))
	}
	count := map[string]int{}
	for _, p := range v.partitions() {
		for _, note := range v.notes(p) {
			count[note]++
		}
	}
	if n := count[noteAhead]; n > 0 {
		say(checkCritical, "%s ahead of the end of the log", cli.Counted(n, "partition"))
	}
	if n := count[noteExpired]; n > 0 {
		say(checkWarning, "%s with records deleted unread", cli.Counted(n, "partition"))
	}
	if n := count[noteNever]; n > 0 {
		say(checkOK, "%s never committed, counted from the start of the log", cli.Counted(n, "partition"))
	}
	switch {
	case len(v.members) > 0 && count[noteNoOwner]+count[noteStale] > 0:
		say(checkWarning, "%s without a live owner", cli.Counted(count[noteNoOwner]+count[noteStale], "partition"))
	case len(v.members) > 0, t.lag == 0 && t.ahead+t.unknown > 0:
	case t.lag == 0:
		say(checkOK, "idle without members")
	case o.batch:
		say(checkOK, "no members")
	default:
		say(checkWarning, "stopped: no members")
	}
	if len(v.gone) > 0 {
		say(checkOK, "offsets of %s left out that were deleted", cli.Counted(len(v.gone), "topic"))
	}
	if len(v.topics) == 0 {
		said = []string{"no topics"}
	}
	text := strings.Join(said, ", ")
	if made.status == checkUnknown {
		made.reason = &text
	}
	made.line = fmt.Sprintf("%s: group %s: %s|lag=%s;%s;%s;0 members=%d partitions=%d never=%d ahead=%d unknown=%d\n",
		checkWords[made.status], oneLine(cli.Cell(v.group)), text, o.perfLag(t, lag),
		perfThreshold(o.warning), perfThreshold(o.critical), len(v.members), t.partitions, t.never, t.ahead, t.unknown)
	return made
}

// perfLag is U where the lag is not known: the part of it that is would look as if the group had caught up.
func (o *options) perfLag(t sum, lag int64) string {
	switch {
	case t.unknown > 0:
		return "U"
	case o.records:
		return fmt.Sprint(lag)
	}
	return fmt.Sprintf("%dB", lag)
}

// perfThreshold is the range of values that raise no alarm.
func perfThreshold(s *cli.Size) string {
	if s == nil {
		return ""
	}
	return fmt.Sprint(int64(*s))
}

// checked is the object of a check. What is not known is nil.
type checked struct {
	Group       *string `json:"group"`
	GroupBase64 []byte  `json:"group_base64,omitempty"`
	Status      string  `json:"status"`
	Reason      *string `json:"reason"` // of a status that is unknown
	Lag         *int64  `json:"lag"`    // at least, where some of it is not known
	Unit        string  `json:"unit"`
	Members     *int    `json:"members"`
	Partitions  *int    `json:"partitions"`
	Never       *int    `json:"never"`
	Ahead       *int    `json:"ahead"`
	Unknown     *int    `json:"unknown"` // partitions whose lag is not known
}

func checkJSON(v *survey, t sum, made verdict, lag int64, unit string) (string, error) {
	group, members := name(v.group), len(v.members)
	return objectOf(checked{group.text, group.raw, checkWords[made.status], made.reason, &lag, unit,
		&members, &t.partitions, &t.never, &t.ahead, &t.unknown})
}

func objectOf[T any](object T) (string, error) {
	text, err := cli.Objects([]T{object})
	return string(text), err
}

// countRecords reads all that the group is behind, in partitions that have a leader, and returns how many of those have
// such records.
func (s *session) countRecords(ctx context.Context, v *survey) (records int64, partitions int, err error) {
	var spans []client.Span
	for _, p := range v.partitions() {
		if p.lag() == nil {
			continue
		}
		if start := max(p.committed, *p.start); start < *p.end {
			spans = append(spans, client.Span{Topic: p.topic, Partition: p.partition, Start: start, End: *p.end})
		}
	}
	r := s.client.NewReader(client.ReaderOptions{})
	defer r.Close()
	r.Add(spans...)
	behind := map[spot]bool{}
	var it record.Iterator
	for open := len(spans); open > 0; {
		select {
		case <-ctx.Done():
			return 0, 0, context.Cause(ctx)
		case chunks := <-r.C():
			for _, c := range chunks {
				if c.Err != nil {
					return 0, 0, c.Err
				}
				if len(c.Damage) > 0 {
					return 0, 0, c.Damage[0]
				}
				for _, batch := range c.Batches {
					n, err := recordsIn(&it, batch, c.Start, c.End)
					if err != nil {
						return 0, 0, &client.PartitionError{Topic: c.Topic, Partition: c.Partition, Err: err}
					}
					if records += n; n > 0 {
						behind[spot{c.Topic, c.Partition}] = true
					}
				}
				if c.Last {
					open--
				}
			}
		}
	}
	return records, len(behind), nil
}

// recordsIn counts the records of a batch with ids in [start, end). Where the ids of a batch have no gaps its header is
// enough; batches of a compacted log have to be looked into.
func recordsIn(it *record.Iterator, batch []byte, start, end int64) (int64, error) {
	h, err := record.ParseHeader(batch)
	if err != nil || h.Attributes.Control() {
		return 0, err
	}
	if h.LastOffsetDelta == h.Count-1 {
		return max(0, min(end, h.LastOffset()+1)-max(start, h.BaseOffset)), nil
	}
	if err := it.Reset(batch); err != nil {
		return 0, err
	}
	n := int64(0)
	for rec := (record.Record{}); it.Next(&rec); {
		if rec.Offset >= start && rec.Offset < end {
			n++
		}
	}
	return n, it.Err()
}
