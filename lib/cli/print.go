package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Everything the tools say to a person is worded along these rules, and written here:
//
//   - a line on stderr, the program first, then from the outer thing to the inner: NAME: topic "t": partition 3: ...
//   - lower case, no full stop, what was given and what is allowed
//   - at most one further line, NAME: hint: ..., with a next step
//   - control characters are written as escapes: a name that came over the network cannot move the cursor
//
// A message that cannot be written is lost: a closed stderr stops nothing.

type printer struct {
	mu       sync.Mutex
	progress int // columns of the progress line that is on the terminal
}

// Say writes one message.
func (e *Env) Say(format string, args ...any) {
	e.line(JournalNotice, "", fmt.Sprintf(format, plainly(args)...))
}

// Hint writes a next step, below the message it belongs to.
func (e *Env) Hint(format string, args ...any) {
	e.line(JournalNotice, "hint: ", fmt.Sprintf(format, args...))
}

// Tell writes a line to stderr as it is, without the name of the tool: for what programs read there.
func (e *Env) Tell(format string, args ...any) {
	e.printer.mu.Lock()
	defer e.printer.mu.Unlock()
	writeAll(e.Stderr, fmt.Appendf(nil, format+"\n", args...))
}

// Progress shows a line that the following one, or a message, replaces. It does nothing unless stderr is a terminal that
// knows how to clear a line. An empty text clears it. What does not fit is left out in the middle.
//
// The cursor stays at the beginning of the line: a terminal that is made narrower may break the line into several, of
// which all are cleared from there.
func (e *Env) Progress(format string, args ...any) {
	f, _ := e.Stderr.(*os.File)
	width, is := columns(f)
	if !is || e.Getenv("TERM") == "dumb" {
		return
	}
	if width == 0 {
		width = 80 // it does not know
	}
	text := narrow(printable(fmt.Sprintf(format, args...)), max(width-1, 1))
	e.printer.mu.Lock()
	defer e.printer.mu.Unlock()
	if text == "" && e.printer.progress == 0 {
		return
	}
	clear := e.printer.clear(width)
	e.printer.progress = cells(text)
	if text != "" {
		text = noWrap + text + wrapAgain + "\r"
	}
	writeAll(e.Stderr, []byte(clear+text))
}

// clear returns what clears the progress line on a terminal of some columns, and notes that it is gone.
func (p *printer) clear(width int) string {
	rows := 1 + max(p.progress-1, 0)/max(width, 1)
	p.progress = 0
	if rows == 1 {
		return clearRow
	}
	return clearRow + saveCursor + strings.Repeat(nextRow+clearRow, rows-1) + restoreCursor
}

// cells is how many columns text takes at most: a character that may be a wide one counts as two.
func cells(text string) int {
	n := 0
	for _, r := range text {
		n += cell(r)
	}
	return n
}

func cell(r rune) int {
	if r < 0x1100 {
		return 1
	}
	return 2
}

// narrow cuts text to a number of columns. Its end tells more than its middle.
func narrow(text string, columns int) string {
	if cells(text) <= columns {
		return text
	}
	const gap = ".."
	runes := []rune(text)
	begin, end := 0, len(runes)
	left := columns - len(gap)
	for head := left / 3; head >= cell(runes[begin]); begin++ {
		head -= cell(runes[begin])
		left -= cell(runes[begin])
	}
	for end > begin && left >= cell(runes[end-1]) {
		end--
		left -= cell(runes[end])
	}
	for begin > 0 && digit(runes[begin-1]) && digit(runes[begin]) { // half a number is another number
		begin--
	}
	for end < len(runes) && digit(runes[end-1]) && digit(runes[end]) {
		end++
	}
	return string(runes[:begin]) + gap[:min(len(gap), columns)] + string(runes[end:])
}

func digit(r rune) bool { return r >= '0' && r <= '9' }

// Control sequences that all terminals know which are made like a VT100. A screen is never cleared to its end: some
// terminals keep what is cleared so.
const (
	clearRow      = "\r\x1b[K"
	nextRow       = "\x1b[B"
	saveCursor    = "\x1b7"
	restoreCursor = "\x1b8"
	noWrap        = "\x1b[?7l" // what is too long is cut: the terminal may get narrower while a line is written
	wrapAgain     = "\x1b[?7h"
)

func (e *Env) line(priority, kind, text string) {
	line := e.Name + ": " + kind + printable(text) + "\n"
	if e.StderrJournal() {
		line = priority + line
	}
	e.printer.mu.Lock()
	defer e.printer.mu.Unlock()
	if e.printer.progress > 0 {
		f, _ := e.Stderr.(*os.File)
		width, _ := columns(f)
		line = e.printer.clear(width) + line
	}
	writeAll(e.Stderr, []byte(line))
}

// report writes an error that ended a run, and the hint that came with it.
func (e *Env) report(err error) {
	e.line(JournalError, "", plain(err))
	var hint hinter
	if errors.As(err, &hint) {
		e.Hint("%s", hint.Hint())
	}
}

func printable(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) {
			quoted := fmt.Sprintf("%q", r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func errUnknownOption(typed, within string) error {
	if within != "" && within != typed {
		return Usagef("unknown option %s in %s", typed, within)
	}
	return Usagef("unknown option %s", typed)
}

func errValueMissing(typed, placeholder string) error {
	return Usagef("option %s: value missing, %s", typed, placeholder)
}

func errValue(origin, value string, err error) error {
	return WithCode(ExitUsage, fmt.Errorf("%s %q: %w", origin, shortened(value), err))
}

// shortened is a value as a message repeats it.
func shortened(value string) string {
	const shown = 200 // bytes
	if len(value) > shown {
		return value[:shown] + "..."
	}
	return value
}

func errOperands(got []string, least, most int) error {
	if len(got) < least {
		return Usagef("operand missing: %d given, at least %d needed", len(got), least)
	}
	if most == 0 {
		return Usagef("operand %q: none is taken", got[0])
	}
	return Usagef("operand %q: at most %d taken", got[most], most)
}

func errCommandMissing(names []string) error {
	return Usagef("command missing: allowed are %s", strings.Join(names, ", "))
}

func errUnknownCommand(name string, names []string) error {
	return Usagef("unknown command %q: allowed are %s", name, strings.Join(names, ", "))
}

func hintHelp(name string) string { return fmt.Sprintf("try '%s --help'", name) }

func hintDidYouMean(name string) string { return fmt.Sprintf("did you mean '%s'?", name) }
