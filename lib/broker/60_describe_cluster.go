package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeCluster (v0): the brokers.
//
//   - They are those of Metadata, with this one as the controller. What the client may do is not told.
func handleDescribeCluster(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	b := c.broker
	resp := request.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.ClusterID, resp.ControllerID = b.member.ClusterID(), b.id()
	for _, known := range b.brokers() {
		out := kmsg.NewDescribeClusterResponseBroker()
		out.NodeID, out.Host, out.Port = known.ID, known.Host, known.Port
		resp.Brokers = append(resp.Brokers, out)
	}
	return respond(resp, correlation)
}
