package main

import (
	"context"
	"errors"
	"fmt"
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
	crc   uint32 // of all bytes of the file up to there
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
// anything is sent that it can be written. A rehearsal only reads it. Reading ends with the cause of ctx.
func openProgress(ctx context.Context, name, topic string, files []string, delimiter []byte, rehearsal bool) (*progress, error) {
	name, err := cli.StateFile(name)
	if err != nil {
		return nil, fmt.Errorf("--progress: %w", err)
	}
	if _, err := readResume(name); err != nil { // no lock is left beside a file of somebody else
		return nil, err
	}
	began := time.Now().UnixNano()
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
	r, err := readResume(name) // again: another logcat may just have written it
	if err == nil {
		err = p.begin(ctx, r, topic, files, delimiter)
	}
	p.file.Began = began
	if err == nil && !rehearsal {
		err = p.save()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *progress) begin(ctx context.Context, r *resume, topic string, files []string, delimiter []byte) error {
	escaped := cli.Escaped(delimiter)
	ends := escaped.String()
	switch {
	case r.Inputs == nil:
	case r.Topic != topic:
		return beginAnew(fmt.Errorf("%s: belongs to topic %q", p.name, r.Topic), p.name)
	case r.Delimiter != ends:
		return beginAnew(fmt.Errorf("%s: belongs to messages that %s, not to ones that %s", p.name, endOf(r.Delimiter), endOf(ends)), p.name)
	}
	places, err := r.match(ctx, p.name, files, delimiter)
	if err != nil {
		return err
	}
	p.began = append([]place(nil), places...)
	p.file = resume{Topic: topic, Delimiter: ends, Inputs: places}
	p.dirty = true
	return nil
}

// endOf says how messages end; the delimiter has escapes.
func endOf(delimiter string) string {
	if delimiter == "" {
		return "are whole files"
	}
	return fmt.Sprintf(`end with "%s"`, delimiter)
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
		at.Unfinished, at.UnfinishedCRC = m.size, m.mark.crc
	} else {
		at.Position, at.Messages, at.Unfinished, at.UnfinishedCRC = m.mark.end, at.Messages+1, 0, 0
		at.CRC = m.mark.crc
		if !at.stream() {
			at.Sums = addSum(at.Sums, sum{at.Position, at.CRC}, sumStep)
		}
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
	from     place    // where the stream is to go on
	sum      *running // of the stream, which watches where what was sent ends
	passed   int64    // messages
	compared bool     // what was sent behind the last whole message, too
}

// next takes the next message of the stream, and reports whether it was sent before.
func (s *skipper) next(m *message) (sent bool, err error) {
	if s.passed < s.from.Messages {
		s.passed++
		if s.passed == s.from.Messages && (m.mark.end != s.from.Position || m.mark.crc != s.from.CRC) {
			return true, s.differs(fmt.Errorf("it does not begin with what was sent, %s", cli.Counted(s.passed, "message")))
		}
		return true, nil
	}
	if s.from.Unfinished > 0 && !s.compared {
		s.compared = true
		if m.mark.end < s.sum.watch || s.sum.saw != s.from.UnfinishedCRC {
			return true, s.differs(fmt.Errorf("it does not go on behind %s with what was sent, %s",
				cli.Counted(s.passed, "message"), cli.Counted(s.from.Unfinished, "byte")))
		}
	}
	return sentUnfinished(m, &s.from), nil
}

// end is called when the stream has ended.
func (s *skipper) end() error {
	if s.passed < s.from.Messages {
		return s.differs(fmt.Errorf("it ends after %s, and %d were sent", cli.Counted(s.passed, "message"), s.from.Messages))
	}
	if s.from.Unfinished > 0 && !s.compared {
		return s.differs(fmt.Errorf("it ends after %s, and %s more were sent", cli.Counted(s.passed, "message"), cli.Counted(s.from.Unfinished, "byte")))
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
