package client

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/record"
)

// shakyBroker is a broker with one topic, whose connections break after a few produce requests, with some of them
// stored and not answered.
type shakyBroker struct {
	net.Listener
	partitions int32
	serving    sync.WaitGroup

	mu     sync.Mutex
	rnd    *rand.Rand
	conns  map[net.Conn]bool
	stored map[int32][]string
	losses int
}

func newShakyBroker(t *testing.T, partitions int32) *shakyBroker {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &shakyBroker{
		Listener: l, partitions: partitions, rnd: rand.New(rand.NewPCG(7, 8)),
		conns: map[net.Conn]bool{}, stored: map[int32][]string{},
	}
	b.serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			b.conns[conn] = true
			b.mu.Unlock()
			b.serving.Go(func() { b.serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		b.mu.Lock()
		for conn := range b.conns {
			conn.Close()
		}
		b.mu.Unlock()
		b.serving.Wait()
	})
	return b
}

func (b *shakyBroker) serve(conn net.Conn) {
	defer conn.Close()
	b.mu.Lock()
	b.losses++
	left := 3 + b.rnd.IntN(20) // produce requests that are answered
	unanswered := b.rnd.IntN(4)
	b.mu.Unlock()
	for {
		var size [4]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(conn, frame); err != nil {
			return
		}
		key := int16(binary.BigEndian.Uint16(frame))
		answer := b.answer(frame)
		if key == int16(kmsg.Produce) {
			if left--; left < -unanswered {
				return
			}
			if left < 0 {
				conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond)) // the client may wait for the answer before it sends more
				continue
			}
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

func (b *shakyBroker) answer(frame []byte) []byte {
	return answer(frame, func(req kmsg.Request, resp kmsg.Response) {
		switch req := req.(type) {
		case *kmsg.MetadataRequest:
			b.metadata(resp.(*kmsg.MetadataResponse))
		case *kmsg.ProduceRequest:
			b.store(req, resp.(*kmsg.ProduceResponse))
		}
	})
}

// answer decodes a request, and encodes the answer, which fill makes, with its frame.
func answer(frame []byte, fill func(kmsg.Request, kmsg.Response)) []byte {
	req := kmsg.RequestForKey(int16(binary.BigEndian.Uint16(frame)))
	req.SetVersion(int16(binary.BigEndian.Uint16(frame[2:])))
	body := frame[10+binary.BigEndian.Uint16(frame[8:]):]
	if req.IsFlexible() {
		body = body[1:] // no tags
	}
	if err := req.ReadFrom(body); err != nil {
		panic(err)
	}
	resp := req.ResponseKind()
	switch req.(type) {
	case *kmsg.ApiVersionsRequest:
		for key, v := range map[kmsg.Key]int16{kmsg.Produce: 9, kmsg.Metadata: 9, kmsg.ApiVersions: 0, kmsg.DescribeConfigs: 1} {
			resp.(*kmsg.ApiVersionsResponse).ApiKeys = append(resp.(*kmsg.ApiVersionsResponse).ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key.Int16(), MaxVersion: v})
		}
	default:
		fill(req, resp)
	}
	out := make([]byte, 4, 100)
	out = append(out, frame[4:8]...)
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		out = append(out, 0)
	}
	out = resp.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out
}

func (b *shakyBroker) metadata(resp *kmsg.MetadataResponse) {
	at := b.Addr().(*net.TCPAddr)
	resp.Brokers = append(resp.Brokers, kmsg.MetadataResponseBroker{NodeID: 1, Host: "127.0.0.1", Port: int32(at.Port)})
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = kmsg.StringPtr("t")
	for p := range b.partitions {
		part := kmsg.NewMetadataResponseTopicPartition()
		part.Partition, part.Leader = p, 1
		topic.Partitions = append(topic.Partitions, part)
	}
	resp.Topics = append(resp.Topics, topic)
}

func (b *shakyBroker) store(req *kmsg.ProduceRequest, resp *kmsg.ProduceResponse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var it record.Iterator
	var rec record.Record
	for _, t := range req.Topics {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			part := kmsg.NewProduceResponseTopicPartition()
			part.Partition = p.Partition
			if err := it.Reset(p.Records); err != nil {
				panic(err)
			}
			for it.Next(&rec) {
				b.stored[p.Partition] = append(b.stored[p.Partition], string(rec.Value))
			}
			topic.Partitions = append(topic.Partitions, part)
		}
		resp.Topics = append(resp.Topics, topic)
	}
}

// Whatever becomes of the connections: nothing is lost, and nothing overtakes. What is stored twice was stored in order
// the first time.
func TestProducerKeepsTheOrderOverBreakingConnections(t *testing.T) {
	const partitions, records = 3, 3000
	broker := newShakyBroker(t, partitions)
	c, err := New(Options{Brokers: []string{broker.Addr().String()}, Timeout: time.Minute, Acks: AcksAll})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := c.NewProducer(t.Context(), ProducerOptions{Topic: "t", Partition: ByKey, BatchBytes: 300})
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		value := fmt.Appendf(nil, "%06d", i)
		if err := p.Add(t.Context(), record.Record{Key: fmt.Append(nil, i%50), Value: value}, int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := p.Stats(); s.Acked != records {
		t.Errorf("%+v", s)
	}
	broker.mu.Lock()
	defer broker.mu.Unlock()
	if broker.losses < 5 {
		t.Fatalf("only %d connections were lost", broker.losses)
	}
	found := 0
	for partition, values := range broker.stored {
		last := ""
		seen := map[string]bool{}
		for _, v := range values {
			if seen[v] {
				continue
			}
			seen[v] = true
			if v < last {
				t.Fatalf("partition %d: %s behind %s", partition, v, last)
			}
			last = v
		}
		found += len(seen)
	}
	if found != records {
		t.Errorf("%d records of %d are stored", found, records)
	}
}
