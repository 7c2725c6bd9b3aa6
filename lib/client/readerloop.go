package client

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type partID struct {
	topic     string
	partition int32
}

// part is a partition being read.
type part struct {
	Span
	pos      int64 // id to fetch next
	leader   int32 // -1 when it has to be asked for
	bytes    int32 // to ask for at most
	turn     int64 // when it was served last: who waits longest is asked for first
	reported int64 // highest base of a damaged batch

	since    time.Time // since when it can not be read; zero when it can
	resumeAt time.Time // end of the pause before the next attempt
	pause    backoff
}

// readerLoop is the state of a Reader's goroutine. A broker is busy from a request until its answer was taken.
type readerLoop struct {
	*Reader
	parts   map[partID]*part
	busy    map[int32]bool
	asking  bool // for the leaders of topics
	answers chan fetched
	learned chan learned
	pending []answerOut // answers to be taken, in order of arrival
	turns   int64
	outage  bool
}

type answerOut struct {
	leader int32
	chunks []Chunk
}

func newReaderLoop(r *Reader) *readerLoop {
	return &readerLoop{
		Reader: r, parts: map[partID]*part{}, busy: map[int32]bool{},
		answers: make(chan fetched), learned: make(chan learned),
	}
}

func (l *readerLoop) add(spans []Span) {
	var ended []Chunk
	for _, s := range spans {
		if s.Start >= s.End {
			ended = append(ended, Chunk{Span: s, Last: true})
			continue
		}
		l.parts[partID{s.Topic, s.Partition}] = &part{Span: s, pos: s.Start, leader: -1, bytes: l.opts.PartitionBytes, reported: -1}
	}
	if ended != nil {
		l.pending = append(l.pending, answerOut{-1, ended})
	}
}

func (l *readerLoop) run() {
	defer close(l.done)
	under := 0 // requests under way, each of which sends one answer
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		started, wait := l.launch()
		under += started
		if wait > 0 {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
		var out chan []Chunk
		var first []Chunk
		if len(l.pending) > 0 {
			out, first = l.out, l.pending[0].chunks
		}
		select {
		case f := <-l.commands:
			f(l)
		case out <- first:
			delete(l.busy, l.pending[0].leader)
			l.pending = slices.Delete(l.pending, 0, 1)
		case f := <-l.answers:
			under--
			l.settle(f)
		case got := <-l.learned:
			under--
			l.learn(got)
		case <-timer.C:
		case <-l.ctx.Done():
			for ; under > 0; under-- { // they end with the context
				select {
				case <-l.answers:
				case <-l.learned:
				}
			}
			return
		}
	}
}

