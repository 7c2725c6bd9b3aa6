package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logkit/lib/cli"
)

// What is exported changes nothing when it is imported (KAFKA-20524), and brings back what has changed, whatever the names.
func TestExportAndImport(t *testing.T) {
	for _, group := range []string{"g", "a,b", "a.b", `with "quotes" and 'others'`, "", ".", "..", "a/b/../c", "grüße 日本", "tab\tand\nline", "\xff\xfe", "%2F", strings.Repeat("x", 1024)} {
		both(t, func(t *testing.T, c *cluster) {
			one, two := c.topic("one.two_three-4", [2]int64{10, 100}, [2]int64{0, 50}, [2]int64{0, 9}), c.topic("t", [2]int64{0, 1 << 50})
			c.commit(group, one, map[int32]int64{0: 20, 2: 9})
			c.commit(group, two, map[int32]int64{0: 1<<40 + 1})
			r := c.run("export", "--", group)
			if r.code != 0 || r.err != "" || strings.Count(r.out, "\n") != 3 {
				t.Fatal(r)
			}
			file := filepath.Join(t.TempDir(), "a file, with commas")
			must(t, os.WriteFile(file, []byte(r.out), 0o600))
			undo := filepath.Join(t.TempDir(), "undo")
			again := c.run("import", "--execute", "--undo-file", undo, "--", group, file)
			if again.code != 0 || strings.Count(again.out, "stays") != 3 || !strings.Contains(again.err, "3 offsets, all where they shall be") {
				t.Error(again)
			}
			if _, err := os.Stat(undo); err == nil {
				t.Error("an undo file, where there is nothing to undo")
			}
			if r := c.run("reset", "--all-topics", "--to", "latest", "--execute", "--undo-file", undo, "--", group); r.code != 0 {
				t.Fatal(r)
			}
			if got := c.offsets(group, one); !slices.Equal(got, []int64{100, 50, 9}) {
				t.Errorf("moved to %v", got)
			}
			if r := c.run("-q", "reset", "--from-file", undo, "--execute", "--", group); r.code != 0 || r.out+r.err != "" {
				t.Fatal(r)
			}
			if got := append(c.offsets(group, one), c.offsets(group, two)...); !slices.Equal(got, []int64{20, -1, 9, 1<<40 + 1}) {
				t.Errorf("back at %v", got)
			}
			if now := c.run("export", "--", group); now.out != r.out {
				t.Errorf("exported again: %s, before: %s", now.out, r.out)
			}
		})
	}
}

// All groups at once, whatever their names: a loop in a shell loses some.
func TestExportOfAllGroups(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{0, 100}, [2]int64{0, 100})
	names := []string{"-dash", "two\nlines", " blanks ", "\\", "\xff"}
	want := ""
	for i, g := range names {
		c.commit(g, topic, map[int32]int64{1: int64(i)})
		want += c.run("export", "--", g).out
	}
	r := c.run("export", "--all-groups")
	got, wanted := slices.Sorted(strings.Lines(r.out)), slices.Sorted(strings.Lines(want))
	if r.code != 0 || r.err != "" || len(got) != len(names) || !slices.Equal(got, wanted) {
		t.Errorf("%v\nwant:\n%s", r, want)
	}
	// One of them comes back from among the others.
	c.commit("-dash", topic, map[int32]int64{1: 50})
	if r := c.runIn(c.ctx(), r.out, "-q", "import", "--execute", "--", "-dash", "-"); r.code != 0 || !slices.Equal(c.offsets("-dash", topic), []int64{-1, 0}) {
		t.Errorf("%v, offsets %v", r, c.offsets("-dash", topic))
	}
	for _, args := range [][]string{{"export"}, {"export", "g", "--all-groups"}, {"export", "--all-groups", "--topic", "t"}} {
		if r := c.run(args...); r.code != 64 || r.out != "" {
			t.Error(r)
		}
	}
}

// A group moves to a cluster where it was not before; what lies outside the logs there goes to their ends.
func TestImportBeginsAGroup(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{10, 100}, [2]int64{0, 50})
	lines := `{"group":"g","topic":"t","partition":0,"offset":5}` + "\n\n" + `{"topic":"t","partition":1,"offset":1000,"group":"g","more":[1]}`
	r := c.runIn(c.ctx(), lines, "import", "h", "-")
	if there, err := c.group("h").Exists(c.ctx()); there || err != nil || r.code != 0 {
		t.Errorf("a dry run has made a group: %v", r)
	}
	r = c.runIn(c.ctx(), lines, "import", "h", "-", "--execute")
	if got := c.offsets("h", topic); r.code != 0 || !slices.Equal(got, []int64{10, 50}) ||
		r.err != "logrebalance: standard input: these are offsets of group \"g\"\n" {
		t.Errorf("%v, at %v", r, got)
	}
	r = c.runIn(c.ctx(), lines+"\n"+strings.ReplaceAll(lines, `"g"`, `"h"`), "import", "h", "-", "--execute", "--topic", "t:1")
	if r.code != 0 || strings.Count(r.out, "\n") != 2 {
		t.Errorf("of several groups: %v", r)
	}
}

