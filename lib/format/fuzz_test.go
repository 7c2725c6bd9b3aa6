package format

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/record"
)

// FuzzFormat: no panic; what is printed as JSON is one line, valid for encoding/json, and parses as the same message.
func FuzzFormat(f *testing.F) {
	f.Add("t", int32(0), int64(0), int64(0), []byte(nil), []byte(nil), "name", []byte(nil), byte(0))
	f.Add("clicks", int32(3), int64(42), int64(1_700_000_000_000), []byte("k\xff"), []byte("va\nlue"), "\xff", []byte("\u2028"), byte(15))
	f.Add("", int32(-1), int64(-1<<63), int64(1<<63-1), make([]byte, 20), bytes.Repeat([]byte{0xff}, 20), "<&>", []byte("\\\""), byte(7))
	f.Fuzz(func(t *testing.T, topic string, partition int32, offset, timestamp int64, key, value []byte, name string, header []byte, flags byte) {
		m := Message{Topic: topic, Partition: partition, Record: record.Record{Offset: offset, Timestamp: timestamp}}
		if flags&1 != 0 {
			m.Key = append([]byte{}, key...)
		}
		if flags&2 != 0 {
			m.Value = append([]byte{}, value...)
		}
		if flags&4 != 0 {
			m.Headers = append(m.Headers, record.Field{Name: name})
		}
		if flags&8 != 0 {
			m.Headers = append(m.Headers, record.Field{Name: string(key), Value: append([]byte{}, header...)})
		}
		line := JSON{}.Append(nil, &m)
		if !json.Valid(line) || !utf8.Valid(line) || bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("not a line of JSON: %q", line)
		}
		if !utf8.ValidString(topic) {
			return
		}
		var got Message
		if err := ParseJSON(line, &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(m, got, sameMessage); diff != "" {
			t.Fatalf("%s (-want +got): %s", line, diff)
		}
	})
}

// FuzzParseJSON: no panic; the line is only read; what is accepted encoding/json accepts too, with the same strings and
// numbers; printed and parsed again it is the same message.
func FuzzParseJSON(f *testing.F) {
	for _, m := range []*Message{full, nulls, empties} {
		line := AppendJSON(nil, m)
		f.Add(line)
		f.Add(line[:len(line)-1])
		flipped := bytes.Clone(line)
		flipped[len(line)/2] ^= 4
		f.Add(flipped)
	}
	f.Add([]byte(`{"value":"\u0041\ud834\udd1e\/","headers":[["a",null],[{"base64":"/w=="},{"base64":""}]]}`))
	f.Add(make([]byte, 10))
	f.Add([]byte(`{"offset":9223372036854775807,"timestamp":-9223372036854775808}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		var m Message
		err := ParseJSON(line, &m)
		if !bytes.Equal(before, line) {
			t.Fatal("the line was written to")
		}
		if err != nil {
			return
		}
		var other struct {
			Topic     string
			Partition int32
			Offset    int64
			Timestamp int64
			Key       *string
			Value     *string
			KeyBase64 []byte `json:"key_base64"`
			Headers   []any
		}
		if err := json.Unmarshal(line, &other); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", line, err)
		}
		key := other.KeyBase64
		if other.Key != nil {
			key = []byte(*other.Key)
		}
		if m.Topic != other.Topic || m.Partition != other.Partition || m.Offset != other.Offset || m.Timestamp != other.Timestamp ||
			!bytes.Equal(m.Key, key) || other.Value != nil && string(m.Value) != *other.Value || len(m.Headers) != len(other.Headers) {
			t.Fatalf("%q: %+v, encoding/json says %+v", line, m, other)
		}
		var again Message
		if err := ParseJSON(AppendJSON(nil, &m), &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, again, sameMessage); diff != "" {
			t.Fatalf("%q (-first +again): %s", line, diff)
		}
	})
}

// FuzzTemplate: no panic; what is accepted prints, and a template without a letter or an escape prints itself.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{"", "%t %p %o %k %K %s %S %h %T %R %%", `\n\t\r\0\\\x41`, "%", `\`, `\x4`, "%\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseTemplate(text)
		if err != nil {
			return
		}
		got := p.Append(nil, full)
		if !bytes.ContainsAny([]byte(text), `%\`) && string(got) != text {
			t.Errorf("%q prints %q", text, got)
		}
	})
}
