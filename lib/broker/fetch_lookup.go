package broker

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
)

// longestWait bounds max_wait, so that a client that has gone unnoticed is noticed.
const longestWait = 5 * time.Minute

// leaderEpoch is that of every partition: there is one broker for each, and it is never replaced.
const leaderEpoch = 0

type partitionKey struct {
	topic     string
	partition int32
}

// lookup finds what a Fetch is answered with. It holds the files of the slices until release.
type lookup struct {
	conn  *conn
	req   *kmsg.FetchRequest
	parts []fetchPart // in the order of the request

	bytes int64 // of records found
	ready bool  // the answer goes out at once: it is full, or has an error, or another look would not find more
}

// fetchPart is one partition of a Fetch.
type fetchPart struct {
	key    partitionKey
	id     int64           // to read from
	limit  int64           // bytes
	log    *commitlog.Log  // nil: not here
	code   int16           // Kafka's error code
	epoch  int32           // the leader epoch that the client knows, or -1
	slice  commitlog.Slice // what was found; its Positions are -1 when nothing is known
	denied bool            // there was something, but no room for it
}

func newLookup(c *conn, req *kmsg.FetchRequest) *lookup {
	l := &lookup{conn: c, req: req}
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			part := fetchPart{
				key: partitionKey{t.Topic, p.Partition}, id: p.FetchOffset,
				limit: int64(max(p.PartitionMaxBytes, 0)), epoch: p.CurrentLeaderEpoch,
			}
			l.parts = append(l.parts, part)
		}
	}
	return l
}

// look fills all partitions, beginning where the last answer of the connection found no more room.
func (l *lookup) look() {
	l.release()
	l.bytes, l.ready = 0, false
	room := min(int64(max(l.req.MaxBytes, 0)), maxFetchBytes)
	first, _ := l.first()
	for i := range l.parts {
		p := &l.parts[(first+i)%len(l.parts)]
		p.look(l.conn.broker, room-l.bytes, l.bytes == 0)
		l.bytes += p.slice.Len
		l.ready = l.ready || p.code != 0 || p.denied || p.slice.More
	}
}

// first is where to begin, and whether that is because the partition whose turn it is has been asked for.
func (l *lookup) first() (int, bool) {
	for i := range l.parts {
		if l.parts[i].key == l.conn.fetchFirst {
			return i, true
		}
	}
	return 0, false
}

// look reads one partition. room is what may be added to the answer; the first records of it may exceed that.
func (p *fetchPart) look(b *Broker, room int64, first bool) {
	p.code, p.denied = 0, false
	if p.log, _ = b.dir.Log(p.key.topic, p.key.partition); p.log == nil {
		p.fail(b.absent(p.key.topic, p.key.partition))
		return
	}
	if p.epoch > leaderEpoch {
		p.fail(kerr.UnknownLeaderEpoch)
		return
	}
	slice, err := p.log.Read(p.id, min(p.limit, max(room, 0)))
	p.slice = slice
	switch {
	case errors.Is(err, commitlog.ErrOutOfRange):
		p.code = kerr.OffsetOutOfRange.Code
	case err != nil && b.gone(p.key, p.log):
		p.fail(kerr.UnknownTopicOrPartition)
	case err != nil:
		b.unreadable(p.key, fmt.Errorf("at id %d: %w", p.id, err))
		p.code = kerr.KafkaStorageError.Code
	case slice.Len > room && !first:
		p.slice.Release()
		p.slice.Len = 0
		p.denied = true
	}
}

// fail answers a partition of which nothing is known.
func (p *fetchPart) fail(code *kerr.Error) {
	p.code = code.Code
	p.slice = commitlog.Slice{Positions: commitlog.Positions{Start: -1, HighWatermark: -1, End: -1}}
}

// enough tells whether the answer may go out at once.
func (l *lookup) enough() bool {
	return l.ready || len(l.parts) == 0 || l.bytes >= int64(l.req.MinBytes) || l.req.MaxWaitMillis <= 0
}

// wait looks again when high watermarks have moved, until there is enough or the time is over. Meanwhile it holds no files.
func (l *lookup) wait(out *output) error {
	if err := out.flush(); err != nil {
		return err
	}
	timer := time.NewTimer(min(time.Duration(l.req.MaxWaitMillis)*time.Millisecond, longestWait))
	defer timer.Stop()
	moved := make(chan struct{}, 1)
	for i := range l.parts {
		log := l.parts[i].log // the last look has found one for each
		log.Watch(moved)
		defer log.Unwatch(moved)
	}
	l.conn.broker.polls.Add(1)
	defer l.conn.broker.polls.Add(-1)
	for {
		if l.worth() {
			if l.look(); l.enough() {
				return nil
			}
		}
		l.release()
		select {
		case <-moved:
		case <-timer.C:
			l.look()
			return nil
		case <-l.conn.reading.Done():
			l.look()
			return nil
		}
	}
}

// worth tells whether to look again: a log has gone, or some high watermark is not what the last look saw, and there may
// be enough by now. What has become visible since takes no more bytes than the log has grown by in ids. Without this a
// consumer of many partitions that waits for a lot would have them all read with every flush of one.
func (l *lookup) worth() bool {
	moved, most := false, l.bytes
	for i := range l.parts {
		p := &l.parts[i]
		log, _ := l.conn.broker.dir.Log(p.key.topic, p.key.partition)
		if log != p.log {
			return true
		}
		now, then := log.Positions(), p.slice.Positions
		moved = moved || now.HighWatermark != then.HighWatermark
		most += max(now.End-then.HighWatermark, 0)
	}
	return moved && most >= int64(l.req.MinBytes)
}

// release gives the files back. The positions of the last look stay.
func (l *lookup) release() {
	for i := range l.parts {
		l.parts[i].slice.Release()
	}
}

// result is the answer as the last look found it. From the first partition that was denied records begins the next that
// asks for it: until then it keeps its turn, unless another is denied. The Java client asks in between for those
// partitions alone of which it holds no answer.
func (l *lookup) result() *fetchResult {
	first, asked := l.first()
	if asked {
		l.conn.fetchFirst = partitionKey{}
	}
	for i := range l.parts {
		if p := &l.parts[(first+i)%len(l.parts)]; p.denied {
			l.conn.fetchFirst = p.key
			break
		}
	}
	return &fetchResult{version: l.req.Version, topics: l.req.Topics, parts: l.parts}
}
