package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"logkit/lib/cli"
)

// A pipe that nobody writes to holds up neither the opening nor the reading when a run is to end.
func TestInputEnds(t *testing.T) {
	var keep *os.File
	t.Cleanup(func() { keep.Close() }) // when the pipe is removed: who opens it later does not wait
	name := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("ended")
	opened := make(chan error)
	go func() {
		_, err := cli.OpenInput(ctx, name)
		opened <- err
	}()
	cancel(ended)
	if err := <-opened; !errors.Is(err, ended) {
		t.Errorf("opened: %v", err)
	}
	var err error
	if keep, err = os.OpenFile(name, os.O_RDWR, 0); err != nil { // opens the other end for whoever waits still
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	f, err := cli.OpenInput(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read := make(chan error)
	go func() {
		_, err := f.Read(make([]byte, 10))
		read <- err
	}()
	cancel(ended)
	if err := <-read; !errors.Is(err, ended) {
		t.Errorf("read: %v", err)
	}
}

func TestInputIsAsItIs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	want := bytes.Repeat([]byte("line\n"), 100_000)
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := cli.OpenInput(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := cli.OpenInput(t.Context(), name+"-missing"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
