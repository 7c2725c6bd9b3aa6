package main

import (
	"context"
	"time"
)

// patience of the end: INT and TERM are obeyed within two seconds, whoever does not read what is printed.
const (
	writePatience = 800 * time.Millisecond
	leavePatience = time.Second
)

// patiently runs f, which writes to standard output. After the end of the context it waits for f no longer than
// writePatience, and then leaves it alone: it writes to somebody who does not read, and only the end of the process ends it.
func patiently(ctx context.Context, f func() error) (stuck bool, err error) {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	select {
	case err = <-ended:
		return false, err
	case <-ctx.Done():
	}
	timer := time.NewTimer(writePatience)
	defer timer.Stop()
	select {
	case err = <-ended:
		return false, err
	case <-timer.C:
		return true, context.Cause(ctx)
	}
}