// launch sends what can be sent, and says how many requests that made and when there may be more to send.
func (l *readerLoop) launch() (started int, wait time.Duration) {
	var ready []*part
	topics := map[string]bool{}
	now := time.Now()
	for _, p := range l.parts {
		if pause := p.resumeAt.Sub(now); pause > 0 {
			if wait == 0 || pause < wait {
				wait = pause
			}
			continue
		}
		if p.leader < 0 {
			topics[p.Topic] = true
		} else if !l.busy[p.leader] {
			ready = append(ready, p)
		}
	}
	if len(topics) > 0 && !l.asking {
		l.asking = true
		started++
		go l.ask(slices.Sorted(maps.Keys(topics)))
	}
	slices.SortFunc(ready, func(a, b *part) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	asked := map[int32][]*part{}
	for _, p := range ready {
		asked[p.leader] = append(asked[p.leader], p)
	}
	for leader, parts := range asked {
		l.busy[leader] = true
		started++
		go l.fetch(leader, parts, l.request(parts))
	}
	return started, wait
}

// settle deals with a broker's answer.
func (l *readerLoop) settle(f fetched) {
	var chunks []Chunk
	if f.err != nil {
		for _, p := range f.parts {
			chunks = l.failed(chunks, p, f.err)
		}
	} else {
		byID := map[partID]*part{}
		for _, p := range f.parts {
			byID[partID{p.Topic, p.Partition}] = p
		}
		for _, t := range f.resp.Topics {
			for i := range t.Partitions {
				if p := byID[partID{t.Topic, t.Partitions[i].Partition}]; p != nil {
					chunks = l.partition(chunks, p, &t.Partitions[i])
				}
			}
		}
	}
	l.restored()
	if len(chunks) == 0 {
		delete(l.busy, f.leader)
		return
	}
	l.pending = append(l.pending, answerOut{f.leader, chunks})
}

// partition deals with what an answer says of one partition.
func (l *readerLoop) partition(chunks []Chunk, p *part, got *kmsg.FetchResponseTopicPartition) []Chunk {
	if l.parts[partID{p.Topic, p.Partition}] != p {
		return chunks // removed, or begun anew, meanwhile
	}
	if err := brokerError(got.ErrorCode, nil); errors.Is(err, kerr.OffsetOutOfRange) {
		return l.ended(chunks, p, &OutOfRangeError{
			Topic: p.Topic, Partition: p.Partition, Offset: p.pos, Start: got.LogStartOffset, End: got.HighWatermark,
		})
	} else if err != nil {
		return l.failed(chunks, p, err)
	}
	p.since, p.pause = time.Time{}, backoff{}
	s := scan(got.RecordBatches, p.pos, p.reported)
	if len(got.RecordBatches) > 0 && s.next == p.pos && s.lost == nil {
		// The beginning of a large batch, or one that was left out already and claims ids that it has not: what
		// follows has to come along.
		if p.bytes >= maxBatch {
			return l.ended(chunks, p, &DamageError{Topic: p.Topic, Partition: p.Partition, Offset: p.pos, Err: ErrNoBatch})
		}
		p.bytes = int32(min(maxBatch, max(s.size, 2*int64(p.bytes))))
		return chunks
	}
	c := Chunk{Span: p.Span, Batches: s.batches}
	for _, d := range s.damage {
		p.reported = max(p.reported, d.base)
		c.Damage = append(c.Damage, &DamageError{Topic: p.Topic, Partition: p.Partition, Offset: d.offset, Err: d.err})
	}
	if s.lost != nil {
		return l.ended(chunks, p, &DamageError{Topic: p.Topic, Partition: p.Partition, Offset: p.pos, Err: s.lost})
	}
	p.pos = s.next
	if len(got.RecordBatches) > 0 {
		l.turns++
		p.turn = l.turns
	}
	if c.Last = p.pos >= p.End; c.Last {
		delete(l.parts, partID{p.Topic, p.Partition})
	}
	if c.Last || len(c.Batches) > 0 || len(c.Damage) > 0 {
		chunks = append(chunks, c)
	}
	return chunks
}

// misplaced is how long a partition may be looked for among brokers that answer before that counts as an outage.
const misplaced = time.Second

// failed notes that a partition could not be read this time.
func (l *readerLoop) failed(chunks []Chunk, p *part, err error) []Chunk {
	if l.parts[partID{p.Topic, p.Partition}] != p {
		return chunks
	}
	if errors.Is(err, ErrUnknownTopic) || !retriable(err) {
		return l.ended(chunks, p, err)
	}
	now := time.Now()
	if p.since.IsZero() {
		p.since = now
	}
	err = l.source.explain(err)
	if !l.opts.Forever && now.Sub(p.since) >= l.timeout {
		return l.ended(chunks, p, err)
	}
	// A broker that answers that the partition is not its own (any more) is no outage: the next one to be asked knows
	// better, or that the topic was deleted. Only if that goes on somebody has to know.
	if !l.outage && (!answered(err) || now.Sub(p.since) >= misplaced) {
		l.outage = true
		if l.opts.Outage != nil {
			l.opts.Outage(err)
		}
	}
	p.leader = -1
	p.resumeAt = now.Add(p.pause.next())
	return chunks
}

// ended stops reading a partition because of err.
func (l *readerLoop) ended(chunks []Chunk, p *part, err error) []Chunk {
	delete(l.parts, partID{p.Topic, p.Partition})
	return append(chunks, Chunk{Span: p.Span, Last: true, Err: err})
}

// restored tells of the end of an outage: when each partition can be read, or has ended.
func (l *readerLoop) restored() {
	if !l.outage {
		return
	}
	for _, p := range l.parts {
		if !p.since.IsZero() {
			return
		}
	}
	l.outage = false
	if l.opts.Outage != nil {
		l.opts.Outage(nil)
	}
}
