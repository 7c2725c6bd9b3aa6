package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/record"
)

func TestShape(t *testing.T) {
	headers := []record.Field{{Name: "a", Value: []byte("b")}, {Name: "c"}}
	for _, row := range []struct {
		name  string
		shape shape
		line  string
		want  record.Record
	}{
		{"a line", shape{}, "x\r", record.Record{Value: []byte("x\r")}},
		{"key", shape{keyDelimiter: []byte("::")}, "a:b::c::d", record.Record{Key: []byte("a:b"), Value: []byte("c::d")}},
		{"empty key", shape{keyDelimiter: []byte(":")}, ":v", record.Record{Key: []byte{}, Value: []byte("v")}},
		{"no key", shape{keyDelimiter: []byte(":")}, "v", record.Record{Value: []byte("v")}},
		{"one key for all", shape{key: []byte("k")}, "v", record.Record{Key: []byte("k"), Value: []byte("v")}},
		{"empty value", shape{keyDelimiter: []byte(":")}, "k:", record.Record{Key: []byte("k"), Value: []byte{}}},
		{"tombstone", shape{keyDelimiter: []byte(":"), tombstones: true}, "k:", record.Record{Key: []byte("k")}},
		{"no tombstone without a key", shape{tombstones: true}, "", record.Record{Value: []byte{}}},
		{"headers", shape{headers: headers}, "v", record.Record{Value: []byte("v"), Headers: headers}},
		{"json", shape{json: true, key: []byte("own"), headers: headers[1:]}, `{"value":"v","timestamp":5,"headers":[["a","b"]]}`,
			record.Record{Timestamp: 5, Key: []byte("own"), Value: []byte("v"), Headers: headers}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.want.Timestamp == 0 {
				row.want.Timestamp = 99
			}
			got, _, err := row.shape.record([]byte(row.line), 99)
			if diff := cmp.Diff(row.want, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestSources(t *testing.T) {
	for _, row := range []struct {
		line string
		want source
		err  string
	}{
		{`{"topic":"t","partition":3,"offset":41,"value":"v"}`, source{"t", 3, 42}, ""},
		{`{"topic":"t","partition":0,"offset":0}`, source{"t", 0, 1}, ""},
		{`{"value":"v"}`, source{}, "no topic, no partition, no offset that --confirm could tell, as logtail --json writes them"},
		{`{"topic":null,"partition":0,"offset":0}`, source{}, "no topic that --confirm could tell, as logtail --json writes them"},
		{`{"topic":"t","partition":0,"offset":9223372036854775807}`, source{}, "no offset that --confirm could tell, as logtail --json writes them"},
		{`{"topic":"t","partition":-1,"offset":1}`, source{}, "no partition that --confirm could tell, as logtail --json writes them"},
		{`{"topic":"a b","partition":0,"offset":0}`, source{}, `topic "a b": not the name of a topic`},
		{`{"topic":"a\nb 0 1","partition":0,"offset":0}`, source{}, `topic "a\nb 0 1": not the name of a topic`},
		{`{"topic":"` + strings.Repeat("t", 249) + `","partition":0,"offset":0}`, source{strings.Repeat("t", 249), 0, 1}, ""},
		{`{"topic":"` + strings.Repeat("t", 250) + `","partition":0,"offset":0}`, source{}, `topic "` + strings.Repeat("t", 100) + `": not the name of a topic`},
		{`{"topic":"t"`, source{}, `position 13: end of line, expected a comma or '}' in the object`},
	} {
		_, got, err := (&shape{json: true, sources: true}).record([]byte(row.line), 0)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got != row.want || said != row.err {
			t.Errorf("%s: %+v, %q", row.line, got, said)
		}
	}
	if _, got, err := (&shape{json: true}).record([]byte(`{}`), 0); err != nil || got != (source{}) {
		t.Errorf("not asked for sources: %+v, %v", got, err)
	}
}
