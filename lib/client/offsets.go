package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Timestamps that ask ListOffsets for a place rather than a time (Kafka's ListOffsetsRequest).
const (
	AtEnd   int64 = -1 // id of the last visible record + 1
	AtStart int64 = -2 // id of the last deleted record + 1
)

// Offsets asks for one id in each of the given partitions of a topic: AtStart, AtEnd, or the first record whose
// timestamp (Unix milliseconds) is not below at. Where no record is that late the answer is the end. *NoLeaderError: brokers
// are not there.
func (c *Client) Offsets(ctx context.Context, topic string, partitions []int32, at int64) (map[int32]int64, error) {
	found := make(map[int32]int64, len(partitions))
	var late []int32
	err := c.retry(ctx, c.opts.Timeout, func(ctx context.Context) error {
		clear(found)
		late = late[:0]
		answers, err := c.listOffsets(ctx, topic, partitions, at)
		if err != nil {
			return err
		}
		for _, p := range answers {
			if p.Offset < 0 {
				late = append(late, p.Partition)
				continue
			}
			found[p.Partition] = p.Offset
		}
		if len(found)+len(late) != len(partitions) {
			return fmt.Errorf("topic %q: offsets of %d partitions in the answer, %d asked for", topic, len(found)+len(late), len(partitions))
		}
		return nil
	})
	if errors.Is(err, kerr.LeaderNotAvailable) {
		return nil, c.leaderless(ctx, topic, partitions)
	}
	if err != nil || len(late) == 0 || at == AtEnd {
		return found, err
	}
	ends, err := c.Offsets(ctx, topic, late, AtEnd)
	for p, end := range ends {
		found[p] = end
	}
	return found, err
}

// leaderless makes an answer that there is no leader one that names the partitions, where they can be told.
func (c *Client) leaderless(ctx context.Context, topic string, asked []int32) error {
	err := topicError(topic, brokerError(kerr.LeaderNotAvailable.Code, nil))
	t, lookUpErr := c.lookUp(ctx, topic, false)
	if lookUpErr != nil {
		return err
	}
	missing := &NoLeaderError{Topic: topic}
	for _, p := range t.Partitions {
		if p.Leader < 0 && slices.Contains(asked, p.ID) {
			missing.Partitions = append(missing.Partitions, p.ID)
		}
	}
	if len(missing.Partitions) == 0 {
		return err
	}
	return missing
}

// listOffsets asks once; kgo splits the request by leader and joins the answers.
func (c *Client) listOffsets(ctx context.Context, topic string, partitions []int32, at int64) ([]kmsg.ListOffsetsResponseTopicPartition, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	want := kmsg.NewListOffsetsRequestTopic()
	want.Topic = topic
	for _, id := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = id, at
		want.Partitions = append(want.Partitions, p)
	}
	req.Topics = append(req.Topics, want)
	resp, err := req.RequestWith(ctx, c.kgo)
	if err != nil {
		return nil, err
	}
	var answers []kmsg.ListOffsetsResponseTopicPartition
	for _, t := range resp.Topics {
		if t.Topic != topic {
			continue
		}
		for _, p := range t.Partitions {
			if err := brokerError(p.ErrorCode, nil); err != nil {
				return nil, &PartitionError{Topic: topic, Partition: p.Partition, Err: err}
			}
		}
		answers = append(answers, t.Partitions...)
	}
	return answers, nil
}
