package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"logkit/lib/cli"
)

// confirmations reads positions, TOPIC PARTITION NEXT-ID a line, from a FIFO that others write, one after the other or
// several at a time: the end of the last of them is not the end. It is the only reader as long as it is open: of two each
// would get parts of lines, and parts that fit together are a position that nobody has confirmed.
type confirmations struct {
	name string
	tell func(format string, args ...any)
	lock *os.File // locked by flock(2); it also keeps what is written while no other file is open

	mu   sync.Mutex
	file *os.File // that is being read
	done bool     // nobody wants to know any more
}

// openConfirmations refuses what is no FIFO, as what a file holds already is of another run, and a FIFO that another process
// has open in this way.
func openConfirmations(name string, tell func(format string, args ...any)) (*confirmations, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, cli.WithHint(fmt.Errorf("--confirm: %w", err), "mkfifo makes one")
	}
	if info.Mode()&os.ModeNamedPipe == 0 {
		return nil, cli.WithHint(fmt.Errorf("--confirm: %s: not a FIFO", name), "mkfifo makes one")
	}
	lock, err := openFIFO(name)
	if err != nil {
		return nil, fmt.Errorf("--confirm: %w", err)
	}
	if err := flock(lock); err != nil {
		lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, cli.WithHint(fmt.Errorf("--confirm: %s: another logtail reads it", name), "end that one and what it writes to, or use a FIFO for each")
		}
		return nil, fmt.Errorf("--confirm: %s: lock: %w", name, err)
	}
	return &confirmations{name: name, tell: tell, lock: lock}, nil
}

// openFIFO opens a FIFO for reading, and waits for nobody.
func openFIFO(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

func flock(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if e := conn.Control(func(fd uintptr) { err = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) }); e != nil {
		return e
	}
	return err
}

// confirmPatience is how long somebody who is to write is waited for without a word.
const confirmPatience = 2 * time.Second

// begin reads until close, and hands on each position. What comes in the way is told to fail, and is the end. When nobody
// comes to write, lonely is called, once.
func (c *confirmations) begin(confirm func(topic string, partition int32, next int64) error, fail func(error), lonely func()) {
	go func() {
		for {
			f, err := openFIFO(c.name) // anew: behind the end of its writers a file is at its end for ever
			if err == nil && c.keep(f) {
				err = c.read(f, lonely, confirm)
			}
			f.Close()
			lonely = func() {}
			c.mu.Lock()
			done := c.done
			c.mu.Unlock()
			switch {
			case done: // an error then is that of the file being closed
				return
			case err != nil:
				fail(err)
				return
			}
		}
	}()
}

// keep notes the file that is being read, unless nobody wants to know any more.
func (c *confirmations) keep(f *os.File) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.file = f
	return !c.done
}

// maxPosition is the longest line: a topic of 249 bytes, two numbers, and room.
const maxPosition = 512

// pipeBytes is what a pipe holds, see pipe(7). The kernel keeps a write of up to PIPE_BUF bytes in one page, and so many
// bytes are read in whole pages: who is killed has read no part of a line that the next reader would see the rest of.
const pipeBytes = 64 << 10

// read reads until all who write have gone. What one has left there without a newline may be cut short: it is no position.
func (c *confirmations) read(f *os.File, lonely func(), confirm func(string, int32, int64) error) error {
	got, err := await(f, lonely)
	var line []byte // what has come of it
	buf := make([]byte, pipeBytes)
	for err == nil {
		for {
			part, rest, whole := bytes.Cut(got, []byte("\n"))
			if line = append(line, part...); len(line) > maxPosition {
				return fmt.Errorf("%s: a line of more than %d bytes, allowed is TOPIC PARTITION NEXT-ID", c.name, maxPosition)
			}
			if !whole {
				break
			}
			if err := c.take(string(line), confirm); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			got, line = rest, line[:0]
		}
		var n int
		n, err = f.Read(buf)
		got = buf[:n]
	}
	if err != io.EOF {
		return err
	}
	if len(line) > 0 {
		c.tell("--confirm: %s: %.100q at the end of what was written has no newline: not committed", c.name, line)
	}
	return nil
}

func (c *confirmations) take(line string, confirm func(string, int32, int64) error) error {
	topic, partition, next, err := parsePosition(line)
	if err != nil {
		return err
	}
	if err := confirm(topic, partition, next); err != nil {
		return fmt.Errorf("%.300q: %w", line, err)
	}
	return nil
}

// await waits until there is something to read, or somebody who might have written has gone again. A FIFO without writers
// is at its end, which is not waited for otherwise. It may return what it has read.
func await(f *os.File, lonely func()) ([]byte, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	readable := func(fd uintptr) bool {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		return n > 0 || err != nil && err != unix.EINTR
	}
	f.SetReadDeadline(time.Now().Add(confirmPatience))
	err = conn.Read(readable)
	f.SetReadDeadline(time.Time{})
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, err
	}
	// Somebody may have opened it, and be silent.
	buf := make([]byte, pipeBytes)
	n := 0
	if e := conn.Control(func(fd uintptr) { n, err = unix.Read(int(fd), buf) }); e != nil {
		return nil, e
	}
	switch {
	case n > 0:
		return buf[:n], nil
	case err == nil:
		lonely()
	}
	return nil, conn.Read(readable)
}

// parsePosition reads TOPIC PARTITION NEXT-ID.
func parsePosition(line string) (topic string, partition int32, next int64, err error) {
	fields := strings.Fields(line)
	if len(fields) == 3 {
		p, bad := strconv.ParseInt(fields[1], 10, 32)
		n, worse := strconv.ParseInt(fields[2], 10, 64)
		if bad == nil && worse == nil && p >= 0 && n >= 0 {
			return fields[0], int32(p), n, nil
		}
	}
	return "", 0, 0, fmt.Errorf("%.100q, allowed is TOPIC PARTITION NEXT-ID", line)
}

// close ends the reading, and lets another one begin. It may be called twice.
func (c *confirmations) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	c.lock.Close()
	if c.file != nil {
		c.file.Close()
	}
}
