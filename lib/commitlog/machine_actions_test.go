package commitlog

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"logkit/lib/record"
)

func (m *machine) append(b written, flush bool) error {
	m.count++
	b.data = slices.Clone(b.data)
	base, err := m.log.Append(b.data, b.h, flush)
	if err != nil {
		m.refused = append(m.refused, b.at(m.end()))
		if !errors.Is(err, ErrStorage) {
			m.t.Errorf("append: %v, which is no storage error", err)
		}
		return err
	}
	if base != m.end() {
		m.t.Errorf("batch got base id %d, want %d", base, m.end())
	}
	m.written, m.refused = append(m.written, b.at(base)), nil
	if !flush {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return m.log.WaitVisible(ctx, b.at(base).h.LastOffset())
}

// at is the batch as it is with a base id.
func (b written) at(base int64) written {
	b.h.BaseOffset = base
	record.SetBaseOffset(b.data, base)
	return b
}

func (m *machine) flush() error {
	err := m.log.Flush()
	if err == nil {
		m.wantVisible(len(m.written))
	}
	return err
}

// wantVisible: the first n batches, at least, are visible.
func (m *machine) wantVisible(n int) {
	if high := m.log.Positions().HighWatermark; n > 0 && high <= m.written[n-1].h.LastOffset() {
		m.t.Errorf("high watermark %d, flushed up to %d", high, m.written[n-1].h.LastOffset())
	}
}

func (m *machine) checkpoint() error {
	point, err := m.log.Checkpoint()
	if err != nil {
		return err
	}
	return m.save("point", point)
}

// reopen ends the log in order and opens it.
func (m *machine) reopen() error {
	uncut := m.log.uncut // a full disk, or a lack of descriptors, has kept the recovery from cutting
	clean, err := m.log.Close()
	m.env.Files.Close()
	if err == nil && (clean == nil) != uncut {
		m.t.Errorf("closed without an error, clean %+v, uncut %v", clean, uncut)
	}
	high := m.log.Positions().HighWatermark
	if clean != nil {
		m.high = m.last()
		if high != m.high {
			m.t.Errorf("closed at the high watermark %d, appended up to %d", high, m.high)
		}
		err = m.save("point", high)
		if err == nil {
			err = m.save("clean", clean.Base, clean.Size, clean.High, clean.End)
		}
	}
	if err != nil {
		return err
	}
	m.restart()
	return nil
}

func (m *machine) deleteBefore(id int64) error {
	start, err := m.log.DeleteBefore(id)
	if id > m.high {
		var out *OutOfRangeError
		if !errors.As(err, &out) || out.ID != id || out.End != m.high {
			m.t.Errorf("delete before %d, above the high watermark %d: %v", id, m.high, err)
		}
		return nil
	}
	if err == nil && start != max(id, m.start) {
		m.t.Errorf("start %d after deleting before %d, it was %d", start, id, m.start)
	}
	m.start = m.log.Positions().Start
	return err
}

func (m *machine) retain(r Retention) error {
	_, _, err := m.log.Retain(r, time.Now().Add(time.Hour))
	start := m.log.Positions().Start
	if start != m.start && !slices.ContainsFunc(m.written, func(b written) bool { return b.h.LastOffset()+1 == start }) {
		m.t.Errorf("start %d after retention, where no batch ends", start)
	}
	if start < m.start {
		m.t.Errorf("start went back from %d to %d", m.start, start)
	}
	if err == nil && r.Age > 0 && m.high == m.last() && start != m.high {
		m.t.Errorf("start %d after everything has expired, high watermark %d", start, m.high)
	}
	m.start = start
	return err
}

// last is the id of the last batch written + 1; end is the base of the next.
func (m *machine) last() int64 {
	if n := len(m.written); n > 0 {
		return m.written[n-1].h.LastOffset() + 1
	}
	return 0
}

func (m *machine) end() int64 {
	if n := len(m.written); n > 0 {
		return m.written[n-1].h.NextBase()
	}
	return 0
}

// from is the number of the first batch whose last id is not below id.
func (m *machine) from(id int64) int {
	i := slices.IndexFunc(m.written, func(b written) bool { return b.h.LastOffset() >= id })
	if i < 0 {
		return len(m.written)
	}
	return i
}

// readBatches reads once, at id.
func (m *machine) readBatches(id, maxBytes int64) (batches [][]byte, err error) {
	s, err := m.log.Read(id, maxBytes)
	if err != nil {
		return nil, err
	}
	defer s.Release()
	if s.Handle == nil {
		return nil, nil
	}
	data := make([]byte, s.Len)
	if _, err := s.Handle.ReadAt(data, s.Pos); err != nil && err != io.EOF {
		return nil, err
	}
	for len(data) > 0 {
		h, err := record.ParseHeader(data)
		if err != nil || h.Size() > int64(len(data)) {
			m.t.Fatalf("read at %d ends with %d bytes that are no batch: %v", id, len(data), err)
		}
		batches, data = append(batches, data[:h.Size()]), data[h.Size():]
	}
	return batches, nil
}

// readOn reads from the start to the high watermark and compares; it returns how many batches of the model it has passed.
func (m *machine) readOn(maxBytes int64) (n int, err error) {
	n = m.from(m.start)
	for id := m.start; ; {
		batches, err := m.readBatches(id, maxBytes)
		if err != nil || len(batches) == 0 {
			return n, err
		}
		for _, data := range batches {
			if n == len(m.written) {
				m.adopt(data)
			}
			if !bytes.Equal(data, m.written[n].data) {
				m.t.Fatalf("read at %d: batch %d is not as it was written", id, m.written[n].h.BaseOffset)
			}
			n++
		}
		id = m.written[n-1].h.LastOffset() + 1
	}
}

// adopt takes a batch into the model that was refused and is there nevertheless.
func (m *machine) adopt(data []byte) {
	i := slices.IndexFunc(m.refused, func(b written) bool { return bytes.Equal(b.data, data) })
	if i < 0 {
		h, _ := record.ParseHeader(data)
		m.t.Fatalf("batch of id %d, and the last written is %d", h.BaseOffset, m.last()-1)
	}
	m.written, m.refused = append(m.written, m.refused[i]), nil
}

// compare cuts the model to what a start has found, which must have everything that was visible.
func (m *machine) compare() {
	m.t.Helper()
	if m.unsaved {
		m.compareUnsaved()
		return
	}
	p := m.log.Positions()
	if !slices.Contains(m.saved, p.Start) {
		m.t.Errorf("start %d, remembered was one of %d", p.Start, m.saved)
	}
	m.start = p.Start
	n, err := m.readOn(1000)
	if err != nil {
		m.after(err)
		return
	}
	if visible := m.from(m.high); n < visible {
		m.t.Fatalf("%d batches are there, %d were visible", n, visible)
	}
	m.written, m.refused = m.written[:n], nil
	m.high = m.last()
	m.check()
}

// compareUnsaved is compare when retention has made room on a full disk before it could remember where the log starts. No
// record is missing that was to stay, and no id is given again. The start need not be known any more, and with it the
// model ends; another log begins.
func (m *machine) compareUnsaved() {
	m.t.Helper()
	p := m.log.Positions()
	start := slices.Max(m.saved) // an attempt that failed may have come as far as the file, too
	var got []written
	for id := p.Start; ; {
		batches, err := m.readBatches(id, 1000)
		if err != nil {
			m.after(err)
			return
		}
		if len(batches) == 0 {
			break
		}
		for _, data := range batches {
			h, err := record.ParseHeader(data)
			m.must(err)
			got, id = append(got, written{h: h, data: data}), h.LastOffset()+1
		}
	}
	for _, b := range m.written[m.from(start):m.from(m.high)] {
		if !slices.ContainsFunc(got, func(g written) bool { return bytes.Equal(g.data, b.data) }) {
			m.t.Errorf("batch of id %d is gone, the log was to start at %d", b.h.BaseOffset, start)
		}
	}
	if p.End < m.high || p.Start > m.high && p.Start > p.End {
		m.t.Errorf("positions %+v, high watermark was %d", p, m.high)
	}
	m.close()
	m.begin()
}

// check holds the log against the model.
func (m *machine) check() {
	m.t.Helper()
	p := m.log.Positions()
	if p.Start != m.start {
		m.t.Errorf("start %d, want %d", p.Start, m.start)
	}
	if p.End != m.end() {
		m.t.Errorf("end %d, want %d", p.End, m.end())
	}
	visible := m.from(p.HighWatermark)
	if p.HighWatermark < m.high || p.HighWatermark != m.high && p.HighWatermark != m.written[visible-1].h.LastOffset()+1 {
		m.t.Errorf("high watermark %d, it was %d", p.HighWatermark, m.high)
	}
	m.high = p.HighWatermark
	n, err := m.readOn(500)
	if err != nil {
		m.after(err)
	} else if n != max(visible, m.from(m.start)) {
		m.t.Errorf("%d batches are read, %d are visible", n, visible)
	}
}

// read reads at any id and says what must come of it.
func (m *machine) read(id, maxBytes int64) error {
	batches, err := m.readBatches(id, maxBytes)
	var out *OutOfRangeError
	switch outside := id < m.start || id > m.end(); {
	case outside != errors.As(err, &out):
		m.t.Errorf("read at %d, in [%d, %d]: %v", id, m.start, m.end(), err)
		return nil
	case outside:
		if out.ID != id || out.Start != m.start || out.End != m.high {
			m.t.Errorf("read at %d: %v; want [%d, %d]", id, err, m.start, m.high)
		}
		return nil
	case err != nil:
		return err
	}
	if (id < m.high) != (len(batches) > 0) {
		m.t.Errorf("read at %d: %d batches, the high watermark is %d", id, len(batches), m.high)
	}
	size, i := 0, m.from(id)
	for _, data := range batches {
		if size += len(data); !bytes.Equal(data, m.written[i].data) {
			m.t.Fatalf("read at %d: not batch %d", id, m.written[i].h.BaseOffset)
		}
		i++
	}
	if len(batches) > 1 && int64(size) > maxBytes {
		m.t.Errorf("read at %d: %d bytes in %d batches, at most %d allowed", id, size, len(batches), maxBytes)
	}
	if len(batches) > 0 && i > m.from(m.high) {
		m.t.Errorf("read at %d went past the high watermark %d", id, m.high)
	}
	return nil
}

// findTime looks for a timestamp and compares with a look at every record.
func (m *machine) findTime(timestamp int64) error {
	got, ok, err := m.log.LookupTime(timestamp)
	if err != nil {
		return err
	}
	for _, b := range m.written[:m.from(m.high)] {
		for i, r := range b.records {
			id := b.h.BaseOffset + int64(i)
			if id < m.start || r.Timestamp < timestamp {
				continue
			}
			if want := (Stamp{id, r.Timestamp}); !ok || got != want {
				m.t.Errorf("time %d: %v, %v; want %v", timestamp, got, ok, want)
			}
			return nil
		}
	}
	if ok {
		m.t.Errorf("time %d: %v, want none", timestamp, got)
	}
	return nil
}
