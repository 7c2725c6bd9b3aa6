package commitlog

import (
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"logkit/lib/producers"
	"logkit/lib/segment"
)

// Options say how a log is kept. The zero value of each field is its default.
type Options struct {
	// SegmentBytes is the size at which the log goes on in another segment (1 GiB).
	SegmentBytes int64
	// SegmentAge is the age at which it does, counted from the first append to the segment (7 days). When the log has been
	// opened since, it is counted from the making of the segment's file.
	SegmentAge time.Duration
	// FlushMessages is how many records may be appended before a flush begins. 0: no limit.
	FlushMessages int64
	// FlushInterval is how long a record may wait for its flush to begin (50 ms).
	FlushInterval time.Duration
	// Syncs bounds the flushes that run at the same time in all logs that share it. nil: no bound.
	Syncs *SyncLimit
	// OnFailure is called, in a goroutine of its own, when the log can take no more appends. nil: nothing.
	OnFailure func(error)
	// Producers bounds what is remembered of idempotent producers (producers.Limits).
	Producers producers.Limits
	// SaveStart remembers, durably, that start is the smallest id of the log, for the next Open. It is called before
	// anything below is deleted, unless the disk is full. nil: nothing is remembered.
	SaveStart func(start int64) error
}

// Defaults of Options.
const (
	DefaultSegmentBytes  = 1 << 30
	DefaultSegmentAge    = 7 * 24 * time.Hour
	DefaultFlushInterval = 50 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	if o.SegmentAge <= 0 {
		o.SegmentAge = DefaultSegmentAge
	}
	if o.FlushMessages <= 0 {
		o.FlushMessages = math.MaxInt64
	}
	if o.FlushInterval <= 0 {
		o.FlushInterval = DefaultFlushInterval
	}
	return o
}

// Positions are the marks of a log at one moment; see the package comment. Start <= HighWatermark <= End.
type Positions struct {
	Start         int64
	HighWatermark int64
	End           int64
}

// Log is one partition's log. All methods may be called from several goroutines. Readers take no lock.
type Log struct {
	env    *segment.Env
	dir    string
	logger *slog.Logger

	// floor is the recovery point that the log was opened with: readers have seen ids up to it, so none below it is given
	// again, also when damage has taken their records.
	floor int64

	// view is what readers see. It is replaced as a whole, by whoever holds mu.
	view atomic.Pointer[view]
	// end is the next base. Written by whoever holds mu, after the bytes are in the file.
	end atomic.Int64

	// deleted is set before the files are moved away.
	deleted atomic.Bool

	mu        sync.Mutex
	options   Options
	writer    *segment.Writer // of the last segment; nil until the first append after a clean start
	began     time.Time       // first append to the last segment, or when that was made by an earlier process; zero: it is empty
	appended  int64           // id of the last appended record + 1: the high watermark after the next flush
	uncut     bool            // writer.CutRest has to be called before anything is appended
	spoiled   bool            // the last segment ends with damage: see endsDamaged
	producers producing
	failure   error // why nothing can be appended any more: a sticky *DiskError, or ErrClosed

	// What the flushing knows; see flush.go.
	unflushed int64       // records appended since the last flush began
	wanted    bool        // another flush is asked for
	flushing  bool        // a flush runs
	flushed   sync.Cond   // on mu: a flush has ended, or of what saving tells
	timer     *time.Timer // asks for a flush; armed while unflushed > 0 and nothing is wanted
	armed     bool
	saving    bool // files beside the log are written, without the lock; see save

	unjoined sync.Map // base ids of segments of which it has been said that they do not join; see checkJoin

	watchers map[chan<- struct{}]struct{}
	moved    chan struct{} // closed when the high watermark moves or the log fails; nil when nobody waits
}

// Dir is the directory of the log.
func (l *Log) Dir() string { return l.dir }

// Positions returns the marks of the log.
func (l *Log) Positions() Positions {
	v := l.view.Load()
	return l.positions(v)
}

// positions completes v with the end, which is read after v and so is never below its high watermark.
func (l *Log) positions(v *view) Positions {
	return Positions{Start: v.start, HighWatermark: v.high, End: max(l.end.Load(), v.high)}
}

// Err is why the log takes no more appends, or nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// SetOptions replaces the options; they hold from the next append on.
func (l *Log) SetOptions(o Options) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o.Syncs, o.OnFailure, o.SaveStart = l.options.Syncs, l.options.OnFailure, l.options.SaveStart
	l.options = o.withDefaults()
	l.producers.state.SetLimits(o.Producers)
	if l.armed && l.timer.Stop() {
		l.armed = false
		l.arm()
	}
}

// view is an immutable picture of what can be read.
type view struct {
	segments []*segment.Segment // in order; at least one
	start    int64              // smallest id that may be read
	high     int64              // the high watermark
	tail     int64              // bytes of the last segment that are below it
}

// segmentFor returns the index of the segment in which id lies: the last one whose base is not above it.
func (v *view) segmentFor(id int64) int {
	return floor(len(v.segments), func(i int) int64 { return v.segments[i].Base() }, id)
}

// floor finds, by binary search, the largest i in [0, n) with base(i) <= id, or 0 when there is none: the paper's list
// of first ids.
func floor(n int, base func(int) int64, id int64) int {
	low, high := 0, n
	for high-low > 1 {
		if middle := int(uint(low+high) / 2); base(middle) <= id {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
