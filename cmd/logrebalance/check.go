package main

import (
	"context"
	"errors"
	"fmt"
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
		if o.warning != nil && o.critical != nil && *o.warning > *o.critical {
			return cli.Usagef("--warning %s is above --critical %s", o.warning, o.critical)
		}
		err := run(ctx, env, args)
		var verdict *verdictError
		switch {
		case err == nil, errors.As(err, &verdict), errors.Is(err, cli.ErrStdoutClosed), ctx.Err() != nil:
			return err
		}
		text := strings.ReplaceAll(strings.ReplaceAll(err.Error(), "\n", "; "), "|", "/")
		_, unsaid := fmt.Fprintf(env.Stdout, "%s: %s\n", checkWords[checkUnknown], oneLine(text))
		if unsaid != nil && !errors.Is(unsaid, cli.ErrStdoutClosed) {
			env.Say("%s", err)
		}
		return verdictOf(checkUnknown)
	}
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
	if !t.known {
		for _, p := range v.partitions() {
			if p.leaderless {
				return &client.PartitionError{Topic: p.topic, Partition: p.partition, Err: errors.New("no leader, who would know where it ends")}
			}
		}
	}
	lag := t.lag
	if o.records {
		if lag, err = s.countRecords(ctx, v); err != nil {
			return err
		}
	}
	status, line := o.judge(v, t, lag)
	if o.json {
		line, err = checkJSON(v, t, status, lag, o.records)
		if err != nil {
			return err
		}
	}
	if err := s.write([]byte(line)); err != nil && !errors.Is(err, cli.ErrStdoutClosed) { // the status is an answer by itself
		return err
	}
	return verdictOf(status)
}

// judge makes the verdict and the line of it.
func (o *options) judge(v *survey, t sum, lag int64) (status int, line string) {
	var said []string
	say := func(at int, format string, args ...any) {
		status = max(status, at)
		said = append(said, fmt.Sprintf(format, args...))
	}
	unit, perf := "byte", "B"
	if o.records {
		unit, perf = "record", ""
	}
	behind := fmt.Sprintf("%s behind in %s", cli.Counted(lag, unit), cli.Counted(t.partitions, "partition"))
	switch {
	case o.critical != nil && lag > int64(*o.critical):
		say(checkCritical, "%s (critical above %s)", behind, o.critical)
	case o.warning != nil && lag > int64(*o.warning):
		say(checkWarning, "%s (warning above %s)", behind, o.warning)
	default:
		say(checkOK, "%s", behind)
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
	case len(v.members) > 0, t.lag == 0 && t.ahead > 0:
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
	return status, fmt.Sprintf("%s: group %s: %s|lag=%d%s;%s;%s;0 members=%d partitions=%d never=%d ahead=%d\n",
		checkWords[status], oneLine(cli.Cell(v.group)), strings.Join(said, ", "), lag, perf,
		perfThreshold(o.warning), perfThreshold(o.critical), len(v.members), t.partitions, t.never, t.ahead)
}

// perfThreshold is the range of values that raise no alarm.
func perfThreshold(s *cli.Size) string {
	if s == nil {
		return ""
	}
	return fmt.Sprint(int64(*s))
}

func checkJSON(v *survey, t sum, status int, lag int64, records bool) (string, error) {
	group := name(v.group)
	unit := "bytes"
	if records {
		unit = "records"
	}
	text, err := cli.Objects([]any{struct {
		Group       *string `json:"group"`
		GroupBase64 []byte  `json:"group_base64,omitempty"`
		Status      string  `json:"status"`
		Lag         int64   `json:"lag"`
		Unit        string  `json:"unit"`
		Members     int     `json:"members"`
		Partitions  int     `json:"partitions"`
		Never       int     `json:"never"`
		Ahead       int     `json:"ahead"`
	}{group.text, group.raw, checkWords[status], lag, unit, len(v.members), t.partitions, t.never, t.ahead}})
	return string(text), err
}

// countRecords reads all that the group is behind.
func (s *session) countRecords(ctx context.Context, v *survey) (int64, error) {
	var spans []client.Span
	for _, p := range v.partitions() {
		if start := max(p.committed, *p.start); start < *p.end {
			spans = append(spans, client.Span{Topic: p.topic, Partition: p.partition, Start: start, End: *p.end})
		}
	}
	r := s.client.NewReader(client.ReaderOptions{})
	defer r.Close()
	r.Add(spans...)
	total := int64(0)
	var it record.Iterator
	for open := len(spans); open > 0; {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case chunks := <-r.C():
			for _, c := range chunks {
				if c.Err != nil {
					return 0, c.Err
				}
				if len(c.Damage) > 0 {
					return 0, c.Damage[0]
				}
				for _, batch := range c.Batches {
					n, err := recordsIn(&it, batch, c.Start, c.End)
					if err != nil {
						return 0, &client.PartitionError{Topic: c.Topic, Partition: c.Partition, Err: err}
					}
					total += n
				}
				if c.Last {
					open--
				}
			}
		}
	}
	return total, nil
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
