package broker

import (
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// InitProducerId (v0-4): an id for an idempotent producer.
//
//   - Every answer has an id that has never been given out, with epoch 0 (logdir.NextProducerID).
//   - There are no transactions: a transactional id is refused with INVALID_REQUEST, which no client tries again.
//   - v3 adds the id and epoch that the producer has, whose epoch it wants raised (KIP-360). Without a transactional id
//     nobody else can have them, so another id serves as well, as in Kafka. One without the other is refused.
//   - v2 is flexible; v4 has the error code PRODUCER_FENCED, which does not occur.
func handleInitProducerID(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.InitProducerIDRequest)
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if req.TransactionalID != nil || req.Version >= 3 && (req.ProducerID < 0) != (req.ProducerEpoch < 0) {
		resp.ErrorCode = kerr.InvalidRequest.Code
		return respond(resp, correlation)
	}
	id, err := c.broker.dir.NextProducerID()
	if err != nil {
		c.broker.complaints.warn("no producer id is given out", slog.String("reason", err.Error()))
		resp.ErrorCode = kerr.CoordinatorNotAvailable.Code // tried again by all clients
		return respond(resp, correlation)
	}
	resp.ProducerID, resp.ProducerEpoch = id, 0
	return respond(resp, correlation)
}
