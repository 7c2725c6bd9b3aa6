package interop

import (
	"bytes"
	"sync"
	"syscall"
)

// dieWithParent ends a child when the test dies, however it does.
var dieWithParent = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

// words is a buffer for what a process says, read while it is written.
type words struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}
