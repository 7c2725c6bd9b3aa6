package consumer

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"logkit/lib/client"
	"logkit/lib/record"
)

// fakeLog is a cluster of brokers in memory. Ids are positions: they rise by more than one from batch to batch.
type fakeLog struct {
	mu      sync.Mutex
	topics  map[string][]*fakePart
	changed chan struct{}
	away    map[int32]bool // brokers
	asked   int            // requests for offsets
}

type fakePart struct {
	broker  int32
	start   int64
	batches [][]byte
	base    int64
}

func newLog() *fakeLog {
	return &fakeLog{topics: map[string][]*fakePart{}, changed: make(chan struct{}), away: map[int32]bool{}}
}

// change does something, and lets all readers look again.
func (l *fakeLog) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

// add makes partitions of a topic, each on a broker of its own number.
func (l *fakeLog) add(topic string, n int) {
	l.change(func() {
		for range n {
			l.topics[topic] = append(l.topics[topic], &fakePart{broker: int32(len(l.topics[topic]))})
		}
	})
}

// produce appends a batch of n records to a partition, and returns their ids.
func (l *fakeLog) produce(topic string, partition int32, n int) (ids []int64) {
	b := record.NewBuilder(record.None)
	for i := range n {
		b.Append(record.Record{Value: fmt.Appendf(nil, "%s-%d", topic, i)})
	}
	batch, err := b.Finish(nil)
	if err != nil {
		panic(err)
	}
	l.change(func() {
		p := l.topics[topic][partition]
		record.SetBaseOffset(batch, p.base)
		for i := range n {
			ids = append(ids, p.base+int64(i))
		}
		p.batches = append(p.batches, batch)
		p.base += int64(len(batch))
	})
	return ids
}

func (l *fakeLog) end(topic string, partition int32) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.topics[topic][partition].end()
}

// expire deletes the first n batches of a partition.
func (l *fakeLog) expire(topic string, partition int32, n int) {
	l.change(func() {
		p := l.topics[topic][partition]
		p.start = lastOf(p.batches[n-1]) + 1
		p.batches = p.batches[n:]
	})
}

func lastOf(batch []byte) int64 {
	return int64(binary.BigEndian.Uint64(batch)) + int64(int32(binary.BigEndian.Uint32(batch[23:])))
}

func (p *fakePart) end() int64 {
	if n := len(p.batches); n > 0 {
		return lastOf(p.batches[n-1]) + 1
	}
	return p.start
}

func (l *fakeLog) Topic(_ context.Context, name string, _ bool) (client.Topic, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	parts, found := l.topics[name]
	if !found {
		return client.Topic{}, &client.UnknownTopicError{Topic: name}
	}
	topic := client.Topic{Name: name}
	for i, p := range parts {
		leader := p.broker
		topic.Partitions = append(topic.Partitions, client.Partition{ID: int32(i), Leader: leader})
	}
	return topic, nil
}

func (l *fakeLog) Offsets(_ context.Context, topic string, partitions []int32, at int64) (map[int32]int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	found := map[int32]int64{}
	for _, id := range partitions {
		p := l.topics[topic][id]
		if l.away[p.broker] {
			return nil, &client.UnavailableError{Addr: fmt.Sprint("broker ", p.broker), Err: context.DeadlineExceeded}
		}
		found[id] = p.start
		if at == client.AtEnd {
			found[id] = p.end()
		}
	}
	return found, nil
}

func (l *fakeLog) NewReader(client.ReaderOptions) Reader {
	r := &fakeReader{log: l, commands: make(chan func()), out: make(chan []client.Chunk), stop: make(chan struct{}), done: make(chan struct{}), spans: map[partition]*fakeSpan{}}
	go r.run()
	return r
}

// fakeReader hands out one batch of a partition at a time. What it holds ready is handed out even when the partition was
// removed, or begun anew, meanwhile, as a client.Reader may do.
type fakeReader struct {
	log        *fakeLog
	commands   chan func()
	out        chan []client.Chunk
	stop, done chan struct{}
	once       sync.Once
	spans      map[partition]*fakeSpan
}

type fakeSpan struct {
	client.Span
	pos int64
}

func (r *fakeReader) C() <-chan []client.Chunk { return r.out }

func (r *fakeReader) Close() { r.once.Do(func() { close(r.stop) }); <-r.done }

func (r *fakeReader) do(f func()) {
	select {
	case r.commands <- f:
	case <-r.done:
	}
}

func (r *fakeReader) Add(spans ...client.Span) {
	r.do(func() {
		for _, s := range spans {
			r.spans[partition{s.Topic, s.Partition}] = &fakeSpan{s, s.Start}
		}
	})
}

func (r *fakeReader) Remove(topic string, id int32) {
	r.do(func() { delete(r.spans, partition{topic, id}) })
}

func (r *fakeReader) run() {
	defer close(r.done)
	var pending []client.Chunk
	for {
		var out chan []client.Chunk
		r.log.mu.Lock()
		changed := r.log.changed
		if pending == nil {
			pending = r.collect()
		}
		r.log.mu.Unlock()
		if pending != nil {
			out = r.out
		}
		select {
		case out <- pending:
			pending = nil
		case f := <-r.commands:
			f()
		case <-changed:
		case <-r.stop:
			return
		}
	}
}

func (r *fakeReader) collect() (chunks []client.Chunk) {
	for id, s := range r.spans {
		c := client.Chunk{Span: s.Span}
		parts := r.log.topics[id.topic]
		switch {
		case s.pos >= s.End:
			c.Last = true
		case int(id.id) >= len(parts):
			c.Last, c.Err = true, &client.UnknownTopicError{Topic: id.topic}
		case r.log.away[parts[id.id].broker]:
			continue
		case s.pos < parts[id.id].start || s.pos > parts[id.id].base:
			p := parts[id.id]
			c.Last, c.Err = true, &client.OutOfRangeError{Topic: id.topic, Partition: id.id, Offset: s.pos, Start: p.start, End: p.end()}
		default:
			for _, batch := range parts[id.id].batches {
				if lastOf(batch) >= s.pos {
					c.Batches = [][]byte{batch}
					s.pos = lastOf(batch) + 1
					c.Last = s.pos >= s.End
					break
				}
			}
			if c.Batches == nil {
				continue
			}
		}
		if c.Last {
			delete(r.spans, id)
		}
		chunks = append(chunks, c)
	}
	return chunks
}

// TestFakeLog holds the twin to what a client.Reader does.
func TestFakeLog(t *testing.T) {
	l := newLog()
	l.add("t", 1)
	first, second := l.produce("t", 0, 2), l.produce("t", 0, 1)
	r := l.NewReader(client.ReaderOptions{})
	defer r.Close()
	r.Add(client.Span{Topic: "t", Start: first[1], End: second[0] + 1, Tag: 7})
	for _, last := range []bool{false, true} {
		c := (<-r.C())[0]
		if c.Tag != 7 || c.Last != last || len(c.Batches) != 1 {
			t.Errorf("%+v", c)
		}
	}
}
