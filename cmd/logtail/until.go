package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"logkit/lib/cli"
	"logkit/lib/client"
)

// stops returns where to end: without -f at the end as it is now, and before --until. A partition for which --until is an
// id out of range is told and left out; with -f an id that is still to come is in range.
func (t *tail) stops(ctx context.Context, topic string, ids []int32, starts, ends map[int32]int64) (map[int32]int64, error) {
	stops := maps.Clone(ends)
	if t.o.following() {
		for id := range stops {
			stops[id] = client.NoEnd
		}
	}
	limit := func(by map[int32]int64) {
		for id := range stops {
			stops[id] = min(stops[id], by[id])
		}
	}
	switch until := t.o.until.Resolve(t.now); until.Kind {
	case cli.OffsetEarliest:
		limit(starts)
	case cli.OffsetLatest:
		limit(ends)
	case cli.OffsetID:
		for _, id := range ids {
			if until.Value >= starts[id] && (until.Value <= ends[id] || t.o.following()) {
				stops[id] = until.Value
				continue
			}
			wrong := &client.OutOfRangeError{Topic: topic, Partition: id, Offset: until.Value, Start: starts[id], End: ends[id]}
			t.fail(fmt.Errorf("%w (--until)", wrong))
			delete(stops, id)
		}
	case cli.OffsetTime:
		if t.until > 0 {
			break
		}
		found, err := t.c.Offsets(ctx, topic, ids, until.Value)
		if err != nil {
			return nil, err
		}
		limit(found)
	}
	return stops, nil
}

// coming returns the time of --until, in Unix ms, if it is followed up to one that lies in the future, else 0.
func (o *options) coming(now time.Time) int64 {
	until := o.until.Resolve(now)
	if o.following() && until.Kind == cli.OffsetTime && until.Value > now.UnixMilli() {
		return until.Value
	}
	return 0
}

// later returns where to end in a partition that comes later, of which nothing was there at the start. It returns false
// when it is not to be read, nor to be waited for.
func (t *tail) later() (end int64, wanted bool) {
	switch until := t.o.until.Resolve(t.now); until.Kind {
	case cli.OffsetUnset:
		return client.NoEnd, true
	case cli.OffsetID:
		return until.Value, true
	case cli.OffsetTime:
		return client.NoEnd, until.Value > time.Now().UnixMilli()
	}
	return 0, false
}

// endNow ends all partitions before the first message of the time --until names, which has come, and waits for no others.
func (t *tail) endNow(ctx context.Context) error {
	t.absent = nil
	byTopic := map[string][]int32{}
	for _, p := range t.places {
		if !p.done {
			byTopic[p.Topic] = append(byTopic[p.Topic], p.Partition)
		}
	}
	for topic, ids := range byTopic {
		ends, err := t.c.Offsets(ctx, topic, ids, t.until)
		if err != nil {
			return err
		}
		for id, end := range ends {
			p := t.places[partition{topic, id}]
			p.Span = client.Span{Topic: topic, Partition: id, Start: p.next, End: end}
			t.reader.Add(p.Span)
		}
	}
	return nil
}
