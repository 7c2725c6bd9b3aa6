package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"logkit/lib/cli"
	"logkit/lib/client"
)

// plan says what to read of a topic, partition by partition. The last messages, where those are wanted, are printed
// here: what is left to read then begins at the end.
func (t *tail) plan(ctx context.Context, topic client.Topic) ([]client.Span, error) {
	ids := t.wanted(topic)
	if len(ids) == 0 {
		return nil, nil
	}
	ends, err := t.c.Offsets(ctx, topic.Name, ids, client.AtEnd)
	if err != nil {
		return nil, err
	}
	starts, err := t.c.Offsets(ctx, topic.Name, ids, client.AtStart)
	if err != nil {
		return nil, err
	}
	stops, err := t.stops(ctx, topic.Name, ids, starts, ends)
	if err != nil {
		return nil, err
	}
	var spans []client.Span
	for _, id := range ids {
		if stop, wanted := stops[id]; wanted {
			spans = append(spans, client.Span{Topic: topic.Name, Partition: id, Start: starts[id], End: stop})
		}
	}
	if len(spans) == 0 {
		return nil, nil
	}
	switch {
	case t.cursor != nil || t.o.offset.IsSet():
		return t.from(ctx, spans, ends)
	case t.o.lines.FromStart:
		return t.c.Skip(ctx, t.clipped(spans, ends), int(min(t.o.lines.N-1, math.MaxInt32)))
	}
	err = t.printLast(ctx, t.clipped(spans, ends))
	for i := range spans {
		spans[i].Start = min(ends[spans[i].Partition], spans[i].End)
	}
	return spans, err
}

// wanted is the partitions of a topic that are to be read.
func (t *tail) wanted(topic client.Topic) []int32 {
	var ids []int32
	for _, p := range topic.Partitions {
		if t.o.partitions == nil || slices.Contains(t.o.partitions, p.ID) {
			ids = append(ids, p.ID)
		}
	}
	for _, id := range t.o.partitions {
		if int(id) >= len(topic.Partitions) {
			t.fail(&client.NoPartitionError{Topic: topic.Name, Partition: id, Count: int32(len(topic.Partitions))})
		}
	}
	return ids
}

// clipped is the spans as far as there is something by now.
func (t *tail) clipped(spans []client.Span, ends map[int32]int64) []client.Span {
	clipped := slices.Clone(spans)
	for i := range clipped {
		clipped[i].End = min(clipped[i].End, ends[clipped[i].Partition])
	}
	return clipped
}

// from moves the starts of the spans to where the cursor file or --offset says. A partition for which that is out of
// range is told and left out.
func (t *tail) from(ctx context.Context, spans []client.Span, ends map[int32]int64) ([]client.Span, error) {
	given, err := t.offsets(ctx, spans, ends)
	if err != nil {
		return nil, err
	}
	var kept []client.Span
	for _, s := range spans {
		end := ends[s.Partition]
		start, known := t.cursor.position(s.Topic, s.Partition)
		if !known {
			start = given[s.Partition]
		}
		wrong := &client.OutOfRangeError{Topic: s.Topic, Partition: s.Partition, Offset: start, Start: s.Start, End: end}
		switch {
		case known && start < s.Start:
			t.fail(fmt.Errorf("%w: what was before was deleted unread, going on at %d", wrong, s.Start))
		case start < s.Start || start > end:
			t.fail(wrong)
			continue
		default:
			s.Start = start
		}
		kept = append(kept, s)
	}
	return kept, nil
}

// offsets is where --offset says to start: at the earliest message, if it was not given.
func (t *tail) offsets(ctx context.Context, spans []client.Span, ends map[int32]int64) (map[int32]int64, error) {
	given := map[int32]int64{}
	var ids []int32
	for _, s := range spans {
		given[s.Partition] = s.Start
		ids = append(ids, s.Partition)
	}
	switch from := t.o.offset.Resolve(t.now); from.Kind {
	case cli.OffsetLatest:
		return ends, nil
	case cli.OffsetID:
		for id := range given {
			given[id] = from.Value
		}
	case cli.OffsetTime:
		found, err := t.c.Offsets(ctx, spans[0].Topic, ids, from.Value)
		for id, offset := range found { // records may have come, or gone, since the range was asked for
			given[id] = min(max(offset, given[id]), ends[id])
		}
		return given, err
	}
	return given, nil
}

// errFull ends what is being printed when it is enough.
var errFull = errors.New("as many messages as --count says")

// printLast prints the last messages of some partitions of a topic.
func (t *tail) printLast(ctx context.Context, spans []client.Span) error {
	err := t.c.Last(ctx, spans, int(min(t.o.lines.N, math.MaxInt32)), t.damage, func(r *client.Record) error {
		if t.out.full() {
			return errFull
		}
		return t.out.print(r.Topic, r.Partition, &r.Record)
	})
	if err != nil && !errors.Is(err, errFull) {
		return err
	}
	return t.out.flush()
}
