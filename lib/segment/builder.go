package segment

import (
	"bytes"
	"math"

	"logkit/lib/index"
	"logkit/lib/record"
)

// indexBuilder makes the two indexes while the batches of a segment go by in order.
type indexBuilder struct {
	env     *Env
	base    int64
	offsets []byte
	times   []byte

	since   int64 // bytes of log since the last offset entry
	latest  index.TimeEntry
	indexed int64 // timestamp of the last time entry
}

// newIndexBuilder begins with the entries in e, or with none.
func newIndexBuilder(env *Env, base int64, e *entries) *indexBuilder {
	b := &indexBuilder{env: env, base: base, indexed: math.MinInt64}
	b.latest.Timestamp = math.MinInt64
	if e == nil {
		return b
	}
	b.offsets, b.times = e.offsets, e.times
	if x := index.NewTimes(base, bytes.NewReader(b.times), int64(len(b.times))); x.Len() > 0 {
		if last, err := x.At(x.Len() - 1); err == nil {
			b.latest, b.indexed = last, last.Timestamp
		}
	}
	return b
}

// add takes the batch with header h that begins at pos, and tells whether that made an entry. A batch whose last id or
// position does not fit gets none: whoever writes rolls before that happens.
func (b *indexBuilder) add(h record.Header, pos int64) (added bool) {
	if h.MaxTimestamp > b.latest.Timestamp {
		b.latest = index.TimeEntry{Timestamp: h.MaxTimestamp, Last: h.LastOffset()}
	}
	if b.since > b.env.IndexInterval {
		offsets, err := index.AppendOffset(b.offsets, b.base, index.OffsetEntry{Last: h.LastOffset(), Position: pos})
		if err == nil {
			b.offsets, b.since, added = offsets, 0, true
			b.addTime()
		}
	}
	b.since += h.Size()
	return added
}

func (b *indexBuilder) addTime() {
	if b.latest.Timestamp <= b.indexed {
		return
	}
	if times, err := index.AppendTime(b.times, b.base, b.latest); err == nil {
		b.times, b.indexed = times, b.latest.Timestamp
	}
}

// finish adds the largest timestamp of the whole segment, as Kafka does when it rolls.
func (b *indexBuilder) finish() { b.addTime() }

func (b *indexBuilder) entries() *entries { return &entries{offsets: b.offsets, times: b.times} }
