package registry

import (
	"encoding/binary"
	"net"
	"sync/atomic"
	"time"
)

// wire is a connection to a server as the client of ZooKeeper has it, and does for it what it does not do itself.
//
// It hears which session timeout the server grants, which the client keeps to itself: the first that a server sends is
//
//	| length int32 | protocol int32 | session timeout in ms int32, 0 for a session that has ended | ...
//
// And nothing is waited for on it longer than a session lasts: the client waits many times that for the first answer of
// a server that has accepted it and hangs, while another one would answer.
type wire struct {
	net.Conn
	asked   time.Duration
	granted *atomic.Int64 // in ns; 0 before the first answer of any server

	head [12]byte // what the server has sent first
	got  int
}

// Read is called by one goroutine at a time.
func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if w.got < len(w.head) {
		w.got += copy(w.head[w.got:], b[:n])
		if ms := int32(binary.BigEndian.Uint32(w.head[8:])); w.got == len(w.head) && ms > 0 {
			w.granted.Store(int64(time.Duration(ms) * time.Millisecond))
		}
	}
	return n, err
}

func (w *wire) SetReadDeadline(t time.Time) error {
	most := max(w.asked, time.Duration(w.granted.Load())) // the client pings as often as the granted one demands
	if latest := time.Now().Add(most); t.IsZero() || t.After(latest) {
		t = latest
	}
	return w.Conn.SetReadDeadline(t)
}
