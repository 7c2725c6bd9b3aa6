package interop

import (
	"bytes"
	"context"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"
)

// Segmentio is github.com/segmentio/kafka-go. Its Reader does not tell null from empty (read.go, readNewBytes), and the
// time 0 is Go's zero time to it, which its Writer replaces by the present.
type Segmentio struct{}

func (Segmentio) Name() string { return "segmentio" }

func (Segmentio) Sends(r Record) bool  { return r.Time != 0 }
func (Segmentio) Sent(r Record) Record { return r }

// Shows makes null what is empty.
func (Segmentio) Shows(r Record) Record {
	null := func(b []byte) []byte {
		if len(b) == 0 {
			return nil
		}
		return b
	}
	r.Key, r.Value = null(r.Key), null(r.Value)
	if r.Time == 0 {
		r.Time = time.Time{}.UnixMilli()
	}
	headers := r.Headers
	r.Headers = nil
	for _, h := range headers {
		r.Headers = append(r.Headers, Header{Name: h.Name, Value: null(h.Value)})
	}
	return r
}

func (Segmentio) Producer(_ context.Context, brokers, codec string, acks int) (Producer, error) {
	codecs := map[string]compress.Compression{
		"none": compress.None, "gzip": compress.Gzip, "snappy": compress.Snappy, "lz4": compress.Lz4, "zstd": compress.Zstd,
	}
	p := &segmentioProducer{told: acks != AcksNone}
	p.writer = &kafka.Writer{
		Addr: kafka.TCP(brokers), RequiredAcks: kafka.RequiredAcks(acks), Compression: codecs[codec],
		Balancer:  kafka.BalancerFunc(func(_ kafka.Message, partitions ...int) int { return p.partition }),
		BatchSize: 100_000, BatchTimeout: 10 * time.Millisecond,
		MaxAttempts: 400, WriteBackoffMin: 50 * time.Millisecond, WriteBackoffMax: 50 * time.Millisecond,
		Transport:  &kafka.Transport{MetadataTTL: 100 * time.Millisecond},
		Completion: p.complete,
	}
	return p, nil
}

type segmentioProducer struct {
	writer    *kafka.Writer
	told      bool
	partition int           // of the Send that runs
	ids       map[int]int64 // by position in it
}

// position is what Completion finds a message again by.
type position int

func (p *segmentioProducer) complete(messages []kafka.Message, err error) {
	if err != nil {
		return
	}
	for _, m := range messages {
		p.ids[int(m.WriterData.(position))] = m.Offset
	}
}

func (p *segmentioProducer) Send(ctx context.Context, topic string, partition int32, records []Record) (ids []int64, err error) {
	p.partition, p.ids = int(partition), make(map[int]int64)
	messages := make([]kafka.Message, len(records))
	for i, r := range records {
		messages[i] = kafka.Message{Topic: topic, Key: r.Key, Value: r.Value, Time: time.UnixMilli(r.Time), WriterData: position(i)}
		for _, h := range r.Headers {
			messages[i].Headers = append(messages[i].Headers, kafka.Header{Key: h.Name, Value: h.Value})
		}
	}
	err = p.writer.WriteMessages(ctx, messages...)
	if !p.told {
		return nil, err
	}
	for i := range records {
		id, ok := p.ids[i]
		if !ok {
			id = None
		}
		ids = append(ids, id)
	}
	return ids, err
}

func (p *segmentioProducer) Close() error {
	err := p.writer.Close()
	p.writer.Transport.(*kafka.Transport).CloseIdleConnections()
	return err
}

func (Segmentio) Read(ctx context.Context, brokers, topic string, partition int32, from int64, until []byte) (records []Record, err error) {
	end := int64(None)
	if until == nil {
		conn, err := kafka.DialLeader(ctx, "tcp", brokers, topic, int(partition))
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		start, last, err := conn.ReadOffsets()
		if end = last; err != nil || end == start || from >= end {
			return nil, err
		}
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{brokers}, Topic: topic, Partition: int(partition),
		MinBytes: 1, MaxBytes: 16 << 20, MaxWait: 100 * time.Millisecond, QueueCapacity: 1000,
		MaxAttempts: 400, ReadBackoffMin: 50 * time.Millisecond, ReadBackoffMax: 100 * time.Millisecond,
	})
	defer reader.Close()
	if from == Start {
		from = kafka.FirstOffset
	}
	if err := reader.SetOffset(from); err != nil {
		return nil, err
	}
	for {
		m, err := reader.ReadMessage(ctx)
		if err != nil {
			return records, err
		}
		r := Record{ID: m.Offset, Time: m.Time.UnixMilli(), Key: m.Key, Value: m.Value}
		for _, h := range m.Headers {
			r.Headers = append(r.Headers, Header{Name: h.Key, Value: h.Value})
		}
		records = append(records, r)
		if until != nil && bytes.Equal(m.Value, until) || m.Offset+1 == end {
			return records, nil
		}
	}
}

// Times asks through a Conn: Client.ListOffsets tells the two places apart by the timestamp of the answer, which is -1
// for both, from Kafka too.
func (Segmentio) Times(ctx context.Context, brokers, topic string, partition int32, times []int64) (ids []int64, err error) {
	conn, err := kafka.DialLeader(ctx, "tcp", brokers, topic, int(partition))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	for _, at := range times {
		var id int64
		switch at {
		case Start:
			id, err = conn.ReadFirstOffset()
		case End:
			id, err = conn.ReadLastOffset()
		default:
			id, err = conn.ReadOffset(time.UnixMilli(at))
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
