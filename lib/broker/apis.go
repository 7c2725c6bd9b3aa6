package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handler turns a request into the answer that it is owed, or nil when it is owed none. It runs in the connection's
// reader, so it must not wait for anything but the disk. An error closes the connection, with the error in the log.
// The request, and what it points to, is gone when the handler has returned.
type handler func(c *conn, req kmsg.Request, correlation int32) (answer, error)

// api is one row of what this broker speaks. Only what is here is advertised, and only what is advertised is answered.
type api struct {
	key      kmsg.Key
	min, max int16
	handle   handler
}

// apiTable is the rows by key.
type apiTable struct {
	rows         []api
	byKey        [64]*api
	flexibleFrom [64]int16 // first version whose header has tagged fields
}

func newAPITable(rows []api) *apiTable {
	t := &apiTable{rows: rows}
	for i := range rows {
		key := rows[i].key
		t.byKey[key] = &rows[i]
		req := key.Request()
		for t.flexibleFrom[key] = 0; t.flexibleFrom[key] <= rows[i].max; t.flexibleFrom[key]++ {
			if req.SetVersion(t.flexibleFrom[key]); req.IsFlexible() {
				break
			}
		}
	}
	return t
}

// flexible tells whether a request of the table, or one of a version above, has tagged fields behind the client id.
func (t *apiTable) flexible(key, version int16) bool { return version >= t.flexibleFrom[key] }

// standardAPIs is the table of every broker. The reasons for the lower bounds that look too low: librdkafka sends plain
// instead of compressed batches when Produce starts above 0, speaks the old message format when Fetch starts above 4,
// and does not use lz4 without FindCoordinator 0. The upper bounds stop where the next version would need something
// that is not here: transactions (Produce 12), topic ids (Fetch 13, Metadata 10, CreateTopics 7, DeleteTopics 6), batched
// groups (FindCoordinator 4).
func standardAPIs() []api {
	return []api{
		{kmsg.Produce, 0, 11, handleProduce},
		{kmsg.Fetch, 4, 12, handleFetch},
		{kmsg.ListOffsets, 1, 7, handleListOffsets},
		{kmsg.Metadata, 0, 9, handleMetadata},
		{kmsg.FindCoordinator, 0, 3, handleFindCoordinator},
		{kmsg.ApiVersions, 0, 3, handleAPIVersions},
		{kmsg.CreateTopics, 0, 6, handleCreateTopics},
		{kmsg.DeleteTopics, 0, 5, handleDeleteTopics},
		{kmsg.DeleteRecords, 0, 2, handleDeleteRecords},
		{kmsg.InitProducerID, 0, 4, handleInitProducerID},
		{kmsg.DescribeConfigs, 0, 4, handleDescribeConfigs},
		{kmsg.AlterConfigs, 0, 2, handleAlterConfigs},
		{kmsg.DescribeLogDirs, 0, 4, handleDescribeLogDirs},
		{kmsg.CreatePartitions, 0, 3, handleCreatePartitions},
		{kmsg.IncrementalAlterConfigs, 0, 1, handleIncrementalAlterConfigs},
		{kmsg.DescribeCluster, 0, 0, handleDescribeCluster},
	}
}

// find returns the row for key, or nil.
func (t *apiTable) find(key int16) *api {
	if key < 0 || int(key) >= len(t.byKey) {
		return nil
	}
	return t.byKey[key]
}

// check refuses what the table does not have. As in Kafka the connection is closed for it without an answer, except
// that a version of ApiVersions above the table's goes through and is answered (KIP-511).
func (t *apiTable) check(key, version int16) error {
	row := t.find(key)
	switch {
	case row == nil:
		return badFrame("request with key %d (%s), which is not served", key, kmsg.NameForKey(key))
	case version >= row.min && version <= row.max:
		return nil
	case row.key == kmsg.ApiVersions && version > row.max:
		return nil
	}
	return badFrame("%s v%d, served are v%d to v%d", row.key.Name(), version, row.min, row.max)
}

// encoded is an answer that is ready as it is, size included.
type encoded []byte

func (e encoded) cost() int64 { return int64(cap(e)) }

func (e encoded) write(out *output) error { return out.write(e) }

func (e encoded) release() {}

// respond encodes a response.
func respond(resp kmsg.Response, correlation int32) (answer, error) {
	const usual = 512 // bytes
	return encoded(appendResponse(make([]byte, 0, usual), correlation, resp)), nil
}
