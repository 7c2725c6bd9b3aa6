package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// Whatever the order of the acknowledgements, what was acknowledged is copied in the order of the input.
func TestTeeKeepsTheOrderOfTheInput(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var out bytes.Buffer
		copies := tee{to: &out, delimiter: []byte("|")}
		var pending []int64
		var want strings.Builder
		n := rnd.Int64N(30)
		settle := func(i int) {
			line := pending[i]
			pending = append(pending[:i], pending[i+1:]...)
			copies.settle([]int64{line}, line%5 != 0)
		}
		for line := int64(1); line <= n; line++ {
			copies.hold(line, strconv.AppendInt(nil, line, 10), line == n)
			pending = append(pending, line)
			if line%5 != 0 {
				want.WriteString(strconv.FormatInt(line, 10))
				if line != n {
					want.WriteString("|")
				}
			}
			for len(pending) > 0 && rnd.IntN(3) > 0 {
				settle(rnd.IntN(len(pending)))
			}
		}
		for len(pending) > 0 {
			settle(rnd.IntN(len(pending)))
		}
		if out.String() != want.String() {
			t.Fatalf("%q, want %q", out.String(), want.String())
		}
		if len(copies.held) != 0 || len(copies.waiting) != 0 {
			t.Fatal("holds what was copied")
		}
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestTeeStopsAtTheFirstError(t *testing.T) {
	copies := tee{to: closed{}, delimiter: []byte("\n")}
	for line := int64(1); line < 100; line++ {
		copies.hold(line, []byte("x"), false)
		if line%2 == 0 {
			copies.settle([]int64{line - 1, line}, true)
		}
	}
	if copies.err == nil || copies.held != nil {
		t.Errorf("%v, %d bytes held", copies.err, len(copies.held))
	}
}
