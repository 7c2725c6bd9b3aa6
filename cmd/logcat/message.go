package main

import (
	"bytes"
	"errors"
	"strings"

	"logkit/lib/format"
	"logkit/lib/record"
)

// shape says how a line becomes a record.
type shape struct {
	json         bool
	keyDelimiter []byte // splits key from value; nil: no line has a key of its own
	key          []byte // of all records; nil: none
	headers      []record.Field
	tombstones   bool // an empty value is null, if there is a key
	sources      bool // JSON has to tell where it was read
}

// record makes a record of a line, whose bytes it shares. at is the timestamp, in Unix milliseconds, that a line
// without one of its own gets. The source is set only if sources are asked for.
func (s *shape) record(line []byte, at int64) (record.Record, source, error) {
	rec := record.Record{Timestamp: at, Key: s.key, Value: line, Headers: s.headers}
	if s.json {
		return s.fromJSON(line, at)
	}
	if s.keyDelimiter != nil {
		if key, value, found := bytes.Cut(line, s.keyDelimiter); found {
			rec.Key, rec.Value = key, value
		}
	}
	if s.tombstones && len(rec.Value) == 0 && rec.Key != nil {
		rec.Value = nil
	}
	return rec, source{}, nil
}

func (s *shape) fromJSON(line []byte, at int64) (record.Record, source, error) {
	m := noSource
	m.Timestamp, m.Key = at, s.key
	err := format.ParseJSON(line, &m)
	m.Headers = append(m.Headers, s.headers...)
	var from source
	if err == nil && s.sources {
		from, err = sourceOf(&m)
	}
	m.Offset = 0 // it gets one of its own
	return m.Record, from, err
}

// parseHeader reads NAME=VALUE, or NAME for a null value.
func parseHeader(text string) ([]record.Field, error) {
	name, value, found := strings.Cut(text, "=")
	if name == "" {
		return nil, errors.New("not a header: allowed is NAME=VALUE, or NAME for a null value")
	}
	if !found {
		return []record.Field{{Name: name}}, nil
	}
	return []record.Field{{Name: name, Value: []byte(value)}}, nil
}

// formatHeader is what parseHeader reads back.
func formatHeader(h record.Field) string {
	if h.Value == nil {
		return h.Name
	}
	return h.Name + "=" + string(h.Value)
}
