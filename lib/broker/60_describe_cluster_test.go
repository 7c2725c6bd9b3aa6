package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDescribeCluster(t *testing.T) {
	s := serve(t, setup{options: func(o *Options) { o.Advertise = "broker.example:1234" }})
	got := s.dial().ask(kmsg.NewPtrDescribeClusterRequest()).(*kmsg.DescribeClusterResponse)
	if got.ErrorCode != 0 || got.ClusterID != s.dir.ClusterID() || got.ControllerID != 7 || len(got.Brokers) != 1 {
		t.Fatalf("answer %+v", got)
	}
	if b := got.Brokers[0]; b.NodeID != 7 || b.Host != "broker.example" || b.Port != 1234 {
		t.Errorf("broker %+v", b)
	}
}
