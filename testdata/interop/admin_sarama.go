package interop

import (
	"context"

	"github.com/IBM/sarama"
)

func (Sarama) with(brokers string, f func(sarama.ClusterAdmin) error) error {
	admin, err := sarama.NewClusterAdmin([]string{brokers}, saramaConfig())
	if err != nil {
		return err
	}
	defer admin.Close()
	return f(admin)
}

func (s Sarama) Topics(_ context.Context, brokers string) (topics map[string]int, err error) {
	err = s.with(brokers, func(admin sarama.ClusterAdmin) error {
		details, err := admin.ListTopics()
		topics = make(map[string]int)
		for name, d := range details {
			topics[name] = int(d.NumPartitions)
		}
		return err
	})
	return topics, err
}

func (s Sarama) Create(_ context.Context, brokers, topic string, partitions int, settings map[string]string) error {
	return s.with(brokers, func(admin sarama.ClusterAdmin) error {
		return admin.CreateTopic(topic, &sarama.TopicDetail{
			NumPartitions: int32(partitions), ReplicationFactor: 1, ConfigEntries: pointers(settings),
		}, false)
	})
}

func (s Sarama) Grow(_ context.Context, brokers, topic string, partitions int) error {
	return s.with(brokers, func(admin sarama.ClusterAdmin) error {
		return admin.CreatePartitions(topic, int32(partitions), nil, false)
	})
}

func (s Sarama) Delete(_ context.Context, brokers, topic string) error {
	return s.with(brokers, func(admin sarama.ClusterAdmin) error { return admin.DeleteTopic(topic) })
}

func (s Sarama) Settings(_ context.Context, brokers, topic string) (settings map[string]string, err error) {
	err = s.with(brokers, func(admin sarama.ClusterAdmin) error {
		answers, err := admin.DescribeConfigs([]*sarama.ConfigResource{{Type: sarama.TopicResource, Name: topic}}, sarama.DescribeConfigsOptions{})
		if err != nil {
			return err
		}
		settings = make(map[string]string)
		for _, answer := range answers {
			if answer.ErrorCode != sarama.ErrNoError {
				return answer.ErrorCode
			}
			for _, e := range answer.Configs {
				settings[e.Name] = e.Value
			}
		}
		return nil
	})
	return settings, err
}

func (s Sarama) Replace(_ context.Context, brokers, topic string, settings map[string]string) error {
	return s.with(brokers, func(admin sarama.ClusterAdmin) error {
		return admin.AlterConfig(sarama.TopicResource, topic, pointers(settings), false)
	})
}

func (s Sarama) Adjust(_ context.Context, brokers, topic, name, value, removed string) error {
	return s.with(brokers, func(admin sarama.ClusterAdmin) error {
		return admin.IncrementalAlterConfig(sarama.TopicResource, topic, map[string]sarama.IncrementalAlterConfigsEntry{
			name:    {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value},
			removed: {Operation: sarama.IncrementalAlterConfigsOperationDelete},
		}, false)
	})
}

func (s Sarama) DeleteRecords(_ context.Context, brokers, topic string, partition int32, before int64) error {
	return s.with(brokers, func(admin sarama.ClusterAdmin) error {
		return admin.DeleteRecords(topic, map[int32]int64{partition: before})
	})
}

func pointers(settings map[string]string) map[string]*string {
	p := make(map[string]*string)
	for name, value := range settings {
		p[name] = &value
	}
	return p
}
