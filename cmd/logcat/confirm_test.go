package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// confirmed lets a confirmer see n messages that are acknowledged in order.
func confirmed(t *testing.T, c *confirmer, n int64) {
	t.Helper()
	l := newLedger(c)
	for line := int64(1); line <= n; line++ {
		l.hold(t.Context(), &message{line: line, from: source{"t", 0, line}}, c.failed, nil)
		l.settle([]int64{line}, acknowledged)
	}
}

// Positions are told in the order of the input, up to the first message that was refused.
func TestConfirmTellsTheAcknowledgedPrefix(t *testing.T) {
	dir := t.TempDir()
	round := 0
	rounds(t, func(n int64) (follower, func()) {
		round++
		name := filepath.Join(dir, fmt.Sprint(round))
		c, err := newConfirmer(name)
		if err != nil {
			t.Fatal(err)
		}
		return c, func() {
			if err := c.close(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			want := ""
			for line := int64(1); line <= min(n, 4); line++ {
				want += fmt.Sprintf("t 7 %d\n", line)
			}
			if got, err := os.ReadFile(name); err != nil || string(got) != want {
				t.Fatalf("%q (%v), want %q", got, err, want)
			}
		}
	})
}

func fifo(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A reader that stops reading holds up the messages, and gets all of them in the end.
func TestConfirmWaitsForItsReader(t *testing.T) {
	name := fifo(t)
	c, err := newConfirmer(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const n = 300_000 // more than the pipe and the buffer take
	done := make(chan error)
	go func() {
		confirmed(t, c, n)
		done <- c.close(context.Background(), time.Minute)
	}()
	lines := bufio.NewScanner(r)
	for i := 1; lines.Scan(); i++ {
		if want := fmt.Sprintf("t 0 %d", i); lines.Text() != want {
			t.Fatalf("%q, want %q", lines.Text(), want)
		}
		if i == n {
			break
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Of several that write to one FIFO at a time each line stays whole; and whatever has been read when a reader is killed, the
// next one begins with a whole line.
func TestConfirmWritesWholeLines(t *testing.T) {
	name := fifo(t)
	r, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const writers, n = 4, 40_000
	done := make(chan error, writers)
	for w := range int32(writers) {
		c, err := newConfirmer(name)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for next := int64(1); next <= n; next++ {
				c.hold(&message{from: source{"t", w, next}})
				c.settled(true)
				if next%1000 == 0 {
					c.flush()
				}
			}
			done <- c.close(context.Background(), time.Minute)
		}()
	}
	var next [writers]int64
	buf := make([]byte, 64<<10) // as logtail reads
	for total := 0; total < writers*n; {
		got, err := r.Read(buf)
		if err == io.EOF { // nobody has begun to write
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil || !bytes.HasSuffix(buf[:got], []byte("\n")) {
			t.Fatalf("%q at the end of what was read, %v", buf[max(0, got-30):got], err)
		}
		for line := range strings.Lines(string(buf[:got])) {
			var w, at int64
			if _, err := fmt.Sscanf(line, "t %d %d\n", &w, &at); err != nil || at != next[w]+1 {
				t.Fatalf("%q behind %v: %v", line, next, err)
			}
			next[w] = at
			total++
		}
	}
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestConfirmFails(t *testing.T) {
	t.Run("reader gone", func(t *testing.T) {
		name := fifo(t)
		c, err := newConfirmer(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		confirmed(t, c, 1)
		<-c.failed
		confirmed(t, c, 100_000) // nobody waits for it
		if err := c.close(t.Context(), time.Minute); err == nil || err.Error() != name+": its reader has gone" {
			t.Error(err)
		}
	})
	t.Run("no reader", func(t *testing.T) {
		name := fifo(t)
		c, err := newConfirmer(name)
		if err != nil {
			t.Fatal(err)
		}
		confirmed(t, c, 1)
		if err := c.close(t.Context(), time.Millisecond); err == nil || err.Error() != name+": no reader within 1ms" {
			t.Error(err)
		}
	})
	t.Run("no reader and nothing to tell", func(t *testing.T) {
		c, err := newConfirmer(fifo(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.close(t.Context(), time.Hour); err != nil {
			t.Error(err)
		}
	})
	t.Run("given up", func(t *testing.T) {
		c, err := newConfirmer(fifo(t))
		if err != nil {
			t.Fatal(err)
		}
		confirmed(t, c, 1)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errFlush)
		if err := c.close(ctx, time.Hour); err == nil || !strings.HasSuffix(err.Error(), errFlush.Error()) {
			t.Error(err)
		}
	})
	t.Run("a directory", func(t *testing.T) {
		if _, err := newConfirmer(t.TempDir()); err == nil {
			t.Error("opened")
		}
	})
}