func TestImportRefuses(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{0, 100})
	c.commit("g", topic, map[int32]int64{0: 50})
	good := `{"group":"g","topic":"t","partition":0,"offset":5}` + "\n"
	for _, test := range []struct{ lines, err string }{
		{"", "standard input: no offsets"},
		{"\n \n", "standard input: no offsets"},
		{good + good, "line 2: topic \"t\": partition 0: again, after line 1"},
		{good + "x", "line 2: not an offset"},
		{good + `{"group":"g","topic":"t","partition":1,"offset":5}`, `topic "t": no partition 1`},
		{good + `{"group":"g","topic":"u","partition":0,"offset":5}`, `topic "u": no such topic`},
		{`{"group":"g","topic":"t","partition":0}`, "no offset"},
		{`{"group":"g","topic":"t","partition":0,"offset":-1}`, "offset -1, allowed"},
		{`{"group":"g","topic":"t","partition":0,"offset":1.5}`, "not an offset"},
		{`{"group":"g","topic":"t","partition":0,"offset":9223372036854775808}`, "not an offset"},
		{`{"group":"g","topic":"t","partition":-1,"offset":1}`, "no partition"},
		{`{"group":"g","topic":"t","partition":4294967296,"offset":1}`, "not an offset"},
		{`{"group":"g","topic":"","partition":0,"offset":1}`, "no topic"},
		{`{"group":"g","partition":0,"offset":1}`, "no topic"},
		{`{"topic":"t","partition":0,"offset":1}`, "no group"},
		{`{"group":"g","group_base64":"Zw==","topic":"t","partition":0,"offset":1}`, "two groups"},
		{`[{"group":"g","topic":"t","partition":0,"offset":5}]`, "not an offset"},
		{`{"group":"` + strings.Repeat("g", maxLine) + `"`, "line 1: longer than"},
		{strings.ReplaceAll(good, `"g"`, `"x"`) + strings.ReplaceAll(good, `"g"`, `"y"`), `no offsets of group "g", but of "x", "y"`},
	} {
		r := c.runIn(c.ctx(), test.lines, "import", "g", "-", "--execute")
		if r.code != 1 || r.out != "" || !strings.Contains(r.err, test.err) {
			t.Errorf("%.200q: %v\nwant: %s", test.lines, r, test.err)
		}
		if got := c.offsets("g", topic); got[0] != 50 {
			t.Fatalf("%v, and moved to %v", r, got)
		}
	}
}

// What cannot be written before anything is moved keeps everything where it is, and is said before anything else.
func TestUndoFileThatCannotBeWritten(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{0, 100})
	c.commit("g", topic, map[int32]int64{0: 50})
	for _, path := range []string{"/nowhere/undo", t.TempDir()} {
		r := c.run("reset", "g", "--topic", "t", "--to", "latest", "--execute", "--undo-file", path)
		if r.code != 1 || r.out != "" || !strings.Contains(r.err, "--undo-file: ") || c.offsets("g", topic)[0] != 50 {
			t.Errorf("%v, moved to %v", r, c.offsets("g", topic))
		}
	}
}

// FuzzOffsets: every file is read or refused, and what is read is the same when it is written and read again.
func FuzzOffsets(f *testing.F) {
	for _, seed := range []string{
		`{"group":"g","topic":"t","partition":0,"offset":42}`,
		`{"group":"g","topic":"t","partition":0,"offset":null}` + "\n" + `{"group_base64":"//8=","group":null,"topic":"t","partition":1,"offset":0}`,
		"{", "null", "[]", "\n\n", `{"group":1}`,
		`{"unfinished":"--topic t --to latest","group":"g"}` + "\n" + `{"group":"g","topic":"t","partition":0,"offset":42,"to":50}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := readSaved(bytes.NewReader(data))
		if err != nil {
			return
		}
		text, err := cli.Objects(lines)
		if err != nil {
			t.Fatal(err)
		}
		again, err := readSaved(bytes.NewReader(text))
		if err != nil || len(again) != len(lines) {
			t.Fatalf("%q is read, and not as %q: %v", data, text, err)
		}
		for i := range lines {
			a, b := lines[i], again[i]
			if a.name() != b.name() || a.Topic != b.Topic || a.Partition != b.Partition || (a.Offset == nil) != (b.Offset == nil) ||
				a.Offset != nil && *a.Offset != *b.Offset {
				t.Errorf("line %d of %q: %+v, again %+v", i, data, a, b)
			}
		}
	})
}
