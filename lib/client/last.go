package client

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"

	"logkit/lib/record"
)

// Record is a record and where it is from.
type Record struct {
	Topic     string
	Partition int32
	record.Record
}

// Sizes of the search for the last records of a partition: ids are bytes, so that a distance in ids is a guess of what
// will be read. Where they are counts the first guess reaches further than needed.
const (
	firstWindow = 64 << 10
	likelySize  = 256 // bytes of a record
	widen       = 4   // the next guess is so many times the last
	atOnce      = 1 << 16
)

// Last returns the last n records of the spans taken together, merged by time: that is the order in which they would be
// printed by a reader who saw each partition's records in order, and always went on with the earliest time (ties: the
// lower partition). It reads backwards from the ends, no more than it needs. Batches that can not be read are told to
// damaged, and left out. Memory is bounded by n records for as many partitions as n fits into 65536, at least one.
func (c *Client) Last(ctx context.Context, spans []Span, n int, damaged func(error)) ([]Record, error) {
	return last(ctx, spans, n, damaged, func() *Reader { return c.NewReader(ReaderOptions{}) })
}

func last(ctx context.Context, spans []Span, n int, damaged func(error), newReader func() *Reader) ([]Record, error) {
	var all []timedRecord
	n = min(n, 1<<40) // so that sizes computed of it fit
	if n <= 0 {
		return nil, nil
	}
	for group := range slices.Chunk(spans, max(1, atOnce/n)) {
		s := lastSearch{n: n, damaged: damaged, reader: newReader(), ends: map[partID]*lastOf{}}
		found, err := s.run(ctx, group)
		s.reader.Close()
		if err != nil {
			return nil, err
		}
		all = mergeLast(all, found, n)
	}
	records := make([]Record, len(all))
	for i := range all {
		records[i] = all[i].Record
	}
	return records, nil
}

// lastSearch finds the last n records of some spans at once.
type lastSearch struct {
	n       int
	damaged func(error)
	reader  *Reader
	ends    map[partID]*lastOf
	it      record.Iterator
}

// lastOf is the search in one span. Records are found in windows, the latest first.
type lastOf struct {
	span    Span     // what is to be searched
	window  Span     // what is being read of it
	batches [][]byte // of the window, as many as may be needed
	counts  []int    // records of each that are in the window for sure
	found   []Record // of the windows before, which lie behind this one
}

func (s *lastSearch) run(ctx context.Context, spans []Span) ([][]Record, error) {
	reach := min(max(firstWindow, int64(s.n)*likelySize), 16<<20)
	for _, span := range spans {
		l := &lastOf{span: span, window: span}
		l.window.Start = max(span.Start, span.End-reach)
		s.ends[partID{span.Topic, span.Partition}] = l
		s.reader.Add(l.window)
	}
	for open := len(spans); open > 0; {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case chunks := <-s.reader.C():
			for _, c := range chunks {
				done, err := s.take(c)
				if err != nil {
					return nil, err
				}
				if done {
					open--
				}
			}
		}
	}
	var found [][]Record
	for _, span := range spans {
		found = append(found, s.ends[partID{span.Topic, span.Partition}].found)
	}
	return found, nil
}

// take deals with a chunk, and reports whether its partition is finished.
func (s *lastSearch) take(c Chunk) (bool, error) {
	l := s.ends[partID{c.Topic, c.Partition}]
	for _, d := range c.Damage {
		s.damaged(d)
	}
	if d, ok := c.Err.(*DamageError); ok {
		s.damaged(d)
	} else if c.Err != nil {
		return false, c.Err
	}
	had := len(l.batches)
	for _, batch := range c.Batches {
		l.add(batch)
	}
	had -= l.trim(s.n - len(l.found))
	for i := max(0, had); i < len(l.batches); i++ {
		l.batches[i] = bytes.Clone(l.batches[i]) // so as not to hold on to all of the answer
	}
	if !c.Last {
		return false, nil
	}
	l.found = append(s.decode(l), l.found...)
	l.found = l.found[max(0, len(l.found)-s.n):]
	if len(l.found) == s.n || l.window.Start <= l.span.Start {
		return true, nil
	}
	reach := l.span.End - l.window.Start
	l.window.End = l.window.Start
	l.window.Start = max(l.span.Start, l.span.End-widen*reach)
	l.batches, l.counts = nil, nil
	s.reader.Add(l.window)
	return false, nil
}

// add appends a batch.
func (l *lastOf) add(batch []byte) {
	count := 0
	h, err := record.ParseHeader(batch)
	if err == nil && !h.Attributes.Control() && h.BaseOffset >= l.window.Start && h.LastOffset() < l.window.End {
		count = int(h.Count)
	}
	l.batches = append(l.batches, batch)
	l.counts = append(l.counts, count)
}

// trim drops the batches behind which there are n records already, and returns how many.
func (l *lastOf) trim(n int) int {
	behind, keep := 0, len(l.batches)
	for keep > 0 && behind < n {
		keep--
		behind += l.counts[keep]
	}
	l.batches = slices.Delete(l.batches, 0, keep)
	l.counts = slices.Delete(l.counts, 0, keep)
	return keep
}

// decode returns copies of the last n records that are in the window.
func (s *lastSearch) decode(l *lastOf) []Record {
	total := 0
	s.each(l, func(record.Record) { total++ }, s.damaged)
	records := make([]Record, 0, min(total, s.n))
	s.each(l, func(r record.Record) {
		if total--; total < s.n {
			records = append(records, Record{l.span.Topic, l.span.Partition, cloneRecord(r)})
		}
	}, func(error) {})
	return records
}

// each calls f with the records that are in the window, valid during the call.
func (s *lastSearch) each(l *lastOf, f func(record.Record), damaged func(error)) {
	var rec record.Record
	for _, batch := range l.batches {
		err := s.it.Reset(batch)
		if err == nil && s.it.Header().Attributes.Control() {
			continue
		}
		for err == nil && s.it.Next(&rec) {
			if rec.Offset >= l.window.Start && rec.Offset < l.window.End {
				f(rec)
			}
		}
		if err = cmp.Or(err, s.it.Err()); err != nil {
			damaged(&DamageError{Topic: l.span.Topic, Partition: l.span.Partition, Offset: s.it.Header().BaseOffset, Err: err})
		}
	}
}

func cloneRecord(r record.Record) record.Record {
	r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	r.Headers = slices.Clone(r.Headers)
	for i := range r.Headers {
		r.Headers[i].Value = bytes.Clone(r.Headers[i].Value)
	}
	return r
}

// timedRecord is a record with the time that counts for merging: no later than that of any behind it in its partition.
// So each partition is in order of time, whatever its timestamps say.
type timedRecord struct {
	at int64
	Record
}

// inTime gives the records of one partition, in order, their times.
func inTime(records []Record) []timedRecord {
	timed := make([]timedRecord, len(records))
	at := int64(math.MaxInt64)
	for i, r := range slices.Backward(records) {
		at = min(at, r.Timestamp)
		timed[i] = timedRecord{at, r}
	}
	return timed
}

// mergeLast adds the records of some partitions to others that are merged already, and keeps the last n.
func mergeLast(merged []timedRecord, found [][]Record, n int) []timedRecord {
	for _, records := range found {
		merged = append(merged, inTime(records)...)
	}
	slices.SortStableFunc(merged, func(a, b timedRecord) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return merged[max(0, len(merged)-n):]
}
