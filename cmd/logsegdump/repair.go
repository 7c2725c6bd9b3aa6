package main

import (
	"errors"
	"fmt"

	"logkit/lib/cli"
	"logkit/lib/inspect"
	"logkit/lib/vfs"
)

// repair is --repair.
func (s *session) repair(paths []string) (errs []error) {
	r := &inspect.Repair{Inspector: s.in, DryRun: s.o.dryRun, Action: s.action}
	r.FS = vfs.OS
	r.Visitor = inspect.Visitor{
		Progress: s.progress,
		Verdict: func(_ *inspect.File, v *inspect.Verdict) error {
			s.verdicts++
			s.damaged[v.File] = struct{}{}
			if s.o.json {
				return s.printJSON(newVerdictJSON(v))
			}
			s.tell(v)
			return nil
		},
	}
	for _, path := range paths {
		if path == "-" {
			errs = append(errs, cli.Usagef("standard input can not be repaired"))
			continue
		}
		err := r.Path(path)
		switch {
		case errors.Is(err, inspect.ErrNotSegment):
			err = cli.WithCode(cli.ExitUsage, err)
		case errors.Is(err, vfs.ErrLocked):
			err = cli.WithHint(fmt.Errorf("%s: %w", path, err), "stop the broker first; it repairs its logs itself when it starts")
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if s.verdicts > 0 && !s.o.quiet {
		s.env.Hint("what is damaged before the end is not cut out: --salvage FILE writes a segment without it")
	}
	if s.o.dryRun {
		s.verdicts += r.Repaired
	}
	return errs
}

// actionJSON is a repair in JSON.
type actionJSON struct {
	File     string       `json:"file"`
	Action   string       `json:"action"`
	Position *int64       `json:"position,omitempty"`
	Bytes    *int64       `json:"bytes,omitempty"`
	Done     bool         `json:"done"`
	Cause    *verdictJSON `json:"cause"`
}

// action tells of a repair.
func (s *session) action(a *inspect.Action) error {
	if a.Cause != nil && s.o.dryRun {
		s.damaged[a.Cause.File] = struct{}{}
	}
	if s.o.json {
		j := actionJSON{File: a.Path, Action: "index", Done: !s.o.dryRun}
		if a.Cut {
			j.Action, j.Position, j.Bytes = "cut", &a.From, &a.Bytes
		}
		if a.Cause != nil {
			cause := newVerdictJSON(a.Cause)
			j.Cause = &cause
		}
		return s.printJSON(j)
	}
	if s.o.quiet {
		return nil
	}
	if a.Cause != nil {
		s.env.Say("%v", a.Cause)
	}
	prefix := ""
	if s.o.dryRun {
		prefix = "would be done: "
	}
	_, err := fmt.Fprintf(s.out, "%s%s\n", prefix, safeName(a.String()))
	return err
}
