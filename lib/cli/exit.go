package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
)

// The exit statuses every tool shares. 2 is left to the Go runtime; a signal gives 128 and its number.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 64
	ExitDamaged     = 65
	ExitUnavailable = 75
	ExitHungUp      = 129
	ExitInterrupted = 130
	ExitTerminated  = 143
)

// signalBase and the number of a signal make the status of a tool that it ended.
const signalBase = 128

// Exit is a row of a tool's table of exit statuses, as help and the manual page show it.
type Exit struct {
	Code    int
	Meaning string
}

var exits = []Exit{
	{ExitOK, "done"},
	{ExitFailed, "failed: something was lost, refused, unread or undelivered"},
	{ExitUsage, "usage: the command line, the environment or the configuration makes no sense"},
	{ExitDamaged, "damaged data was found"},
	{ExitUnavailable, "a broker or ZooKeeper was not reachable, and nothing else is wrong: try again"},
	{ExitHungUp, "hung up (SIGHUP), after a clean flush"},
	{ExitInterrupted, "interrupted (SIGINT), after a clean flush"},
	{ExitTerminated, "terminated (SIGTERM), after a clean flush"},
}

// Exits picks rows of the shared table, for [Tool.Exits]. An unknown code panics.
func Exits(codes ...int) []Exit {
	rows := make([]Exit, 0, len(codes))
	for _, code := range codes {
		row := -1
		for i := range exits {
			if exits[i].Code == code {
				row = i
			}
		}
		if row < 0 {
			panic("cli: exit status without a meaning")
		}
		rows = append(rows, exits[row])
	}
	return rows
}

// ExitTable returns the tool's own table, or the shared one (without the signals where they end the tool with 0).
func (t *Tool) ExitTable() []Exit {
	switch {
	case t.Exits != nil:
		return t.Exits
	case t.SignalOK:
		return slices.DeleteFunc(slices.Clone(exits), func(e Exit) bool { return e.Code > signalBase })
	}
	return exits
}

// SignalError is the cause of a context that a signal has cancelled.
type SignalError struct{ Signal os.Signal }

func (e SignalError) Error() string { return "signal: " + e.Signal.String() }

func (e SignalError) code() int {
	if s, ok := e.Signal.(syscall.Signal); ok {
		return signalBase + int(s)
	}
	return ExitFailed
}

// status is what a run's error means, given why its context ended: the exit status, and the errors to print.
//
// A run that a signal ended is told apart from one that failed meanwhile: only nil, the context's own error and its
// cause count as the signal's. In the same way a closed stdout excuses only the errors it brought about.
func (t *Tool) status(ctx context.Context, env *Env, err error) (int, []error) {
	var signal SignalError
	signalled := errors.As(context.Cause(ctx), &signal)
	code, quiet, failures := ExitOK, true, []error(nil)
	for _, part := range flatten(err) {
		switch {
		case excusedBy(part, ErrStdoutClosed, env.stdoutGone.Load()):
		case signalled && excusedBy(part, signal, true):
		default:
			code, quiet = worse(code, codeOf(part)), false
			if !errors.Is(part, ErrReported) {
				failures = append(failures, part)
			}
		}
	}
	if quiet && signalled && !t.SignalOK {
		code = signal.code()
	}
	return code, failures
}

// excusedBy reports whether err says no more than that cause ended the run. An exit status that was asked for stands,
// except "not reachable": a client that is cancelled while it connects reports that.
func excusedBy(err, cause error, ended bool) bool {
	var coded *codeError
	if errors.As(err, &coded) && coded.code != ExitUnavailable {
		return false
	}
	return errors.Is(err, cause) || ended && errors.Is(err, context.Canceled)
}

// flatten takes errors.Join apart, so that each error is a line of its own and has a status of its own. Errors that
// wrap several others in one sentence stay whole.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var texts []string
	for _, part := range joined.Unwrap() {
		texts = append(texts, part.Error())
	}
	if strings.Join(texts, "\n") != err.Error() {
		return []error{err}
	}
	var parts []error
	for _, part := range joined.Unwrap() {
		parts = append(parts, flatten(part)...)
	}
	return parts
}

func codeOf(err error) int {
	var coded *codeError
	if errors.As(err, &coded) {
		return coded.code
	}
	return ExitFailed
}

// worse combines two statuses: "try again" only when nothing else is wrong, "damaged" only when nothing was lost. A
// tool's own statuses go before the shared ones.
func worse(a, b int) int {
	if severity(b) > severity(a) {
		return b
	}
	return a
}

func severity(code int) int {
	mild := []int{ExitOK, ExitUnavailable, ExitDamaged, ExitFailed, ExitUsage}
	for i, c := range mild {
		if c == code {
			return i
		}
	}
	return len(mild) + code
}
