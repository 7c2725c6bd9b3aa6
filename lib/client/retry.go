package client

import (
	"context"
	"time"
)

// Pauses between attempts: short at first, since a tool is often started together with its broker.
const (
	firstBackoff = 20 * time.Millisecond
	lastBackoff  = 500 * time.Millisecond
)

// backoff gives the pauses between attempts. The zero value is ready.
type backoff struct{ last time.Duration }

func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, firstBackoff), lastBackoff)
	return b.last
}

// retry runs try until it succeeds, fails for good, the context ends, or limit has passed. The last error is returned,
// as an *UnavailableError when it came from the way to the broker. A try that hangs is cut off at the limit.
func (c *Client) retry(ctx context.Context, limit time.Duration, try func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var pause backoff
	var last error
	for {
		err := try(limited)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if limited.Err() == nil || last == nil {
			last = err // what is cut off at the limit says less than what was met before
		}
		if !retriable(err) || c.opts.Once || !sleep(limited, pause.next()) {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if transport(last) {
		return c.unavailable(last)
	}
	return last
}

// sleep pauses for d and reports whether the context is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
