package broker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
	"logkit/lib/logdir"
)

func describeRequest(version int16, kind kmsg.ConfigResourceType, name string, configs []string) *kmsg.DescribeConfigsRequest {
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, configs
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version, req.IncludeSynonyms, req.IncludeDocumentation = version, true, true
	req.Resources = append(req.Resources, r)
	return req
}

func TestDescribeConfigs(t *testing.T) {
	s := serve(t, setup{
		log: commitlog.Options{FlushInterval: 20 * time.Millisecond},
		options: func(o *Options) {
			o.MaxMessageBytes = 5000
			o.Retention.Age = DefaultRetention
		},
	})
	s.topic("t", 1)
	c := s.dial()
	const fromFile, standard = kmsg.ConfigSourceStaticBrokerConfig, kmsg.ConfigSourceDefaultConfig
	type want struct {
		name, value string
		source      kmsg.ConfigSource
	}
	for _, test := range []struct {
		kind kmsg.ConfigResourceType
		name string
		want []want
	}{
		{kmsg.ConfigResourceTypeTopic, "t", []want{
			{"max.message.bytes", "5000", fromFile},
			{"flush.ms", "20", fromFile},
			{"flush.messages", "9223372036854775807", standard},
			{"retention.ms", "604800000", standard},
			{"retention.bytes", "-1", standard},
			{"segment.bytes", "1073741824", standard},
			{"segment.ms", "604800000", standard},
			{"cleanup.policy", "delete", standard},
		}},
		{kmsg.ConfigResourceTypeBroker, "7", []want{
			{"broker.id", "7", fromFile},
			{"message.max.bytes", "5000", fromFile},
			{"log.dirs", s.dir.Path(), fromFile},
			{"advertised.listeners", "PLAINTEXT://" + s.Advertised(), standard},
			{"zookeeper.connect", "127.0.0.1:2181", fromFile},
			{"auto.create.topics.enable", "true", standard},
		}},
	} {
		for version := int16(0); version <= 4; version++ {
			resp := c.ask(describeRequest(version, test.kind, test.name, nil)).(*kmsg.DescribeConfigsResponse)
			if len(resp.Resources) != 1 || resp.Resources[0].ErrorCode != 0 || resp.Resources[0].ResourceName != test.name {
				t.Fatalf("v%d: %+v", version, resp.Resources)
			}
			got := map[string]kmsg.DescribeConfigsResponseResourceConfig{}
			for _, c := range resp.Resources[0].Configs {
				got[c.Name] = c
			}
			for _, w := range test.want {
				g, ok := got[w.name]
				if !ok || g.Value == nil || *g.Value != w.value {
					t.Errorf("v%d: %s: %+v, want %q", version, w.name, g, w.value)
					continue
				}
				if version == 0 && g.IsDefault != (w.source == standard) || version > 0 && g.Source != w.source {
					t.Errorf("v%d: %s: default %v, source %v, want %v", version, w.name, g.IsDefault, g.Source, w.source)
				}
				if version >= 1 && len(g.ConfigSynonyms) == 0 {
					t.Errorf("v%d: %s: no synonyms", version, w.name)
				}
				if version >= 3 && (g.ConfigType == 0 || g.Documentation == nil || *g.Documentation == "") {
					t.Errorf("v%d: %s: type %v, documentation %v", version, w.name, g.ConfigType, g.Documentation)
				}
			}
		}
	}
}

