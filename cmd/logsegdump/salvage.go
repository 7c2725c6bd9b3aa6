package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"logkit/lib/cli"
	"logkit/lib/inspect"
	"logkit/lib/vfs"
)

// salvage writes the intact batches to another segment and reports on the rest.
type salvage struct {
	plain
	s      *session
	w      *inspect.Salvage
	dir    string // of the log
	failed bool

	damaged int64 // bytes that are no batch
	places  int   // where they are
}

func newSalvage(s *session) *salvage {
	return &salvage{s: s, w: &inspect.Salvage{FS: vfs.OS, Target: s.o.salvage}}
}

func (m *salvage) begin(f *inspect.File) error {
	if _, err := os.Stat(m.s.o.salvage); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(m.s.o.salvage); err == nil { // it would be replaced, by renaming
			m.failed = true
			return fmt.Errorf("--salvage: %s: a symbolic link to nothing", m.s.o.salvage)
		}
	}
	from, errFrom := filepath.EvalSymlinks(filepath.Dir(f.Path))
	if errFrom != nil {
		return errFrom
	}
	to, errTo := filepath.EvalSymlinks(m.s.o.salvage)
	switch {
	case f.InDir && errTo == nil && from == to:
		m.failed = true
		return cli.Usagef("--salvage %q: the directory that is read", m.s.o.salvage)
	case m.dir != "" && m.dir != from:
		m.failed = true
		m.w.Abort()
		return cli.Usagef("--salvage: one log at a time is allowed, %s and %s are two", safeName(m.dir), safeName(from))
	}
	m.dir = from
	return nil
}

func (m *salvage) batch(_ *inspect.File, b *inspect.Batch) error {
	if m.failed {
		return inspect.ErrSkip
	}
	err := m.w.Add(b)
	if err != nil {
		m.failed = true
		m.w.Abort()
		if errors.Is(err, inspect.ErrExists) {
			return cli.WithHint(err, "nothing is overwritten: give another name")
		}
	}
	return err
}

func (m *salvage) verdict(_ *inspect.File, v *inspect.Verdict) error {
	if v.Kind.IsRange() {
		m.places++
		m.damaged += v.End - v.Position
	}
	if m.s.o.json {
		return m.s.printJSON(newVerdictJSON(v))
	}
	m.s.tell(v)
	return nil
}

// salvageJSON is the report in JSON.
type salvageJSON struct {
	Files   []string `json:"files"`
	Batches int64    `json:"batches"`
	Bytes   int64    `json:"bytes"`
	Left    int64    `json:"left_out"`
	Damaged int64    `json:"damaged_bytes"`
	Places  int      `json:"damaged_places"`
}

func (m *salvage) close() error {
	if m.failed {
		return nil // that has been said
	}
	if m.s.ctx.Err() != nil {
		m.w.Abort()
		return nil
	}
	if err := m.w.Close(); err != nil {
		m.w.Abort()
		return err
	}
	if m.w.Batches == 0 {
		err := errors.New("nothing salvaged: no intact batch")
		if m.s.verdicts > 0 {
			err = cli.Damaged(err)
		}
		return err
	}
	if err := m.report(); err != nil {
		return err
	}
	if m.w.Left() > 0 && m.s.verdicts == 0 { // each of several logs was in order
		err := fmt.Errorf("left out %s whose ids do not lie behind those before", plural(int(m.w.Left()), "intact batch"))
		return cli.WithHint(err, "name the segments of one log, in the order of their ids")
	}
	return nil
}

// losses words what was not written of all that was read.
func (m *salvage) losses() string {
	var words []string
	if m.places > 0 {
		words = append(words, fmt.Sprintf("%s in %s", plural(int(m.damaged), "damaged byte"), plural(m.places, "place")))
	}
	if n := m.w.Left(); n > 0 {
		words = append(words, plural(int(n), "batch")+" that can not stand among the others")
	}
	if words == nil {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

// report says what was written.
func (m *salvage) report() error {
	if m.s.o.json {
		return m.s.printJSON(salvageJSON{m.w.Files, m.w.Batches, m.w.Bytes, m.w.Left(), m.damaged, m.places})
	}
	if m.s.o.quiet {
		return nil
	}
	for _, file := range m.w.Files {
		if _, err := fmt.Fprintln(m.s.out, safeName(file)); err != nil {
			return err
		}
	}
	m.s.env.Say("salvaged %s, %d bytes; left out %s", plural(int(m.w.Batches), "batch"), m.w.Bytes, m.losses())
	if name := filepath.Base(m.w.Files[0]); name != m.w.Name() {
		m.s.env.Hint("a broker wants it named %s", m.w.Name())
	}
	return nil
}
