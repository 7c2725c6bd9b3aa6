package cli

import (
	"errors"
	"fmt"
	"io"
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
	progress bool // a progress line is on the terminal
}

// Say writes one message.
func (e *Env) Say(format string, args ...any) {
	e.line(JournalNotice, "", fmt.Sprintf(format, args...))
}

// Hint writes a next step, below the message it belongs to.
func (e *Env) Hint(format string, args ...any) {
	e.line(JournalNotice, "hint: ", fmt.Sprintf(format, args...))
}

// Progress shows a line that the following one, or a message, replaces. It does nothing unless stderr is a terminal.
// An empty text clears the line. What does not fit beside the ^C that a terminal shows is left out in the middle: a line
// that wraps could not be cleared.
func (e *Env) Progress(format string, args ...any) {
	f, _ := e.Stderr.(*os.File)
	width, is := columns(f)
	if !is {
		return
	}
	if width == 0 {
		width = 80 // it does not know
	}
	text := narrow(printable(fmt.Sprintf(format, args...)), max(width-len(" ^C"), 1))
	e.printer.mu.Lock()
	defer e.printer.mu.Unlock()
	if text == "" && !e.printer.progress {
		return
	}
	e.printer.progress = text != ""
	io.WriteString(e.Stderr, clearLine+text)
}

// narrow cuts text to a number of columns. Its end tells more than its middle. A character
// that may be a wide one counts as two columns.
func narrow(text string, columns int) string {
	cells := func(r rune) int {
		if r < 0x1100 {
			return 1
		}
		return 2
	}
	width := 0
	for _, r := range text {
		width += cells(r)
	}
	if width <= columns {
		return text
	}
	const gap = ".."
	runes := []rune(text)
	begin, end := 0, len(runes)
	left := columns - len(gap)
	for head := left / 3; head >= cells(runes[begin]); begin++ {
		head -= cells(runes[begin])
		left -= cells(runes[begin])
	}
	for end > begin && left >= cells(runes[end-1]) {
		end--
		left -= cells(runes[end])
	}
	return string(runes[:begin]) + gap[:min(len(gap), columns)] + string(runes[end:])
}

const clearLine = "\r\x1b[K"

func (e *Env) line(priority, kind, text string) {
	line := e.Name + ": " + kind + printable(text) + "\n"
	if e.StderrJournal() {
		line = priority + line
	}
	e.printer.mu.Lock()
	defer e.printer.mu.Unlock()
	if e.printer.progress {
		e.printer.progress = false
		line = clearLine + line
	}
	io.WriteString(e.Stderr, line)
}

// report writes an error that ended a run, and the hint that came with it.
func (e *Env) report(err error) {
	e.line(JournalError, "", err.Error())
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
