package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/logdir"
)

// AlterConfigs (v0-2): replaces all that is set for topics.
//
//   - What the request does not name is no longer set, and follows the broker again (IncrementalAlterConfigs is for
//     single settings). The change is durable when it is answered, and holds from the next append on.
//   - Only topics can be changed: a broker, or anything else, is INVALID_REQUEST, and so is a resource or a setting that
//     is named twice, and a setting without a value.
//   - INVALID_CONFIG names the setting and what is allowed; then nothing of that topic is changed. Besides
//     UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION and KAFKA_STORAGE_ERROR.
//   - With validate_only nothing is changed. v2 is flexible.
func handleAlterConfigs(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.AlterConfigsRequest)
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	twice := repeated(req.Resources, func(r *kmsg.AlterConfigsRequestResource) string {
		return resourceName(r.ResourceType, r.ResourceName)
	})
	for i := range req.Resources {
		r := &req.Resources[i]
		err := errRepeated
		if !twice[resourceName(r.ResourceType, r.ResourceName)] {
			err = c.broker.alterConfigs(r, req.ValidateOnly)
		}
		out := kmsg.NewAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = r.ResourceType, r.ResourceName
		out.ErrorCode, out.ErrorMessage = c.broker.verdict("alter settings", r.ResourceName, err)
		resp.Resources = append(resp.Resources, out)
	}
	return respond(resp, correlation)
}

func (b *Broker) alterConfigs(r *kmsg.AlterConfigsRequestResource, validateOnly bool) error {
	if err := onlyTopics(r.ResourceType, r.ResourceName); err != nil {
		return err
	}
	return b.changeSettings(r.ResourceName, validateOnly, func(s logdir.Settings) error {
		clear(s)
		for i := range r.Configs {
			name, value := r.Configs[i].Name, r.Configs[i].Value
			if value == nil {
				return refused(kerr.InvalidRequest, "setting %s: no value", name)
			}
			if _, again := s[name]; again {
				return refused(kerr.InvalidRequest, "setting %s: named more than once", name)
			}
			s[name] = *value
		}
		return nil
	})
}
