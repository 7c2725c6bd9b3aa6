package broker

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/logdir"
)

type change struct {
	name  string
	op    kmsg.IncrementalAlterConfigOp
	value *string
}

func incrementalRequest(version int16, validateOnly bool, topic string, changes ...change) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version, req.ValidateOnly = version, validateOnly
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	for _, c := range changes {
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Op, config.Value = c.name, c.op, c.value
		r.Configs = append(r.Configs, config)
	}
	req.Resources = append(req.Resources, r)
	return req
}

func TestIncrementalAlterConfigs(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 1)
	c := s.dial()
	old := logdir.Settings{"flush.ms": "1", "retention.ms": "2"}
	const set, del = kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete
	nine := kmsg.StringPtr("9")
	for _, test := range []struct {
		name     string
		topic    string
		changes  []change
		want     outcome
		settings logdir.Settings // when it is done
	}{
		{"set one", "t", []change{{"flush.ms", set, nine}}, outcome{}, logdir.Settings{"flush.ms": "9", "retention.ms": "2"}},
		{"set and delete", "t", []change{{"segment.ms", set, nine}, {"flush.ms", del, nil}}, outcome{}, logdir.Settings{"segment.ms": "9", "retention.ms": "2"}},
		{"delete what is not set", "t", []change{{"segment.ms", del, nil}}, outcome{}, old},
		{"delete, with a value", "t", []change{{"flush.ms", del, nine}}, outcome{}, logdir.Settings{"retention.ms": "2"}},
		{"nothing", "t", nil, outcome{}, old},
		{"append", "t", []change{{"cleanup.policy", kmsg.IncrementalAlterConfigOpAppend, kmsg.StringPtr("delete")}}, outcome{kerr.InvalidConfig.Code, "APPEND, allowed are SET and DELETE"}, nil},
		{"subtract", "t", []change{{"cleanup.policy", kmsg.IncrementalAlterConfigOpSubtract, kmsg.StringPtr("delete")}}, outcome{kerr.InvalidConfig.Code, "SUBTRACT, allowed are SET and DELETE"}, nil},
		{"no such operation", "t", []change{{"flush.ms", 99, nine}}, outcome{kerr.InvalidRequest.Code, "operation 99"}, nil},
		{"all or nothing", "t", []change{{"flush.ms", set, nine}, {"x", set, nine}}, outcome{kerr.InvalidConfig.Code, "x: unknown, allowed are"}, nil},
		{"delete an unknown name", "t", []change{{"x", del, nil}}, outcome{kerr.InvalidConfig.Code, "x: unknown, allowed are"}, nil},
		{"no value", "t", []change{{"flush.ms", set, nil}}, outcome{kerr.InvalidRequest.Code, "no value"}, nil},
		{"wrong value", "t", []change{{"flush.ms", set, kmsg.StringPtr("-1")}}, outcome{kerr.InvalidConfig.Code, "from 0 to"}, nil},
		{"twice", "t", []change{{"flush.ms", set, nine}, {"flush.ms", del, nil}}, outcome{kerr.InvalidRequest.Code, "more than once"}, nil},
		{"unknown topic", "u", []change{{"flush.ms", set, nine}}, outcome{kerr.UnknownTopicOrPartition.Code, "no such topic"}, nil},
	} {
		for version := int16(0); version <= 1; version++ {
			for _, validateOnly := range []bool{true, false} {
				s.set("t", old)
				got := c.ask(incrementalRequest(version, validateOnly, test.topic, test.changes...)).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
				checkOutcome(t, test.name, test.want, got.ErrorCode, got.ErrorMessage)
				want := old
				if test.settings != nil && !validateOnly {
					want = test.settings
				}
				if diff := cmp.Diff(want, s.dir.Settings("t")); diff != "" {
					t.Errorf("%s, v%d, validate only %v (-want +got):\n%s", test.name, version, validateOnly, diff)
				}
			}
		}
	}
	broker := incrementalRequest(1, false, "7")
	broker.Resources[0].ResourceType = kmsg.ConfigResourceTypeBroker
	got := c.ask(broker).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
	checkOutcome(t, "broker", outcome{kerr.InvalidRequest.Code, `broker "7"`}, got.ErrorCode, got.ErrorMessage)
}
