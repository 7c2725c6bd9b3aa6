package broker

import (
	"io"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// sendFile is the sendFunc of the operating system. The position is given with each call, so that readers of one
// descriptor do not disturb each other.
func sendFile(raw syscall.RawConn, in source, pos int64, n int) (sent int, err error) {
	fd, _ := in.Fd()
	waitErr := raw.Write(func(socket uintptr) bool {
		for {
			offset := pos
			sent, err = unix.Sendfile(int(socket), int(fd), &offset, n)
			if err != unix.EINTR {
				return err != unix.EAGAIN
			}
		}
	})
	runtime.KeepAlive(in)
	if waitErr != nil {
		return 0, waitErr
	}
	return max(sent, 0), err
}

// writeMore writes b whole and tells the kernel that more follows at once, so that it does not send a short packet.
func writeMore(raw syscall.RawConn, b []byte) error {
	var err error
	waitErr := raw.Write(func(socket uintptr) bool {
		for len(b) > 0 {
			var n int
			n, err = unix.SendmsgN(int(socket), b, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
			switch {
			case err == unix.EINTR:
			case err == unix.EAGAIN:
				return false
			case err != nil:
				return true
			case n == 0:
				err = io.ErrShortWrite
				return true
			default:
				b = b[n:]
			}
		}
		err = nil
		return true
	})
	if waitErr != nil {
		return waitErr
	}
	return err
}
