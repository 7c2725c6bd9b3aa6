package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeCluster (v0): the brokers.
//
//   - There is one, which names itself as the controller too, so that admin clients work. What the client may do is not
//     told.
func handleDescribeCluster(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	b := c.broker
	resp := request.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.ClusterID, resp.ControllerID = b.options.Dir.ClusterID(), b.options.NodeID
	self := kmsg.NewDescribeClusterResponseBroker()
	self.NodeID, self.Host, self.Port = b.options.NodeID, b.advertised.host, b.advertised.port
	resp.Brokers = append(resp.Brokers, self)
	return respond(resp, correlation)
}
