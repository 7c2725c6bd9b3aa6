package cli

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The standard streams may be shared with a process that makes them non-blocking while they are in use, as ssh and Node do
// with a terminal, or with a pipe that they pass on. Reads and writes here wait all the same.

// writeAll is w.Write, and waits where a file would have it come back later.
func writeAll(w io.Writer, b []byte) (written int, err error) {
	for {
		n, err := w.Write(b[written:])
		written += n
		if !errors.Is(err, syscall.EAGAIN) || !await(w, unix.POLLOUT) {
			return written, err
		}
	}
}

// stdin waits for input where the file would have it asked for later.
type stdin struct{ io.Reader }

func (s stdin) Read(b []byte) (int, error) {
	for {
		n, err := s.Reader.Read(b)
		if n > 0 || !errors.Is(err, syscall.EAGAIN) || !await(s.Reader, unix.POLLIN) {
			return n, err
		}
	}
}

// await blocks until a file is ready, or has ended. It returns false for what is no file, and for one that can not be waited
// for.
func await(file any, events int16) bool {
	f, ok := file.(*os.File)
	if !ok {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(descriptor(f)), Events: events}}
	for {
		_, err := unix.Poll(fds, -1)
		if err != unix.EINTR {
			return err == nil && fds[0].Revents&unix.POLLNVAL == 0
		}
	}
}
