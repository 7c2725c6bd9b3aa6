package client

import (
	"context"
	"math"
	"time"
)

// NoEnd as the end of a Span means that reading goes on for ever.
const NoEnd int64 = math.MaxInt64

// Span is a part of a partition: the records with ids in [Start, End).
type Span struct {
	Topic      string
	Partition  int32
	Start, End int64
	Tag        int64 // the caller's, by which he tells the chunks of one Add from those of another
}

// ReaderOptions of a Reader; the zero value is sensible.
type ReaderOptions struct {
	MaxWait        time.Duration // how long a broker may wait for records before it answers that there are none; 0 = 500 ms
	MaxBytes       int32         // of one answer; 0 = 4 MiB
	PartitionBytes int32         // of one partition in an answer; 0 = 1 MiB
	Forever        bool          // wait for a broker as long as it takes, instead of Options.Timeout

	// Outage, if not nil, is told when an answer fails to come although the reader will try again, with the cause,
	// and with nil when it came at last. It is called from the reader's goroutine.
	Outage func(error)
}

// Chunk is what came of one partition. The batches are whole, their CRCs are right, and they are in order; they may hold
// records outside the span (a broker sends whole batches). They belong to the caller.
type Chunk struct {
	Span    // as given to Add
	Batches [][]byte
	Damage  []*DamageError // batches left out
	Last    bool           // the end of the span is reached, or Err
	Err     error          // why reading this partition has ended: *OutOfRangeError, *UnknownTopicError, *PartitionError...
}

// Reader reads any number of partitions at once: from each broker the next answer is fetched while the last one is being
// used, and no more, so that memory is bounded by two answers a broker. Its methods may be called from several goroutines.
type Reader struct {
	opts     ReaderOptions
	timeout  time.Duration
	source   source
	ctx      context.Context
	cancel   context.CancelFunc
	commands chan func(*readerLoop)
	out      chan []Chunk
	done     chan struct{}
}

// NewReader returns a reader of nothing yet; see Add. Close must be called.
func (c *Client) NewReader(opts ReaderOptions) *Reader {
	return newReader(opts, &brokerSource{c}, c.opts.Timeout)
}

func newReader(opts ReaderOptions, s source, timeout time.Duration) *Reader {
	if opts.MaxWait <= 0 {
		opts.MaxWait = 500 * time.Millisecond
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = 4 << 20
	}
	if opts.PartitionBytes <= 0 {
		opts.PartitionBytes = 1 << 20
	}
	r := &Reader{
		opts: opts, timeout: timeout, source: s,
		commands: make(chan func(*readerLoop)), out: make(chan []Chunk), done: make(chan struct{}),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	go newReaderLoop(r).run()
	return r
}

// C delivers what was read, an answer at a time. It is never closed: the caller counts the spans that have ended.
func (r *Reader) C() <-chan []Chunk { return r.out }

// Add begins to read the spans. A partition that is being read already goes on from its start.
func (r *Reader) Add(spans ...Span) {
	r.do(func(l *readerLoop) { l.add(spans) })
}

// Remove stops reading a partition; a chunk of it may still come.
func (r *Reader) Remove(topic string, partition int32) {
	r.do(func(l *readerLoop) { delete(l.parts, partID{topic, partition}) })
}

func (r *Reader) do(f func(*readerLoop)) {
	select {
	case r.commands <- f:
	case <-r.done:
	}
}

// Close stops reading.
func (r *Reader) Close() {
	r.cancel()
	<-r.done
}
