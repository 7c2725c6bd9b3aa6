package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// One long name does not spread all lines of a terminal. In a pipe, of no width, names are whole.
func TestTableFitsATerminal(t *testing.T) {
	long := strings.Repeat("n\u00e4me", 250)
	rows := []*listed{{name: long}, {name: "short", Members: 12}}
	if text := string(table(rows, 0)); !strings.Contains(text, long) {
		t.Errorf("a name is cut in a pipe:\n%s", text)
	}
	text := string(table(rows, 60))
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 60 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(text, "\u2026") || !strings.Contains(text, "\nshort ") {
		t.Errorf("not cut:\n%s", text)
	}
	// Numbers are never cut, nor is what is left of a name that could not be told from another.
	if text := string(table(rows, 10)); !strings.Contains(text, " 12 ") || !strings.Contains(text, long[:6]) {
		t.Errorf("cut too short:\n%s", text)
	}
}

// On a narrow terminal the lag stays, and which partition it is of; what tells less goes, column by column.
func TestNarrowStatus(t *testing.T) {
	owner := "mailer_host.example-1795988084993-14742653"
	number := int64(1234567)
	rows := []*row{
		{Topic: "clicks-of-the-website", owner: &owner, Committed: &number, LogStart: &number, LogEnd: &number, Lag: &number},
		{Topic: "orders", Partition: 1, owner: &owner, Committed: &number, LogStart: &number, LogEnd: &number, Lag: &number},
	}
	for _, test := range []struct {
		width    int
		headings string
	}{
		{200, "TOPIC PARTITION OWNER COMMITTED LOG-START LOG-END LAG NOTE"},
		{79, "TOPIC PARTITION OWNER COMMITTED LOG-START LOG-END LAG"},
		{70, "TOPIC PARTITION OWNER COMMITTED LOG-END LAG"},
		{60, "TOPIC PARTITION OWNER COMMITTED LAG"},
		{48, "TOPIC PARTITION OWNER LAG"},
		{34, "TOPIC PARTITION LAG"},
		{24, "TO\u2026C PARTITION LAG"},
	} {
		text := string(table(rows, test.width))
		first, _, _ := strings.Cut(text, "\n")
		if got := strings.Join(strings.Fields(first), " "); got != test.headings {
			t.Errorf("%d columns: %s, want %s", test.width, got, test.headings)
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > test.width {
				t.Errorf("%d columns, %d there are: %s", n, test.width, line)
			}
		}
	}
	rows[1].Notes = []string{noteAhead}
	if text := string(table(rows, 48)); !strings.Contains(text, noteAhead[:4]) {
		t.Errorf("a note goes before an owner does:\n%s", text)
	}
}
