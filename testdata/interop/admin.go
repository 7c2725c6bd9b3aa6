package interop

import "context"

// Admin is what a client has for those who look after topics. A function that the client has not is ErrCannot.
type Admin interface {
	Name() string

	// Topics returns the number of partitions of each topic.
	Topics(ctx context.Context, brokers string) (map[string]int, error)
	Create(ctx context.Context, brokers, topic string, partitions int, settings map[string]string) error
	// Grow gives a topic more partitions: that many altogether.
	Grow(ctx context.Context, brokers, topic string, partitions int) error
	Delete(ctx context.Context, brokers, topic string) error
	// Settings returns those of a topic that are in force.
	Settings(ctx context.Context, brokers, topic string) (map[string]string, error)
	// Replace sets these settings and no others (AlterConfigs).
	Replace(ctx context.Context, brokers, topic string, settings map[string]string) error
	// Adjust sets one setting and removes another (IncrementalAlterConfigs).
	Adjust(ctx context.Context, brokers, topic, name, value, removed string) error
	// DeleteRecords deletes the records of a partition below an id; End stands for all.
	DeleteRecords(ctx context.Context, brokers, topic string, partition int32, before int64) error
}
