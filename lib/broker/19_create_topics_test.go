package broker

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/logdir"
)

func createRequest(version int16, validateOnly bool, topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.ValidateOnly, req.Topics = version, validateOnly, topics
	return req
}

// newTopic is a topic with settings as name, value, name, value...
func newTopic(name string, partitions int32, replicas int16, settings ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
	for i := 0; i < len(settings); i += 2 {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = settings[i], &settings[i+1]
		t.Configs = append(t.Configs, config)
	}
	return t
}

// assignedTopic has the replicas of partition 0, 1, ... assigned by hand.
func assignedTopic(name string, partitions int32, replicas int16, assigned ...[]int32) kmsg.CreateTopicsRequestTopic {
	t := newTopic(name, partitions, replicas)
	for i, r := range assigned {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), r
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	return t
}

func TestCreateTopics(t *testing.T) {
	s := serve(t, setup{options: func(o *Options) { o.Partitions = 3 }})
	s.topic("there", 1)
	c := s.dial()
	noValue := newTopic("x", 1, 1, "retention.ms", "")
	noValue.Configs[0].Value = nil
	hole := assignedTopic("x", -1, -1, []int32{7}, []int32{7})
	hole.ReplicaAssignment[1].Partition = math.MaxInt32
	negative := assignedTopic("x", -1, -1, []int32{7}, []int32{7})
	negative.ReplicaAssignment[1].Partition = math.MinInt32
	double := assignedTopic("x", -1, -1, []int32{7}, []int32{7})
	double.ReplicaAssignment[1].Partition = 0
	backwards := assignedTopic("x", -1, -1, []int32{7}, []int32{7})
	backwards.ReplicaAssignment[0].Partition, backwards.ReplicaAssignment[1].Partition = 1, 0
	for _, test := range []struct {
		name       string
		topic      kmsg.CreateTopicsRequestTopic
		want       outcome
		partitions int32
	}{
		{"two partitions", newTopic("x", 2, 1), outcome{}, 2},
		{"default partitions and replicas", newTopic("x", -1, -1), outcome{}, 3},
		{"settings", newTopic("x", 1, 1, "retention.ms", "1000", "cleanup.policy", "delete"), outcome{}, 1},
		{"longest name", newTopic(strings.Repeat("x", 249), 1, 1), outcome{}, 1},
		{"assigned", assignedTopic("x", -1, -1, []int32{7}, []int32{7}), outcome{}, 2},
		{"assigned in another order", backwards, outcome{}, 2},
		{"there already", newTopic("there", 1, 1), outcome{kerr.TopicAlreadyExists.Code, "exists"}, 0},
		{"empty name", newTopic("", 1, 1), outcome{kerr.InvalidTopicException.Code, "empty"}, 0},
		{"path", newTopic("../x", 1, 1), outcome{kerr.InvalidTopicException.Code, "allowed are"}, 0},
		{"too long a name", newTopic(strings.Repeat("x", 250), 1, 1), outcome{kerr.InvalidTopicException.Code, "at most 249"}, 0},
		{"no partition", newTopic("x", 0, 1), outcome{kerr.InvalidPartitions.Code, "at least 1"}, 0},
		{"fewer than none", newTopic("x", -2, 1), outcome{kerr.InvalidPartitions.Code, "at least 1"}, 0},
		{"too many", newTopic("x", maxNewPartitions+1, 1), outcome{kerr.InvalidPartitions.Code, "may make 10000"}, 0},
		{"as many as there are numbers", newTopic("x", math.MaxInt32, 1), outcome{kerr.InvalidPartitions.Code, "may make 10000"}, 0},
		{"two replicas", newTopic("x", 1, 2), outcome{kerr.InvalidReplicationFactor.Code, "no replication"}, 0},
		{"no replica", newTopic("x", 1, 0), outcome{kerr.InvalidReplicationFactor.Code, "-1"}, 0},
		{"fewer replicas than none", newTopic("x", 1, -2), outcome{kerr.InvalidReplicationFactor.Code, "-1"}, 0},
		{"unknown setting", newTopic("x", 1, 1, "retention.hours", "1"), outcome{kerr.InvalidConfig.Code, "retention.hours: unknown, allowed are"}, 0},
		{"value out of range", newTopic("x", 1, 1, "segment.bytes", "12"), outcome{kerr.InvalidConfig.Code, "from 1024 to"}, 0},
		{"no number", newTopic("x", 1, 1, "retention.ms", "1d"), outcome{kerr.InvalidConfig.Code, "an integer"}, 0},
		{"compaction", newTopic("x", 1, 1, "cleanup.policy", "compact"), outcome{kerr.InvalidConfig.Code, "only delete"}, 0},
		{"larger than a request", newTopic("x", 1, 1, "max.message.bytes", "2000000000"), outcome{kerr.InvalidConfig.Code, "request"}, 0},
		{"no value", noValue, outcome{kerr.InvalidConfig.Code, "no value"}, 0},
		{"set twice", newTopic("x", 1, 1, "retention.ms", "1", "retention.ms", "2"), outcome{kerr.InvalidConfig.Code, "more than once"}, 0},
		{"assigned and counted", assignedTopic("x", 1, -1, []int32{7}), outcome{kerr.InvalidRequest.Code, "-1"}, 0},
		{"assigned and replicated", assignedTopic("x", -1, 1, []int32{7}), outcome{kerr.InvalidRequest.Code, "-1"}, 0},
		{"assigned to another", assignedTopic("x", -1, -1, []int32{8}), outcome{kerr.InvalidReplicaAssignment.Code, "one of brokers [7]"}, 0},
		{"assigned to two", assignedTopic("x", -1, -1, []int32{7, 8}), outcome{kerr.InvalidReplicaAssignment.Code, "one of brokers [7]"}, 0},
		{"assigned to none", assignedTopic("x", -1, -1, nil), outcome{kerr.InvalidReplicaAssignment.Code, "one of brokers [7]"}, 0},
		{"assigned with a hole", hole, outcome{kerr.InvalidReplicaAssignment.Code, "0 to 1"}, 0},
		{"assigned below 0", negative, outcome{kerr.InvalidReplicaAssignment.Code, "0 to 1"}, 0},
		{"assigned twice", double, outcome{kerr.InvalidReplicaAssignment.Code, "0 to 1"}, 0},
	} {
		for _, validateOnly := range []bool{true, false} {
			resp := c.ask(createRequest(6, validateOnly, test.topic)).(*kmsg.CreateTopicsResponse)
			got := resp.Topics[0]
			checkOutcome(t, test.name, test.want, got.ErrorCode, got.ErrorMessage)
			if want := max(test.partitions, -1); test.want.code == 0 && (got.NumPartitions != want || got.ReplicationFactor != 1 || len(got.Configs) == 0) {
				t.Errorf("%s: %d partitions, %d replicas, %d settings told", test.name, got.NumPartitions, got.ReplicationFactor, len(got.Configs))
			}
			made, ok := s.dir.Topic(test.topic.Topic)
			if wantMade := test.want.code == 0 && !validateOnly; test.topic.Topic != "there" && (ok != wantMade || ok && len(made.Partitions) != int(test.partitions)) {
				t.Errorf("%s, validate only %v: %d partitions there, want %d", test.name, validateOnly, len(made.Partitions), test.partitions)
			}
		}
		s.remove("x")
	}
}

