package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"logkit/lib/record"
)

// Defaults of ProducerOptions.
const (
	DefaultLinger      = 5 * time.Millisecond
	DefaultBatchBytes  = 1 << 20
	DefaultBufferBytes = 32 << 20
)

// ByKey as a partition lets the key choose, and for records without one, chance.
const ByKey int32 = -1

// ErrClosed is returned by Add after Close.
var ErrClosed = errors.New("producer closed")

// ProducerOptions say where records go and how they are batched.
type ProducerOptions struct {
	Topic       string
	Partition   int32         // for all records, or ByKey
	Codec       record.Codec  // of the batches
	Linger      time.Duration // how long a record may wait for others; 0 sends at once
	BatchBytes  int           // bytes of a batch before compression; 0 = DefaultBatchBytes, never above the topic's limit
	BufferBytes int64         // bytes of all records not yet acknowledged, above which Add waits; 0 = DefaultBufferBytes

	// Acked, if not nil, is told each batch that was acknowledged, and Refused each record that will never be, with the
	// reason. Calls come from the producer's goroutines, one at a time, and hold up all partitions.
	Acked   func(Receipt)
	Refused func(line int64, err error)
}

// Receipt is the acknowledgement of one batch. Its slices are valid until the call that got them returns.
type Receipt struct {
	Partition int32
	Base      int64   // id of the first record; the others follow by one; -1 when the broker does not tell
	Lines     []int64 // as given to Add, in order of the ids
	Bytes     int64   // of keys and values
	Batch     []byte  // as sent, base offset 0
}

// Stats counts records by what became of them. Pending ones are neither acknowledged nor refused (yet).
type Stats struct {
	Acked, AckedBytes int64 // bytes of keys and values
	Refused           int64
	Pending           int64
}

// Producer sends records to one topic. Records of one partition are stored in the order of Add, also when a
// connection breaks. What was under way then is stored once with AcksAll, when the broker knows idempotent producers
// (KIP-98) and still knows this one; else it may be stored twice.
//
// Add may be called from one goroutine at a time, the rest from any.
type Producer struct {
	opts    ProducerOptions
	send    sender
	timeout time.Duration // without an answer, after which a partition is given up
	limit   int64         // bytes of a batch, of the topic
	maxSize int64         // bytes of a batch with a single record; more is refused here
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	room     sync.Cond // buffered went down, or err was set
	lanes    []*lane
	sticky   *lane // where records without a key go as long as its open batch lasts
	buffered int64
	closing  bool
	err      error         // of the first partition that was given up
	failed   chan struct{} // closed when err is set
	added    int64
	stats    Stats
	spare    []*batch // to be used again

	reports sync.Mutex // held during Acked and Refused
}

// NewProducer finds the topic, asking the broker to make it when it does not exist, and its limits.
func (c *Client) NewProducer(ctx context.Context, opts ProducerOptions) (*Producer, error) {
	topic, err := c.Topic(ctx, opts.Topic, true)
	if err != nil {
		return nil, err
	}
	if n := int32(len(topic.Partitions)); opts.Partition >= n {
		return nil, &NoPartitionError{Topic: opts.Topic, Partition: opts.Partition, Count: n}
	}
	limit, known, err := c.MaxMessageBytes(ctx, opts.Topic)
	if err != nil {
		return nil, err
	}
	p := newProducer(opts, newBrokerSender(c, topic), topic.Partitions, int64(limit), known, c.opts.Timeout)
	if c.opts.Acks != AcksAll {
		return p, nil
	}
	id, ok, err := c.producerID(ctx)
	if err != nil {
		return nil, err
	}
	if ok {
		p.numberAs(id)
	}
	return p, nil
}

// maxUncompressed bounds a single record that compression might bring below the topic's limit.
const maxUncompressed = 64 << 20

func newProducer(opts ProducerOptions, s sender, partitions []Partition, limit int64, known bool, timeout time.Duration) *Producer {
	if opts.BatchBytes <= 0 {
		opts.BatchBytes = DefaultBatchBytes
	}
	if opts.BufferBytes <= 0 {
		opts.BufferBytes = DefaultBufferBytes
	}
	opts.BatchBytes = min(opts.BatchBytes, int(limit))
	p := &Producer{opts: opts, send: s, timeout: timeout, limit: limit, maxSize: limit, failed: make(chan struct{})}
	if opts.Codec != record.None || !known {
		p.maxSize = max(limit, maxUncompressed)
	}
	p.room.L = &p.mu
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.lanes = make([]*lane, len(partitions))
	for i, at := range partitions {
		p.lanes[i] = newLane(p, at.ID)
	}
	return p
}

// numberAs lets all batches be numbered, as those of an idempotent producer. It is for a producer without records.
func (p *Producer) numberAs(id int64) {
	for _, l := range p.lanes {
		l.numbers = numbering{producer: id}
	}
}

// TooLarge is the *SizeError of a record that would make a batch of size bytes, more than MaxRecordBytes.
func (p *Producer) TooLarge(size int64) error {
	err := &SizeError{Size: size, Max: p.maxSize}
	if p.maxSize > p.limit {
		err.By = "before compression logkit allows"
	}
	return err
}

