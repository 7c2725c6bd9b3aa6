package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"logkit/lib/inspect"
	"logkit/lib/record"
)

// summary prints a line for each log, bars, or both.
type summary struct {
	plain
	s      *session
	r      reader
	titled bool

	total totals
	sizes *sizeBars
	times *timeBars
}

// totals are what the line of a file tells.
type totals struct {
	First, Last      int64
	Batches, Records int64
	Bytes, Payload   int64
	Codecs           map[string]int64 // batches
	From, To         int64            // timestamps
	Verdicts         int64
}

func (m *summary) begin(*inspect.File) error {
	m.total = totals{First: -1, Last: -1, From: record.NoTimestamp, To: record.NoTimestamp, Codecs: map[string]int64{}}
	m.sizes, m.times = new(sizeBars), newTimeBars()
	return nil
}

func (m *summary) batch(f *inspect.File, b *inspect.Batch) error {
	t := &m.total
	if t.Batches == 0 {
		t.First = b.Base
	}
	t.Batches++
	t.Last = max(t.Last, b.Last)
	t.Bytes += b.Size
	t.Codecs[b.Codec().String()]++
	return m.s.each(&m.r, f, b, func(r *record.Record) error {
		size := int64(len(r.Key) + len(r.Value))
		t.Records++
		t.Payload += size
		if m.s.o.histogram {
			m.sizes.add(size)
			if r.Timestamp >= 0 {
				m.times.add(r.Timestamp)
			}
		}
		if r.Timestamp >= 0 {
			if t.From < 0 || r.Timestamp < t.From {
				t.From = r.Timestamp
			}
			t.To = max(t.To, r.Timestamp)
		}
		return nil
	})
}

func (m *summary) verdict(_ *inspect.File, v *inspect.Verdict) error {
	m.total.Verdicts++
	m.s.tell(v)
	return nil
}

// overhead is how many bytes a record takes beyond its key and value; below zero when compression saves more.
func (t *totals) overhead() float64 {
	if t.Records == 0 {
		return 0
	}
	return float64(t.Bytes-t.Payload) / float64(t.Records)
}

// summaryJSON is how the line of a file looks in JSON.
type summaryJSON struct {
	File     string           `json:"file"`
	First    *int64           `json:"first_offset"`
	Last     *int64           `json:"last_offset"`
	Batches  int64            `json:"batches"`
	Records  int64            `json:"records"`
	Bytes    int64            `json:"bytes"`
	Payload  int64            `json:"payload_bytes"`
	Codecs   map[string]int64 `json:"codecs"`
	From     int64            `json:"timestamp"`
	To       int64            `json:"max_timestamp"`
	Overhead float64          `json:"overhead_per_record"`
	Verdicts int64            `json:"verdicts"`
}

const (
	summaryColumns = "       first         last  batches    records        bytes codecs          from                     to                       overhead file"
	summaryLine    = "%12s %12s %8d %10d %12d %-15s %-24s %-24s %8.1f %s\n"
)

func (m *summary) end(f *inspect.File) error {
	t := &m.total
	if f.Kind != inspect.LogFile {
		return nil
	}
	if m.s.o.summary {
		if err := m.line(f, t); err != nil {
			return err
		}
	}
	if !m.s.o.histogram {
		return nil
	}
	if m.s.o.json {
		return m.barsJSON(f)
	}
	if !m.s.o.summary {
		fmt.Fprintf(m.s.out, "%s\n", safeName(f.Path))
	}
	fmt.Fprintln(m.s.out, "  bytes of key and value")
	m.sizes.print(m.s.out)
	fmt.Fprintln(m.s.out, "  time (UTC)")
	m.times.print(m.s.out)
	return nil
}

func (m *summary) line(f *inspect.File, t *totals) error {
	if m.s.o.json {
		j := summaryJSON{File: f.Path, Batches: t.Batches, Records: t.Records, Bytes: t.Bytes, Payload: t.Payload, Codecs: t.Codecs,
			From: t.From, To: t.To, Overhead: t.overhead(), Verdicts: t.Verdicts}
		if t.Batches > 0 {
			j.First, j.Last = &t.First, &t.Last
		}
		return m.s.printJSON(j)
	}
	if !m.titled {
		m.titled = true
		fmt.Fprintln(m.s.out, summaryColumns)
	}
	first, last, codecs := "-", "-", "-"
	if t.Batches > 0 {
		first, last = fmt.Sprint(t.First), fmt.Sprint(t.Last)
		codecs = strings.Join(slices.Sorted(maps.Keys(t.Codecs)), ",")
	}
	_, err := fmt.Fprintf(m.s.out, summaryLine, first, last, t.Batches, t.Records, t.Bytes, codecs, showTime(t.From), showTime(t.To), t.overhead(), safeName(f.Path))
	return err
}

// barJSON is a bar in JSON. From is included, To is not.
type barJSON struct {
	File      string `json:"file"`
	Histogram string `json:"histogram"`
	From      int64  `json:"from"`
	To        int64  `json:"to"`
	Records   int64  `json:"records"`
}

func (m *summary) barsJSON(f *inspect.File) error {
	for _, bars := range []struct {
		name string
		list []bar
	}{{"size", m.sizes.bars()}, {"time", m.times.bars()}} {
		for _, b := range bars.list {
			if err := m.s.printJSON(barJSON{f.Path, bars.name, b.from, b.to, b.n}); err != nil {
				return err
			}
		}
	}
	return nil
}
