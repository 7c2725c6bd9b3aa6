package zkserver

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A directory in one that its owner may pass but not read, such as a service has, is as good as any.
func TestUnreadableParent(t *testing.T) {
	if dir := os.Getenv("ZKSERVER_DIR"); dir != "" {
		s, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	const nobody = 65534
	top, err := os.MkdirTemp("/tmp", "zkserver-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(top)
	dir, exe := filepath.Join(top, "zk"), filepath.Join(top, "test")
	binary, err := os.ReadFile(os.Args[0])
	if err := errors.Join(err, os.WriteFile(exe, binary, 0o755), os.Mkdir(dir, 0o755), os.Chown(dir, nobody, nobody), os.Chmod(top, 0o711)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestUnreadableParent$")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ZKSERVER_DIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
