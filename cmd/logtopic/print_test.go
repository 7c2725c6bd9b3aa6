package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	zero, many, leader := int64(0), int64(1_234_567), int32(3)
	rows := []*row{
		{Topic: "clicks", Leader: &leader, LogStart: &zero, LogEnd: &many, SizeBytes: &many, Segments: &zero,
			Config: map[string]string{"b": "2", "a": "<1>"}},
		{Topic: "a", Partition: 10, Config: map[string]string{}}, // nobody is in charge, nothing is known
	}
	for _, test := range []struct {
		name string
		rows []*row
		json bool
		want string
	}{
		{"columns", rows, false, "" +
			"TOPIC   PARTITION  LEADER  LOG-START  LOG-END     SIZE  SEGMENTS  CONFIG\n" +
			"clicks          0       3          0  1234567  1234567         0  a=<1>,b=2\n" +
			"a              10       -          -        -        -         -  -\n"},
		{"objects", rows, true, "" +
			`{"topic":"clicks","partition":0,"leader":3,"log_start":0,"log_end":1234567,"size_bytes":1234567,"segments":0,"config":{"a":"<1>","b":"2"}}` + "\n" +
			`{"topic":"a","partition":10,"leader":null,"log_start":null,"log_end":null,"size_bytes":null,"config":{}}` + "\n"},
		{"no rows", nil, false, ""},
		{"no objects", nil, true, ""},
	} {
		got, err := table(test.rows, test.json)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestSettings(t *testing.T) {
	for _, test := range []struct {
		set   []setting
		unset []string
		want  map[string]string // nil: refused
	}{
		{nil, nil, map[string]string{}},
		{[]setting{{"a", "1"}, {"b", ""}}, []string{"c"}, map[string]string{"a": "1", "b": ""}},
		{[]setting{{"a", "1"}, {"a", "1"}}, nil, nil},
		{[]setting{{"a", "1"}}, []string{"a"}, nil},
		{nil, []string{"a", "a"}, nil},
	} {
		o := &options{set: test.set, unset: test.unset}
		got, err := o.settings()
		if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != (test.want == nil) {
			t.Errorf("%v, %v: %v (-want +got):\n%s", test.set, test.unset, err, diff)
		}
	}
	for _, text := range []string{"", "a", "=", "=1"} {
		if _, err := parseSetting(text); err == nil {
			t.Errorf("--config %q is taken", text)
		}
	}
	if s, err := parseSetting("a=b=c"); err != nil || s[0] != (setting{"a", "b=c"}) {
		t.Errorf("--config a=b=c: %v, %v", s, err)
	}
	for _, text := range []string{"", "a=1"} {
		if _, err := parseName(text); err == nil {
			t.Errorf("--unset %q is taken", text)
		}
	}
}
