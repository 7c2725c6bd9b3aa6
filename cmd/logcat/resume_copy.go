package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"logkit/lib/cli"
)

// wayOut hints at what to do about a file in which the bytes that were sent are no more: what came behind them, and was
// not sent, may be in a copy, and only the resume file knows where it begins there.
func (p *place) wayOut(ctx context.Context, err error, name string, r *resume) error {
	to := r.Topic
	switch r.Delimiter {
	case "": // a file that is one message has no rest
		return beginAnew(err, name)
	case `\n`:
	default:
		to = "-d " + shellWord(r.Delimiter) + " " + to
	}
	rest := func(file string) string {
		return fmt.Sprintf("tail -c +%d %s | logcat %s", p.Position+1, file, to)
	}
	if found := p.copied(ctx); found != "" {
		return cli.WithHint(err, fmt.Sprintf("%s begins with what was sent: send the rest of it by %s, and then remove %s", found, rest(shellWord(found)), name))
	}
	return cli.WithHint(err, fmt.Sprintf("if there is a copy of what was in it, send the rest of that by %s; then, to send all that is there now, remove %s",
		rest("COPY"), name))
}

// sibling is a regular file beside another one, whose name begins with that one's.
type sibling struct {
	path string
	info fs.FileInfo
}

func siblings(name string) (all []sibling) {
	dir, base := filepath.Dir(name), filepath.Base(name)
	entries, _ := os.ReadDir(dir) // only what can be read can be a copy for us
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && e.Name() != base && strings.HasPrefix(e.Name(), base) {
			all = append(all, sibling{filepath.Join(dir, e.Name()), info})
		}
	}
	return all
}

// copiesRead bounds how many files are read in search of a copy.
const copiesRead = 8

// copied looks for a file beside the name, called alike, that begins with what was sent: as copytruncate of logrotate(8)
// leaves one. It returns the longest.
func (p *place) copied(ctx context.Context) string {
	if p.stream() {
		return ""
	}
	found, size, read := "", int64(-1), 0
	for _, s := range siblings(p.Name) {
		if s.info.Size() < p.Position+p.Unfinished || s.info.Size() <= size {
			continue
		}
		if read++; read > copiesRead {
			break
		}
		if f, err := os.Open(s.path); err == nil {
			if is, err := p.holds(ctx, f); is && err == nil {
				found, size = s.path, s.info.Size()
			}
			f.Close()
		}
	}
	return found
}

// checkCopies looks at the copies that were made of a file since the last run began, in Unix nanoseconds. What is only
// appended to begins with whatever a copy of it holds. Where it does not, it was cut: of a file in which all lines are alike
// its own bytes can not tell. The files that are read themselves are no copies.
func (p *place) checkCopies(ctx context.Context, name string, files []string, began int64) error {
	if p.stream() || began == 0 || p.Position == 0 {
		return nil
	}
	read := 0
	for _, s := range siblings(name) {
		if s.info.Size() <= p.Position || slices.Contains(files, s.path) || born(s.path) < began {
			continue
		}
		if read++; read > copiesRead {
			break
		}
		if other, err := p.goesOnOtherwise(ctx, name, s.path); err != nil {
			return err
		} else if other {
			return changed(fmt.Sprintf("it was cut: %s begins with the %s that were sent as well, and goes on in another way",
				s.path, cli.Counted(p.Position+p.Unfinished, "byte")))
		}
	}
	return nil
}

// goesOnOtherwise reports whether a copy holds what was sent, and behind that something that the file does not hold.
func (p *place) goesOnOtherwise(ctx context.Context, name, copy string) (bool, error) {
	c, err := os.Open(copy)
	if err != nil {
		return false, nil // it may be gone, or not ours to read
	}
	defer c.Close()
	if holds, err := p.holds(ctx, c); !holds || err != nil {
		return false, err
	}
	f, err := os.Open(name)
	if err != nil {
		return false, plain(err)
	}
	defer f.Close()
	has, want := make([]byte, blockSize), make([]byte, blockSize)
	for at := p.Position; ctx.Err() == nil; {
		n, err := c.ReadAt(want, at) // before the file, which may grow
		if n == 0 {
			return false, nil
		}
		m, fileErr := f.ReadAt(has[:n], at)
		if fileErr != nil && !errors.Is(fileErr, io.EOF) {
			return false, plain(fileErr)
		}
		if m < n || !bytes.Equal(has[:n], want[:n]) {
			return true, nil
		}
		if at += int64(n); err != nil {
			return false, nil
		}
	}
	return false, context.Cause(ctx)
}

// shellWord quotes a name for the shell, if it needs that.
func shellWord(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:@%+-") == "" && !strings.HasPrefix(name, "-") {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
