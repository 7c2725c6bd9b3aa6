package main

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"logkit/lib/cli"
)

// screenLines is what is shown at once where there is no terminal that would say how much it can.
const screenLines = 50

// screen is how many lines are shown without being asked for more. A small terminal may scroll, unless it is redrawn.
func (s *session) screen() int {
	if f := s.env.StdoutFile(); f != nil && s.env.StdoutTerminal() {
		if _, lines := size(f); lines > 10 || lines > 0 && s.o.watch {
			return lines - 1 // and the prompt
		}
	}
	return screenLines
}

// width is how many columns a line may take; 0 is no limit.
func (s *session) width() int {
	if f := s.env.StdoutFile(); f != nil && s.env.StdoutTerminal() {
		columns, _ := size(f)
		return columns
	}
	return 0
}

func size(f *os.File) (columns, lines int) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, 0
	}
	conn.Control(func(fd uintptr) {
		if ws, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			columns, lines = int(ws.Col), int(ws.Row)
		}
	})
	return columns, lines
}

// What a terminal is told to redraw without flicker: begin at the top, clear what is left of each line and of the screen.
const (
	home      = "\x1b[H"
	clearRest = "\x1b[J"
	clearLine = "\x1b[K\n"
)

// redraw shows the group again and again, until ctx ends: at once when the terminal gets another size. In a pipe, and on a
// terminal that cannot redraw, what is shown comes one behind the other.
func (s *session) redraw(ctx context.Context, name string) error {
	ctx = s.env.WatchStdout(ctx)
	show := s.write
	var resized chan os.Signal // nil, where there is no screen
	if s.env.StdoutTerminal() && s.env.Getenv("TERM") != "dumb" && !s.o.json {
		if err := s.write([]byte(home + clearRest)); err != nil {
			return err
		}
		show = func(text []byte) error {
			columns, lines := size(s.env.StdoutFile())
			return s.write([]byte(home + string(bytes.ReplaceAll(cut(text, columns, lines-1), []byte("\n"), []byte(clearLine))) + clearRest))
		}
		resized = make(chan os.Signal, 1)
		signal.Notify(resized, unix.SIGWINCH)
		defer signal.Stop(resized)
	}
	tick := time.NewTicker(s.o.interval)
	defer tick.Stop()
	for {
		if err := s.showStatus(ctx, name, s.screen(), show); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-resized:
		case <-ctx.Done():
			if resized != nil {
				s.write([]byte("\n")) // behind the ^C that the terminal shows
			}
			return context.Cause(ctx)
		}
	}
}

// cut makes text fit a terminal: no line is wider, and there are no more of them. 0 is no limit. A character that may be
// a wide one counts as two columns.
func cut(text []byte, columns, lines int) []byte {
	var out []byte
	n := 0
	for line := range bytes.Lines(text) {
		if lines > 0 && n == lines {
			break
		}
		n++
		text := string(bytes.TrimSuffix(line, []byte("\n")))
		if columns > 0 {
			text = cli.Fit(text, columns)
		}
		out = append(append(out, text...), '\n')
	}
	return out
}
