package registry_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/registry"
)

// TestClaims: a topic that is adopted keeps its id; of its partitions those that nobody is known to have have no leader,
// and are claimed by whoever has them, also beyond its number.
func TestClaims(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		c := target.planted(t)
		ctx := background(t)
		id := registry.NewID()
		nobody := []int32{registry.NoBroker}
		made, err := c.AdoptTopic(ctx, "t", id, [][]int32{{1}, nobody}, map[string]string{"retention.ms": "5"})
		must(t, err)
		if made.ID != id {
			t.Errorf("id %q, want %q", made.ID, id)
		}
		if _, err := c.AdoptTopic(ctx, "t", id, [][]int32{{1}}, nil); !errors.Is(err, registry.ErrTopicExists) {
			t.Errorf("adopted twice: %v, want ErrTopicExists", err)
		}
		for range 2 { // the second time nothing changes
			made, err = c.ClaimPartitions(ctx, made, 7, []int32{1, 3})
			must(t, err)
		}
		want := registry.Topic{Name: "t", ID: id, Replicas: [][]int32{{1}, {7}, nobody, {7}}}
		found, _, err := c.Topic(ctx, "t")
		must(t, err)
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("topic (-want +got):\n%s", diff)
		}
		for partition, leader := range []int32{1, 7, registry.NoBroker, 7} {
			state, err := c.State(ctx, "t", int32(partition))
			must(t, err)
			if state.Leader != leader {
				t.Errorf("partition %d: state says leader %d, want %d", partition, state.Leader, leader)
			}
		}
		must(t, c.DeleteTopic(ctx, made))
		for broker, buried := range map[int32]bool{1: true, 7: true, registry.NoBroker: false, 2: false} {
			ids, err := c.Tombstones(ctx, broker)
			must(t, err)
			if slices.Contains(ids, id) != buried {
				t.Errorf("tombstones of broker %d: %v, want that of the topic among them: %v", broker, ids, buried)
			}
		}
		if _, err := c.ClaimPartitions(ctx, made, 7, []int32{0}); !errors.Is(err, registry.ErrNoTopic) {
			t.Errorf("claimed of a deleted topic: %v, want ErrNoTopic", err)
		}
	})
}

// TestBrokerIDOf: a directory finds the id that it was given before.
func TestBrokerIDOf(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		c := target.planted(t)
		ctx := background(t)
		first, second := registry.NewID(), registry.NewID()
		must(t, c.TakeBrokerID(ctx, 5, second))
		id, err := c.AssignBrokerID(ctx, first)
		must(t, err)
		for incarnation, want := range map[string]int32{first: id, second: 5} {
			if got, found, err := c.BrokerIDOf(ctx, incarnation); err != nil || !found || got != want {
				t.Errorf("id %d, %v, %v; want %d", got, found, err, want)
			}
		}
		if got, found, err := c.BrokerIDOf(ctx, registry.NewID()); err != nil || found {
			t.Errorf("an unknown directory has id %d, %v", got, err)
		}
	})
}
