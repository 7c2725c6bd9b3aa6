package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// transactionCoordinator is the key type of FindCoordinator that asks for transactions.
const transactionCoordinator = 1

// FindCoordinator (v0-3): which broker coordinates a group.
//
//   - There is no coordinator of Kafka-protocol groups: COORDINATOR_NOT_AVAILABLE, which clients try again. An error that
//     they do not try again ends, in librdkafka, also consumers that only have the name of a group and are given their
//     partitions.
//   - There are no transactions: INVALID_REQUEST, which no client tries again.
//   - The request is served because librdkafka compresses with lz4 only where FindCoordinator v0 is.
//   - v1 adds the key type and the error message.
func handleFindCoordinator(_ *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.FindCoordinatorRequest)
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	resp.ErrorCode = kerr.CoordinatorNotAvailable.Code
	resp.ErrorMessage = kmsg.StringPtr("no coordinator of consumer groups on this broker")
	if req.Version >= 1 && req.CoordinatorType == transactionCoordinator {
		resp.ErrorCode = kerr.InvalidRequest.Code
		resp.ErrorMessage = kmsg.StringPtr("no transactions on this broker")
	}
	resp.NodeID, resp.Port = -1, -1
	return respond(resp, correlation)
}
