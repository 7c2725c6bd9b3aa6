package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// plain is the text of an error in words for users: a file that cannot be opened is NAME: REASON in every tool, whichever
// call it was that failed, and JSON of another form is told without names of Go's types.
func plain(err error) string {
	text := err.Error()
	for _, inner := range chain(err) {
		switch e := inner.(type) {
		case *fs.PathError:
			text = withoutCall(text, e)
		case *json.UnmarshalTypeError:
			text = strings.Replace(text, e.Error(), typeError(e), 1)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		text = strings.Replace(text, fs.ErrNotExist.Error(), syscall.ENOENT.Error(), 1)
	}
	return text
}

// withoutCall leaves out the calls that only look for a file, and keeps those that say what was to be done with it.
func withoutCall(text string, e *fs.PathError) string {
	switch e.Op {
	case "open", "openat", "stat", "lstat", "statx", "newfstatat":
	default:
		return text
	}
	what := e.Error()
	if twice := e.Path + ": " + what; strings.Contains(text, twice) {
		what = twice
	}
	return strings.Replace(text, what, e.Path+": "+e.Err.Error(), 1)
}

func typeError(e *json.UnmarshalTypeError) string {
	if e.Field == "" {
		return fmt.Sprintf("JSON of another form: %s at byte %d", e.Value, e.Offset)
	}
	return fmt.Sprintf("JSON of another form: %s at byte %d, for %s", e.Value, e.Offset, e.Field)
}

// chain is the error and all that it wraps.
func chain(err error) []error {
	all := []error{err}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			all = append(all, chain(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, chain(inner)...)
		}
	}
	return all
}

// plainly puts the text of errors in the place of errors.
func plainly(args []any) []any {
	texts := make([]any, len(args))
	for i, arg := range args {
		texts[i] = arg
		if err, is := arg.(error); is && err != nil {
			texts[i] = plain(err)
		}
	}
	return texts
}
