package interop

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/IBM/sarama"
)

// Sarama is github.com/IBM/sarama.
//
// It cannot read a batch that has more records than the rest of the response has bytes: it takes the count for the
// length of an array and compares it with the bytes that remain (real_decoder.go, getArrayLength). Only zstd gets there.
type Sarama struct{ exact }

func (Sarama) Name() string { return "sarama" }

func saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Metadata.Retry.Max, config.Metadata.Retry.Backoff = 400, 50*time.Millisecond
	config.Net.MaxOpenRequests = 1 // order without idempotence
	config.Producer.Retry.Max, config.Producer.Retry.Backoff = 400, 50*time.Millisecond
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	config.Consumer.Return.Errors = true
	config.Consumer.Retry.Backoff = 50 * time.Millisecond
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	// Both, so that what it takes for a batch that does not fit is an error instead of a loop.
	config.Consumer.Fetch.Default, config.Consumer.Fetch.Max = 16<<20, 16<<20
	return config
}

func (Sarama) Producer(_ context.Context, brokers, codec string, acks int) (Producer, error) {
	return &saramaProducer{brokers: []string{brokers}, codec: codec, acks: acks}, nil
}

// saramaProducer connects anew when the number of records changes: that is what makes it send them in one batch.
type saramaProducer struct {
	brokers  []string
	codec    string
	acks     int
	records  int
	producer sarama.SyncProducer
}

func (p *saramaProducer) open(records int) (err error) {
	if p.records == records {
		return nil
	}
	if err := p.Close(); err != nil {
		return err
	}
	config := saramaConfig()
	config.Producer.RequiredAcks = sarama.RequiredAcks(p.acks)
	if err := config.Producer.Compression.UnmarshalText([]byte(p.codec)); err != nil {
		return err
	}
	config.Producer.Flush.Messages = records
	config.Producer.Flush.Frequency = 50 * time.Millisecond
	p.producer, err = sarama.NewSyncProducer(p.brokers, config)
	if err == nil {
		p.records = records
	}
	return err
}

func (p *saramaProducer) Send(_ context.Context, topic string, partition int32, records []Record) (ids []int64, err error) {
	if err := p.open(len(records)); err != nil {
		return nil, err
	}
	messages := make([]*sarama.ProducerMessage, len(records))
	for i, r := range records {
		m := &sarama.ProducerMessage{Topic: topic, Partition: partition, Timestamp: time.UnixMilli(r.Time)}
		if r.Key != nil {
			m.Key = sarama.ByteEncoder(r.Key)
		}
		if r.Value != nil {
			m.Value = sarama.ByteEncoder(r.Value)
		}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, sarama.RecordHeader{Key: []byte(h.Name), Value: h.Value})
		}
		messages[i] = m
	}
	refused := map[*sarama.ProducerMessage]bool{}
	if err = p.producer.SendMessages(messages); err != nil {
		var each sarama.ProducerErrors
		if !errors.As(err, &each) {
			return nil, err
		}
		for _, e := range each {
			refused[e.Msg] = true
		}
		err = each[0]
	}
	if p.acks == AcksNone {
		return nil, err
	}
	for _, m := range messages {
		if refused[m] {
			ids = append(ids, None)
		} else {
			ids = append(ids, m.Offset)
		}
	}
	return ids, err
}

func (p *saramaProducer) Close() error {
	if p.producer == nil {
		return nil
	}
	return p.producer.Close()
}

func (Sarama) Read(ctx context.Context, brokers, topic string, partition int32, from int64, until []byte) (records []Record, err error) {
	client, err := sarama.NewClient([]string{brokers}, saramaConfig())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	end := int64(None)
	if until == nil {
		start, err := client.GetOffset(topic, partition, sarama.OffsetOldest)
		if err != nil {
			return nil, err
		}
		if end, err = client.GetOffset(topic, partition, sarama.OffsetNewest); err != nil || end == start || from >= end {
			return nil, err
		}
	}
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	reader, err := consumer.ConsumePartition(topic, partition, from) // Start is sarama's OffsetOldest
	if err != nil {
		return nil, err
	}
	defer reader.AsyncClose()
	for {
		select {
		case m := <-reader.Messages():
			r := Record{ID: m.Offset, Time: m.Timestamp.UnixMilli(), Key: m.Key, Value: m.Value}
			for _, h := range m.Headers {
				r.Headers = append(r.Headers, Header{Name: string(h.Key), Value: h.Value})
			}
			records = append(records, r)
			if until != nil && bytes.Equal(r.Value, until) || r.ID+1 == end {
				return records, nil
			}
		case err := <-reader.Errors():
			// It reconnects by itself when the broker goes; whoever waits for a record wants that.
			if until == nil {
				return records, err
			}
		case <-ctx.Done():
			return records, ctx.Err()
		}
	}
}

func (Sarama) Times(_ context.Context, brokers, topic string, partition int32, times []int64) (ids []int64, err error) {
	client, err := sarama.NewClient([]string{brokers}, saramaConfig())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for _, at := range times {
		id, err := client.GetOffset(topic, partition, at)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
