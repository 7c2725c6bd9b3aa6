package zkserver

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A file that may not grow is a full disk: writes are refused until it may.
func TestFileMayNotGrow(t *testing.T) {
	var lines logged
	s := start(t, Options{Logger: lines.logger()})
	r, other := newRaw(t, s.Addr().String()), newRaw(t, s.Addr().String())
	r.create(t, "/a", nil, 0)
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	restore := func() { unix.Setrlimit(unix.RLIMIT_FSIZE, &was) }
	defer restore()
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 512 << 10, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	xid, _ := r.request(opSetData, enc{}.str("/a").buf(make([]byte, 900_000)).int(-1))
	for deadline := time.Now().Add(rawPatience); lines.count("disk full") == 0; time.Sleep(time.Millisecond) {
		if err := s.Err(); err != nil || time.Now().After(deadline) {
			t.Fatalf("no full disk, error %v", err)
		}
	}
	if reply := other.call(t, opCreate, createBody("/b", nil, 0)); reply.Err != int32(codeSystemError) {
		t.Errorf("error %d", reply.Err)
	}
	restore()
	if reply, err := r.read(); err != nil || reply.Xid != xid || reply.Err != 0 {
		t.Errorf("%+v, %v", reply, err)
	}
	r.create(t, "/b", nil, 0)
}
