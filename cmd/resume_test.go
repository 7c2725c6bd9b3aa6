package cmd

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestResumeAfterKill kills logcat --progress, again and again, at moments that nobody chooses, while its files grow in
// pieces that end in the middle of lines, and are rotated. In the end no line is missing; what was stored more often than
// once was acknowledged after the resume file had last been written.
//
// LOGKIT_KILLS sets the number of kills, as for TestKill.
func TestResumeAfterKill(t *testing.T) {
	r := newResumed(t)
	log, old := filepath.Join(r.dir, "log"), filepath.Join(r.dir, "log.1")
	for _, file := range []string{old, log} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written := []byte{}
	for r.killed < r.kills {
		whole := r.run(nil, rand.IntN(4) > 0, old, log)
		if whole && r.rest == nil && rand.IntN(2) == 0 { // the inode of the oldest is free again
			if err := os.Rename(log, old); err != nil {
				t.Fatal(err)
			}
		}
		piece := r.lines(rand.IntN(3000))
		if cut := rand.IntN(8); len(piece) > cut {
			piece = piece[:len(piece)-cut]
			r.rest = append([]byte(nil), r.all[len(r.all)-cut:]...)
		}
		appendTo(t, log, piece)
		written = append(written, piece...)
	}
	appendTo(t, log, r.rest)
	if !r.run(nil, false, old, log) {
		t.Fatal("not sent to the end")
	}
	if !bytes.Equal(append(written, r.rest...), r.all) {
		t.Fatal("the test has lost a line itself")
	}
	r.check()
}

// The same with standard input, which is not known again and is given from its beginning each time.
func TestResumeStdinAfterKill(t *testing.T) {
	r := newResumed(t)
	for r.killed < r.kills {
		r.run(r.all, true, "-")
		r.lines(rand.IntN(3000))
	}
	if !r.run(r.all, false, "-") {
		t.Fatal("not sent to the end")
	}
	r.check()
}

// resumed is a logcat that is run again and again, and numbered lines for it.
type resumed struct {
	t      *testing.T
	dir    string
	broker string
	kills  int
	all    []byte // the lines made so far
	count  int
	rest   []byte // what is not written of the last line
	killed int
	life   time.Duration // at most, before a kill
}

func newResumed(t *testing.T) *resumed {
	kills := 25
	if n, err := strconv.Atoi(os.Getenv("LOGKIT_KILLS")); err == nil {
		kills = n
	}
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0", flags: []string{"--partitions", "3"}}
	r := &resumed{t: t, dir: t.TempDir(), kills: kills, broker: v.start(), life: 32 * time.Millisecond}
	t.Cleanup(v.stop)
	return r
}

// lines makes n more lines, behind the rest of the last one.
func (r *resumed) lines(n int) []byte {
	piece := r.rest
	r.rest = nil
	for range n {
		line := fmt.Appendf(nil, "line %d is %d bytes\n", r.count, r.count)
		r.count++
		piece = append(piece, line...)
		r.all = append(r.all, line...)
	}
	return piece
}

// run runs logcat on the files, and kills it after a while if it is to die. It reports whether all was sent.
func (r *resumed) run(stdin []byte, dies bool, files ...string) bool {
	r.t.Helper()
	tools, err := tools()
	if err != nil {
		r.t.Fatal(err)
	}
	args := append([]string{"-b", r.broker, "--batch-bytes", "4KiB", "--progress", filepath.Join(r.dir, "pos"), "t"}, files...)
	cmd := exec.Command(filepath.Join(tools, "logcat"), args...)
	var said strings.Builder
	cmd.Stderr = &said
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	if dies {
		time.Sleep(rand.N(r.life))
		cmd.Process.Kill()
	}
	err = cmd.Wait()
	switch {
	case err == nil:
		if dies { // too late
			r.life = max(r.life*3/4, time.Millisecond)
		}
		return true
	case dies && cmd.ProcessState.ExitCode() == -1:
		r.killed++
		r.life = r.life * 5 / 4
		return false
	}
	r.t.Fatalf("logcat: %v: %s", err, said.String())
	return false
}

// check compares what is stored with the lines: each is there, and what else there is, is the beginning of one.
func (r *resumed) check() {
	stored := map[string]int{}
	values := readValues(r.t, r.broker)
	for _, value := range values {
		stored[value]++
	}
	lines := strings.Split(strings.TrimSuffix(string(r.all), "\n"), "\n")
	for _, line := range lines {
		if stored[line] == 0 {
			r.t.Errorf("%q is missing", line)
		}
		delete(stored, line)
	}
	unfinished := 0
	for value, n := range stored {
		unfinished += n
		if !strings.Contains(string(r.all), "\n"+value) && !strings.HasPrefix(string(r.all), value) {
			r.t.Errorf("%q is the beginning of no line", value)
		}
	}
	r.t.Logf("%d runs killed, %d lines, %d stored more often than once, %d unfinished ones", r.killed, len(lines), len(values)-len(lines)-unfinished, unfinished)
}

func appendTo(t *testing.T, file string, text []byte) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
}
