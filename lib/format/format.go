package format

import (
	"fmt"

	"logkit/lib/record"
)

// Message is a record and where it is from.
type Message struct {
	Topic     string
	Partition int32
	record.Record
}

// Printer is one way to print messages.
type Printer interface {
	// Append appends the printed message to dst, allocating nothing but what dst needs to grow. It may be called from
	// several goroutines, and keeps nothing of m.
	Append(dst []byte, m *Message) []byte
}

// ParseError says what is wrong with text that was to be parsed, and where.
type ParseError struct {
	Pos  int // of the first byte that is wrong, counted from 1
	What string
}

func (e *ParseError) Error() string { return fmt.Sprintf("position %d: %s", e.Pos, e.What) }

// Raw prints bytes as they are.
type Raw struct {
	KeyDelimiter []byte // not nil: key and KeyDelimiter stand before the value, also for a null key
	Delimiter    []byte // after the value
}

// Append is Printer's.
func (p Raw) Append(dst []byte, m *Message) []byte {
	if p.KeyDelimiter != nil {
		dst = append(dst, m.Key...)
		dst = append(dst, p.KeyDelimiter...)
	}
	dst = append(dst, m.Value...)
	return append(dst, p.Delimiter...)
}
