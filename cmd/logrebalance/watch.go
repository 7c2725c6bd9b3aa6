package main

import (
	"bytes"
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// screenLines is what is shown at once where there is no terminal that would say how much it can.
const screenLines = 50

// screen is how many lines are shown without being asked for more.
func (s *session) screen() int {
	if f := s.env.StdoutFile(); f != nil && s.env.StdoutTerminal() {
		if _, lines := size(f); lines > 10 {
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

// redraw shows the group again and again, until ctx ends. In a pipe what is shown comes one behind the other.
func (s *session) redraw(ctx context.Context, name string) error {
	ctx = s.env.WatchStdout(ctx)
	show := s.write
	if s.env.StdoutTerminal() {
		if err := s.write([]byte(home + clearRest)); err != nil {
			return err
		}
		show = func(text []byte) error {
			columns, lines := size(s.env.StdoutFile())
			return s.write([]byte(home + string(bytes.ReplaceAll(cut(text, columns, lines-1), []byte("\n"), []byte(clearLine))) + clearRest))
		}
	}
	tick := time.NewTicker(max(s.o.interval, 100*time.Millisecond))
	defer tick.Stop()
	for {
		if err := s.showStatus(ctx, name, s.screen(), show); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// cut makes text fit a terminal: no line is wider, and there are no more of them. 0 is no limit.
func cut(text []byte, columns, lines int) []byte {
	var out []byte
	n := 0
	for line := range bytes.Lines(text) {
		if lines > 0 && n == lines {
			break
		}
		n++
		runes := []rune(string(bytes.TrimSuffix(line, []byte("\n"))))
		if columns > 0 && len(runes) > columns {
			runes = runes[:columns]
		}
		out = append(append(out, string(runes)...), '\n')
	}
	return out
}
