package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"logkit/lib/cli"
	"logkit/lib/vfs"
)

// match finds the places where to go on in the files, of which none means standard input. It compares what the resume
// file says with what is there, for which it reads what was sent again, and ends with the cause of ctx: an error means
// that going on would leave something out. Only the last file is expected to grow: one before it that was sent to its end
// may be gone.
func (r *resume) match(ctx context.Context, name string, files []string, delimiter []byte) ([]place, error) {
	if len(files) == 0 {
		files = []string{standardInput}
	}
	known := slices.Clone(r.Inputs)
	taken := make([]bool, len(known))
	places := make([]place, len(files))
	for i, file := range files {
		is, err := identify(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		is.missing = err != nil
		places[i] = is
		for j := range known {
			if taken[j] || !known[j].same(&is) {
				continue
			}
			err := known[j].check(ctx, &is, delimiter)
			if err == nil {
				err = known[j].checkCopies(ctx, is.Name, files, r.Began)
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			} else if err != nil {
				if known[j].done() && j < len(known)-1 {
					continue // the file is gone, and its inode has been used again
				}
				err = fmt.Errorf("%s: %w", file, err)
				if change := new(changed); errors.As(err, change) {
					return nil, known[j].wayOut(ctx, err, name, r)
				}
				return nil, beginAnew(err, name)
			}
			taken[j] = true
			places[i] = known[j]
			places[i].Name, places[i].Size, places[i].Born = is.Name, max(is.Size, known[j].Position), is.Born
			break
		}
	}
	for j := range known {
		if !taken[j] && known[j].begun() && !(known[j].done() && j < len(known)-1) {
			return nil, known[j].gone(ctx, name, files, r)
		}
	}
	return places, nil
}

// same reports whether a place is in the file that is there: a regular file may have another name by now, as log files
// are renamed, and a stream is known by nothing but its name. An inode is used again for the next file as soon as it is
// free: the time when it was made tells.
func (p *place) same(is *place) bool {
	if is.missing || p.Device != is.Device || p.Inode != is.Inode || p.Born != 0 && is.Born != 0 && p.Born != is.Born {
		return false
	}
	return !p.stream() || p.Name == is.Name
}

// identify returns the beginning of a file.
func identify(name string) (place, error) {
	p := place{Name: name}
	if name == standardInput {
		return p, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return p, err
	}
	if info.Mode().IsRegular() {
		p.Device, p.Inode = identity(info)
		p.Size, p.Born = info.Size(), born(name)
	}
	return p, nil
}

// born is when a file was made, in Unix nanoseconds, and 0 where nobody knows.
func born(name string) int64 {
	at, err := vfs.OS.Born(name)
	if err != nil || at.IsZero() {
		return 0
	}
	return at.UnixNano()
}

func identity(info fs.FileInfo) (device, inode uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev), s.Ino
	}
	return 0, 0
}

// changed says that what was sent is not in the file any more.
type changed string

func (c changed) Error() string { return string(c) }

// check compares a place with the same file as it is there.
func (p *place) check(ctx context.Context, is *place, delimiter []byte) error {
	sent := p.Position + p.Unfinished
	switch {
	case p.stream():
		return nil // it is compared while it is read again
	case is.Size < sent || is.Size < p.Size:
		return changed(fmt.Sprintf("it was cut to %s: the first %d of %d were sent", cli.Counted(is.Size, "byte"), sent, max(sent, p.Size)))
	case delimiter == nil && p.Messages > 0 && is.Size != p.Position:
		return fmt.Errorf("it was sent as one message of %s, and has %d", cli.Counted(p.Position, "byte"), is.Size)
	case !p.begun():
		return nil
	}
	f, err := os.Open(is.Name)
	if err != nil {
		return plain(err)
	}
	defer f.Close()
	holds, err := p.holds(ctx, f)
	if err != nil {
		return plain(err)
	}
	if !holds {
		return changed(fmt.Sprintf("it was written anew: it does not begin with the %s that were sent", cli.Counted(sent, "byte")))
	}
	return nil
}

// gone words that a file which may not have been sent to its end is none of those that are there.
func (p *place) gone(ctx context.Context, name string, files []string, r *resume) error {
	var err error
	sent := fmt.Sprintf("%d of %s", p.Position+p.Unfinished, cli.Counted(p.Size, "byte"))
	_, missing := os.Stat(p.Name)
	switch {
	case p.stream():
		return beginAnew(fmt.Errorf("%s: stands at %s of %s, which is not read now", name, cli.Counted(p.Messages, "message"), shownName(p.Name)), name)
	case !slices.Contains(files, p.Name):
		err = fmt.Errorf("%s: %s of %s were sent, which is not given now", name, sent, p.Name)
	case missing != nil:
		err = fmt.Errorf("%s: %w: %s were sent", p.Name, plain(missing), sent)
	default:
		err = fmt.Errorf("%s: it was replaced by another file: of the one before %s were sent", p.Name, sent)
	}
	now := p.renamed()
	switch {
	case now != "" && now != p.Name:
		return cli.WithHint(err, fmt.Sprintf("that one is %s now: name it before the others, and nothing is left out", now))
	case now != "":
		return cli.WithHint(err, fmt.Sprintf("name %s as well, and nothing is left out; or, to send all of the others, remove %s", now, name))
	}
	return p.wayOut(ctx, err, name, r)
}

// renamed looks for the file beside its name.
func (p *place) renamed() string {
	entries, _ := os.ReadDir(filepath.Dir(p.Name)) // only for a hint: an error is no news
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			if device, inode := identity(info); device == p.Device && inode == p.Inode {
				path := filepath.Join(filepath.Dir(p.Name), e.Name())
				if at := born(path); p.Born != 0 && at != 0 && at != p.Born {
					continue // another one, with the inode of that one
				}
				return path
			}
		}
	}
	return ""
}
