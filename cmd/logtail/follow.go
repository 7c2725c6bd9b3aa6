package main

import (
	"context"
	"slices"
	"time"

	"logkit/lib/client"
)

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
// beginnings and without an end: none of their messages was there before. It runs in a goroutine of its own.
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
			spans = append(spans, client.Span{Topic: name, Partition: id, Start: starts[id]})
		}
	}
}

// join begins to read the partitions that refresh has found.
func (t *tail) join(spans []client.Span) {
	end, wanted := t.later()
	for _, s := range spans {
		if !wanted {
			return
		}
		s.End = max(s.Start, end)
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