// TestCreateTopicsVersions: each version makes topics, several in one request, and tells what it can.
func TestCreateTopicsVersions(t *testing.T) {
	s := serve(t, setup{})
	c := s.dial()
	for version := int16(0); version <= 6; version++ {
		name := string(rune('a' + version))
		resp := c.ask(createRequest(version, false, newTopic(name+"1", 1, 1, "flush.ms", "5"), newTopic(name+"2", 0, 1),
			newTopic("twice", 1, 1), newTopic(name+"3", 2, 1), newTopic("twice", 1, 1))).(*kmsg.CreateTopicsResponse)
		type told struct {
			Name    string
			Code    int16
			Message bool
		}
		var got []told
		for _, topic := range resp.Topics {
			got = append(got, told{topic.Topic, topic.ErrorCode, topic.ErrorMessage != nil})
		}
		want := []told{{name + "1", 0, false}, {name + "2", kerr.InvalidPartitions.Code, version >= 1},
			{"twice", kerr.InvalidRequest.Code, version >= 1}, {name + "3", 0, false}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("v%d (-want +got):\n%s", version, diff)
		}
		if diff := cmp.Diff(logdir.Settings{"flush.ms": "5"}, s.dir.Settings(name+"1")); diff != "" {
			t.Errorf("v%d: settings (-want +got):\n%s", version, diff)
		}
		if version < 5 {
			continue
		}
		for _, config := range resp.Topics[0].Configs {
			own := config.Name == "flush.ms"
			if own != (config.Source == int8(kmsg.ConfigSourceDynamicTopicConfig)) || own && *config.Value != "5" {
				t.Errorf("v%d: setting %s = %s from %d", version, config.Name, *config.Value, config.Source)
			}
		}
	}
}

// TestCreateTopicsTogether: the bound on partitions is on all topics of a request.
func TestCreateTopicsTogether(t *testing.T) {
	s := serve(t, setup{broker: func(b *Broker) { b.maxNewPartitions = 5 }})
	resp := s.dial().ask(createRequest(6, false, newTopic("a", 3, 1), newTopic("b", 3, 1), newTopic("c", 2, 1))).(*kmsg.CreateTopicsResponse)
	for i, want := range []int16{0, kerr.InvalidPartitions.Code, 0} {
		if got := resp.Topics[i].ErrorCode; got != want {
			t.Errorf("topic %d: error %d, want %d", i, got, want)
		}
	}
}
