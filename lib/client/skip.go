package client

import (
	"cmp"
	"context"
	"slices"

	"logkit/lib/record"
)

// Skip returns the spans without the first n records of them taken together, in the order in which a reader would print
// them who saw each partition's records in order, and always went on with the earliest time (ties: the lower partition).
// Batches that can not be read count as nothing. Memory is bounded by 24 bytes for each of n records a span.
func (c *Client) Skip(ctx context.Context, spans []Span, n int) ([]Span, error) {
	r := c.NewReader(ReaderOptions{})
	defer r.Close()
	return skip(ctx, spans, n, r)
}

// skipped is the beginning of a span.
type skipped struct {
	marks []mark
	open  bool
}

// mark is a record, with the time that counts for merging: no earlier than that of any before it in its partition.
type mark struct {
	at        int64
	partition partID
	offset    int64
}

func skip(ctx context.Context, spans []Span, n int, r *Reader) ([]Span, error) {
	if n <= 0 {
		return spans, nil
	}
	found := map[partID]*skipped{}
	for _, s := range spans {
		found[partID{s.Topic, s.Partition}] = &skipped{open: true}
	}
	r.Add(spans...)
	var it record.Iterator
	for open := len(spans); open > 0; {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case chunks := <-r.C():
			for _, c := range chunks {
				f := found[partID{c.Topic, c.Partition}]
				if !f.open {
					continue
				}
				f.mark(&it, c, n)
				if c.Err != nil {
					return nil, c.Err
				}
				if c.Last || len(f.marks) == n {
					f.open = false
					r.Remove(c.Topic, c.Partition)
					open--
				}
			}
		}
	}
	return cutAfter(spans, found, n), nil
}

// mark adds the records of a chunk, up to n of them.
func (f *skipped) mark(it *record.Iterator, c Chunk, n int) {
	var rec record.Record
	for _, batch := range c.Batches {
		if it.Reset(batch) != nil || it.Header().Attributes.Control() {
			continue
		}
		for len(f.marks) < n && it.Next(&rec) {
			if rec.Offset < c.Start || rec.Offset >= c.End {
				continue
			}
			at := rec.Timestamp
			if last := len(f.marks) - 1; last >= 0 {
				at = max(at, f.marks[last].at)
			}
			f.marks = append(f.marks, mark{at, partID{c.Topic, c.Partition}, rec.Offset})
		}
	}
}

// cutAfter moves the start of each span behind those of the first n records that are its own.
func cutAfter(spans []Span, found map[partID]*skipped, n int) []Span {
	var all []mark
	for _, f := range found {
		all = append(all, f.marks...)
	}
	slices.SortFunc(all, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.partition.partition, b.partition.partition), cmp.Compare(a.offset, b.offset))
	})
	cut := slices.Clone(spans)
	behind := map[partID]int64{}
	for _, m := range all[:min(n, len(all))] {
		behind[m.partition] = m.offset + 1
	}
	for i, s := range cut {
		cut[i].Start = max(s.Start, behind[partID{s.Topic, s.Partition}])
	}
	return cut
}
