package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cut feeds a stream in pieces of the given size and returns the messages; one that is too long shows as "<size>".
func cut(t *testing.T, delimiter, stream string, piece, limit int) []string {
	t.Helper()
	var got []string
	s := splitter{limit: limit, emit: func(message []byte, size int64) error {
		if message == nil {
			got = append(got, fmt.Sprintf("<%d>", size))
		} else {
			got = append(got, string(message))
		}
		return nil
	}}
	if delimiter != "" {
		s.delimiter = []byte(delimiter)
	}
	for rest := []byte(stream); len(rest) > 0; {
		n := min(piece, len(rest))
		if err := s.feed(bytes.Clone(rest[:n])); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestSplitter(t *testing.T) {
	for _, row := range []struct {
		name, delimiter, stream string
		want                    []string
	}{
		{"nothing", "\n", "", nil},
		{"blank lines", "\n", "\n\na\n\n", []string{"", "", "a", ""}},
		{"last line without its end", "\n", "a\nb", []string{"a", "b"}},
		{"carriage returns stay", "\n", "a\r\n\r\nb\r", []string{"a\r", "\r", "b\r"}},
		{"every byte value but one", "\n", "\x00\x01\xff\xfe\n\x80", []string{"\x00\x01\xff\xfe", "\x80"}},
		{"a newline inside a message", "\x00", "a\nb\x00c\x00", []string{"a\nb", "c"}},
		{"several bytes", "\r\n--\r\n", "a\r\n--\r\nb\r\n--c\r\n--\r\n", []string{"a", "b\r\n--c"}},
		{"beginning like itself", "aab", "aaabxaaab", []string{"a", "xa"}},
		{"repeating itself", "aa", "aaaab", []string{"", "", "b"}},
		{"cut short", "--\n", "a--\nb--", []string{"a", "b--"}},
		{"too long", "\n", "abc\n" + strings.Repeat("x", 11) + "\nabcdefghij\n" + strings.Repeat("y", 999), []string{"abc", "<11>", "abcdefghij", "<999>"}},
		{"too long, several bytes", "ab", strings.Repeat("a", 20) + "ab" + "bab" + strings.Repeat("a", 12), []string{"<20>", "b", "<12>"}},
		{"whole", "", "a\nb\n", []string{"a\nb\n"}},
		{"whole and empty", "", "", []string{""}},
		{"whole and too long", "", "01234567890", []string{"<11>"}},
	} {
		for piece := 1; piece <= len(row.stream)+1; piece++ {
			if diff := cmp.Diff(row.want, cut(t, row.delimiter, row.stream, piece, 10)); diff != "" {
				t.Errorf("%s, in pieces of %d: %s", row.name, piece, diff)
				break
			}
		}
	}
}

// However the stream is cut, the messages are those of strings.Split.
func TestSplitterAgreesWithSplit(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		delimiter := []string{"a", "ab", "aab", "aba", "aaa"}[rnd.IntN(5)]
		stream := make([]byte, rnd.IntN(60))
		for i := range stream {
			stream[i] = "ab"[rnd.IntN(2)]
		}
		want := strings.Split(string(stream), delimiter)
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		if diff := cmp.Diff(want, cut(t, delimiter, string(stream), 1+rnd.IntN(9), 1000)); diff != "" && len(want) > 0 {
			t.Fatalf("%q by %q: %s", stream, delimiter, diff)
		}
	}
}

func TestSplitterHoldsNoMoreThanItsLimit(t *testing.T) {
	s := splitter{delimiter: []byte("\n"), limit: 1000, emit: func(message []byte, size int64) error {
		if message != nil || size != 64<<20 {
			t.Errorf("%d bytes of %d", len(message), size)
		}
		return nil
	}}
	piece := bytes.Repeat([]byte("x"), 64<<10)
	for range 1024 {
		if err := s.feed(piece); err != nil {
			t.Fatal(err)
		}
	}
	if cap(s.held) > 256<<10 {
		t.Errorf("holds %d bytes", cap(s.held))
	}
	if err := s.feed([]byte("\n")); err != nil {
		t.Fatal(err)
	}
}
