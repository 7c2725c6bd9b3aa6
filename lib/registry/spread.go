package registry

import (
	"errors"
	"slices"
)

// ErrNoBrokers says that there is no broker to put a partition on.
var ErrNoBrokers = errors.New("registry: no broker is registered")

// Spread lays n partitions, one replica each, evenly over the brokers: none gets two more than another. Those that have
// the fewest partitions, by load, come first, lower ids before higher ones; so the odd ones even out from topic to topic.
// It depends on nothing but its arguments.
func Spread(brokers []int32, load map[int32]int, n int) ([][]int32, error) {
	if len(brokers) == 0 {
		return nil, ErrNoBrokers
	}
	order := slices.Clone(brokers)
	slices.SortFunc(order, func(a, b int32) int {
		if d := load[a] - load[b]; d != 0 {
			return d
		}
		return int(int64(a) - int64(b))
	})
	order = slices.Compact(order)
	replicas := make([][]int32, n)
	for i := range replicas {
		replicas[i] = []int32{order[i%len(order)]}
	}
	return replicas, nil
}

// Load counts the partitions that each broker has of the topics.
func Load(topics map[string]Topic) map[int32]int {
	load := map[int32]int{}
	for _, t := range topics {
		for _, replicas := range t.Replicas {
			for _, b := range replicas { // NoBroker, too: nobody is it
				load[b]++
			}
		}
	}
	return load
}
