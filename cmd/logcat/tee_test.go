package main

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"
)

// Whatever the order of the acknowledgements, what was acknowledged is copied in the order of the input.
func TestTeeKeepsTheOrderOfTheInput(t *testing.T) {
	rounds(t, func(n int64) (follower, func()) {
		var out bytes.Buffer
		copies := &tee{to: &out, delimiter: []byte("|")}
		return copies, func() {
			var want strings.Builder
			for line := int64(1); line <= n; line++ {
				if line%5 != 0 {
					want.WriteString(strconv.FormatInt(line, 10))
					if line != n {
						want.WriteString("|")
					}
				}
			}
			if out.String() != want.String() {
				t.Fatalf("%q, want %q", out.String(), want.String())
			}
			if len(copies.held) != 0 || copies.sizes.len() != 0 {
				t.Fatal("holds what was copied")
			}
		}
	})
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestTeeStopsAtTheFirstError(t *testing.T) {
	copies := &tee{to: closed{}, delimiter: []byte("\n")}
	l := newLedger(copies)
	for line := int64(1); line < 100; line++ {
		l.hold(t.Context(), &message{line: line, bytes: []byte("x"), size: 1}, nil, nil)
		if line%2 == 0 {
			l.settle([]int64{line - 1, line}, acknowledged)
		}
	}
	if copies.err == nil || copies.held != nil {
		t.Errorf("%v, %d bytes held", copies.err, len(copies.held))
	}
}
