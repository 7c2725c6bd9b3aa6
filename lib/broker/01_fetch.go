package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxFetchBytes bounds the records of one answer, as Kafka's fetch.max.bytes; the first batch may exceed it.
const maxFetchBytes = 64 << 20

// Fetch (v4-12): records from given ids on.
//
//   - Topics and partitions are answered in the order of the request, an unknown one with
//     UNKNOWN_TOPIC_OR_PARTITION beside the records of the others.
//   - Nothing above the high watermark is sent. Records and high watermark of a partition are from one look at its log;
//     the last stable offset is the high watermark, as there are no transactions.
//   - Batches are sent whole: from the one that holds the id, or else follows it. The first batch of the answer is sent
//     even if it exceeds the limits (KIP-74). An id from the high watermark to the end of the log has no records yet;
//     any other is OFFSET_OUT_OF_RANGE, with high watermark and log start.
//   - The limit on the bytes of the whole answer is spent partition by partition; the next fetch of the connection
//     that asks for the one for which nothing was left begins with it.
//   - With fewer than min_bytes, and no error, it waits up to max_wait for a high watermark to move. The wait ends when
//     the client closes, and when the broker stops. It does not begin where records end with their segment, as in Kafka
//     (DelayedFetch): what there is behind them comes with the next fetch.
//   - v7 adds sessions (KIP-227): there are none, session id 0 says so, and a request that counts on one gets
//     FETCH_SESSION_ID_NOT_FOUND. v9 adds the leader epoch, which is 0, v11 the rack, which is not used. v12 is flexible.
//   - kmsg cannot leave room for ranges of files: the response is written in fetch_encode.go.
func handleFetch(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	return newFetchAnswer(c, request.(*kmsg.FetchRequest), correlation), nil
}

// fetchAnswer is owed for a Fetch. All of it happens in the writer's turn.
type fetchAnswer struct {
	conn        *conn
	req         *kmsg.FetchRequest
	correlation int32
	bytes       int64
}

func newFetchAnswer(c *conn, req *kmsg.FetchRequest, correlation int32) *fetchAnswer {
	const each = 200 // of a partition: request, look-up and header of the answer
	a := &fetchAnswer{conn: c, req: req, correlation: correlation, bytes: each}
	for i := range req.Topics {
		a.bytes += each + each*int64(len(req.Topics[i].Partitions))
	}
	return a
}

func (a *fetchAnswer) cost() int64 { return a.bytes }

func (a *fetchAnswer) release() {}

func (a *fetchAnswer) write(out *output) error {
	if a.incremental() {
		return writeFetch(out, a.correlation, &fetchResult{version: a.req.Version, code: kerr.FetchSessionIDNotFound.Code})
	}
	l := newLookup(a.conn, a.req)
	defer l.release()
	if l.look(); !l.enough() {
		if err := l.wait(out); err != nil {
			return err
		}
	}
	return writeFetch(out, a.correlation, l.result())
}

// incremental tells whether the request is about the partitions of a session, rather than naming all that it wants. One
// that names all ends the session that it has an id of, if it has one (FetchManager.newContext of Kafka).
func (a *fetchAnswer) incremental() bool {
	const begin, end = 0, -1 // epochs of requests that name all partitions
	return a.req.Version >= 7 && a.req.SessionEpoch != begin && a.req.SessionEpoch != end
}
