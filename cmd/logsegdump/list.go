package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"logkit/lib/inspect"
	"logkit/lib/record"
)

// list prints a line for each batch.
type list struct {
	plain
	s    *session
	last string // file whose heading was printed
}

func (l *list) aside() bool { return true }

// heading is printed before the batches of each file.
func (l *list) heading(f *inspect.File, columns string) {
	if l.s.o.json || l.last == f.Path {
		return
	}
	if l.last != "" {
		fmt.Fprintln(l.s.out)
	}
	l.last = f.Path
	fmt.Fprintf(l.s.out, "==> %s <==\n", safeName(f.Path))
	if columns != "" {
		fmt.Fprintln(l.s.out, columns)
	}
}

const (
	batchColumns = "          id         next   position     bytes records v  codec  flags producer           time                     max-time                 verdict"
	batchLine    = "%12s %12s %10d %9d %7s %-2s %-6s %-5s %-18s %-24s %-24s %s\n"
)

func (l *list) batch(f *inspect.File, b *inspect.Batch) error {
	if l.s.o.json {
		return l.s.printJSON(newBatchJSON(f, b))
	}
	l.heading(f, batchColumns)
	records := "-"
	if b.Count != inspect.NoCount {
		records = strconv.FormatInt(b.Count, 10)
	}
	verdict := "ok"
	if b.Verdict != "" {
		verdict = l.s.alarm(string(b.Verdict))
	}
	_, err := fmt.Fprintf(l.s.out, batchLine, strconv.FormatInt(b.Base, 10), strconv.FormatInt(b.Next, 10), b.Position, b.Size, records,
		b.Format, b.Codec(), flagsOf(b), producerOf(b), showTime(b.Timestamp), showTime(b.MaxTimestamp), verdict)
	return err
}

// alarm makes a verdict stand out on a terminal.
func (s *session) alarm(verdict string) string {
	if s.env.StdoutColour() {
		return "\x1b[31m" + verdict + "\x1b[0m"
	}
	return verdict
}

// flagsOf are letters: A appended with the broker's time, T transactional, C control, H with a delete horizon.
func flagsOf(b *inspect.Batch) string {
	flags := ""
	if b.Format == inspect.Format07 {
		return "-"
	}
	for _, flag := range []struct {
		set    bool
		letter string
	}{{b.Attributes.LogAppendTime(), "A"}, {b.Attributes.Transactional(), "T"}, {b.Attributes.Control(), "C"}, {b.Attributes.HasDeleteHorizon(), "H"}} {
		if flag.set {
			flags += flag.letter
		}
	}
	if flags == "" {
		return "-"
	}
	return flags
}

// producerOf is ID/EPOCH:SEQUENCE.
func producerOf(b *inspect.Batch) string {
	if b.ProducerID < 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d:%d", b.ProducerID, b.ProducerEpoch, b.BaseSequence)
}

