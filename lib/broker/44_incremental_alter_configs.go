package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/logdir"
)

// IncrementalAlterConfigs (v0-1): sets single settings of topics, or lets them follow the broker again.
//
//   - All changes of a topic are made, or none. They are durable when they are answered, and hold from the next append
//     on. Deleting what is not set is no error.
//   - Appending to a setting, and subtracting from one, is INVALID_CONFIG: none is a list that could have more than one
//     value here.
//   - The rest as for AlterConfigs. v1 is flexible.
func handleIncrementalAlterConfigs(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.IncrementalAlterConfigsRequest)
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	twice := repeated(req.Resources, func(r *kmsg.IncrementalAlterConfigsRequestResource) string {
		return resourceName(r.ResourceType, r.ResourceName)
	})
	for i := range req.Resources {
		r := &req.Resources[i]
		err := errRepeated
		if !twice[resourceName(r.ResourceType, r.ResourceName)] {
			err = c.broker.incrementallyAlterConfigs(r, req.ValidateOnly)
		}
		out := kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = r.ResourceType, r.ResourceName
		out.ErrorCode, out.ErrorMessage = c.broker.verdict("alter settings", r.ResourceName, err)
		resp.Resources = append(resp.Resources, out)
	}
	return respond(resp, correlation)
}

func (b *Broker) incrementallyAlterConfigs(r *kmsg.IncrementalAlterConfigsRequestResource, validateOnly bool) error {
	if err := onlyTopics(r.ResourceType, r.ResourceName); err != nil {
		return err
	}
	twice := repeated(r.Configs, func(c *kmsg.IncrementalAlterConfigsRequestResourceConfig) string { return c.Name })
	return b.changeSettings(r.ResourceName, validateOnly, func(s logdir.Settings) error {
		for i := range r.Configs {
			config := &r.Configs[i]
			if twice[config.Name] {
				return refused(kerr.InvalidRequest, "setting %s: named more than once", config.Name)
			}
			if err := alterOne(s, config); err != nil {
				return err
			}
		}
		return nil
	})
}

func alterOne(s logdir.Settings, config *kmsg.IncrementalAlterConfigsRequestResourceConfig) error {
	if err := logdir.CheckSettingName(config.Name); err != nil {
		return err
	}
	switch config.Op {
	case kmsg.IncrementalAlterConfigOpSet:
		if config.Value == nil {
			return refused(kerr.InvalidRequest, "setting %s: no value", config.Name)
		}
		s[config.Name] = *config.Value
	case kmsg.IncrementalAlterConfigOpDelete:
		delete(s, config.Name)
	case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
		return refused(kerr.InvalidConfig, "setting %s: %s, allowed are SET and DELETE: it is no list", config.Name, config.Op)
	default:
		return refused(kerr.InvalidRequest, "setting %s: operation %d, allowed are 0 (set) and 1 (delete)", config.Name, config.Op)
	}
	return nil
}
