package main

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"testing"
)

// The sum of a stream that comes in blocks of any size, asked for at any positions, is that of its bytes.
func TestRunningSum(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 3000)
	for i := range text {
		text[i] = byte(rnd.Uint32())
	}
	want := func(to int64) uint32 { return crc32.Checksum(text[:to], castagnoli) }
	for range 100 {
		r := running{watch: rnd.Int64N(3000)}
		for at := int64(0); at < 3000; {
			n := min(1+rnd.Int64N(700), 3000-at)
			r.feed(text[at : at+n])
			for to := at + rnd.Int64N(n+1); to <= at+n; to += 1 + rnd.Int64N(300) {
				if got := r.upTo(to); got != want(to) {
					t.Fatalf("at %d: %08x, want %08x", to, got, want(to))
				}
			}
			r.drain()
			at += n
		}
		if r.crc != want(3000) || r.saw != want(r.watch) {
			t.Fatalf("%08x and %08x at %d, want %08x and %08x", r.crc, r.saw, r.watch, want(3000), want(r.watch))
		}
	}
}

// Of a file of any length that grows message by message, all that a short one has is compared, and of a long one the first
// steps and the last ones; a byte that changed there is found.
func TestWhatIsCompared(t *testing.T) {
	const step = 100
	rnd := rand.New(rand.NewPCG(3, 4))
	text := make([]byte, 5000)
	for i := range text {
		text[i] = byte(rnd.Uint32())
	}
	p := place{}
	for p.Position < 4900 {
		p.Position += 1 + rnd.Int64N(60)
		p.CRC = crc32.Checksum(text[:p.Position], castagnoli)
		p.Sums = addSum(p.Sums, sum{p.Position, p.CRC}, step)
		if !p.possible() {
			t.Fatalf("not possible: %+v", p)
		}
		compared := make([]bool, len(text))
		for _, s := range p.stretches() {
			for i := s.from.At; i < s.to.At; i++ {
				compared[i] = true
			}
		}
		for i := range p.Position {
			near := i < sumsFirst*step || i >= p.Position-sumsFirst*step || p.Position <= 2*sumsFirst*step
			if near && !compared[i] {
				t.Fatalf("at %d, byte %d is not compared: %+v", p.Position, i, p.Sums)
			}
		}
		at := rnd.Int64N(p.Position)
		for _, flip := range []byte{0, 1} {
			text[at] ^= flip
			holds, err := p.holds(t.Context(), bytes.NewReader(text))
			text[at] ^= flip
			if want := flip == 0 || !compared[at]; holds != want || err != nil {
				t.Fatalf("at %d, byte %d changed by %d: %v, %v", p.Position, at, flip, holds, err)
			}
		}
	}
	if len(p.Sums) != sumsKept || len(p.stretches()) != 2 {
		t.Errorf("all of a long file is compared: %+v", p)
	}
	if holds, err := p.holds(t.Context(), bytes.NewReader(text[:p.Position-1])); holds || err != nil {
		t.Errorf("cut: %v, %v", holds, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := p.holds(ctx, bytes.NewReader(text)); !errors.Is(err, stop) {
		t.Errorf("%v, want the cause", err)
	}
}

// A file that was removed and made anew has another time of birth, also when it has the same inode, as ext4 gives it.
func TestBornTells(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("log", []byte("1\n2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	is, err := identify("log")
	if err != nil {
		t.Fatal(err)
	}
	was := is
	was.Position, was.Messages, was.CRC = 2, 1, crc32.Checksum([]byte("1\n"), castagnoli)
	for _, row := range []struct {
		was, is int64
		same    bool
	}{{0, 0, true}, {5, 0, true}, {0, 5, true}, {5, 5, true}, {5, 6, false}} {
		was.Born, is.Born = row.was, row.is
		if was.same(&is) != row.same {
			t.Errorf("%+v", row)
		}
	}
	was.Born = born("log") - 1
	if was.Born == -1 {
		t.Skip("SKIPPED: this file system does not know when a file was made")
	}
	r := &resume{Inputs: []place{was}}
	const want = "log: it was replaced by another file: of the one before 2 of 4 bytes were sent"
	if _, err := r.match(t.Context(), "pos", []string{"log"}, []byte("\n")); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if now := was.renamed(); now != "" {
		t.Errorf("found as %s", now)
	}
}
