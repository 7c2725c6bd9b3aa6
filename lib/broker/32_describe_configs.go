package broker

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/logdir"
)

// DescribeConfigs (v0-4): settings in force, under Kafka's names.
//
//   - A topic has those that producers and tools look for, such as max.message.bytes, and a broker its own. A broker is
//     named by its id; without a name the defaults of the whole cluster are meant, of which there are none.
//   - Null asks for all names, a list for those in it that exist.
//   - The source is the topic where something has been set for it, and else the static configuration where a value is
//     not the default. What is the broker's is read-only.
//   - v0 tells whether a value is the default. v1 adds the source instead, and what the value falls back to (synonyms),
//     v3 the type and, on request, a sentence on it, v4 is flexible.
//   - UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, or INVALID_REQUEST for another broker or kind of resource, and
//     for one that is named twice: so an answer is no larger than all that there is to tell.
func handleDescribeConfigs(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.DescribeConfigsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	twice := repeated(req.Resources, func(r *kmsg.DescribeConfigsRequestResource) string {
		return resourceName(r.ResourceType, r.ResourceName)
	})
	for i := range req.Resources {
		r := &req.Resources[i]
		resp.Resources = append(resp.Resources, c.broker.describeConfigs(req, r, twice[resourceName(r.ResourceType, r.ResourceName)]))
	}
	return respond(resp, correlation)
}

func (b *Broker) describeConfigs(req *kmsg.DescribeConfigsRequest, r *kmsg.DescribeConfigsRequestResource, again bool) kmsg.DescribeConfigsResponseResource {
	out := kmsg.NewDescribeConfigsResponseResource()
	out.ResourceType, out.ResourceName = r.ResourceType, r.ResourceName
	settings, code := b.settingsOf(r, again)
	if code != nil {
		out.ErrorCode, out.ErrorMessage = code.Code, &code.Description
		return out
	}
	for i := range settings {
		if s := &settings[i]; r.ConfigNames == nil || slices.Contains(r.ConfigNames, s.name) {
			out.Configs = append(out.Configs, s.describe(req))
		}
	}
	return out
}

func (b *Broker) settingsOf(r *kmsg.DescribeConfigsRequestResource, again bool) ([]setting, *kerr.Error) {
	if again {
		return nil, kerr.InvalidRequest
	}
	switch r.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		if logdir.ValidTopic(r.ResourceName) != nil {
			return nil, kerr.InvalidTopicException
		}
		if _, err := b.topicNamed(r.ResourceName); err != nil {
			return nil, kerr.UnknownTopicOrPartition
		}
		ctx, cancel := b.coordinating(0)
		defer cancel()
		own, err := b.member.Settings(ctx, r.ResourceName)
		if err != nil {
			return nil, kerr.RequestTimedOut
		}
		return b.topicSettings(own), nil
	case kmsg.ConfigResourceTypeBroker:
		switch r.ResourceName {
		case "":
			return nil, nil
		case strconv.Itoa(int(b.id())):
			return b.brokerSettings(), nil
		}
	}
	return nil, kerr.InvalidRequest
}

func (s *setting) describe(req *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	out := kmsg.NewDescribeConfigsResponseResourceConfig()
	out.Name, out.Value, out.ConfigType = s.name, &s.value, s.kind
	out.Source = s.source()
	out.IsDefault = out.Source == kmsg.ConfigSourceDefaultConfig
	out.ReadOnly = s.broker == ""
	if req.IncludeSynonyms {
		out.ConfigSynonyms = s.synonyms()
	}
	if req.IncludeDocumentation {
		out.Documentation = &s.doc
	}
	return out
}

// synonyms are the value, and what it would be if it were not set: in the order in which they count.
func (s *setting) synonyms() (all []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym) {
	add := func(name string, value *string, source kmsg.ConfigSource) {
		y := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		y.Name, y.Value, y.Source = name, value, source
		all = append(all, y)
	}
	brokers, name := &s.value, cmp.Or(s.broker, s.name)
	if s.own {
		add(s.name, &s.value, kmsg.ConfigSourceDynamicTopicConfig)
		brokers = &s.inherits
	}
	if source := s.brokerSource(*brokers); source != kmsg.ConfigSourceDefaultConfig {
		add(name, brokers, source)
	}
	add(name, &s.standard, kmsg.ConfigSourceDefaultConfig)
	return all
}
