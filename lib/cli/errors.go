package cli

import (
	"errors"
	"fmt"
)

// ErrStdoutClosed says that whoever read standard output has gone. A run that returns it, in whatever wrapping, ends
// quietly with status 0. It is the error of writes to [Env.Stdout] and the cause of [Env.WatchStdout].
var ErrStdoutClosed = errors.New("standard output closed by its reader")

// ErrReported stands for failures that the run has told with [Env.Say] already: nothing more is printed, and the status is
// 1, or that of WithCode.
var ErrReported = errors.New("failures as told above")

type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }
func (e *hintError) Hint() string  { return e.hint }

// hinter is an error with a next step: one of WithHint, or of a package below that knows one.
type hinter interface {
	error
	Hint() string
}

// WithCode gives err an exit status; the outermost one counts. A nil err stays nil.
func WithCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &codeError{code, err}
}

// WithHint gives err a next step for the user, a line of its own below the error; the outermost one counts, and so does a
// method Hint of any error within. A nil err stays nil.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &hintError{err, hint}
}

// Usagef is an error about the command line: status 64.
func Usagef(format string, args ...any) error {
	return WithCode(ExitUsage, fmt.Errorf(format, args...))
}

// Unavailable says that a broker or ZooKeeper was not reachable and that nothing else is wrong: status 75.
func Unavailable(err error) error { return WithCode(ExitUnavailable, err) }

// Damaged says that stored data does not check: status 65.
func Damaged(err error) error { return WithCode(ExitDamaged, err) }
