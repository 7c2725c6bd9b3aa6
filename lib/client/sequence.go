package client

import (
	"context"
	"errors"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/record"
)

// numbering counts the records of one partition, so that the broker can tell what it has stored already (KIP-98).
//
// What may have been stored is sent again as it was, number and all. What certainly was not may get another number: when
// a batch is refused for good, and when the broker has lost track, the count begins anew in the next epoch, and all that
// waits behind goes with it. In between nothing can have been stored, for the broker takes no batch behind a gap.
type numbering struct {
	producer int64
	epoch    int32 // -1: batches are not numbered
	next     int32
}

// unnumbered is the epoch of a batch without a number.
const unnumbered int32 = -1

func (n *numbering) on() bool { return n.epoch != unnumbered }

// number gives an encoded batch its number, unless it has one of this epoch.
func (n *numbering) number(b *batch) {
	switch {
	case b.epoch == n.epoch:
		return
	case !n.on():
		record.SetProducer(b.wire, -1, -1, -1)
	default:
		record.SetProducer(b.wire, n.producer, int16(n.epoch), n.next)
		n.next = int32((int64(n.next) + int64(len(b.lines))) & math.MaxInt32)
	}
	b.epoch = n.epoch
}

// restart begins to count anew. After the last epoch nothing is numbered any more.
func (n *numbering) restart() {
	if n.epoch++; n.epoch > math.MaxInt16 {
		n.epoch = unnumbered
	}
	n.next = 0
}

// outOfSequence reports whether a broker refused a batch for its number.
func outOfSequence(err error) bool {
	return errors.Is(err, kerr.OutOfOrderSequenceNumber) || errors.Is(err, kerr.UnknownProducerID) ||
		errors.Is(err, kerr.InvalidProducerEpoch)
}

// producerID asks for the id of an idempotent producer. ok is false when the brokers have none to give.
func (c *Client) producerID(ctx context.Context) (id int64, ok bool, err error) {
	err = c.retry(ctx, c.opts.Timeout, func(ctx context.Context) error {
		versions, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, c.kgo)
		if err != nil {
			return err
		}
		served := false
		for _, api := range versions.ApiKeys {
			served = served || api.ApiKey == kmsg.InitProducerID.Int16()
		}
		if !served {
			return nil
		}
		req := kmsg.NewPtrInitProducerIDRequest()
		req.ProducerID, req.ProducerEpoch = -1, -1
		resp, err := req.RequestWith(ctx, c.kgo)
		if err != nil {
			return err
		}
		id, ok = resp.ProducerID, resp.ErrorCode == 0 && resp.ProducerEpoch == 0
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil && retriable(err) {
			return err
		}
		return nil
	})
	if errors.As(err, new(*kerr.Error)) {
		return 0, false, nil
	}
	return id, ok, err
}
