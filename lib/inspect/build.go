package inspect

import (
	"io"
	"math"

	"logkit/lib/index"
)

// IndexInterval is how many bytes of log lie between two entries of an index that is built here, at least: the default
// of Kafka and of logd.
const IndexInterval = 4 << 10

// indexBuilder makes the two indexes of a log while its batches go by in order.
type indexBuilder struct {
	base           int64
	offsets, times []byte
	since          int64 // bytes of log since the last entry
	latest         index.TimeEntry
	indexed        int64 // timestamp of the last time entry
}

func newIndexBuilder(base int64) *indexBuilder {
	return &indexBuilder{base: base, latest: index.TimeEntry{Timestamp: -1}, indexed: -1}
}

// add takes a batch that stands at position. One that an entry can not name gets none.
func (x *indexBuilder) add(b *Batch, position int64) {
	if b.MaxTimestamp > x.latest.Timestamp {
		x.latest = index.TimeEntry{Timestamp: b.MaxTimestamp, Last: b.Last}
	}
	if x.since > IndexInterval && b.Last-x.base <= math.MaxInt32 {
		offsets, err := index.AppendOffset(x.offsets, x.base, index.OffsetEntry{Last: b.Last, Position: position})
		if err == nil {
			x.offsets, x.since = offsets, 0
			x.addTime()
		}
	}
	x.since += b.Size
}

func (x *indexBuilder) addTime() {
	if x.latest.Timestamp <= x.indexed {
		return
	}
	if times, err := index.AppendTime(x.times, x.base, x.latest); err == nil {
		x.times, x.indexed = times, x.latest.Timestamp
	}
}

// buildIndexes makes the indexes of a log that is named after base.
func buildIndexes(r io.Reader, size, base int64, o Options) (offsets, times []byte, err error) {
	x := newIndexBuilder(base)
	s := NewScanner(r, ScanOptions{Base: base, Size: size, Format: anyLog, MaxBatch: o.MaxBatch, MaxDecompressed: o.MaxDecompressed})
	last := base - 1
	for {
		item, err := s.Next()
		if err == io.EOF {
			x.addTime()
			return x.offsets, x.times, nil
		}
		if err != nil {
			return nil, nil, err
		}
		// What goes back is nowhere that a search could find it.
		if b := item.Batch; b != nil && b.Last > last {
			x.add(b, b.Position)
			last = b.Last
		}
	}
}
