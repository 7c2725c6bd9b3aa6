package interop

import (
	"net"
	"strconv"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kadm"
)

// TestCluster: the broker describes itself, as its own controller, and what its logs take on disk.
func TestCluster(t *testing.T) {
	t.Parallel()
	ctx, b := bounded(t), StartBroker(t)
	b.Topics(ctx, "t")
	produce(ctx, t, Franz{}, b, "t", "none", AcksAll, awkward)
	batches, err := Batches(ctx, b.Addr, "t", 0)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, batch := range batches {
		size += batch.Size
	}

	t.Run("franz-go", func(t *testing.T) {
		err := Franz{}.with(b.Addr, func(c *kadm.Client) error {
			metadata, err := c.BrokerMetadata(ctx)
			if err != nil {
				return err
			}
			if len(metadata.Brokers) != 1 || metadata.Controller != metadata.Brokers[0].NodeID || metadata.Cluster == "" {
				t.Errorf("metadata %+v, want one broker, the controller, and a cluster id", metadata)
			}
			if at := net.JoinHostPort(metadata.Brokers[0].Host, strconv.Itoa(int(metadata.Brokers[0].Port))); at != b.Addr {
				t.Errorf("broker at %s, want %s", at, b.Addr)
			}
			answers, err := c.DescribeAllLogDirs(ctx, nil)
			if err != nil {
				return err
			}
			dirs := answers[metadata.Controller]
			if got := dirs.Size(); got != size {
				t.Errorf("log directories of %d bytes, want %d", got, size)
			}
			return dirs.Error()
		})
		if err != nil {
			t.Error(err)
		}
	})

	t.Run("sarama", func(t *testing.T) {
		err := Sarama{}.with(b.Addr, func(admin sarama.ClusterAdmin) error {
			brokers, controller, err := admin.DescribeCluster()
			if err != nil {
				return err
			}
			if len(brokers) != 1 || brokers[0].ID() != controller || brokers[0].Addr() != b.Addr {
				t.Errorf("brokers %v with controller %d, want one at %s, the controller", brokers, controller, b.Addr)
			}
			dirs, err := admin.DescribeLogDirs([]int32{controller})
			if err != nil {
				return err
			}
			got := int64(0)
			for _, dir := range dirs[controller] {
				for _, topic := range dir.Topics {
					for _, p := range topic.Partitions {
						got += p.Size
					}
				}
			}
			if got != size {
				t.Errorf("log directories of %d bytes, want %d", got, size)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
