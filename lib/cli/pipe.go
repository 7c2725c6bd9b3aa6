package cli

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// WatchStdout returns a context that is also cancelled, with the cause [ErrStdoutClosed], when whoever reads stdout has
// gone, even while nothing is written. It costs a goroutine asleep in poll(2) and a pipe to wake it, until ctx ends or the
// run does. When stdout is neither a pipe nor a socket nobody can go away, and only ctx ends the result.
func (e *Env) WatchStdout(ctx context.Context) context.Context {
	f := e.StdoutFile()
	if f == nil {
		return ctx
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return ctx
	}
	var wake [2]int
	if err := unix.Pipe(wake[:]); err != nil {
		return ctx // a closed stdout is then noticed at the next write
	}
	unix.CloseOnExec(wake[0])
	unix.CloseOnExec(wake[1])
	watched, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(e.ended, func() { cancel(context.Canceled) })
	context.AfterFunc(watched, func() { unix.Close(wake[1]) })
	e.watchers.Go(func() {
		defer unix.Close(wake[0])
		if pollHangup(descriptor(f), wake[0]) {
			e.stdoutGone.Store(true)
			cancel(ErrStdoutClosed)
		}
	})
	return watched
}

// pollHangup blocks until the other end of fd is closed (true) or that of wake is (false). No events are asked for: errors
// and hang-ups are always told.
func pollHangup(fd, wake int) bool {
	fds := []unix.PollFd{{Fd: int32(fd)}, {Fd: int32(wake)}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case err == unix.EINTR:
		case err != nil || fds[1].Revents != 0:
			return false
		case fds[0].Revents != 0:
			return true
		}
	}
}
