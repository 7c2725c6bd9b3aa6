package logdir

// Identities in tests.
const (
	topicID   = "oyD8sTjKSqGqrN5ZbF0Z2g"
	clusterID = "Xq0YhZ7ZQ0m9Jm4sG2m6VQ"
	brokerID  = 3
)

// create makes a topic whose partitions are all here.
func create(d *Dir, topic string, partitions int32, s Settings) error {
	return d.Create(topic, topicID, numbers(0, partitions), s)
}

// addPartitions gives it more of them, up to the given number.
func addPartitions(d *Dir, topic string, partitions int32) error {
	t, _ := d.Topic(topic)
	return d.Create(topic, topicID, numbers(int32(len(t.Partitions)), partitions), d.Settings(topic))
}

func numbers(from, to int32) (list []int32) {
	for n := from; n < to; n++ {
		list = append(list, n)
	}
	return list
}
