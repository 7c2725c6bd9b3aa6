package interop

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Franz is github.com/twmb/franz-go.
type Franz struct{ exact }

func (Franz) Name() string { return "franz-go" }

// NewFranz connects to brokers with options beside those that every use here needs.
func NewFranz(brokers string, opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(brokers),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.DisableIdempotentWrite(),
		kgo.MaxProduceRequestsInflightPerBroker(1), // order without idempotence
		kgo.MaxBufferedRecords(100_000),
		kgo.ManualFlushing(),
		kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
	}, opts...)...)
}

func (Franz) Producer(_ context.Context, brokers, codec string, acks int) (Producer, error) {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	required := map[int]kgo.Acks{AcksNone: kgo.NoAck(), AcksLeader: kgo.LeaderAck(), AcksAll: kgo.AllISRAcks()}
	client, err := NewFranz(brokers, kgo.ProducerBatchCompression(codecs[codec]), kgo.RequiredAcks(required[acks]))
	return franzProducer{client: client, told: acks != AcksNone}, err
}

type franzProducer struct {
	client *kgo.Client
	told   bool
}

func (p franzProducer) Send(ctx context.Context, topic string, partition int32, records []Record) (ids []int64, err error) {
	out := make([]*kgo.Record, len(records))
	for i, r := range records {
		out[i] = &kgo.Record{Topic: topic, Partition: partition, Key: r.Key, Value: r.Value, Timestamp: time.UnixMilli(r.Time)}
		for _, h := range r.Headers {
			out[i].Headers = append(out[i].Headers, kgo.RecordHeader{Key: h.Name, Value: h.Value})
		}
	}
	errs := make([]error, len(records))
	for i, r := range out {
		p.client.Produce(ctx, r, func(_ *kgo.Record, err error) { errs[i] = err })
	}
	if err := p.client.Flush(ctx); err != nil {
		return nil, err
	}
	for i, r := range out {
		switch {
		case errs[i] == nil:
			ids = append(ids, r.Offset)
		default:
			ids = append(ids, None)
			if err == nil {
				err = errs[i]
			}
		}
	}
	if !p.told {
		ids = nil
	}
	return ids, err
}

func (p franzProducer) Close() error {
	p.client.Close()
	return nil
}

func (f Franz) Read(ctx context.Context, brokers, topic string, partition int32, from int64, until []byte) (records []Record, err error) {
	end := int64(None)
	if until == nil {
		places, err := f.Times(ctx, brokers, topic, partition, []int64{Start, End})
		if err != nil {
			return nil, err
		}
		end = places[1]
		if end == places[0] || from >= end {
			return nil, nil
		}
	}
	offset := kgo.NewOffset().At(from)
	if from == Start {
		offset = kgo.NewOffset().AtStart()
	}
	client, err := NewFranz(brokers, kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: offset}}))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for {
		fetches := client.PollFetches(ctx)
		// It reconnects by itself when the broker goes; whoever waits for a record wants that.
		if err := fetches.Err(); err != nil && (until == nil || ctx.Err() != nil) {
			return records, err
		}
		for _, r := range fetches.Records() {
			record := Record{ID: r.Offset, Time: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value}
			for _, h := range r.Headers {
				record.Headers = append(record.Headers, Header{Name: h.Key, Value: h.Value})
			}
			records = append(records, record)
			if until != nil && bytes.Equal(r.Value, until) || r.Offset+1 == end {
				return records, nil
			}
		}
	}
}

func (Franz) Times(ctx context.Context, brokers, topic string, partition int32, times []int64) (ids []int64, err error) {
	client, err := NewFranz(brokers)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for _, at := range times {
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID = -1
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = partition, at
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			return nil, err
		}
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			return nil, fmt.Errorf("ListOffsets: answer %+v for one partition", resp)
		}
		answer := resp.Topics[0].Partitions[0]
		if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
			return nil, err
		}
		ids = append(ids, answer.Offset)
	}
	return ids, nil
}
