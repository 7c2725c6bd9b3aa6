package interop

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
)

func (Segmentio) with(brokers string, f func(*kafka.Client) error) error {
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	return f(&kafka.Client{Addr: kafka.TCP(brokers), Transport: transport})
}

func (s Segmentio) Topics(ctx context.Context, brokers string) (topics map[string]int, err error) {
	err = s.with(brokers, func(c *kafka.Client) error {
		answer, err := c.Metadata(ctx, &kafka.MetadataRequest{})
		if err != nil {
			return err
		}
		topics = make(map[string]int)
		for _, t := range answer.Topics {
			topics[t.Name] = len(t.Partitions)
		}
		return nil
	})
	return topics, err
}

func (s Segmentio) Create(ctx context.Context, brokers, topic string, partitions int, settings map[string]string) error {
	return s.with(brokers, func(c *kafka.Client) error {
		config := kafka.TopicConfig{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}
		for name, value := range settings {
			config.ConfigEntries = append(config.ConfigEntries, kafka.ConfigEntry{ConfigName: name, ConfigValue: value})
		}
		answer, err := c.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{config}})
		if err != nil {
			return err
		}
		return answer.Errors[topic]
	})
}

func (s Segmentio) Grow(ctx context.Context, brokers, topic string, partitions int) error {
	return s.with(brokers, func(c *kafka.Client) error {
		answer, err := c.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{
			Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: int32(partitions)}},
		})
		if err != nil {
			return err
		}
		return answer.Errors[topic]
	})
}

func (s Segmentio) Delete(ctx context.Context, brokers, topic string) error {
	return s.with(brokers, func(c *kafka.Client) error {
		answer, err := c.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
		if err != nil {
			return err
		}
		return answer.Errors[topic]
	})
}

func (s Segmentio) Settings(ctx context.Context, brokers, topic string) (settings map[string]string, err error) {
	err = s.with(brokers, func(c *kafka.Client) error {
		answer, err := c.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
			Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic}},
		})
		if err != nil {
			return err
		}
		if len(answer.Resources) != 1 {
			return fmt.Errorf("DescribeConfigs: %d answers for one topic", len(answer.Resources))
		}
		settings = make(map[string]string)
		for _, e := range answer.Resources[0].ConfigEntries {
			settings[e.ConfigName] = e.ConfigValue
		}
		return answer.Resources[0].Error
	})
	return settings, err
}

func (s Segmentio) Replace(ctx context.Context, brokers, topic string, settings map[string]string) error {
	return s.with(brokers, func(c *kafka.Client) error {
		resource := kafka.AlterConfigRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic}
		for name, value := range settings {
			resource.Configs = append(resource.Configs, kafka.AlterConfigRequestConfig{Name: name, Value: value})
		}
		answer, err := c.AlterConfigs(ctx, &kafka.AlterConfigsRequest{Resources: []kafka.AlterConfigRequestResource{resource}})
		if err != nil {
			return err
		}
		var errs []error
		for _, err := range answer.Errors {
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}

func (s Segmentio) Adjust(ctx context.Context, brokers, topic, name, value, removed string) error {
	return s.with(brokers, func(c *kafka.Client) error {
		answer, err := c.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
			Resources: []kafka.IncrementalAlterConfigsRequestResource{{
				ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
				Configs: []kafka.IncrementalAlterConfigsRequestConfig{
					{Name: name, Value: value, ConfigOperation: kafka.ConfigOperationSet},
					{Name: removed, ConfigOperation: kafka.ConfigOperationDelete},
				},
			}},
		})
		if err != nil {
			return err
		}
		return answer.Resources[0].Error
	})
}

func (Segmentio) DeleteRecords(context.Context, string, string, int32, int64) error { return ErrCannot }
