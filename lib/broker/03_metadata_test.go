package broker

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func metadataRequest(version int16, topics []string, create bool) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.AllowAutoTopicCreation = version, create
	if topics != nil {
		req.Topics = []kmsg.MetadataRequestTopic{}
	}
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	return req
}

func topicNames(resp *kmsg.MetadataResponse) []string {
	names := []string{}
	for _, t := range resp.Topics {
		names = append(names, *t.Topic)
	}
	return names
}

func TestMetadata(t *testing.T) {
	s := serve(t, setup{options: func(o *Options) { o.Advertise = "broker.example:1234" }})
	s.topic("a", 2)
	s.topic("b", 1)
	c := s.dial()
	for version := int16(0); version <= 9; version++ {
		resp := c.ask(metadataRequest(version, []string{"a"}, false)).(*kmsg.MetadataResponse)
		if len(resp.Brokers) != 1 || resp.Brokers[0].NodeID != 7 || resp.Brokers[0].Host != "broker.example" || resp.Brokers[0].Port != 1234 {
			t.Errorf("v%d: brokers %+v", version, resp.Brokers)
		}
		if version >= 1 && resp.ControllerID != 7 {
			t.Errorf("v%d: controller %d", version, resp.ControllerID)
		}
		if version >= 2 && (resp.ClusterID == nil || *resp.ClusterID != s.dir.ClusterID()) {
			t.Errorf("v%d: cluster %v", version, resp.ClusterID)
		}
		if len(resp.Topics) != 1 || resp.Topics[0].ErrorCode != 0 || len(resp.Topics[0].Partitions) != 2 {
			t.Fatalf("v%d: topics %+v", version, resp.Topics)
		}
		for i, p := range resp.Topics[0].Partitions {
			if p.Partition != int32(i) || p.Leader != 7 || len(p.Replicas) != 1 || len(p.ISR) != 1 || p.ErrorCode != 0 {
				t.Errorf("v%d: partition %+v", version, p)
			}
			if version >= 7 && p.LeaderEpoch != leaderEpoch {
				t.Errorf("v%d: leader epoch %d", version, p.LeaderEpoch)
			}
		}
	}
}

// TestMetadataOfAll: how all topics, and none, are asked for.
func TestMetadataOfAll(t *testing.T) {
	s := serve(t, setup{})
	s.topic("b", 1)
	s.topic("a", 1)
	c := s.dial()
	for _, test := range []struct {
		name    string
		version int16
		topics  []string
		want    []string
	}{
		{"v0, empty list", 0, []string{}, []string{"a", "b"}},
		{"v1, null", 1, nil, []string{"a", "b"}},
		{"v1, empty list", 1, []string{}, []string{}},
		{"v9, null", 9, nil, []string{"a", "b"}},
		{"v9, empty list", 9, []string{}, []string{}},
		{"in the order of the request", 9, []string{"b", "a"}, []string{"b", "a"}},
	} {
		got := topicNames(c.ask(metadataRequest(test.version, test.topics, false)).(*kmsg.MetadataResponse))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestMetadataCreates(t *testing.T) {
	for _, test := range []struct {
		name    string
		broker  bool
		version int16
		request bool
		topic   string
		want    int16
	}{
		{"v0 always allows it", true, 0, false, "x", 0},
		{"v3 always allows it", true, 3, false, "x", 0},
		{"v4 allows it", true, 4, true, "x", 0},
		{"v4 does not", true, 4, false, "x", kerr.UnknownTopicOrPartition.Code},
		{"v9 does not", true, 9, false, "x", kerr.UnknownTopicOrPartition.Code},
		{"broker does not", false, 9, true, "x", kerr.UnknownTopicOrPartition.Code},
		{"broker does not, v0", false, 0, true, "x", kerr.UnknownTopicOrPartition.Code},
		{"longest name", true, 9, true, strings.Repeat("x", 249), 0},
		{"too long a name", true, 9, true, strings.Repeat("x", 250), kerr.InvalidTopicException.Code},
		{"path", true, 9, true, "../x", kerr.InvalidTopicException.Code},
		{"empty name", true, 9, true, "", kerr.InvalidTopicException.Code},
		{"dots", true, 9, true, "..", kerr.InvalidTopicException.Code},
		{"illegal name, nothing to create", true, 9, false, "a b", kerr.InvalidTopicException.Code},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, setup{options: func(o *Options) { o.AutoCreate, o.Partitions = test.broker, 3 }})
			resp := s.dial().ask(metadataRequest(test.version, []string{test.topic}, test.request)).(*kmsg.MetadataResponse)
			got := resp.Topics[0]
			if got.ErrorCode != test.want || *got.Topic != test.topic {
				t.Fatalf("error %d for %q, want %d", got.ErrorCode, *got.Topic, test.want)
			}
			wantParts := 0
			if test.want == 0 {
				wantParts = 3
			}
			if created, ok := s.dir.Topic(test.topic); len(got.Partitions) != wantParts || ok != (test.want == 0) || len(created.Partitions) != wantParts {
				t.Errorf("%d partitions told, %d there, want %d", len(got.Partitions), created.Partitions, wantParts)
			}
		})
	}
}

func TestFindCoordinator(t *testing.T) {
	s := serve(t, setup{})
	c := s.dial()
	for version := int16(0); version <= 3; version++ {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorKey = version, "group"
		resp := c.ask(req).(*kmsg.FindCoordinatorResponse)
		if resp.ErrorCode != kerr.CoordinatorNotAvailable.Code || resp.NodeID != -1 {
			t.Errorf("v%d: %+v", version, resp)
		}
	}
}

// TestMetadataTwice: a name takes three bytes of a request, and what there is to tell of a topic any number. An answer to
// the same name many times over would be larger than the memory of the broker.
func TestMetadataTwice(t *testing.T) {
	s := serve(t, setup{})
	s.topic("a", 3)
	s.topic("b", 1)
	resp := s.dial().ask(metadataRequest(9, []string{"b", "a", "b", "none", "a", "a", "none"}, false)).(*kmsg.MetadataResponse)
	if diff := cmp.Diff([]string{"b", "a", "none"}, topicNames(resp)); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
}

// TestMetadataCreatesNoMoreThanCreateTopics: each partition is a directory, files and descriptors, whoever asks for it.
func TestMetadataCreatesNoMoreThanCreateTopics(t *testing.T) {
	s := serve(t, setup{options: func(o *Options) { o.Partitions = 2 }, broker: func(b *Broker) { b.maxNewPartitions = 5 }})
	c := s.dial()
	for round, want := range [][]int16{
		{0, 0, kerr.LeaderNotAvailable.Code, kerr.LeaderNotAvailable.Code},
		{0, 0, 0, 0},
	} {
		resp := c.ask(metadataRequest(4, []string{"a", "b", "c", "d"}, true)).(*kmsg.MetadataResponse)
		var got []int16
		for _, topic := range resp.Topics {
			got = append(got, topic.ErrorCode)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("round %d (-want +got):\n%s", round, diff)
		}
	}
}
