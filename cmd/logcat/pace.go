package main

import (
	"context"
	"time"
)

// pace holds messages back so that no more than rate a second pass; 0 lets all pass. One second's worth is the most
// that may be made up for after a pause.
type pace struct {
	rate  int64
	began time.Time
	count int64
}

// wait blocks until the next message may pass, or the context ends.
func (p *pace) wait(ctx context.Context) error {
	if p.rate <= 0 {
		return nil
	}
	if p.began.IsZero() || time.Since(p.began) > time.Second+p.due() {
		p.began, p.count = time.Now(), 0
	}
	if early := p.due() - time.Since(p.began); early > 0 {
		timer := time.NewTimer(early)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	p.count++
	return nil
}

// due is when, after the beginning, the next message may pass.
func (p *pace) due() time.Duration {
	seconds, rest := p.count/p.rate, p.count%p.rate
	return time.Duration(seconds)*time.Second + time.Duration(rest)*time.Second/time.Duration(p.rate)
}
