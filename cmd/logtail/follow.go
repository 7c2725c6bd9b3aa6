package main

import (
	"context"
	"slices"
	"time"

	"logkit/lib/client"
)

// endNow ends all partitions before the first message of the time --until names, which has come.
func (t *tail) endNow(ctx context.Context) error {
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

// refreshEvery is how soon partitions and topics that appear are noticed.
const refreshEvery = time.Second

// known is how many partitions each topic being read has.
func (t *tail) known() map[string]map[int32]bool {
	known := map[string]map[int32]bool{}
	for p := range t.places {
		if known[p.topic] == nil {
			known[p.topic] = map[int32]bool{}
		}
		known[p.topic][p.id] = true
	}
	return known
}

// refresh looks for partitions that are not known, and for topics that were absent, and sends them, from their
// beginnings: none of their messages was there before. It runs in a goroutine of its own.
func (t *tail) refresh(ctx context.Context, known map[string]map[int32]bool, absent []string, found chan<- []client.Span) {
	var spans []client.Span
	defer func() { found <- spans }()
	for _, name := range absent {
		known[name] = map[int32]bool{}
	}
	for name, have := range known {
		topic, err := t.c.Topic(ctx, name, false)
		if err != nil {
			continue // the reader tells what is wrong with it
		}
		var ids []int32
		for _, p := range topic.Partitions {
			if !have[p.ID] && (t.o.partitions == nil || slices.Contains(t.o.partitions, p.ID)) {
				ids = append(ids, p.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		starts, err := t.c.Offsets(ctx, name, ids, client.AtStart)
		if err != nil {
			continue
		}
		for _, id := range ids {
			spans = append(spans, client.Span{Topic: name, Partition: id, Start: starts[id], End: client.NoEnd})
		}
	}
}

// join begins to read the partitions that refresh has found.
func (t *tail) join(spans []client.Span) {
	for _, s := range spans {
		at := partition{s.Topic, s.Partition}
		if p := t.places[at]; p != nil {
			continue
		}
		t.places[at] = &place{Span: s, next: s.Start}
		t.open++
		t.reader.Add(s)
		t.absent = slices.DeleteFunc(t.absent, func(name string) bool { return name == s.Topic })
	}
}
