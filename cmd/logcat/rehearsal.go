package main

import (
	"context"

	"logkit/lib/client"
	"logkit/lib/record"
)

// rehearsal is the sink of --dry-run: it counts.
type rehearsal struct{ stats client.Stats }

func (r *rehearsal) Add(ctx context.Context, rec record.Record, line int64) error {
	r.stats.Acked++
	r.stats.AckedBytes += int64(len(rec.Key) + len(rec.Value))
	return context.Cause(ctx)
}

func (r *rehearsal) Failed() <-chan struct{} { return nil }
func (r *rehearsal) MaxRecordBytes() int64   { return client.DefaultBatchBytes }
func (r *rehearsal) TooLarge(size int64) error {
	return &client.SizeError{Size: size, Max: r.MaxRecordBytes(), By: "a topic for which nothing is set allows"}
}
func (r *rehearsal) Stats() client.Stats         { return r.stats }
func (r *rehearsal) Close(context.Context) error { return nil }