// MaxRecordBytes is above the size, in bytes, of every record that can be stored.
func (p *Producer) MaxRecordBytes() int64 { return p.maxSize }

// Add queues a record, copying it; line is what the caller calls it. It waits while the buffer is full. A record that is
// too large for the topic is told to Refused, and Add returns nil. An error means that the record was not taken: the
// context ended, the producer was closed, or a partition was given up (its error; no more records are taken then).
func (p *Producer) Add(ctx context.Context, rec record.Record, line int64) error {
	size := int64(record.HeaderSize + record.RecordSize(rec, 0))
	p.mu.Lock()
	if p.buffered+size > p.opts.BufferBytes && p.buffered > 0 && p.err == nil {
		p.waitForRoom(ctx, size)
	}
	switch {
	case p.err != nil:
		defer p.mu.Unlock()
		return p.err
	case p.closing:
		p.mu.Unlock()
		return ErrClosed
	case ctx.Err() != nil:
		p.mu.Unlock()
		return context.Cause(ctx)
	case size > p.maxSize:
		p.added++
		p.stats.Refused++
		p.mu.Unlock()
		p.refused(line, p.TooLarge(size))
		return nil
	}
	p.append(rec, line)
	p.mu.Unlock()
	return nil
}

// append puts a record into the open batch of its partition. The mutex is held.
func (p *Producer) append(rec record.Record, line int64) {
	l := p.choose(rec.Key)
	if l.open != nil && !l.open.fits(rec, p.opts.BatchBytes) {
		l.seal()
		l = p.choose(rec.Key)
	}
	if l.open == nil {
		l.open = p.newBatch()
		l.open.first = p.added // a batch takes as many of these numbers as it has records, at least
		l.due = time.Now().Add(p.opts.Linger)
		l.start()
		l.wakeUp()
	}
	p.added++
	p.buffered += l.open.add(rec, line)
	if l.open.builder.Size() >= p.opts.BatchBytes {
		l.seal()
	}
}

// choose returns the lane of a record with the given key. The mutex is held.
func (p *Producer) choose(key []byte) *lane {
	switch {
	case p.opts.Partition >= 0:
		return p.lanes[p.opts.Partition]
	case key != nil:
		return p.lanes[PartitionOf(key, int32(len(p.lanes)))]
	case p.sticky != nil && p.sticky.open != nil:
		return p.sticky
	}
	at := rand.IntN(len(p.lanes))
	p.sticky = p.lanes[at]
	for i := range p.lanes { // any partition that is not in trouble, the first one from there on
		if l := p.lanes[(at+i)%len(p.lanes)]; !l.troubled {
			p.sticky = l
			break
		}
	}
	return p.sticky
}

// waitForRoom waits until size more bytes fit, or there is a reason not to go on. The mutex is held.
func (p *Producer) waitForRoom(ctx context.Context, size int64) {
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.room.Broadcast()
	})
	defer stop()
	for _, l := range p.lanes {
		if l.open != nil {
			l.due = time.Time{} // waiting for more records would be waiting for ourselves
			l.wakeUp()
		}
	}
	for p.buffered > 0 && p.buffered+size > p.opts.BufferBytes && p.err == nil && !p.closing && ctx.Err() == nil {
		p.room.Wait()
	}
}

// Close sends what is pending and waits until all of it is acknowledged, refused or given up, or the context ends. The
// error is that of the first partition that was given up, or the context's. Stats is final afterwards.
func (p *Producer) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closing = true
	for _, l := range p.lanes {
		l.wakeUp()
	}
	p.room.Broadcast()
	p.mu.Unlock()

	stop := context.AfterFunc(ctx, p.cancel)
	p.running.Wait()
	stop()
	p.cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil && p.pending() > 0 {
		return context.Cause(ctx)
	}
	return p.err
}

// Failed is closed when a partition has been given up, after which Add takes no more records: so that whoever waits for
// the next record need not wait for it to learn that. Close returns why.
func (p *Producer) Failed() <-chan struct{} { return p.failed }

// Stats returns the counts so far.
func (p *Producer) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Pending = p.pending()
	return s
}

func (p *Producer) pending() int64 { return p.added - p.stats.Acked - p.stats.Refused }

// giveUp notes that a partition can not be served: no more records are taken.
func (p *Producer) giveUp(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
		close(p.failed)
	}
	p.room.Broadcast()
}

// acked counts and reports a batch.
func (p *Producer) acked(partition int32, b *batch, base int64) {
	p.mu.Lock()
	p.stats.Acked += int64(len(b.lines))
	p.stats.AckedBytes += b.bytes
	p.mu.Unlock()
	if p.opts.Acked != nil {
		p.reports.Lock()
		defer p.reports.Unlock()
		p.opts.Acked(Receipt{Partition: partition, Base: base, Lines: b.lines, Bytes: b.bytes, Batch: b.wire})
	}
}

// refused reports a record; the caller has counted it.
func (p *Producer) refused(line int64, err error) {
	if p.opts.Refused != nil {
		p.reports.Lock()
		defer p.reports.Unlock()
		p.opts.Refused(line, err)
	}
}
