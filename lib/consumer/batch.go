package consumer

import (
	"context"
	"errors"
	"io"
	"time"

	"logkit/lib/client"
	"logkit/lib/record"
)

// Batch is what has come of one partition. Its bytes are the caller's.
type Batch struct {
	Topic     string
	Partition int32
	From, End int64                 // of the records, those with ids in [From, End) count
	Batches   [][]byte              // record batches, in order, whose CRCs are right
	Damage    []*client.DamageError // batches that were left out

	m     *Member
	claim *claim
	tag   int64
}

// Next waits for something to deliver. io.EOF, without Options.Follow: all that the member shall have is delivered, up to
// the ends as they were when it was started. Other errors, but the context's, end the member, and say why.
func (m *Member) Next(ctx context.Context) (*Batch, error) {
	for {
		m.mu.Lock()
		err, changed := m.err, m.changed
		m.mu.Unlock()
		for err == nil && len(m.chunks) > 0 {
			var b *Batch
			c := m.chunks[0]
			m.chunks = m.chunks[1:]
			if b, err = m.take(c); b != nil {
				return b, nil
			}
		}
		if err == nil && m.atEnd() {
			err = io.EOF
		}
		if err != nil {
			return nil, err
		}
		select {
		case m.chunks = <-m.reader.C():
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// atEnd reports whether all that there is to be read is read.
func (m *Member) atEnd() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.o.Follow || !m.settled || !m.alive() {
		return false
	}
	for _, c := range m.claims {
		if !c.done {
			return false
		}
	}
	return true
}

// take makes a batch of a chunk, or nil.
func (m *Member) take(chunk client.Chunk) (*Batch, error) {
	m.mu.Lock()
	c := m.claims[partition{chunk.Topic, chunk.Partition}]
	if c == nil || !c.live(chunk.Tag) {
		m.mu.Unlock()
		return nil, nil
	}
	b := &Batch{
		Topic: chunk.Topic, Partition: chunk.Partition, From: c.handed, End: chunk.End,
		Batches: chunk.Batches, Damage: chunk.Damage, m: m, claim: c, tag: chunk.Tag,
	}
	if n := len(chunk.Batches); n > 0 {
		if h, err := record.ParseHeader(chunk.Batches[n-1]); err == nil {
			c.handed = max(c.handed, h.LastOffset()+1)
		}
		c.told = false
	}
	lost := new(client.DamageError)
	if errors.As(chunk.Err, &lost) { // there is no way on
		b.Damage = append(b.Damage, lost)
		chunk.Err = nil
	}
	if chunk.Last && chunk.Err == nil {
		c.done = true
	}
	m.mu.Unlock()
	if err := m.trouble(c, chunk.Tag, chunk.Err); err != nil {
		return nil, err
	}
	if len(b.Batches)+len(b.Damage) == 0 {
		return nil, nil
	}
	return b, nil
}

// Deliver calls write, which hands the records below next, of those that were not delivered before, to whoever they are
// for; when it returns nil they count as delivered. A batch may be delivered in pieces, in order.
//
// It waits while nobody knows whether the partition is the member's still; ErrRevoked says that it is not, and that the
// rest of the batch is to be forgotten. Once write is called its error is returned.
func (b *Batch) Deliver(ctx context.Context, next int64, write func() error) error {
	m, c := b.m, b.claim
	for {
		m.mu.Lock()
		if !c.live(b.tag) {
			m.mu.Unlock()
			return ErrRevoked
		}
		if m.alive() {
			c.writing, c.offered, m.pulse.wrote = true, max(c.offered, next), time.Now()
			m.mu.Unlock()
			break
		}
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := write()
	m.mu.Lock()
	defer m.mu.Unlock()
	c.writing = false
	if err == nil && !c.gone && c.span.Tag == b.tag {
		c.delivered = max(c.delivered, next)
		if !m.o.Confirm {
			c.mark = c.delivered
		}
	}
	if c.closing {
		m.poke()
	}
	return err
}

// Confirm says, with Options.Confirm, that what was delivered of a partition, as far as the ids below next, is where it
// was to go, and may be committed. What the member does not own, and what it has not begun to deliver, is left alone.
func (m *Member) Confirm(topic string, id int32, next int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.claims[partition{topic, id}]
	if c == nil || c.gone || next > c.offered || next <= c.mark {
		return
	}
	c.mark = next
	if c.closing {
		m.poke()
	}
	if c.mark >= c.delivered {
		m.broadcast()
	}
}

// Confirmed waits until all that was delivered, of partitions that the member owns, is confirmed.
func (m *Member) Confirmed(ctx context.Context) error {
	for {
		m.mu.Lock()
		open := false
		for _, c := range m.claims {
			open = open || !c.gone && c.mark < c.delivered
		}
		changed := m.changed
		m.mu.Unlock()
		if !open {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
