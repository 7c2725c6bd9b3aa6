package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Stdio is what a tool sees of the process around it.
type Stdio struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv reads the environment; nil means os.Getenv. An empty variable counts as unset.
	Getenv func(name string) string
}

// Env is what a run is given. Stdout reports a reader that has gone as [ErrStdoutClosed].
// Say, Hint and Progress may be called from several goroutines.
type Env struct {
	Stdio
	Name string // of the tool, as it begins every message

	ended      context.Context // over when the run is
	stdoutGone atomic.Bool
	watchers   sync.WaitGroup
	printer    printer
}

func newEnv(ctx context.Context, name string, s Stdio) *Env {
	if s.Getenv == nil {
		s.Getenv = os.Getenv
	}
	env := &Env{Stdio: s, Name: name, ended: ctx}
	env.Stdin = stdin{s.Stdin}
	env.Stdout = &stdout{env: env, w: s.Stdout}
	return env
}

// stdout marks the one error of a write that ends a tool quietly. The same error of another file or of a connection is
// one like any other.
type stdout struct {
	env *Env
	w   io.Writer
}

func (s *stdout) Write(b []byte) (int, error) {
	n, err := writeAll(s.w, b)
	if readerGone(err) {
		s.env.stdoutGone.Store(true)
		err = ErrStdoutClosed
	}
	return n, err
}

// readerGone knows pipes, sockets (a reset when the reader left something unread) and io.Pipe.
func readerGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrClosedPipe)
}

// StdinFile returns the file below Stdin, as StdoutFile does.
func (e *Env) StdinFile() *os.File {
	if s, ok := e.Stdin.(stdin); ok {
		f, _ := s.Reader.(*os.File)
		return f
	}
	return nil
}

// StdoutFile returns the file below Stdout, for a tool that asks what it is; nil in tests that pass a buffer.
func (e *Env) StdoutFile() *os.File {
	if s, ok := e.Stdout.(*stdout); ok {
		f, _ := s.w.(*os.File)
		return f
	}
	return nil
}

// StdoutMissing reports whether the process was probably started without a standard output, as with >&- in a shell. The Go
// runtime puts /dev/null in its place, open for reading and writing, where a shell that was asked for /dev/null opens it for
// writing only. When another standard stream is like that as well, somebody has done it on purpose, as daemons do. But who
// discards standard output alone by opening it for both (Python's subprocess.DEVNULL, Node's "ignore") looks the same: this
// is for output that nobody asks for in order to discard it.
func (e *Env) StdoutMissing() bool {
	f := e.StdoutFile()
	if f == nil || !nullForBoth(descriptor(f)) {
		return false
	}
	stderr, _ := e.Stderr.(*os.File)
	for _, other := range []*os.File{e.StdinFile(), stderr} {
		if other != nil && nullForBoth(descriptor(other)) {
			return false
		}
	}
	return true
}

// nullForBoth reports whether fd is /dev/null, open for reading and writing.
func nullForBoth(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	var is, null unix.Stat_t
	return unix.Fstat(fd, &is) == nil && unix.Stat(os.DevNull, &null) == nil && is.Rdev == null.Rdev &&
		is.Mode&unix.S_IFMT == unix.S_IFCHR && null.Mode&unix.S_IFMT == unix.S_IFCHR
}

// StdoutTerminal reports whether data goes to a terminal.
func (e *Env) StdoutTerminal() bool { return terminal(e.StdoutFile()) }

// StderrTerminal reports whether a person sees messages at once: the condition for progress.
func (e *Env) StderrTerminal() bool {
	f, _ := e.Stderr.(*os.File)
	return terminal(f)
}

// StdinTerminal reports whether input is typed.
func (e *Env) StdinTerminal() bool {
	return terminal(e.StdinFile())
}

// StdoutColour reports whether data may be coloured: a terminal that can, and a user who has not set NO_COLOR
// (https://no-color.org).
func (e *Env) StdoutColour() bool {
	return e.StdoutTerminal() && e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb"
}

// terminal asks for the window size because the answer needs the same request on every Unix, and only terminals have one.
func terminal(f *os.File) bool {
	_, is := columns(f)
	return is
}

// columns is the width of a terminal, 0 when it does not know, and whether f is one.
func columns(f *os.File) (width int, is bool) {
	if f == nil {
		return 0, false
	}
	size, err := unix.IoctlGetWinsize(descriptor(f), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}

// descriptor is not f.Fd because that switches the file, and all who share it, to blocking.
func descriptor(f *os.File) int {
	number := -1
	if c, err := f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { number = int(fd) })
	}
	return number
}
