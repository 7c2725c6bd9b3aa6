package interop

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
)

// with calls f with a kadm client, which is what franz-go has for this.
func (Franz) with(brokers string, f func(*kadm.Client) error) error {
	client, err := NewFranz(brokers)
	if err != nil {
		return err
	}
	defer client.Close()
	return f(kadm.NewClient(client))
}

func (f Franz) Topics(ctx context.Context, brokers string) (topics map[string]int, err error) {
	err = f.with(brokers, func(c *kadm.Client) error {
		details, err := c.ListTopics(ctx)
		topics = make(map[string]int)
		for name, d := range details {
			topics[name] = len(d.Partitions)
		}
		return err
	})
	return topics, err
}

func (f Franz) Create(ctx context.Context, brokers, topic string, partitions int, settings map[string]string) error {
	return f.with(brokers, func(c *kadm.Client) error {
		_, err := c.CreateTopic(ctx, int32(partitions), 1, pointers(settings), topic)
		return err
	})
}

func (f Franz) Grow(ctx context.Context, brokers, topic string, partitions int) error {
	return f.with(brokers, func(c *kadm.Client) error {
		answers, err := c.UpdatePartitions(ctx, partitions, topic)
		if err != nil {
			return err
		}
		return answers.Error()
	})
}

func (f Franz) Delete(ctx context.Context, brokers, topic string) error {
	return f.with(brokers, func(c *kadm.Client) error {
		_, err := c.DeleteTopic(ctx, topic)
		return err
	})
}

func (f Franz) Settings(ctx context.Context, brokers, topic string) (settings map[string]string, err error) {
	err = f.with(brokers, func(c *kadm.Client) error {
		answers, err := c.DescribeTopicConfigs(ctx, topic)
		if err != nil {
			return err
		}
		answer, err := answers.On(topic, nil)
		settings = make(map[string]string)
		for _, s := range answer.Configs {
			settings[s.Key] = s.MaybeValue()
		}
		if err == nil {
			err = answer.Err
		}
		return err
	})
	return settings, err
}

func (f Franz) Replace(ctx context.Context, brokers, topic string, settings map[string]string) error {
	return f.with(brokers, func(c *kadm.Client) error {
		var changes []kadm.AlterConfig
		for name, value := range settings {
			changes = append(changes, kadm.AlterConfig{Name: name, Value: &value})
		}
		answers, err := c.AlterTopicConfigsState(ctx, changes, topic)
		return firstError(answers, err)
	})
}

func (f Franz) Adjust(ctx context.Context, brokers, topic, name, value, removed string) error {
	return f.with(brokers, func(c *kadm.Client) error {
		answers, err := c.AlterTopicConfigs(ctx, []kadm.AlterConfig{
			{Op: kadm.SetConfig, Name: name, Value: &value},
			{Op: kadm.DeleteConfig, Name: removed},
		}, topic)
		return firstError(answers, err)
	})
}

func firstError(answers kadm.AlterConfigsResponses, err error) error {
	for _, a := range answers {
		if err == nil {
			err = a.Err
		}
	}
	return err
}

func (f Franz) DeleteRecords(ctx context.Context, brokers, topic string, partition int32, before int64) error {
	return f.with(brokers, func(c *kadm.Client) error {
		offsets := make(kadm.Offsets)
		offsets.Add(kadm.Offset{Topic: topic, Partition: partition, At: before})
		answers, err := c.DeleteRecords(ctx, offsets)
		if err != nil {
			return err
		}
		return answers.Error()
	})
}
