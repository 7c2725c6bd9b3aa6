package broker

import (
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/record"
)

// growth is a topic, the partitions that it shall have, and who shall have the added ones, when that is said.
type growth struct {
	topic    string
	count    int32
	assigned [][]int32
}

func growRequest(version int16, validateOnly bool, all ...growth) *kmsg.CreatePartitionsRequest {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Version, req.ValidateOnly = version, validateOnly
	for _, g := range all {
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = g.topic, g.count
		for _, replicas := range g.assigned {
			a := kmsg.NewCreatePartitionsRequestTopicAssignment()
			a.Replicas = replicas
			t.Assignment = append(t.Assignment, a)
		}
		req.Topics = append(req.Topics, t)
	}
	return req
}

func TestCreatePartitions(t *testing.T) {
	s := serve(t, setup{})
	c := s.dial()
	fewer, assignment := kerr.InvalidPartitions.Code, kerr.InvalidReplicaAssignment.Code
	for _, test := range []struct {
		name  string
		grow  growth
		want  outcome
		after int32
	}{
		{"more", growth{"t", 4, nil}, outcome{}, 4},
		{"assigned", growth{"t", 4, [][]int32{{7}, {7}}}, outcome{}, 4},
		{"as many", growth{"t", 2, nil}, outcome{fewer, "it has 2"}, 2},
		{"fewer", growth{"t", 1, nil}, outcome{fewer, "it has 2"}, 2},
		{"none", growth{"t", 0, nil}, outcome{fewer, "it has 2"}, 2},
		{"fewer than none", growth{"t", math.MinInt32, nil}, outcome{fewer, "it has 2"}, 2},
		{"too many", growth{"t", math.MaxInt32, nil}, outcome{fewer, "may make 10000"}, 2},
		{"assigned to another", growth{"t", 3, [][]int32{{8}}}, outcome{assignment, "one of brokers [7]"}, 2},
		{"assigned to two", growth{"t", 3, [][]int32{{7, 8}}}, outcome{assignment, "one of brokers [7]"}, 2},
		{"too few assigned", growth{"t", 4, [][]int32{{7}}}, outcome{assignment, "1 assignments for 2"}, 2},
		{"unknown topic", growth{"u", 2, nil}, outcome{kerr.UnknownTopicOrPartition.Code, "no such topic"}, 2},
		{"illegal topic", growth{"a b", 2, nil}, outcome{kerr.InvalidTopicException.Code, "illegal name"}, 2},
	} {
		for version := int16(0); version <= 3; version++ {
			for _, validateOnly := range []bool{true, false} {
				s.topic("t", 2)
				got := c.ask(growRequest(version, validateOnly, test.grow)).(*kmsg.CreatePartitionsResponse).Topics[0]
				checkOutcome(t, test.name, test.want, got.ErrorCode, got.ErrorMessage)
				want := test.after
				if validateOnly {
					want = 2
				}
				if topic, _ := s.dir.Topic("t"); int32(len(topic.Partitions)) != want {
					t.Errorf("%s, v%d, validate only %v: %d partitions, want %d", test.name, version, validateOnly, len(topic.Partitions), want)
				}
				if err := s.remove("t"); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestAddedPartitionsWork: they are there at once, with the settings of the topic; a topic that is named twice is not
// touched.
func TestAddedPartitionsWork(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 1)
	s.topic("twice", 1)
	c := s.dial()
	resp := c.ask(growRequest(3, false, growth{topic: "twice", count: 2}, growth{topic: "t", count: 2}, growth{topic: "twice", count: 3})).(*kmsg.CreatePartitionsResponse)
	if len(resp.Topics) != 2 || resp.Topics[0].ErrorCode != kerr.InvalidRequest.Code || resp.Topics[1].ErrorCode != 0 {
		t.Errorf("answers %+v", resp.Topics)
	}
	c.produce("t", 1, batch(t, record.None, "x"))
	if got := c.fetch("t", 1, 0); got.ErrorCode != 0 || len(got.RecordBatches) == 0 {
		t.Errorf("fetch: error %d, %d bytes", got.ErrorCode, len(got.RecordBatches))
	}
	if topic, _ := s.dir.Topic("twice"); len(topic.Partitions) != 1 {
		t.Errorf("%d partitions, want 1", len(topic.Partitions))
	}
}
