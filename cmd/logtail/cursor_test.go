package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"logkit/lib/client"
)

func TestCursor(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cursor")
	c, err := openCursor(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, known := c.position("t", 0); known {
		t.Error("knows a position")
	}
	places := map[partition]*place{
		{"t", 0}:  {Span: client.Span{Topic: "t", Partition: 0}, next: 5},
		{"t", 12}: {Span: client.Span{Topic: "t", Partition: 12}, next: 7},
	}
	c.follow(places)
	places[partition{"t", 0}].next = 9
	if err := c.save(); err != nil { // what was taken over, not what was read since
		t.Fatal(err)
	}
	again, err := openCursor(name)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int32]int64{0: 5, 12: 7} {
		if got, known := again.position("t", id); !known || got != want {
			t.Errorf("partition %d: %d %v, want %d", id, got, known, want)
		}
	}
	if _, known := again.position("t", 1); known {
		t.Error("knows a partition that it was not told")
	}
}

func TestCursorOfAnotherKindIsRefused(t *testing.T) {
	for _, text := range []string{"", "5", `{"t":5}`, `{"t":{"0":"x"}}`, `{"t":{"a":1}}`, `{"t":{"-1":1}}`, `{"t":{"0":-1}}`, "{"} {
		name := filepath.Join(t.TempDir(), "cursor")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := openCursor(name); err == nil {
			t.Errorf("%q: taken", text)
		}
	}
}

// Where it could not be kept, that is known before anything is printed.
func TestCursorThatCouldNotBeKept(t *testing.T) {
	if _, err := openCursor(filepath.Join(t.TempDir(), "missing", "cursor")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestNoCursorDoesNothing(t *testing.T) {
	var c *cursor
	c.follow(map[partition]*place{{"t", 0}: {}})
	if _, known := c.position("t", 0); known || c.save() != nil {
		t.Error("does something")
	}
}
