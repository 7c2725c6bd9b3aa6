package interop

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Batch is what the header of a stored batch says.
type Batch struct {
	Base, Last int64 // ids of the first record and of the last
	Size       int64 // bytes, header included
	Codec      string
	Records    int32
}

// Next is the base of the batch behind it: the log advances by the size, or the count where that is more.
func (b Batch) Next() int64 { return b.Base + max(b.Size, b.Last-b.Base+1) }

// Batches returns the batches of a partition as they are on the wire, from its start to its end.
func Batches(ctx context.Context, brokers, topic string, partition int32) (batches []Batch, err error) {
	client, err := NewFranz(brokers)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	places, err := Franz{}.Times(ctx, brokers, topic, partition, []int64{Start, End})
	if err != nil {
		return nil, err
	}
	for from, end := places[0], places[1]; from < end; {
		more, err := fetch(ctx, client, topic, partition, from, 64<<20)
		if err != nil || len(more) == 0 {
			return batches, fmt.Errorf("%d batches at %d of %d: %v", len(more), from, end, err)
		}
		batches = append(batches, more...)
		from = more[len(more)-1].Last + 1
	}
	return batches, nil
}

// BatchAt returns the batch that a fetch from an id gets if it has room for no more than one.
func BatchAt(ctx context.Context, brokers, topic string, partition int32, id int64) (Batch, error) {
	client, err := NewFranz(brokers)
	if err != nil {
		return Batch{}, err
	}
	defer client.Close()
	batches, err := fetch(ctx, client, topic, partition, id, 1)
	if err != nil || len(batches) != 1 {
		return Batch{}, fmt.Errorf("fetch of one byte at %d: batches %+v: %v", id, batches, err)
	}
	return batches[0], nil
}

func fetch(ctx context.Context, client *kgo.Client, topic string, partition int32, from int64, maxBytes int32) ([]Batch, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MinBytes, req.MaxBytes = 1, maxBytes
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, from, maxBytes
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client.SeedBrokers()[0])
	if err != nil {
		return nil, err
	}
	answer := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return nil, err
	}
	return splitBatches(answer.RecordBatches)
}

func splitBatches(b []byte) (batches []Batch, err error) {
	const overhead = 12 // bytes that the length does not count
	for len(b) > 0 {
		if len(b) < 61 {
			return batches, fmt.Errorf("%d bytes behind the last batch", len(b))
		}
		base, size := int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint32(b[8:]))+overhead
		if size > int64(len(b)) {
			return batches, fmt.Errorf("batch at %d: %d bytes, %d left", base, size, len(b))
		}
		batches = append(batches, Batch{
			Base: base, Last: base + int64(binary.BigEndian.Uint32(b[23:])), Size: size,
			Codec: Codecs[b[22]&7], Records: int32(binary.BigEndian.Uint32(b[57:])),
		})
		b = b[size:]
	}
	return batches, nil
}