// showTime is a timestamp in UTC, and a dash for none.
func showTime(ms int64) string {
	const latest = 253402300799999 // in the year 9999, behind which no layout fits
	switch {
	case ms == record.NoTimestamp:
		return "-"
	case ms < 0 || ms > latest:
		return "@" + strconv.FormatInt(ms, 10)
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func (l *list) verdict(f *inspect.File, v *inspect.Verdict) error {
	if l.s.o.json {
		return l.s.printJSON(newVerdictJSON(v))
	}
	// What can be seen in the line of a batch needs none of its own.
	if f.Kind == inspect.LogFile && v.File == f.Path && v.Kind.IsRange() {
		l.heading(f, batchColumns)
		id, next := "-", "-"
		if v.ID >= 0 {
			id = strconv.FormatInt(v.ID, 10)
		}
		if v.ID >= 0 && v.EndID > v.ID {
			next = strconv.FormatInt(v.EndID, 10)
		}
		fmt.Fprintf(l.s.out, batchLine, id, next, v.Position, v.End-v.Position, "-", "-", "-", "-", "-", "-", "-", l.s.alarm(string(v.Kind)))
	}
	l.s.tell(v)
	return nil
}

// entry prints an entry of a file that is no log.
func (s *session) entry(f *inspect.File, e *inspect.Entry) error {
	l := s.mode.(*list)
	if s.o.json {
		line := []byte(`{"file":`)
		line = appendJSON(line, f.Path)
		line = fmt.Appendf(line, `,"position":%d`, e.Position)
		for _, field := range e.Fields {
			line = append(append(append(line, ','), appendJSON(nil, field.Name)...), ':')
			line = appendJSON(line, field.Value)
		}
		_, err := s.out.Write(append(line, '}', '\n'))
		return err
	}
	l.heading(f, "")
	for i, field := range e.Fields {
		if i > 0 {
			s.out.WriteByte(' ')
		}
		text, ok := field.Value.(string)
		if ok {
			text = safeName(text)
		} else {
			text = fmt.Sprint(field.Value)
		}
		fmt.Fprintf(s.out, "%s: %s", safeName(field.Name), text)
	}
	return s.out.WriteByte('\n')
}

// batchJSON is how a batch looks in JSON.
type batchJSON struct {
	File          string `json:"file"`
	Position      int64  `json:"position"`
	BaseOffset    int64  `json:"base_offset"`
	LastOffset    int64  `json:"last_offset"`
	NextOffset    int64  `json:"next_offset"`
	Size          int64  `json:"size"`
	Count         *int64 `json:"count"`
	Codec         string `json:"codec"`
	ProducerID    int64  `json:"producer_id"`
	ProducerEpoch int16  `json:"producer_epoch"`
	BaseSequence  int32  `json:"base_sequence"`
	Timestamp     int64  `json:"timestamp"`
	MaxTimestamp  int64  `json:"max_timestamp"`
	CRC           uint32 `json:"crc"`
	Valid         bool   `json:"valid"`
	Verdict       string `json:"verdict"`
	Format        string `json:"format"`
	LeaderEpoch   int32  `json:"leader_epoch"`
	LogAppendTime bool   `json:"log_append_time"`
	Transactional bool   `json:"transactional"`
	Control       bool   `json:"control"`
}

func newBatchJSON(f *inspect.File, b *inspect.Batch) batchJSON {
	j := batchJSON{
		File: f.Path, Position: b.Position, BaseOffset: b.Base, LastOffset: b.Last, NextOffset: b.Next, Size: b.Size, Codec: b.Codec().String(),
		ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch, BaseSequence: b.BaseSequence, Timestamp: b.Timestamp, MaxTimestamp: b.MaxTimestamp,
		CRC: b.CRC, Valid: b.Verdict == "", Verdict: "ok", Format: b.Format.String(), LeaderEpoch: b.LeaderEpoch,
	}
	if b.Count != inspect.NoCount {
		j.Count = &b.Count
	}
	if b.Verdict != "" {
		j.Verdict = string(b.Verdict)
	}
	if b.Format != inspect.Format07 {
		j.LogAppendTime, j.Transactional, j.Control = b.Attributes.LogAppendTime(), b.Attributes.Transactional(), b.Attributes.Control()
	}
	return j
}

// verdictJSON is how a verdict looks in JSON.
type verdictJSON struct {
	File     string `json:"file"`
	Position int64  `json:"position"`
	End      int64  `json:"end"`
	ID       *int64 `json:"id"`
	EndID    *int64 `json:"end_id"`
	Records  *int64 `json:"records"`
	Valid    bool   `json:"valid"`
	Verdict  string `json:"verdict"`
	Expected string `json:"expected"`
	Found    string `json:"found"`
}

func newVerdictJSON(v *inspect.Verdict) verdictJSON {
	j := verdictJSON{
		File: v.File, Position: v.Position, End: max(v.End, v.Position), Valid: !v.Kind.Damage(),
		Verdict: string(v.Kind), Expected: v.Expected, Found: v.Found,
	}
	if v.ID >= 0 {
		j.ID = &v.ID
	}
	if v.ID >= 0 && v.EndID > v.ID {
		j.EndID = &v.EndID
	}
	if v.Records > 0 {
		j.Records = &v.Records
	}
	return j
}

// printJSON prints v on a line.
func (s *session) printJSON(v any) error {
	e := json.NewEncoder(s.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
