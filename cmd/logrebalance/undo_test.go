package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"logkit/lib/cli"
	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
)

// broad is a topic whose partitions are reset in steps of five, and a group that is at 50 in each of twelve.
func broad(t *testing.T) (*cluster, registry.Topic) {
	c := onTwin(t)
	topic := c.topic("t", slices.Repeat([][2]int64{{0, 100}}, 12)...)
	offsets := map[int32]int64{}
	for p := range int32(12) {
		offsets[p] = 50
	}
	c.commit("g", topic, offsets)
	c.tweak = func(s *session) { s.chunk = 5 }
	c.run("-q", "reset", "g", "--topic", "t", "--to", "50", "--execute").want(t, 0, "", "") // makes the place for locks
	return c, topic
}

// atReset calls f when the step is about to be taken, from 1 on.
func (c *cluster) atReset(step int, f func()) {
	c.tweak = func(s *session) {
		s.chunk = 5
		resets := 0
		c.conn.SetFaults(func(call zkfake.Call) zkfake.Fault {
			if call.Op != "multi" {
				return zkfake.None
			}
			if resets++; resets == step+1 { // after the lock
				f()
			}
			return zkfake.None
		})
	}
}

// killed ends a run before a step, and leaves no member that would be in the way of the next one.
func killed(c *cluster, step int, args ...string) result {
	var late *member
	c.atReset(step, func() { late = c.join("g", "late", wants("t")) })
	r := c.run(args...)
	must(c.t, late.Leave(c.ctx(), late.lease, "late"))
	c.tweak = func(s *session) { s.chunk = 5 }
	return r
}

func (c *cluster) allAt(topic registry.Topic, want int64) {
	c.t.Helper()
	if got := c.offsets("g", topic); slices.ContainsFunc(got, func(o int64) bool { return o != want }) {
		c.t.Errorf("offsets %v, want %d", got, want)
	}
}

// A reset that takes several runs has one undo file, for all of it. What was finished stays as it is.
func TestUndoOfSeveralRuns(t *testing.T) {
	c, topic := broad(t)
	undo := filepath.Join(t.TempDir(), "undo")
	args := []string{"-q", "reset", "g", "--topic", "t", "--to", "latest", "--execute", "--undo-file", undo}
	for _, step := range []int{2, 2} { // 5 of 12, 5 of the other 7
		if r := killed(c, step, args...); r.code != 1 || !strings.Contains(r.err, ": moved\n") {
			t.Fatal(r)
		}
		if text := read(t, undo); !strings.HasPrefix(text, `{"unfinished":"--topic t --to latest","group":"g"}`+"\n") || strings.Count(text, "\n") != 13 {
			t.Fatalf("undo file of a part:\n%s", text)
		}
	}
	c.logs.mu.Lock()
	c.logs.logs["t"] = slices.Repeat([][2]int64{{0, 110}}, 12) // the end goes on meanwhile
	c.logs.mu.Unlock()
	c.run(args...).want(t, 0, "", "")
	c.allAt(topic, 110)
	finished := read(t, undo)
	if strings.Count(finished, "\n") != 12 || strings.Count(finished, `"offset":50}`) != 12 {
		t.Fatalf("undo file:\n%s", finished)
	}
	if r := c.run(args...); r.code != 0 || read(t, undo) != finished {
		t.Errorf("%v, undo file after a run that had nothing to do:\n%s", r, read(t, undo))
	}
	if there, _ := filepath.Glob(undo + "?*"); there != nil {
		t.Errorf("files that nobody needs: %v", there)
	}
	c.run("-q", "import", "g", undo, "--execute").want(t, 0, "", "")
	c.allAt(topic, 50)
}

// What is done when nothing is left to be moved but the last words of the file are missing.
func TestUndoIsFinishedLater(t *testing.T) {
	c, topic := broad(t)
	undo := filepath.Join(t.TempDir(), "undo")
	args := []string{"-q", "reset", "g", "--topic", "t", "--to", "latest", "--execute", "--undo-file", undo}
	killed(c, 2, args...)
	c.run("-q", "reset", "g", "--topic", "t", "--to", "latest", "--execute").want(t, 0, "", "")
	c.run(args...).want(t, 0, "", "")
	if text := read(t, undo); strings.Contains(text, "unfinished") || strings.Contains(text, `"to"`) || strings.Count(text, `"offset":50}`) != 12 {
		t.Errorf("undo file:\n%s", text)
	}
	c.allAt(topic, 100)
}

// A symbolic link stays one: the file that it leads to is replaced, and what that held is kept beside it. With --shift each
// run moves again, and the file goes back by the last one.
func TestUndoFileLink(t *testing.T) {
	c, topic := broad(t)
	dir, there := t.TempDir(), t.TempDir()
	link, file := filepath.Join(dir, "link"), filepath.Join(there, "undo")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	args := []string{"-q", "reset", "g", "--topic", "t", "--shift", "-5", "--execute", "--undo-file", link}
	c.run(args...).want(t, 1, "", "logrebalance: --undo-file: "+link+": a symbolic link to nothing\n")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.run(args...).want(t, 0, "", "")
	}
	c.allAt(topic, 35)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", info, err)
	}
	for name, offset := range map[string]int{file: 40, file + "~": 45} {
		if text := read(t, name); !strings.Contains(text, fmt.Sprintf(`"offset":%d}`, offset)) {
			t.Errorf("%s, want %d:\n%s", name, offset, text)
		}
	}
	for _, dir := range []string{dir, there} {
		if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); left != nil {
			t.Errorf("left: %v", left)
		}
	}
	c.run("-q", "import", "g", link, "--execute").want(t, 0, "", "")
	c.allAt(topic, 40)
}

