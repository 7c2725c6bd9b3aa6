package inspect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"

	"logkit/lib/vfs"
)

// Action is one change that Repair makes, or would make.
type Action struct {
	Path  string   // of the log
	Cut   bool     // else its indexes are built again
	From  int64    // byte that the log is cut at
	Bytes int64    // that are cut off
	Cause *Verdict // nil: an index is missing
}

// String is what is done, on one line.
func (a *Action) String() string {
	if a.Cut {
		return fmt.Sprintf("%s: cut at %d: %s off", a.Path, a.From, count(a.Bytes, "byte"))
	}
	return fmt.Sprintf("%s: indexes built again from the log", a.Path)
}

// Repair makes good what can be made good without losing an intact batch. Behind the last intact batch of the last
// segment of a directory, or of a log that was named, what is left is cut off; indexes that point wrong, or are missing,
// are built again. Damage before that stays: a Salvage leaves it behind. Actions and verdicts that stay are given away as
// they come.
type Repair struct {
	Inspector
	DryRun bool // change nothing
	Action func(*Action) error

	Repaired, Left int // verdicts

	plans map[string]*plan
	order []*plan
	run   []*Verdict // on damage without an intact batch in between, which may reach to the end
}

// maxRun bounds run: what is damaged before that many verdicts in a row is taken for damage in the middle.
const maxRun = 1 << 16

// plan is what is to be done about one log.
type plan struct {
	file  *File
	cut   *Verdict
	index *Verdict
	wrong bool // an index is
	gone  bool // an index is missing
}

// Path repairs a partition's directory, a directory of such, or one log. ErrLocked of vfs: somebody works in it.
func (r *Repair) Path(path string) error {
	locks, err := r.lock(path)
	for _, l := range locks {
		defer l.Close()
	}
	if err != nil {
		return err
	}
	r.plans, r.order, r.run = make(map[string]*plan), nil, nil
	stays := r.Inspector.Verdict
	in := r.Inspector
	in.Visitor = Visitor{
		Progress: r.Progress,
		End: func(f *File) error {
			if f.Kind == LogFile && f.Format != Format07 && f.Base >= 0 && f.Leftover == "" {
				r.plan(f).gone = !r.exists(f.withSuffix(".index"))
			}
			return r.leave(f, stays)
		},
		Verdict: func(f *File, v *Verdict) error {
			if !v.Kind.Damage() {
				return nil
			}
			return r.judge(f, v, stays)
		},
	}
	if err := in.Path(path); err != nil {
		return err
	}
	for _, p := range r.order {
		if err := r.carryOut(p); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repair) exists(path string) bool {
	_, err := r.FS.Stat(path)
	return err == nil
}

func (r *Repair) plan(f *File) *plan {
	p := r.plans[f.Path]
	if p == nil {
		p = &plan{file: f}
		r.plans[f.Path] = p
		r.order = append(r.order, p)
	}
	return p
}

// judge notes what is to be done about a verdict, or that it stays.
func (r *Repair) judge(f *File, v *Verdict, stays func(*File, *Verdict) error) error {
	switch {
	case f.Kind == LogFile && f.Leftover == "" && v.File != f.Path:
		p := r.plan(f)
		p.wrong = true
		if p.index == nil {
			p.index = v
		}
		r.Repaired++
		return nil
	case f.Kind != LogFile || f.Leftover != "" || v.File != f.Path || !v.Kind.IsRange():
		return r.stay(f, []*Verdict{v}, stays)
	}
	if n := len(r.run); n == maxRun || n > 0 && r.run[n-1].End != v.Position {
		if err := r.leave(f, stays); err != nil {
			return err
		}
	}
	r.run = append(r.run, v)
	switch {
	case v.Kind == TooLarge: // it may be a batch all the same
		return r.leave(f, stays)
	case v.End == f.Size && (f.last || !f.InDir):
		r.plan(f).cut = r.run[0]
		r.Repaired += len(r.run)
		r.run = nil
	}
	return nil
}

// leave leaves the damage that has been seen last as it is.
func (r *Repair) leave(f *File, stays func(*File, *Verdict) error) error {
	run := r.run
	r.run = nil
	return r.stay(f, run, stays)
}

func (r *Repair) stay(f *File, verdicts []*Verdict, stays func(*File, *Verdict) error) error {
	for _, v := range verdicts {
		r.Left++
		if stays == nil {
			continue
		}
		if err := stays(f, v); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repair) carryOut(p *plan) error {
	if p.cut != nil {
		a := &Action{Path: p.file.Path, Cut: true, From: p.cut.Position, Bytes: p.file.Size - p.cut.Position, Cause: p.cut}
		if err := r.do(a, func() error { return cut(r.FS, p.file, a.From) }); err != nil {
			return err
		}
	}
	hasIndexes := p.file.Format != Format07 && p.file.Base >= 0
	if hasIndexes && (p.wrong || p.gone || p.cut != nil) {
		return r.do(&Action{Path: p.file.Path, Cause: p.index}, func() error { return r.rebuild(p.file) })
	}
	return nil
}

func (r *Repair) do(a *Action, change func() error) error {
	if !r.DryRun {
		if err := change(); err != nil {
			return err
		}
	}
	if r.Action == nil {
		return nil
	}
	return r.Action(a)
}

// cut makes the log size bytes long, durably, unless it has changed since it was read.
func cut(fsys vfs.FS, f *File, size int64) error {
	file, err := fsys.OpenWrite(f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	is, err := file.Size()
	if err != nil {
		return err
	}
	if is != f.Size {
		return fmt.Errorf("%s: somebody writes to it: %d bytes, there were %d", f.Path, is, f.Size)
	}
	if err := file.Truncate(size); err != nil {
		return err
	}
	return file.Sync()
}

func (r *Repair) rebuild(f *File) error {
	file, err := r.FS.OpenRead(f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return err
	}
	offsets, times, err := buildIndexes(io.NewSectionReader(file, 0, size), size, f.Base, r.Options)
	if err != nil {
		return err
	}
	return writeIndexes(r.FS, f.Path, offsets, times)
}

// lock takes the locks of the data directories that path may be in: a file .lock in it, or in the one or two around it.
// logd locks it by flock, Kafka by fcntl. A file that is not there locks nothing, and is not made.
func (r *Repair) lock(path string) (locks []io.Closer, err error) {
	dir, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	for range 3 {
		name := filepath.Join(dir, ".lock")
		if r.exists(name) {
			l, err := r.FS.Lock(name)
			switch {
			case err == nil:
				locks = append(locks, l)
				if held(l) {
					return locks, fmt.Errorf("lock %s: %w", name, vfs.ErrLocked)
				}
			case errors.Is(err, vfs.ErrLocked) || !r.DryRun && !errors.Is(err, fs.ErrNotExist):
				return locks, err
			}
		}
		dir = filepath.Dir(dir)
	}
	return locks, nil
}

// held tells whether another process has locked the open file by fcntl.
func held(l io.Closer) bool {
	f, ok := l.(interface{ Fd() uintptr })
	if !ok {
		return false
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock)
	return err == nil && lock.Type != unix.F_UNLCK
}
