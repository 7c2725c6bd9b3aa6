package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"logkit/lib/cli"
	"logkit/lib/vfs"
)

// mark is where a message ends, for the resume file.
type mark struct {
	input int    // which of the files
	end   int64  // behind its delimiter
	last  int64  // how many of its bytes the CRC covers
	crc   uint32 // of the message in a regular file, of all messages in a stream
}

// saveInterval is how often the resume file is written: what is acknowledged after the last time is sent again when
// logcat is killed.
const saveInterval = time.Second

// progress keeps a resume file.
type progress struct {
	name  string
	lock  io.Closer
	began []place // where this run began
	whole bool

	waiting queue[held] // the ledger's

	mu    sync.Mutex
	file  resume
	dirty bool
}

type held struct {
	mark       mark
	size       int64
	unfinished bool
}

// openProgress reads the resume file, compares it with the files that are there, and writes it, which shows before
// anything is sent that it can be written. A rehearsal only reads it.
func openProgress(name, topic string, files []string, delimiter []byte, rehearsal bool) (*progress, error) {
	name, err := cli.StateFile(name)
	if err != nil {
		return nil, fmt.Errorf("--progress: %w", err)
	}
	p := &progress{name: name, whole: delimiter == nil}
	if !rehearsal {
		lock, err := vfs.OS.Lock(name + ".lock")
		if errors.Is(err, vfs.ErrLocked) {
			return nil, fmt.Errorf("%s: another logcat is at it", name)
		}
		if err != nil {
			return nil, fmt.Errorf("--progress: %w", err)
		}
		p.lock = lock
	}
	r, err := readResume(name)
	if err == nil {
		err = p.begin(r, topic, files, delimiter)
	}
	if err == nil && !rehearsal {
		err = p.save()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *progress) begin(r *resume, topic string, files []string, delimiter []byte) error {
	escaped := cli.Escaped(delimiter)
	cut := escaped.String()
	switch {
	case r.Inputs == nil:
	case r.Topic != topic:
		return beginAnew(fmt.Errorf("%s: belongs to topic %q", p.name, r.Topic), p.name)
	case r.Delimiter != cut:
		return beginAnew(fmt.Errorf("%s: the input was cut at %q, and is to be cut at %q", p.name, r.Delimiter, cut), p.name)
	}
	places, err := r.match(p.name, files, delimiter)
	if err != nil {
		return err
	}
	p.began = append([]place(nil), places...)
	p.file = resume{Topic: topic, Delimiter: cut, Inputs: places}
	p.dirty = true
	return nil
}

func (p *progress) hold(m *message) {
	p.waiting.push(held{m.mark, m.size, m.last && !p.whole})
}

func (p *progress) settled(bool) { // a refused message was reported, and would be refused again
	m := p.waiting.pop()
	p.mu.Lock()
	defer p.mu.Unlock()
	at := &p.file.Inputs[m.mark.input]
	if m.unfinished {
		at.Unfinished = m.size
	} else {
		at.Position, at.Messages, at.Unfinished, at.Last, at.CRC = m.mark.end, at.Messages+1, 0, m.mark.last, m.mark.crc
	}
	at.Size = max(at.Size, m.mark.end)
	p.dirty = true
}

func (p *progress) flush() {}

func (p *progress) full() bool { return p.waiting.len() > maxWaiting }

// save writes the file, if something has changed since it was written.
func (p *progress) save() error {
	p.mu.Lock()
	if !p.dirty {
		p.mu.Unlock()
		return nil
	}
	p.dirty = false
	text, err := p.file.format()
	p.mu.Unlock()
	if err == nil {
		err = vfs.WriteFileAtomic(vfs.OS, p.name, text)
	}
	if err != nil {
		p.mu.Lock()
		p.dirty = true
		p.mu.Unlock()
		return fmt.Errorf("--progress: %w", err)
	}
	return nil
}

// keep saves from time to time, until the context ends, and tells the first failure.
func (p *progress) keep(ctx context.Context, failed func(error)) {
	ticker := time.NewTicker(saveInterval)
	defer ticker.Stop()
	for told := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := p.save(); err != nil && !told {
				told = true
				failed(err)
			}
		}
	}
}

func (p *progress) close() {
	if p.lock != nil {
		p.lock.Close()
	}
}

// skipper passes over the messages of a stream that were sent before, and compares them.
type skipper struct {
	from   place  // where the stream is to go on
	passed int64  // messages
	bytes  int64  // of the stream so far
	crc    uint32 // of the messages so far
}

// next takes the next message of the stream, and reports whether it was sent before.
func (s *skipper) next(m *message) (sent bool, err error) {
	s.bytes = m.mark.end
	s.crc = addMessage(s.crc, m)
	m.mark.crc = s.crc
	if s.passed < s.from.Messages {
		s.passed++
		if s.passed < s.from.Messages {
			return true, nil
		}
		if s.bytes != s.from.Position || s.crc != s.from.CRC {
			return true, s.differs(fmt.Errorf("it does not begin with what was sent, %s", cli.Counted(s.passed, "message")))
		}
		return true, nil
	}
	return sentUnfinished(m, &s.from), nil
}

// end is called when the stream has ended.
func (s *skipper) end() error {
	if s.passed < s.from.Messages {
		return s.differs(fmt.Errorf("it ends after %s, and %d were sent", cli.Counted(s.passed, "message"), s.from.Messages))
	}
	return nil
}

func (s *skipper) differs(err error) error {
	return fmt.Errorf("%s: %w", shownName(s.from.Name), err)
}

// sentUnfinished reports whether a message is the last one of its file, without a delimiter, as it was sent before.
func sentUnfinished(m *message, from *place) bool {
	return m.last && from.Unfinished > 0 && m.size == from.Unfinished && m.mark.end == from.Position+from.Unfinished
}

// addMessage returns the CRC of some messages and one more, of which a long one counts with its length.
func addMessage(crc uint32, m *message) uint32 {
	if m.bytes == nil {
		return crc32.Update(crc, castagnoli, binary.BigEndian.AppendUint64(nil, uint64(m.size)))
	}
	return crc32.Update(crc, castagnoli, m.bytes)
}
