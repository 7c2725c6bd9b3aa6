package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// creationTime is how long a topic that was asked for may take to appear before it counts as refused.
const creationTime = 3 * time.Second

// Topic is what the cluster says about a topic.
type Topic struct {
	Name       string
	Partitions []Partition // sorted by ID, which are 0 to n-1
}

// Partition is one partition of a Topic.
type Partition struct {
	ID     int32
	Leader int32 // the broker in charge; -1 when there is none at the moment
}

// Topic looks a topic up. With create, the broker is asked to make it when it does not exist; without, an
// *UnknownTopicError is returned and the topic is not made.
func (c *Client) Topic(ctx context.Context, name string, create bool) (Topic, error) {
	var found Topic
	began := time.Now()
	err := c.retry(ctx, c.opts.Timeout, func(ctx context.Context) error {
		var err error
		found, err = c.lookUp(ctx, name, create)
		unknown := errors.Is(err, kerr.UnknownTopicOrPartition)
		if unknown && (!create || time.Since(began) > creationTime) {
			return &UnknownTopicError{Topic: name}
		}
		return err
	})
	if errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID) {
		err = &UnknownTopicError{Topic: name}
	}
	return found, err
}

// lookUp asks once.
func (c *Client) lookUp(ctx context.Context, name string, create bool) (Topic, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = create
	want := kmsg.NewMetadataRequestTopic()
	want.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, want)
	resp, err := req.RequestWith(ctx, c.kgo)
	if err != nil {
		return Topic{}, err
	}
	for _, t := range resp.Topics {
		if t.Topic == nil || *t.Topic != name {
			continue
		}
		switch err := brokerError(t.ErrorCode, nil); {
		case errors.Is(err, kerr.InvalidTopicException):
			return Topic{}, topicError(name, &codeError{"not a topic name: allowed are 1 to 249 letters, digits, dots, underscores and hyphens", kerr.InvalidTopicException})
		case err != nil:
			return Topic{}, topicError(name, err)
		}
		found, err := partitionsOf(name, t.Partitions)
		if err != nil {
			return Topic{}, err
		}
		if len(found.Partitions) == 0 {
			return Topic{}, topicError(name, brokerError(kerr.LeaderNotAvailable.Code, nil))
		}
		return found, nil
	}
	return Topic{}, topicError(name, kerr.UnknownTopicOrPartition)
}

// partitionsOf reads a topic out of an answer.
func partitionsOf(name string, partitions []kmsg.MetadataResponseTopicPartition) (Topic, error) {
	found := Topic{Name: name, Partitions: make([]Partition, len(partitions))}
	for i := range found.Partitions {
		found.Partitions[i] = Partition{ID: int32(i), Leader: -1}
	}
	for _, p := range partitions {
		if p.Partition < 0 || int(p.Partition) >= len(found.Partitions) {
			return Topic{}, fmt.Errorf("topic %q: partition %d in an answer of %d partitions", name, p.Partition, len(partitions))
		}
		if p.ErrorCode == 0 || p.Leader >= 0 {
			found.Partitions[p.Partition].Leader = p.Leader
		}
	}
	return found, nil
}

func topicError(name string, err error) error { return fmt.Errorf("topic %q: %w", name, err) }

// maxMessageBytes is the topic setting that limits a batch, and Kafka's default for it.
const (
	maxMessageBytes        = "max.message.bytes"
	defaultMaxMessageBytes = 1<<20 + 12
)

// MaxMessageBytes returns the largest batch, in bytes, that the topic takes. known is false when the broker does not tell,
// and the default is returned.
func (c *Client) MaxMessageBytes(ctx context.Context, topic string) (limit int32, known bool, err error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	want := kmsg.NewDescribeConfigsRequestResource()
	want.ResourceType = kmsg.ConfigResourceTypeTopic
	want.ResourceName = topic
	want.ConfigNames = []string{maxMessageBytes}
	req.Resources = append(req.Resources, want)
	limit = defaultMaxMessageBytes
	err = c.retry(ctx, c.opts.Timeout, func(ctx context.Context) error {
		resp, err := req.RequestWith(ctx, c.kgo)
		if err != nil {
			return err
		}
		for _, r := range resp.Resources {
			for _, conf := range r.Configs {
				if r.ErrorCode != 0 || conf.Name != maxMessageBytes || conf.Value == nil {
					continue
				}
				if n, err := strconv.ParseInt(*conf.Value, 10, 32); err == nil && n > 0 {
					limit, known = int32(n), true
				}
			}
		}
		return nil
	})
	return limit, known, err
}
