package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"

	"logkit/lib/format"
	"logkit/lib/inspect"
	"logkit/lib/record"
)

// reader reads the records of the batches that a mode is given.
type reader struct {
	records inspect.Records
	record  record.Record
}

// each calls do for each record of b that the user has asked for. A batch that can not be decoded is a verdict.
func (s *session) each(r *reader, f *inspect.File, b *inspect.Batch, do func(*record.Record) error) error {
	switch b.Verdict {
	case inspect.Malformed, inspect.Bomb, inspect.CodecMismatch:
		return nil // that has been said
	}
	r.records.MaxDecompressed = int64(s.o.maxDecompressed)
	err := r.records.Reset(b)
	if err == nil {
		for r.records.Next(&r.record) {
			if !s.o.ids.has(r.record.Offset) || !s.o.times.has(r.record.Timestamp) {
				continue
			}
			if err := do(&r.record); err != nil {
				return err
			}
		}
		err = r.records.Err()
	}
	if err != nil {
		return s.verdict(f, inspect.Undecodable(f, b, err))
	}
	return nil
}

// records prints a line for each record.
type records struct {
	plain
	s    *session
	r    reader
	list list // for headings
	line []byte
}

func (m *records) sifted() bool { return true }

const recordColumns = "id position time key value headers"

func (m *records) begin(*inspect.File) error {
	m.list.s = m.s
	return nil
}

func (m *records) batch(f *inspect.File, b *inspect.Batch) error {
	return m.s.each(&m.r, f, b, func(r *record.Record) error {
		control := b.Format == inspect.Format2 && b.Attributes.Control()
		if m.s.o.json {
			if control {
				return nil // a marker is no message, and logcat would make one of it
			}
			m.line = appendRecordJSON(m.line[:0], f, b, r)
			if m.s.o.hex {
				m.line = appendHexJSON(m.line, r)
			}
		} else {
			m.list.heading(f, recordColumns)
			m.line = m.text(m.line[:0], b, r, control)
		}
		_, err := m.s.out.Write(append(m.line, '\n'))
		return err
	})
}

func appendRecordJSON(dst []byte, f *inspect.File, b *inspect.Batch, r *record.Record) []byte {
	dst = format.AppendJSON(dst, &format.Message{Topic: f.Topic, Partition: f.Partition, Record: *r})
	return fmt.Appendf(dst[:len(dst)-1], `,"position":%d}`, b.Position)
}

// appendHexJSON adds key and value in hexadecimal to an object.
func appendHexJSON(object []byte, r *record.Record) []byte {
	object = object[:len(object)-1]
	for _, field := range []struct {
		name  string
		bytes []byte
	}{{"key_hex", r.Key}, {"value_hex", r.Value}} {
		if field.bytes == nil {
			object = fmt.Appendf(object, `,"%s":null`, field.name)
		} else {
			object = fmt.Appendf(object, `,"%s":"%x"`, field.name, field.bytes)
		}
	}
	return append(object, '}')
}

func (m *records) text(dst []byte, b *inspect.Batch, r *record.Record, control bool) []byte {
	show := quoted
	if m.s.o.hex {
		show = hexadecimal
	}
	dst = fmt.Appendf(dst, "%d %d %s ", r.Offset, b.Position, showTime(r.Timestamp))
	dst = append(show(dst, r.Key), ' ')
	dst = show(dst, r.Value)
	for i, field := range r.Headers {
		dst = append(dst, " ,"[min(i, 1)])
		dst = show(dst, []byte(field.Name))
		dst = show(append(dst, '='), field.Value)
	}
	if control {
		dst = append(append(dst, ' '), controlName(r.Key)...)
	}
	return dst
}

// quoted makes bytes fit to be shown: null, empty and the text "null" look different.
func quoted(dst, b []byte) []byte {
	if b == nil {
		return append(dst, "null"...)
	}
	return strconv.AppendQuote(dst, string(b))
}

func hexadecimal(dst, b []byte) []byte {
	switch {
	case b == nil:
		return append(dst, "null"...)
	case len(b) == 0:
		return append(dst, `""`...)
	}
	return hex.AppendEncode(dst, b)
}

var controlNames = []string{"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS"}

// controlName names a marker by its key: version int16, type int16.
func controlName(key []byte) string {
	if len(key) < 4 {
		return "CONTROL"
	}
	if n := int(binary.BigEndian.Uint16(key[2:])); n < len(controlNames) {
		return controlNames[n]
	}
	return fmt.Sprintf("CONTROL(%d)", binary.BigEndian.Uint16(key[2:]))
}

func (m *records) verdict(_ *inspect.File, v *inspect.Verdict) error {
	m.s.tell(v)
	return nil
}

// values prints what logtail would print of the records.
type values struct {
	plain
	s       *session
	r       reader
	printer format.Printer
	message format.Message
	buf     []byte
}

func newValues(s *session) *values {
	return &values{s: s, printer: s.o.printer(s.env.StdoutTerminal())}
}

// printer is how the options print a message.
func (o *options) printer(terminal bool) format.Printer {
	return format.Choice{
		JSON: o.json, Template: o.format.Template, Null: o.null, Delimiter: string(o.delimiter.Escaped),
		KeyDelimiter: string(o.keyDelimiter), Terminal: terminal,
	}.Printer()
}

func (m *values) sifted() bool { return true }

func (m *values) batch(f *inspect.File, b *inspect.Batch) error {
	if b.Format == inspect.Format2 && b.Attributes.Control() {
		return nil
	}
	m.message.Topic, m.message.Partition = f.Topic, f.Partition
	return m.s.each(&m.r, f, b, func(r *record.Record) error {
		m.message.Record = *r
		m.buf = m.printer.Append(m.buf[:0], &m.message)
		_, err := m.s.out.Write(m.buf)
		return err
	})
}

func (m *values) verdict(_ *inspect.File, v *inspect.Verdict) error {
	m.s.tell(v)
	return nil
}
