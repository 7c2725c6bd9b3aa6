package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"logkit/lib/record"
)

func TestJSON(t *testing.T) {
	value := func(v string) *Message { return message("t", 0, record.Record{Value: []byte(v)}) }
	printed := func(v string) string {
		return `{"topic":"t","partition":0,"offset":0,"timestamp":0,"key":null,` + v + `,"headers":[]}`
	}
	tests := []struct {
		name string
		m    *Message
		want string
	}{
		{"all", full, `{"topic":"clicks","partition":3,"offset":42,"timestamp":1700000000000,"key_base64":"a/8=","value":"va\nlue",` +
			`"headers":[["a","1"],["a",null],["",""]]}`},
		{"nulls", nulls, `{"topic":"t","partition":0,"offset":9223372036854775807,"timestamp":-1,"key":null,"value":null,"headers":[]}`},
		{"empty", empties, `{"topic":"t","partition":0,"offset":0,"timestamp":0,"key":"","value":"","headers":[]}`},
		{"markup is not escaped", value("<a href='x'>&</a>"), printed(`"value":"<a href='x'>&</a>"`)},
		{"quotes and controls", value("\"\\/\b\f\n\r\t\x00\x1f\x7f"), printed(`"value":"\"\\/\b\f\n\r\t\u0000\u001f\u007f"`)},
		{"ends of lines", value("a\u2028b\u2029c\u0085d"), printed(`"value":"a\u2028b\u2029c\u0085d"`)},
		{"controls of 8 bits", value("\u0080\u009b31m\u009f\u00a0abcdefg\x7fh"), printed(`"value":"\u0080\u009b31m\u009f` + "\u00a0" + `abcdefg\u007fh"`)},
		{"beyond the BMP", value("é 𝄞 \uFFFD \uFFFF \u200b"), printed("\"value\":\"é 𝄞 \uFFFD \uFFFF \u200b\"")},
		{"not UTF-8", value("\xff"), printed(`"value_base64":"/w=="`)},
		{"cut in a character", value("long enough to be looked at in eights \xe2\x82"),
			printed(`"value_base64":"bG9uZyBlbm91Z2ggdG8gYmUgbG9va2VkIGF0IGluIGVpZ2h0cyDigg=="`)},
		{"surrogate in UTF-8", value("\xed\xa0\x80"), printed(`"value_base64":"7aCA"`)},
		{"headers not UTF-8", message("t", 0, record.Record{Headers: []record.Field{{Name: "\xff", Value: []byte("\xfe")}, {Name: "n", Value: []byte("\xff")}}}),
			`{"topic":"t","partition":0,"offset":0,"timestamp":0,"key":null,"value":null,"headers":[[{"base64":"/w=="},{"base64":"/g=="}],["n",{"base64":"/w=="}]]}`},
		{"topic not UTF-8", message("a\xffb\"", -1, record.Record{Offset: -1}),
			`{"topic":"a` + "\uFFFD" + `b\"","partition":-1,"offset":-1,"timestamp":0,"key":null,"value":null,"headers":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := string(JSON{}.Append([]byte("x"), tt.m))
			if got != "x"+tt.want+"\n" {
				t.Errorf("got  %s\nwant x%s", got, tt.want)
			}
			if !json.Valid([]byte(tt.want)) {
				t.Error("encoding/json takes it for invalid")
			}
		})
	}
}

// Each character by itself, and in the middle of eight that are plain, is printed as encoding/json prints it, but DEL
// and the control characters behind it are escaped.
func TestTextAsEncodingJSON(t *testing.T) {
	for r := range rune(0x30000) {
		if !utf8.ValidRune(r) {
			continue
		}
		for _, text := range []string{string(r), "12345" + string(r) + "67890123"} {
			var want bytes.Buffer
			e := json.NewEncoder(&want)
			e.SetEscapeHTML(false)
			if err := e.Encode(text); err != nil {
				t.Fatal(err)
			}
			line := want.String()
			if r >= 0x7f && r < 0xa0 {
				line = strings.Replace(line, string(r), fmt.Sprintf(`\u%04x`, r), 1)
			}
			got, ok := appendText([]byte{'"'}, text, true)
			if got = append(got, '"', '\n'); !ok || string(got) != line {
				t.Fatalf("%q: %s, want %s", text, got, line)
			}
		}
	}
}

func TestParseJSON(t *testing.T) {
	preset := func() Message {
		return Message{Topic: "preset", Partition: 7, Record: record.Record{
			Offset: 8, Timestamp: 9, Key: []byte("key"), Value: []byte("value"), Headers: []record.Field{{Name: "n"}},
		}}
	}
	tests := []struct {
		name, line string
		change     func(m *Message) // from preset
	}{
		{"nothing said", `{}`, func(*Message) {}},
		{"blanks", " \t\r\n{ } \n", func(*Message) {}},
		{"value alone", `{"value":"v"}`, func(m *Message) { m.Value = []byte("v") }},
		{"another order", ` { "value" : null , "key" : "" } `, func(m *Message) { m.Key, m.Value = []byte{}, nil }},
		{"escapes", `{"value":"\"\\\/\b\f\n\r\t\u0041\u00e9\ud834\udd1e\u0000"}`, func(m *Message) { m.Value = []byte("\"\\/\b\f\n\r\tAé𝄞\x00") }},
		{"escape first and last", `{"value":"\nx\n"}`, func(m *Message) { m.Value = []byte("\nx\n") }},
		{"escape in a key", `{"\u0076alue":"v"}`, func(m *Message) { m.Value = []byte("v") }},
		{"base64", `{"key_base64":"/w==","value_base64":""}`, func(m *Message) { m.Key, m.Value = []byte{0xff}, []byte{} }},
		{"numbers", `{"partition":-2147483648,"offset":9223372036854775807,"timestamp":-9223372036854775808}`, func(m *Message) {
			m.Partition, m.Offset, m.Timestamp = -1<<31, 1<<63-1, -1<<63
		}},
		{"minus zero", `{"offset":-0}`, func(m *Message) { m.Offset = 0 }},
		{"position of logsegdump", `{"topic":"t","position":123}`, func(m *Message) { m.Topic = "t" }},
		{"null is absent", `{"topic":null,"partition":null,"offset":null,"timestamp":null,"headers":null,"position":null,"value":"v"}`,
			func(m *Message) { m.Value = []byte("v") }},
		{"no headers", `{"headers":[]}`, func(m *Message) { m.Headers = nil }},
		{"headers", `{"headers":[["a","1"], [ "a" , null ], [{"base64":"/w=="},{ "base64" : "" }]]}`, func(m *Message) {
			m.Headers = []record.Field{{Name: "a", Value: []byte("1")}, {Name: "a"}, {Name: "\xff", Value: []byte{}}}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, want := preset(), preset()
			tt.change(&want)
			if err := ParseJSON([]byte(tt.line), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error("(-want +got):", diff)
			}
		})
	}
}

func TestParseJSONRefuses(t *testing.T) {
	tests := []struct {
		line, want string
	}{
		{``, `position 1: end of line, expected an object`},
		{`null`, `position 1: "n", expected an object`},
		{`"text"`, `position 1: "\"", expected an object`},
		{`[]`, `position 1: "[", expected an object`},
		{`{`, `position 2: a key: end of line, expected a string`},
		{`{"value"`, `position 9: end of line, expected a colon`},
		{`{"value":`, `position 10: value: end of line, expected a string`},
		{`{"value":"v"`, `position 13: end of line, expected a comma or '}' in the object`},
		{`{"value":"v"]`, `position 13: "]", expected a comma or '}' in the object`},
		{`{"value":"v",}`, `position 14: a key: "}", expected a string`},
		{`{,}`, `position 2: a key: ",", expected a string`},
		{`{"value":"v"}x`, `position 14: "x" behind the object`},
		{`{"value":"v"}{}`, `position 14: "{" behind the object`},
		{`{1:2}`, `position 2: a key: "1", expected a string`},
		{`{"payload":"v"}`, `position 2: unknown key "payload"`},
		{`{"Value":"v"}`, `position 2: unknown key "Value"`},
		{`{"payload":{"a":[1,2]}}`, `position 2: unknown key "payload"`},
		{`{"value":"v","value":"w"}`, `position 14: value given twice`},
		{`{"value":null,"value_base64":"/w=="}`, `position 15: value given twice`},
		{`{"key_base64":"","key":""}`, `position 18: key given twice`},
		{`{"headers":[],"headers":[]}`, `position 15: headers given twice`},
		{`{"value":1}`, `position 10: value: "1", expected a string`},
		{`{"value":{"a":1}}`, `position 10: value: "{", expected a string`},
		{`{"value":nul}`, `position 10: value: "n", expected a string or null`},
		{`{"value":nulll}`, `position 14: "l", expected a comma`},
		{`{"topic":nil}`, `position 10: topic: "n", expected a string or null`},
		{`{"timestamp":nul}`, `position 14: timestamp: "n", expected a whole number or null`},
		{`{"timestamp":null,"timestamp":1}`, `position 19: timestamp given twice`},
		{`{"key_base64":null}`, `position 15: key_base64: "n", expected a string`},
		{`{"value":"v}`, `position 13: value: string without an end`},
		{`{"value":"v\`, `position 12: value: string without an end`},
		{"{\"value\":\"a\nb\"}", `position 12: value: control character 0x0a in a string`},
		{"{\"value\":\"a\xffb\"}", `position 12: value: byte 0xff is not UTF-8`},
		{"{\"value\":\"\xed\xa0\x80\"}", `position 11: value: byte 0xed is not UTF-8`},
		{`{"value":"\a"}`, `position 11: value: unknown escape \a`},
		{`{"value":"\x41"}`, `position 11: value: unknown escape \x`},
		{`{"value":"\u12"}`, `position 11: value: \u without four hexadecimal digits`},
		{`{"value":"\u+123"}`, `position 11: value: \u without four hexadecimal digits`},
		{`{"value":"\ud834"}`, `position 11: value: half a surrogate pair`},
		{`{"value":"\ud834\n"}`, `position 11: value: half a surrogate pair`},
		{`{"value":"\ud834\u0041"}`, `position 11: value: half a surrogate pair`},
		{`{"value":"\udd1e\ud834"}`, `position 11: value: half a surrogate pair`},
		{`{"value_base64":"/w="}`, `position 17: value_base64: not base64`},
		{`{"value_base64":"/w"}`, `position 17: value_base64: not base64`},
		{`{"value_base64":"/x=="}`, `position 17: value_base64: not base64`},
		{`{"value_base64":"_w=="}`, `position 17: value_base64: not base64`},
		{`{"value_base64":"/w\n=="}`, `position 17: value_base64: not base64`},
		{`{"offset":"1"}`, `position 11: offset: "\"", expected a whole number`},
		{`{"offset":}`, `position 11: offset: "}", expected a whole number`},
		{`{"offset":-}`, `position 11: offset: "-", expected a whole number`},
		{`{"offset":+1}`, `position 11: offset: "+", expected a whole number`},
		{`{"offset":01}`, `position 11: offset: "0", expected a whole number`},
		{`{"offset":1.0}`, `position 11: offset: a number with a fraction or an exponent`},
		{`{"offset":1E3}`, `position 11: offset: a number with a fraction or an exponent`},
		{`{"timestamp":9223372036854775808}`, `position 14: timestamp: 9223372036854775808 is out of range`},
		{`{"timestamp":-9223372036854775809}`, `position 14: timestamp: -9223372036854775809 is out of range`},
		{`{"timestamp":92233720368547758080}`, `position 14: timestamp: 92233720368547758080 is out of range`},
		{`{"partition":2147483648}`, `position 14: partition: 2147483648 is out of range, from -2147483648 to 2147483647`},
		{`{"headers":none}`, `position 12: headers: "n", expected an array of headers or null`},
		{`{"headers":{"a":"b"}}`, `position 12: "{", expected an array of headers`},
		{`{"headers":["a","b"]}`, `position 13: "\"", expected a header, [name, value]`},
		{`{"headers":[["a"]]}`, `position 17: "]", expected a comma and the value of the header`},
		{`{"headers":[["a","b","c"]]}`, `position 21: ",", expected the end of the header`},
		{`{"headers":[[null,"b"]]}`, `position 14: name of a header: "n", expected a string`},
		{`{"headers":[["a",1]]}`, `position 18: value of a header: "1", expected a string`},
		{`{"headers":[["a",{"base32":""}]]}`, `position 19: value of a header: unknown key "base32", expected base64`},
		{`{"headers":[["a",{"base64":"","x":1}]]}`, `position 30: ",", expected the end of the object`},
		{`{"headers":[["a",{}]]}`, `position 19: a key: "}", expected a string`},
		{`{"headers":[["a","b"],]}`, `position 23: "]", expected a header`},
	}
	for _, tt := range tests {
		err := ParseJSON([]byte(tt.line), new(Message))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s\n got %v\nwant %s", tt.line, err, tt.want)
		}
	}
}

// sameMessage treats no headers and an empty list alike, which JSON does too; null and empty bytes it tells apart.
var sameMessage = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type().String() == "[]record.Field" }, cmpopts.EquateEmpty())

func TestJSONRoundTrip(t *testing.T) {
	bytesOf := rapid.OneOf(rapid.Just[[]byte](nil), rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }))
	fields := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) record.Field {
		return record.Field{Name: string(bytesOf.Draw(t, "name")), Value: bytesOf.Draw(t, "value")}
	}), 0, 5)
	rapid.Check(t, func(t *rapid.T) {
		m := Message{Topic: rapid.String().Draw(t, "topic"), Partition: rapid.Int32().Draw(t, "partition"), Record: record.Record{
			Offset: rapid.Int64().Draw(t, "offset"), Timestamp: rapid.Int64().Draw(t, "timestamp"),
			Key: bytesOf.Draw(t, "key"), Value: bytesOf.Draw(t, "value"), Headers: fields.Draw(t, "headers"),
		}}
		if !utf8.ValidString(m.Topic) {
			t.Skip("topics are UTF-8")
		}
		line := AppendJSON(nil, &m)
		if !json.Valid(line) {
			t.Fatalf("encoding/json refuses %s", line)
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
