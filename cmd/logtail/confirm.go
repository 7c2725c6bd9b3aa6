package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"logkit/lib/cli"
)

// confirmations reads positions, TOPIC PARTITION NEXT-ID a line, from a FIFO that others write, one after the other or
// several at a time: the end of the last of them is not the end.
type confirmations struct {
	name string

	mu   sync.Mutex
	file *os.File // that is being read
	done bool     // nobody wants to know any more
}

// openConfirmations refuses what is no FIFO: what a file holds already is of another run.
func openConfirmations(name string) (*confirmations, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, cli.WithHint(fmt.Errorf("--confirm: %w", err), "mkfifo makes one")
	}
	if info.Mode().IsRegular() || info.IsDir() {
		return nil, cli.WithHint(fmt.Errorf("--confirm: %s: not a FIFO", name), "mkfifo makes one")
	}
	return &confirmations{name: name}, nil
}

// confirmPatience is how long somebody who is to write is waited for without a word.
const confirmPatience = 2 * time.Second

// begin reads until close, and hands on each position. What comes in the way is told to fail, and is the end. When nobody
// comes to write, lonely is called, once.
func (c *confirmations) begin(confirm func(topic string, partition int32, next int64) error, fail func(error), lonely func()) {
	go func() {
		alone := time.AfterFunc(confirmPatience, lonely)
		for {
			f, err := os.Open(c.name) // waits for somebody who writes
			alone.Stop()
			if err == nil && c.keep(f) {
				err = c.read(f, confirm)
			}
			f.Close()
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

func (c *confirmations) read(f *os.File, confirm func(string, int32, int64) error) error {
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, maxPosition), maxPosition)
	for lines.Scan() {
		topic, partition, next, err := parsePosition(lines.Text())
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := confirm(topic, partition, next); err != nil {
			return fmt.Errorf("%s: %.300q: %w", c.name, lines.Text(), err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%s: a line of more than %d bytes, allowed is TOPIC PARTITION NEXT-ID", c.name, maxPosition)
	}
	return lines.Err()
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

// close ends the reading, if somebody is there to read from.
func (c *confirmations) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	if c.file != nil {
		c.file.Close()
	}
}