// An undo file of anything else, finished or not, is kept beside: of another group, of another target, of a reset that was
// finished.
func TestUndoOfAnotherReset(t *testing.T) {
	c, topic := broad(t)
	undo := filepath.Join(t.TempDir(), "undo")
	reset := func(args ...string) []string {
		return append([]string{"-q", "reset", "--topic", "t", "--execute", "--undo-file", undo}, args...)
	}
	killed(c, 2, reset("g", "--to", "latest")...)
	part := read(t, undo)
	c.run(reset("g", "--to", "earliest")...).want(t, 0, "", "")
	if read(t, undo+"~") != part || strings.Count(read(t, undo), `"offset":100}`) != 5 {
		t.Errorf("undo file:\n%s\nbeside it:\n%s", read(t, undo), read(t, undo+"~"))
	}
	whole := read(t, undo)
	c.run(reset("g", "--to", "latest")...).want(t, 0, "", "")
	if read(t, undo+"~") != whole || strings.Count(read(t, undo), `"offset":0}`) != 12 {
		t.Errorf("undo file:\n%s\nbeside it:\n%s", read(t, undo), read(t, undo+"~"))
	}
	killed(c, 2, reset("g", "--to", "earliest")...)
	part = read(t, undo)
	c.commit("h", topic, map[int32]int64{0: 7})
	c.run(reset("h", "--to", "earliest")...).want(t, 0, "", "")
	if read(t, undo+"~") != part || strings.Contains(read(t, undo), `"group":"g"`) {
		t.Errorf("undo file:\n%s\nbeside it:\n%s", read(t, undo), read(t, undo+"~"))
	}
}

// The same command again shifts nothing twice, as long as there is a file that says what was shifted; where there is none
// it is said what does the rest.
func TestShiftOfSeveralRuns(t *testing.T) {
	c, topic := broad(t)
	undo := filepath.Join(t.TempDir(), "undo")
	args := []string{"-q", "reset", "g", "--topic", "t", "--shift", "-20", "--execute", "--undo-file", undo}
	if r := killed(c, 2, args...); r.code != 1 || !strings.Contains(r.err, "hint: the same command again does the rest\n") {
		t.Fatal(r)
	}
	c.run(args...).want(t, 0, "", "")
	c.allAt(topic, 30)
	c.run(args...).want(t, 0, "", "") // the first one is finished
	c.allAt(topic, 10)
	if r := killed(c, 2, args[:len(args)-2]...); r.code != 1 || !strings.Contains(r.err, "hint: --topic with the partitions that are as before does the rest") {
		t.Error(r)
	}
}

// A signal before the first step moves nothing and leaves no undo file. Between two steps it ends the run with its status,
// and what is moved is said. In the last step it comes too late: all is done, and the status says so.
func TestSignalDuringReset(t *testing.T) {
	for _, test := range []struct {
		at     int // step during which the signal comes
		signal syscall.Signal
		code   int
		moved  int
		err    string
	}{
		{0, syscall.SIGTERM, 143, 0, ""},
		{1, syscall.SIGINT, 130, 5, "logrebalance: group \"g\": topic \"t\": partition 0-4: moved\n" +
			"logrebalance: group \"g\": topic \"t\": partition 5-11: as before\nlogrebalance: hint: the same command again does the rest\n"},
		{2, syscall.SIGTERM, 143, 10, "logrebalance: group \"g\": topic \"t\": partition 0-9: moved\n" +
			"logrebalance: group \"g\": topic \"t\": partition 10-11: as before\nlogrebalance: hint: the same command again does the rest\n"},
		{3, syscall.SIGTERM, 0, 12, "logrebalance: group \"g\": all 12 offsets moved\n"},
	} {
		c, topic := broad(t)
		undo := filepath.Join(t.TempDir(), "undo")
		ctx, cancel := context.WithCancelCause(c.ctx())
		signal := func() { cancel(cli.SignalError{Signal: test.signal}) }
		if test.at == 0 {
			c.logs.before = signal
		} else {
			c.atReset(test.at, signal)
		}
		r := c.runIn(ctx, "", "-q", "reset", "g", "--topic", "t", "--to", "latest", "--execute", "--undo-file", undo)
		r.want(t, test.code, "", test.err)
		moved := 0
		for _, offset := range c.offsets("g", topic) {
			if offset == 100 {
				moved++
			}
		}
		if moved != test.moved {
			t.Errorf("signal at step %d: %d moved, want %d", test.at, moved, test.moved)
		}
		if _, err := os.Stat(undo); (err == nil) != (test.moved > 0) {
			t.Errorf("signal at step %d: undo file: %v", test.at, err)
		}
		if test.moved == 12 && strings.Contains(read(t, undo), "unfinished") {
			t.Errorf("undo file of a reset that is finished:\n%s", read(t, undo))
		}
	}
}
