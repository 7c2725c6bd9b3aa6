package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// metadata reads partition.metadata: lines NAME: VALUE.
func (s *side) metadata(data string) error {
	line := int64(0)
	for text := range strings.Lines(data) {
		line++
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		name, value, ok := strings.Cut(text, ":")
		value = strings.TrimSpace(value)
		if !ok || name == "version" && value != "0" {
			s.bad(line, "version: 0 and topic_id: ID", short(text))
			continue
		}
		if err := s.emit(line, Field{name, value}); err != nil {
			return err
		}
	}
	return nil
}

// properties reads meta.properties: lines NAME=VALUE, by which a broker knows its data directory.
func (s *side) properties(data string) error {
	line := int64(0)
	values := map[string]string{}
	for text := range strings.Lines(data) {
		line++
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok || name == "":
			s.bad(line, "NAME=VALUE", short(text))
			continue
		case name == "version" && value != "0" && value != "1":
			s.bad(line, "version 0 or 1", short(value))
		}
		values[name] = value
		if err := s.emit(line, Field{name, value}); err != nil {
			return err
		}
	}
	// Kafka numbers its brokers here, logd does not: it tells a directory from others by its incarnation.
	ofKafka := values["broker.id"] != "" || values["node.id"] != ""
	if !ofKafka && (values["cluster.id"] == "" || values["incarnation"] == "") {
		s.bad(line, "cluster.id and incarnation, or the broker.id or node.id of Kafka", fmt.Sprintf("%d other names", len(values)))
	}
	return nil
}

// maxProducerID bounds what logd writes to producer-id-block.
const maxProducerID = 1 << 53

// producerID reads the lines of producer-id-block behind its version: the first id that has not been given out.
func (s *side) producerID(lines []string) error {
	if len(lines) != 1 {
		s.bad(2, "one line with a producer id", count(int64(len(lines)), "line"))
		return nil
	}
	id, err := strconv.ParseInt(lines[0], 10, 64)
	if err != nil || id <= 0 || id >= maxProducerID {
		s.bad(2, fmt.Sprintf("a producer id from 1 to %d", int64(maxProducerID-1)), short(lines[0]))
		return nil
	}
	return s.emit(2, Field{"next_producer_id", id})
}

// settings reads topic-settings.json: {"TOPIC": {"NAME": "VALUE"}}.
func (s *side) settings(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	line := func() int64 {
		return 1 + int64(bytes.Count(data[:min(d.InputOffset(), int64(len(data)))], []byte("\n")))
	}
	err := object(d, func(topic string) error {
		return object(d, func(name string) error {
			var value string
			if err := d.Decode(&value); err != nil {
				if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
					err = fmt.Errorf("%s where a string must be", kind.Value)
				}
				return err
			}
			if err := s.emit(line(), Field{"topic", topic}, Field{"name", name}, Field{"value", value}); err != nil {
				return &stopped{err}
			}
			return nil
		})
	})
	if stop := (*stopped)(nil); errors.As(err, &stop) {
		return stop.err
	}
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more behind it")
		}
	}
	if err != nil {
		s.bad(line(), `{"TOPIC": {"NAME": "VALUE"}}`, short(err.Error()))
	}
	return nil
}

// stopped is an error of who takes the entries, not of the file.
type stopped struct{ err error }

func (s *stopped) Error() string { return s.err.Error() }

// object reads a JSON object, calling member behind each name to read the value.
func object(d *json.Decoder, member func(name string) error) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		return fmt.Errorf("%v where an object must be", token)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if err := member(name.(string)); err != nil { // the decoder sees to it that it is one
			return err
		}
	}
	_, err = d.Token()
	return err
}

// quorum reads the quorum-state of KRaft: a JSON object.
func (s *side) quorum(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	var fields []Field
	err := object(d, func(name string) error {
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		fields = append(fields, Field{name, string(value)})
		return nil
	})
	if err != nil {
		s.bad(1, "a JSON object", short(err.Error()))
		return nil
	}
	return s.emit(1, fields...)
}
