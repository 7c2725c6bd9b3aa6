package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DefaultPartitions lets the broker choose how many partitions a topic gets.
const DefaultPartitions int32 = -1

// CreateTopic makes a topic. What the broker refuses is not tried again; its words say what is allowed.
func (c *Client) CreateTopic(ctx context.Context, name string, partitions int32, settings map[string]string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = c.timeoutMillis()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, -1
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = key, kmsg.StringPtr(settings[key])
		topic.Configs = append(topic.Configs, config)
	}
	req.Topics = append(req.Topics, topic)
	return c.ask(ctx, name, req, func(resp kmsg.Response) error {
		for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
			if t.Topic == name {
				return brokerError(t.ErrorCode, t.ErrorMessage)
			}
		}
		return errNoAnswer
	})
}

// DeleteTopic removes a topic with all its records.
func (c *Client) DeleteTopic(ctx context.Context, name string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = c.timeoutMillis()
	req.TopicNames = []string{name} // up to v5
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, topic)
	return c.ask(ctx, name, req, func(resp kmsg.Response) error {
		for _, t := range resp.(*kmsg.DeleteTopicsResponse).Topics {
			if t.Topic != nil && *t.Topic == name {
				return brokerError(t.ErrorCode, t.ErrorMessage)
			}
		}
		return errNoAnswer
	})
}

// SetPartitions gives a topic more partitions: count of them in all. With validateOnly it only tells whether that would
// be refused.
func (c *Client) SetPartitions(ctx context.Context, name string, count int32, validateOnly bool) error {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis, req.ValidateOnly = c.timeoutMillis(), validateOnly
	topic := kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = name, count
	req.Topics = append(req.Topics, topic)
	return c.ask(ctx, name, req, func(resp kmsg.Response) error {
		for _, t := range resp.(*kmsg.CreatePartitionsResponse).Topics {
			if t.Topic == name {
				return brokerError(t.ErrorCode, t.ErrorMessage)
			}
		}
		return errNoAnswer
	})
}

// ChangeSettings sets some settings of a topic and lets others follow the broker again. All of it is done, or nothing.
func (c *Client) ChangeSettings(ctx context.Context, name string, set map[string]string, unset []string) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, name
	change := func(key string, op kmsg.IncrementalAlterConfigOp, value *string) {
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Op, config.Value = key, op, value
		resource.Configs = append(resource.Configs, config)
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		change(key, kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr(set[key]))
	}
	for _, key := range unset {
		change(key, kmsg.IncrementalAlterConfigOpDelete, nil)
	}
	req.Resources = append(req.Resources, resource)
	return c.ask(ctx, name, req, func(resp kmsg.Response) error {
		for _, r := range resp.(*kmsg.IncrementalAlterConfigsResponse).Resources {
			if r.ResourceName == name {
				return brokerError(r.ErrorCode, r.ErrorMessage)
			}
		}
		return errNoAnswer
	})
}

// Settings returns what has been set for a topic itself, which may be nothing.
func (c *Client) Settings(ctx context.Context, name string) (map[string]string, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, name
	req.Resources = append(req.Resources, resource)
	settings := make(map[string]string)
	err := c.ask(ctx, name, req, func(resp kmsg.Response) error {
		for _, r := range resp.(*kmsg.DescribeConfigsResponse).Resources {
			if r.ResourceName != name {
				continue
			}
			for _, config := range r.Configs {
				if config.Source == kmsg.ConfigSourceDynamicTopicConfig && config.Value != nil {
					settings[config.Name] = *config.Value
				}
			}
			return brokerError(r.ErrorCode, r.ErrorMessage)
		}
		return errNoAnswer
	})
	return settings, err
}

// Size is what a partition takes on disk.
type Size struct {
	Bytes    int64
	Segments int64 // -1: the broker does not tell
}

// segmentsTag is the tagged field of a DescribeLogDirs answer in which logd tells the segments of a partition, as an
// int32. Kafka's protocol has no such field.
const segmentsTag = 0x6c6b

// Sizes returns what the partitions of a topic take on disk. A partition without a leader, or of which the brokers
// do not tell, is missing.
func (c *Client) Sizes(ctx context.Context, t Topic) (map[int32]Size, error) {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	wanted := kmsg.NewDescribeLogDirsRequestTopic()
	wanted.Topic = t.Name
	for _, p := range t.Partitions {
		if p.Leader >= 0 {
			wanted.Partitions = append(wanted.Partitions, p.ID)
		}
	}
	if len(wanted.Partitions) == 0 {
		return nil, nil
	}
	req.Topics = append(req.Topics, wanted)
	leaders := make(map[int32]Size)
	err := c.ask(ctx, t.Name, req, func(resp kmsg.Response) error {
		described := resp.(*kmsg.DescribeLogDirsResponse)
		if err := brokerError(described.ErrorCode, nil); err != nil {
			return err
		}
		for _, dir := range described.Dirs {
			if err := brokerError(dir.ErrorCode, nil); err != nil {
				return fmt.Errorf("log directory %s: %w", dir.Dir, err)
			}
			for _, topic := range dir.Topics {
				for _, p := range topic.Partitions {
					// Of several replicas the largest is told: the others are behind it.
					if old, ok := leaders[p.Partition]; topic.Topic == t.Name && !p.IsFuture && (!ok || old.Bytes < p.Size) {
						leaders[p.Partition] = Size{p.Size, segments(p.UnknownTags)}
					}
				}
			}
		}
		return nil
	})
	return leaders, err
}

func segments(tags kmsg.Tags) int64 {
	n := int64(-1)
	tags.Each(func(tag uint32, value []byte) {
		if tag == segmentsTag && len(value) == 4 {
			n = int64(binary.BigEndian.Uint32(value))
		}
	})
	return n
}

// Topics returns all topics, sorted by name.
func (c *Client) Topics(ctx context.Context) (topics []Topic, err error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = nil // all
	err = c.ask(ctx, "", req, func(resp kmsg.Response) error {
		topics = nil
		for _, t := range resp.(*kmsg.MetadataResponse).Topics {
			if t.Topic == nil || errors.Is(kerr.ErrorForCode(t.ErrorCode), kerr.UnknownTopicOrPartition) {
				continue // deleted while the answer was made
			}
			found, err := partitionsOf(*t.Topic, t.Partitions)
			if err != nil {
				return err
			}
			topics = append(topics, found)
		}
		slices.SortFunc(topics, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
		return nil
	})
	return topics, err
}

var errNoAnswer = errors.New("not in the broker's answer")

// ask sends a request about a topic, until there is an answer, and returns what read makes of it. What a broker refuses
// is asked again only when it has sent us to the wrong broker.
func (c *Client) ask(ctx context.Context, topic string, req kmsg.Request, read func(kmsg.Response) error) error {
	var refused error
	err := c.retry(ctx, c.opts.Timeout, func(ctx context.Context) error {
		resp, err := c.kgo.Request(ctx, req)
		if err != nil {
			return err
		}
		refused = read(resp)
		for _, moved := range []error{kerr.NotController, kerr.NotLeaderForPartition, kerr.LeaderNotAvailable} {
			if errors.Is(refused, moved) {
				return refused
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case refused == nil:
		return nil
	case errors.Is(refused, kerr.UnknownTopicOrPartition):
		return &UnknownTopicError{Topic: topic}
	}
	return topicError(topic, refused)
}
