package zkserver

import (
	"sync/atomic"
	"time"
)

// latency is the smallest, largest and mean time from a request to its reply leaving, in ns.
type latency struct{ count, sum, least, most atomic.Int64 }

func (l *latency) add(ns int64) {
	l.count.Add(1)
	l.sum.Add(ns)
	for old := l.most.Load(); ns > old && !l.most.CompareAndSwap(old, ns); old = l.most.Load() {
	}
	for old := l.least.Load(); (old == 0 || ns < old) && !l.least.CompareAndSwap(old, ns); old = l.least.Load() {
	}
}

// ms returns the three figures in milliseconds.
func (l *latency) ms() (least, mean, most float64) {
	const ms = float64(time.Millisecond)
	return float64(l.least.Load()) / ms, float64(l.sum.Load()) / float64(max(l.count.Load(), 1)) / ms,
		float64(l.most.Load()) / ms
}

// stats is what the four-letter words tell about the server.
type stats struct {
	received, sent atomic.Int64
	latency        latency
}