func TestDescribeConfigsOf(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 1)
	c := s.dial()
	for _, test := range []struct {
		name     string
		kind     kmsg.ConfigResourceType
		resource string
		configs  []string
		code     int16
		count    int
	}{
		{"one name", kmsg.ConfigResourceTypeTopic, "t", []string{"max.message.bytes", "no.such.name"}, 0, 1},
		{"no names", kmsg.ConfigResourceTypeTopic, "t", []string{}, 0, 0},
		{"unknown topic", kmsg.ConfigResourceTypeTopic, "u", nil, kerr.UnknownTopicOrPartition.Code, 0},
		{"illegal topic", kmsg.ConfigResourceTypeTopic, "a b", nil, kerr.InvalidTopicException.Code, 0},
		{"cluster's defaults", kmsg.ConfigResourceTypeBroker, "", nil, 0, 0},
		{"another broker", kmsg.ConfigResourceTypeBroker, "8", nil, kerr.InvalidRequest.Code, 0},
		{"another kind", kmsg.ConfigResourceTypeBrokerLogger, "7", nil, kerr.InvalidRequest.Code, 0},
	} {
		got := c.ask(describeRequest(4, test.kind, test.resource, test.configs)).(*kmsg.DescribeConfigsResponse).Resources[0]
		if got.ErrorCode != test.code || len(got.Configs) != test.count {
			t.Errorf("%s: error %d, %d configs; want %d, %d", test.name, got.ErrorCode, len(got.Configs), test.code, test.count)
		}
	}
}

// TestDescribeOwnSettings: what is set for a topic is told with its source, and what it would be without it.
func TestDescribeOwnSettings(t *testing.T) {
	s := serve(t, setup{options: func(o *Options) { o.MaxMessageBytes = 5000 }})
	s.topic("t", 1)
	if err := s.dir.SetSettings("t", logdir.Settings{"max.message.bytes": "70", "retention.ms": "-1"}); err != nil {
		t.Fatal(err)
	}
	type synonym struct {
		Name, Value string
		Source      kmsg.ConfigSource
	}
	const own, fromFile, standard = kmsg.ConfigSourceDynamicTopicConfig, kmsg.ConfigSourceStaticBrokerConfig, kmsg.ConfigSourceDefaultConfig
	for _, test := range []struct {
		name string
		want []synonym
	}{
		{"max.message.bytes", []synonym{{"max.message.bytes", "70", own}, {"message.max.bytes", "5000", fromFile}, {"message.max.bytes", "1048576", standard}}},
		{"retention.ms", []synonym{{"retention.ms", "-1", own}, {"log.retention.ms", "-1", fromFile}, {"log.retention.ms", "604800000", standard}}},
		{"flush.ms", []synonym{{"log.flush.interval.ms", "50", standard}}},
	} {
		for version := int16(0); version <= 4; version++ {
			resp := s.dial().ask(describeRequest(version, kmsg.ConfigResourceTypeTopic, "t", []string{test.name})).(*kmsg.DescribeConfigsResponse)
			got := resp.Resources[0].Configs[0]
			if *got.Value != test.want[0].Value || got.ReadOnly {
				t.Errorf("v%d: %s = %s, read-only %v", version, test.name, *got.Value, got.ReadOnly)
			}
			if version == 0 {
				if got.IsDefault != (test.want[0].Source == standard) {
					t.Errorf("v0: %s: default %v", test.name, got.IsDefault)
				}
				continue
			}
			var synonyms []synonym
			for _, y := range got.ConfigSynonyms {
				synonyms = append(synonyms, synonym{y.Name, *y.Value, y.Source})
			}
			if diff := cmp.Diff(test.want, synonyms); diff != "" || got.Source != test.want[0].Source {
				t.Errorf("v%d: %s from %v (-want +got):\n%s", version, test.name, got.Source, diff)
			}
		}
	}
}

// TestDescribeConfigsTwice: an answer does not grow with repetitions.
func TestDescribeConfigsTwice(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 1)
	req := describeRequest(4, kmsg.ConfigResourceTypeTopic, "t", nil)
	req.Resources = append(req.Resources, req.Resources[0])
	for i, got := range s.dial().ask(req).(*kmsg.DescribeConfigsResponse).Resources {
		if got.ErrorCode != kerr.InvalidRequest.Code || len(got.Configs) != 0 {
			t.Errorf("resource %d: error %d, %d settings", i, got.ErrorCode, len(got.Configs))
		}
	}
}
