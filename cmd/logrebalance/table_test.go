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
	if !strings.Contains(text, "n\u00e4me\u2026") && !strings.Contains(text, "\u2026  ") || !strings.Contains(text, "\nshort ") {
		t.Errorf("not cut:\n%s", text)
	}
	// Numbers are never cut, nor is what is left of a name that could not be told from another.
	if text := string(table(rows, 10)); !strings.Contains(text, " 12 ") || !strings.Contains(text, long[:8]) {
		t.Errorf("cut too short:\n%s", text)
	}
}
