package client

import (
	"slices"

	"logkit/lib/record"
)

// batch is a number of records on their way to one partition: first in a builder, then encoded.
type batch struct {
	builder *record.Builder
	first   int64   // its place among the batches of its partition
	lines   []int64 // what the caller calls the records
	bytes   int64   // of keys and values
	size    int64   // counted against the producer's buffer
	wire    []byte  // the encoded batch, once encode was called
	epoch   int32   // in which it has been numbered, or unnumbered
}

// maxSpare bounds the batches that are kept for use again, with their buffers.
const maxSpare = 64

// newBatch returns an empty batch. The mutex is held.
func (p *Producer) newBatch() *batch {
	if n := len(p.spare); n > 0 {
		b := p.spare[n-1]
		p.spare = p.spare[:n-1]
		return b
	}
	return &batch{builder: record.NewBuilder(p.opts.Codec), epoch: unnumbered}
}

// release takes a batch back whose records are settled.
func (p *Producer) release(b *batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buffered -= b.size
	p.room.Broadcast()
	b.builder.Reset()
	b.lines, b.wire, b.bytes, b.size, b.epoch = b.lines[:0], b.wire[:0], 0, 0, unnumbered
	if len(p.spare) < maxSpare && cap(b.wire) <= 4*p.opts.BatchBytes { // a single huge record's buffer is not kept
		p.spare = append(p.spare, b)
	}
}

// fits reports whether the record can join a batch of at most limit bytes. An empty batch takes any.
func (b *batch) fits(rec record.Record, limit int) bool {
	return b.builder.Len() == 0 || b.builder.SizeWith(rec) <= limit
}

// lineBytes is what a record costs beside its bytes in the batch.
const lineBytes = 8

// add copies a record into the batch and returns how many bytes of memory that took.
func (b *batch) add(rec record.Record, line int64) int64 {
	b.builder.Append(rec)
	b.lines = append(b.lines, line)
	b.bytes += int64(len(rec.Key) + len(rec.Value))
	grown := int64(b.builder.Size()+lineBytes*len(b.lines)) - b.size
	b.size += grown
	return grown
}

// encode makes the batch ready to be sent.
func (b *batch) encode() (err error) {
	b.wire, err = b.builder.Finish(b.wire[:0])
	b.builder.Reset()
	return err
}

// split returns two encoded batches with one half of an encoded batch's records each, and releases that batch.
func (p *Producer) split(b *batch) ([]*batch, error) {
	p.mu.Lock()
	halves := []*batch{p.newBatch(), p.newBatch()}
	p.mu.Unlock()
	var it record.Iterator
	if err := it.Reset(b.wire); err != nil {
		return nil, err
	}
	var rec record.Record
	for i, line := range b.lines {
		if !it.Next(&rec) {
			break
		}
		halves[i*2/len(b.lines)].add(rec, line)
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	halves[0].first, halves[1].first = b.first, b.first+int64(len(halves[0].lines))
	for _, half := range halves {
		if err := half.encode(); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	p.buffered += halves[0].size + halves[1].size
	p.mu.Unlock()
	p.release(b)
	return slices.Clip(halves), nil
}
