package vfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// The contract of FS is held by the conformance suite in crashfs, which runs on OS too. Here is what only the operating
// system has.

// TestLockOtherProcess: a lock keeps other processes out, and ends with its process.
func TestLockOtherProcess(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	lock, err := OS.Lock(name)
	if err != nil {
		t.Fatal(err)
	}
	child := func() string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLockChild$")
		cmd.Env = append(os.Environ(), "VFS_TEST_LOCK="+name)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := child(); got != "locked" {
		t.Errorf("beside this process: %q, want locked", got)
	}
	lock.Close()
	if got := child(); got != "free" {
		t.Errorf("after this process: %q, want free", got)
	}
	if lock, err = OS.Lock(name); err != nil {
		t.Fatalf("after a process that has not unlocked: %v", err)
	}
	lock.Close()
}

// TestLockChild is no test but the other process of TestLockOtherProcess.
func TestLockChild(t *testing.T) {
	name := os.Getenv("VFS_TEST_LOCK")
	if name == "" {
		t.Skip("no lock to try")
	}
	switch _, err := OS.Lock(name); {
	case err == nil:
		fmt.Print("free")
	case errors.Is(err, ErrLocked):
		fmt.Print("locked")
	default:
		fmt.Print(err)
	}
	os.Exit(0)
}

// TestFd: sendfile(2) needs the descriptor.
func TestFd(t *testing.T) {
	f, err := OS.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, ok := f.(interface{ Fd() uintptr }); !ok {
		t.Error("a file of the operating system has no Fd")
	}
}

func TestErrorKinds(t *testing.T) {
	for _, c := range []struct {
		err            error
		full, noneLeft bool
	}{
		{syscall.ENOSPC, true, false},
		{syscall.EDQUOT, true, false},
		{syscall.EFBIG, true, false},
		{syscall.EMFILE, false, true},
		{syscall.ENFILE, false, true},
		{syscall.EIO, false, false},
		{nil, false, false},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("write f: %w", &os.PathError{Op: "write", Path: "f", Err: err})
		}
		if IsNoSpace(err) != c.full || IsNoDescriptor(err) != c.noneLeft {
			t.Errorf("%v: no space %v, no descriptor %v; want %v, %v", err, IsNoSpace(err), IsNoDescriptor(err), c.full, c.noneLeft)
		}
	}
}
