package broker

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/logdir"
	"logkit/lib/record"
)

func alterRequest(version int16, validateOnly bool, resources ...kmsg.AlterConfigsRequestResource) *kmsg.AlterConfigsRequest {
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Version, req.ValidateOnly, req.Resources = version, validateOnly, resources
	return req
}

// topicResource has settings as name, value, name, value...
func topicResource(topic string, settings ...string) kmsg.AlterConfigsRequestResource {
	return alteredResource(kmsg.ConfigResourceTypeTopic, topic, settings...)
}

func alteredResource(kind kmsg.ConfigResourceType, name string, settings ...string) kmsg.AlterConfigsRequestResource {
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for i := 0; i < len(settings); i += 2 {
		config := kmsg.NewAlterConfigsRequestResourceConfig()
		config.Name, config.Value = settings[i], &settings[i+1]
		r.Configs = append(r.Configs, config)
	}
	return r
}

func TestAlterConfigs(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 1)
	c := s.dial()
	old := logdir.Settings{"flush.ms": "1", "retention.ms": "2"}
	noValue := topicResource("t", "retention.ms", "")
	noValue.Configs[0].Value = nil
	for _, test := range []struct {
		name     string
		resource kmsg.AlterConfigsRequestResource
		want     outcome
		settings logdir.Settings // when it is done
	}{
		{"what is not named goes", topicResource("t", "flush.ms", "9"), outcome{}, logdir.Settings{"flush.ms": "9"}},
		{"everything goes", topicResource("t"), outcome{}, logdir.Settings{}},
		{"unknown name", topicResource("t", "flush.ms", "9", "x", "1"), outcome{kerr.InvalidConfig.Code, "x: unknown, allowed are flush.messages"}, nil},
		{"no number", topicResource("t", "flush.ms", "9s"), outcome{kerr.InvalidConfig.Code, `flush.ms="9s": an integer`}, nil},
		{"no value", noValue, outcome{kerr.InvalidRequest.Code, "no value"}, nil},
		{"twice", topicResource("t", "flush.ms", "1", "flush.ms", "1"), outcome{kerr.InvalidRequest.Code, "more than once"}, nil},
		{"unknown topic", topicResource("u", "flush.ms", "9"), outcome{kerr.UnknownTopicOrPartition.Code, "no such topic"}, nil},
		{"illegal topic", topicResource("a b", "flush.ms", "9"), outcome{kerr.InvalidTopicException.Code, "illegal name"}, nil},
		{"broker", alteredResource(kmsg.ConfigResourceTypeBroker, "7", "flush.ms", "9"), outcome{kerr.InvalidRequest.Code, `broker "7"`}, nil},
		{"all brokers", alteredResource(kmsg.ConfigResourceTypeBroker, "", "flush.ms", "9"), outcome{kerr.InvalidRequest.Code, "broker"}, nil},
		{"logger", alteredResource(kmsg.ConfigResourceTypeBrokerLogger, "7"), outcome{kerr.InvalidRequest.Code, "only settings of topics"}, nil},
		{"no kind at all", alteredResource(-3, "t"), outcome{kerr.InvalidRequest.Code, "only settings of topics"}, nil},
	} {
		for version := int16(0); version <= 2; version++ {
			for _, validateOnly := range []bool{true, false} {
				if err := s.dir.SetSettings("t", old); err != nil {
					t.Fatal(err)
				}
				got := c.ask(alterRequest(version, validateOnly, test.resource)).(*kmsg.AlterConfigsResponse).Resources[0]
				checkOutcome(t, test.name, test.want, got.ErrorCode, got.ErrorMessage)
				if got.ResourceName != test.resource.ResourceName || got.ResourceType != test.resource.ResourceType {
					t.Errorf("%s: answer for %v %q", test.name, got.ResourceType, got.ResourceName)
				}
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
}

// TestAlterConfigsTogether: each resource by itself, a repeated one not at all.
func TestAlterConfigsTogether(t *testing.T) {
	s := serve(t, setup{})
	s.topic("a", 1)
	s.topic("b", 1)
	resp := s.dial().ask(alterRequest(2, false, topicResource("a", "flush.ms", "1"), topicResource("b", "flush.ms", "2"),
		topicResource("a", "flush.ms", "3"))).(*kmsg.AlterConfigsResponse)
	for i, want := range []int16{kerr.InvalidRequest.Code, 0, kerr.InvalidRequest.Code} {
		if got := resp.Resources[i].ErrorCode; got != want {
			t.Errorf("resource %d: error %d, want %d", i, got, want)
		}
	}
	if a, b := s.dir.Settings("a"), s.dir.Settings("b"); len(a) != 0 || b["flush.ms"] != "2" {
		t.Errorf("settings %v and %v", a, b)
	}
}

// TestOwnLargestBatch: what is set for a topic counts, above and below what the broker says, as soon as it is set.
func TestOwnLargestBatch(t *testing.T) {
	s := serve(t, setup{options: func(o *Options) { o.MaxMessageBytes = 1000 }})
	s.topic("t", 1)
	s.topic("other", 1)
	c := s.dial()
	small, large := batch(t, record.None, "x"), batch(t, record.None, string(make([]byte, 2000)))
	for _, test := range []struct {
		largest string // "": not set
		small   int16
		large   int16
	}{
		{"", 0, kerr.MessageTooLarge.Code},
		{"5000", 0, 0},
		{"61", kerr.MessageTooLarge.Code, kerr.MessageTooLarge.Code},
		{"", 0, kerr.MessageTooLarge.Code},
	} {
		resource := topicResource("t")
		if test.largest != "" {
			resource = topicResource("t", "max.message.bytes", test.largest)
		}
		c.ask(alterRequest(2, false, resource))
		for _, p := range []struct {
			topic   string
			records []byte
			want    int16
		}{{"t", small, test.small}, {"t", large, test.large}, {"other", small, 0}, {"other", large, kerr.MessageTooLarge.Code}} {
			resp := c.ask(produceRequest(9, 1, produced{p.topic, 0, p.records})).(*kmsg.ProduceResponse)
			if got := resp.Topics[0].Partitions[0].ErrorCode; got != p.want {
				t.Errorf("largest batch %q: %d bytes to %s: error %d, want %d", test.largest, len(p.records), p.topic, got, p.want)
			}
		}
	}
}
