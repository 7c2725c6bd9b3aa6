package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"logkit/lib/record"
)

// envelope is one line of logtail --json. Topic, partition and offset say where the message was, and are not looked at.
type envelope struct {
	Timestamp   *int64       `json:"timestamp"`
	Key         *string      `json:"key"`
	KeyBase64   *string      `json:"key_base64"`
	Value       *string      `json:"value"`
	ValueBase64 *string      `json:"value_base64"`
	Headers     []jsonHeader `json:"headers"`
}

// jsonHeader is [name, value], each a string, {"base64": "…"}, or, for the value, null.
type jsonHeader struct{ name, value jsonBytes }

func (h *jsonHeader) UnmarshalJSON(text []byte) error {
	var pair []jsonBytes
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	if len(pair) != 2 || pair[0] == nil {
		return errors.New("header is not [name, value]")
	}
	h.name, h.value = pair[0], pair[1]
	return nil
}

type jsonBytes []byte

func (b *jsonBytes) UnmarshalJSON(text []byte) error {
	*b = nil
	if bytes.HasPrefix(text, []byte("{")) {
		var wrapped struct {
			Base64 *string `json:"base64"`
		}
		if err := json.Unmarshal(text, &wrapped); err != nil {
			return err
		}
		if wrapped.Base64 == nil {
			return errors.New(`header is neither a string nor {"base64": "…"}`)
		}
		raw, err := base64.StdEncoding.DecodeString(*wrapped.Base64)
		*b = append(jsonBytes{}, raw...)
		return err
	}
	var s *string
	if err := json.Unmarshal(text, &s); err != nil || s == nil {
		return err
	}
	*b = append(jsonBytes{}, *s...)
	return nil
}

// fromJSON sets what the line says of the record; what it does not say stays as it is, but for key and value, which are
// null then. Text that is not UTF-8 is refused, since JSON has no way to carry it.
func fromJSON(line []byte, rec *record.Record) error {
	if !utf8.Valid(line) {
		return errors.New("not UTF-8")
	}
	var e envelope
	decoder := json.NewDecoder(bytes.NewReader(line))
	if err := decoder.Decode(&e); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("no JSON object")
		}
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text behind the JSON object")
	}
	if first := bytes.TrimLeft(line, " \t\r\n"); first[0] != '{' {
		return errors.New("not a JSON object")
	}
	key, err := eitherForm("key", e.Key, e.KeyBase64)
	if err != nil {
		return err
	}
	if rec.Value, err = eitherForm("value", e.Value, e.ValueBase64); err != nil {
		return err
	}
	if key != nil {
		rec.Key = key
	}
	if e.Timestamp != nil {
		rec.Timestamp = *e.Timestamp
	}
	for i, h := range e.Headers {
		if i == 0 {
			rec.Headers = rec.Headers[:len(rec.Headers):len(rec.Headers)]
		}
		rec.Headers = append(rec.Headers, record.Field{Name: string(h.name), Value: h.value})
	}
	return nil
}

// eitherForm returns the bytes given as text or as base64, nil if as neither.
func eitherForm(name string, text, encoded *string) ([]byte, error) {
	switch {
	case text != nil && encoded != nil:
		return nil, fmt.Errorf("both %s and %s_base64", name, name)
	case encoded != nil:
		raw, err := base64.StdEncoding.DecodeString(*encoded)
		if err != nil {
			return nil, fmt.Errorf("%s_base64: %w", name, err)
		}
		return append([]byte{}, raw...), nil
	case text != nil:
		return []byte(*text), nil
	}
	return nil, nil
}
