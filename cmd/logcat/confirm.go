package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"logkit/lib/format"
	"logkit/lib/record"
	"logkit/lib/registry"
)

// source is where a message of the input was read from.
type source struct {
	topic     string
	partition int32
	next      int64 // id behind the message
}

// noSource is what a message is parsed into whose source has to be told.
var noSource = format.Message{Partition: -1, Record: record.Record{Offset: -1}}

// sourceOf returns the source of a message that was parsed into noSource.
func sourceOf(m *format.Message) (source, error) {
	var missing []string
	for _, key := range []struct {
		name  string
		wrong bool
	}{{"topic", m.Topic == ""}, {"partition", m.Partition < 0}, {"offset", m.Offset < 0 || m.Offset+1 < 0}} {
		if key.wrong {
			missing = append(missing, key.name)
		}
	}
	if missing != nil {
		return source{}, fmt.Errorf("no %s that --confirm could tell, as logtail --json writes them", strings.Join(missing, ", no "))
	}
	if strings.ContainsFunc(m.Topic, func(r rune) bool { return r <= ' ' || r >= 0x7f }) || len(m.Topic) > registry.MaxTopicName {
		return source{}, fmt.Errorf("topic %.100q: not the name of a topic", m.Topic)
	}
	return source{m.Topic, m.Partition, m.Offset + 1}, nil
}

// maxUnwritten is how many bytes of positions may wait for whoever reads them.
const maxUnwritten = 1 << 20

// confirmer writes the sources of acknowledged messages to a file, TOPIC PARTITION NEXT-ID a line, in the order of the
// input. Behind a message that was refused it writes nothing more: whoever reads a position takes it that all before it
// is stored.
type confirmer struct {
	name   string
	failed chan struct{} // closed when the file can not be written, or opened

	waiting queue[source] // the ledger's; and refused is
	refused bool

	mu       sync.Mutex
	changed  sync.Cond
	text     []byte // to be written
	file     *os.File
	closing  bool
	unread   bool // nobody has opened it, and there was nothing to write
	err      error
	finished chan struct{} // closed when all is written, or no more will be
}

// newConfirmer opens the file: one that exists is appended to, else it is made. A FIFO is opened when somebody reads it,
// which nothing waits for but the end.
func newConfirmer(name string) (*confirmer, error) {
	c := &confirmer{name: name, failed: make(chan struct{}), finished: make(chan struct{})}
	c.changed.L = &c.mu
	if info, err := os.Stat(name); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		f, err := c.open()
		if err != nil {
			return nil, fmt.Errorf("--confirm: %w", err)
		}
		c.file = f
	}
	go func() {
		defer close(c.finished)
		c.write()
	}()
	return c, nil
}

func (c *confirmer) open() (*os.File, error) {
	return os.OpenFile(c.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
}

func (c *confirmer) hold(m *message) { c.waiting.push(m.from) }

func (c *confirmer) settled(acked bool) {
	from := c.waiting.pop()
	c.refused = c.refused || !acked
	if c.refused {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(append(c.text, from.topic...), ' ')
	c.text = append(strconv.AppendInt(c.text, int64(from.partition), 10), ' ')
	c.text = append(strconv.AppendInt(c.text, from.next, 10), '\n')
}

// flush lets the file be written. It waits while its reader is behind.
func (c *confirmer) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed.Broadcast()
	for len(c.text) > maxUnwritten && c.err == nil {
		c.changed.Wait()
	}
}

func (c *confirmer) full() bool { return c.waiting.len() > maxWaiting }

// write writes what there is until the end, or an error.
func (c *confirmer) write() {
	f, err := c.file, error(nil)
	if f == nil {
		f, err = c.open()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.note(plain(err))
		return
	}
	defer f.Close()
	c.file = f
	var spare []byte
	for {
		for len(c.text) == 0 && !c.closing && c.err == nil {
			c.changed.Wait()
		}
		if c.err != nil || len(c.text) == 0 {
			return
		}
		text := c.text
		c.text = spare[:0]
		c.mu.Unlock()
		err := writeWhole(f, text)
		c.mu.Lock()
		spare = text
		c.changed.Broadcast()
		if err != nil {
			c.note(plain(err))
			return
		}
	}
}

// pipeBuf is PIPE_BUF, in bytes: a write of up to so many is not mixed with those of others to the same FIFO, see pipe(7).
const pipeBuf = 4096

// writeWhole writes lines, which a topic's longest name keeps far below pipeBuf, in writes of whole lines that nothing of others comes
// into, and of which nothing is there when the process is killed, or all.
func writeWhole(f io.Writer, text []byte) error {
	for len(text) > 0 {
		n := len(text)
		if n > pipeBuf {
			n = bytes.LastIndexByte(text[:pipeBuf], '\n') + 1
		}
		if _, err := f.Write(text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// note keeps the first error. The mutex is held.
func (c *confirmer) note(err error) {
	if c.err != nil {
		return
	}
	if errors.Is(err, syscall.EPIPE) {
		err = errors.New("its reader has gone")
	}
	c.err = fmt.Errorf("%s: %w", c.name, err)
	close(c.failed)
	c.changed.Broadcast()
}

// abort gives up what is not written.
func (c *confirmer) abort(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(err)
	if c.file != nil {
		c.file.SetDeadline(time.Now())
	}
}

// close writes what is left, and returns what has gone wrong. A FIFO that nobody reads yet is waited for as long as the
// patience lasts, and not at all when there is nothing to write.
func (c *confirmer) close(ctx context.Context, patience time.Duration) error {
	c.mu.Lock()
	c.closing = true
	c.changed.Broadcast()
	nothing := len(c.text) == 0
	c.mu.Unlock()
	if nothing {
		patience = 0
	}
	late := time.AfterFunc(patience, func() { c.late(patience, nothing) })
	defer late.Stop()
	select {
	case <-c.finished:
	case <-c.failed:
	case <-ctx.Done():
		c.abort(context.Cause(ctx))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unread {
		return nil
	}
	return c.err
}

// late gives up a file that is not open yet.
func (c *confirmer) late(patience time.Duration, nothing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		c.unread = nothing
		c.note(fmt.Errorf("no reader within %v", patience))
	}
}
