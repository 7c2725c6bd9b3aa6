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

// Last calls each with the last n records of the spans taken together, merged by time: that is the order in which they
// would be printed by a reader who saw each partition's records in order, and always went on with the earliest time (ties:
// the lower partition). A record is valid during the call; an error of each ends it, and is returned.
//
// It reads backwards from the ends, no more than it needs. Batches that can not be read are told to damaged, and left out.
// Memory is bounded by the batches that hold the last n records of each partition, as they are stored, and 24 bytes for
// each record, for as many partitions at a time as n fits into 65536, at least one.
func (c *Client) Last(ctx context.Context, spans []Span, n int, damaged func(error), each func(*Record) error) error {
	return last(ctx, spans, n, damaged, func() *Reader { return c.NewReader(ReaderOptions{}) }, each)
}

func last(ctx context.Context, spans []Span, n int, damaged func(error), newReader func() *Reader, each func(*Record) error) error {
	var marks []lastMark
	n = min(n, 1<<40) // so that sizes computed of it fit
	if n <= 0 {
		return nil
	}
	for group := range slices.Chunk(spans, max(1, atOnce/n)) {
		s := lastSearch{n: n, damaged: damaged, reader: newReader(), ends: map[partID]*lastOf{}}
		found, err := s.run(ctx, group)
		s.reader.Close()
		if err != nil {
			return err
		}
		marks = mergeLast(marks, found, n)
	}
	return replay(ctx, marks, each)
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

	// Of the windows before, which lie behind this one.
	kept  [][]byte
	found []lastMark

	// In replay.
	it    record.Iterator
	begun bool
	rec   Record
}

// lastMark is a record of a partition.
type lastMark struct {
	at     int64 // the time that counts for merging
	offset int64
	of     *lastOf
}

func (s *lastSearch) run(ctx context.Context, spans []Span) ([]*lastOf, error) {
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
	var found []*lastOf
	for _, span := range spans {
		found = append(found, s.ends[partID{span.Topic, span.Partition}])
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
	l.found = append(s.mark(l), l.found...)
	l.found = l.found[max(0, len(l.found)-s.n):]
	l.kept = append(l.batches, l.kept...)
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

// mark returns the records that are in the window.
func (s *lastSearch) mark(l *lastOf) (marks []lastMark) {
	var rec record.Record
	for _, batch := range l.batches {
		err := s.it.Reset(batch)
		if err == nil && s.it.Header().Attributes.Control() {
			continue
		}
		for err == nil && s.it.Next(&rec) {
			if rec.Offset >= l.window.Start && rec.Offset < l.window.End {
				marks = append(marks, lastMark{rec.Timestamp, rec.Offset, l})
			}
		}
		if err = cmp.Or(err, s.it.Err()); err != nil {
			s.damaged(&DamageError{Topic: l.span.Topic, Partition: l.span.Partition, Offset: s.it.Header().BaseOffset, Err: err})
		}
	}
	return marks
}

// mergeLast adds the records of some partitions to others that are merged already, and keeps the last n. The time of a
// record becomes one that is no later than that of any behind it in its partition: so each partition is in order of time,
// whatever its timestamps say.
func mergeLast(merged []lastMark, found []*lastOf, n int) []lastMark {
	for _, l := range found {
		at := int64(math.MaxInt64)
		for i := range slices.Backward(l.found) {
			at = min(at, l.found[i].at)
			l.found[i].at = at
		}
		merged = append(merged, l.found...)
		l.found = nil
	}
	slices.SortFunc(merged, func(a, b lastMark) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.of.span.Partition, b.of.span.Partition), cmp.Compare(a.offset, b.offset))
	})
	return slices.Clone(merged[max(0, len(merged)-n):]) // partitions of which none is among them are let go
}

// replay decodes the records that are marked. Those of a partition come in its order, so that each batch is decoded once.
func replay(ctx context.Context, marks []lastMark, each func(*Record) error) error {
	for _, m := range marks {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if m.of.advance(m.offset) {
			if err := each(&m.of.rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// advance goes on to the record of that id.
func (l *lastOf) advance(offset int64) bool {
	l.rec.Topic, l.rec.Partition = l.span.Topic, l.span.Partition
	for {
		for l.begun && l.it.Next(&l.rec.Record) {
			if l.rec.Offset == offset {
				return true
			}
		}
		if len(l.kept) == 0 {
			return false
		}
		l.begun = l.it.Reset(l.kept[0]) == nil
		l.kept[0] = nil
		l.kept = l.kept[1:]
	}
}
