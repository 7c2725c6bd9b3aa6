package zkserver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// A ZooKeeper client that hides nothing: every frame is built and taken apart here, without the code under test.

// enc builds a record.
type enc []byte

func (e enc) int(v int32) enc  { return binary.BigEndian.AppendUint32(e, uint32(v)) }
func (e enc) long(v int64) enc { return binary.BigEndian.AppendUint64(e, uint64(v)) }
func (e enc) bool(v bool) enc  { return append(e, map[bool]byte{true: 1}[v]) }
func (e enc) str(v string) enc { return append(e.int(int32(len(v))), v...) }
func (e enc) raw(v []byte) enc { return append(e, v...) }
func (e enc) strs(v ...string) enc {
	e = e.int(int32(len(v)))
	for _, s := range v {
		e = e.str(s)
	}
	return e
}
func (e enc) buf(v []byte) enc {
	if v == nil {
		return e.int(-1)
	}
	return append(e.int(int32(len(v))), v...)
}
func (e enc) acls(v ...[3]string) enc { // perms as a digit string, scheme, id
	e = e.int(int32(len(v)))
	for _, a := range v {
		var perms int32
		fmt.Sscan(a[0], &perms)
		e = e.int(perms).str(a[1]).str(a[2])
	}
	return e
}

var open = [3]string{"31", "world", "anyone"}

// dec takes a record apart; running out of bytes panics, which fails the test that reads it.
type dec struct{ b []byte }

func (d *dec) next(n int) []byte { v := d.b[:n]; d.b = d.b[n:]; return v }
func (d *dec) int() int32        { return int32(binary.BigEndian.Uint32(d.next(4))) }
func (d *dec) long() int64       { return int64(binary.BigEndian.Uint64(d.next(8))) }
func (d *dec) bool() bool        { return d.next(1)[0] != 0 }
func (d *dec) buf() []byte {
	n := d.int()
	if n < 0 {
		return nil
	}
	return d.next(int(n))
}
func (d *dec) str() string { return string(d.buf()) }
func (d *dec) strs() []string {
	v := make([]string, d.int())
	for i := range v {
		v[i] = d.str()
	}
	return v
}

// wireStat has the fields of a Stat in their order on the wire.
type wireStat struct {
	Czxid, Mzxid, Ctime, Mtime  int64
	Version, Cversion, Aversion int32
	Owner                       int64
	DataLength, NumChildren     int32
	Pzxid                       int64
}

func (d *dec) stat() wireStat {
	return wireStat{d.long(), d.long(), d.long(), d.long(), d.int(), d.int(), d.int(), d.long(), d.int(), d.int(), d.long()}
}

func (d *dec) acls() (list [][3]string) {
	for range d.int() {
		list = append(list, [3]string{fmt.Sprint(d.int()), d.str(), d.str()})
	}
	return list
}

type wireEvent struct {
	Kind int32
	Path string
}

type wireReply struct {
	Xid    int32
	Zxid   int64
	Err    int32
	Body   []byte
	Events []wireEvent // that came before the reply, and after the one before it
}

// raw is one connection with a session.
type raw struct {
	nc       net.Conn
	session  int64
	password []byte
	timeout  int32
	reply    []byte // to the connect request
	xid      int32
	lastZxid int64
	events   []wireEvent
}

const rawPatience = 60 * time.Second

func dialRaw(addr string) (*raw, error) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	nc.SetDeadline(time.Now().Add(rawPatience))
	return &raw{nc: nc}, nil
}

// dialInside connects within the process: what is written has been read when the call returns, but for a buffer of 4 kB.
func dialInside(t testing.TB, s *Server) *raw {
	t.Helper()
	nc, err := s.Dial()
	if err != nil {
		t.Fatal(err)
	}
	nc.SetDeadline(time.Now().Add(rawPatience))
	t.Cleanup(func() { nc.Close() })
	return &raw{nc: nc}
}

func connectBody(lastZxid int64, timeout int32, session int64, password []byte) enc {
	return enc{}.int(0).long(lastZxid).int(timeout).long(session).buf(password)
}

// connect sends a connect request with the read-only byte and takes the answer.
func (r *raw) connect(lastZxid int64, timeout int32, session int64, password []byte) error {
	if err := r.send(connectBody(lastZxid, timeout, session, password).bool(false)); err != nil {
		return err
	}
	frame, err := r.frame()
	if err != nil {
		return err
	}
	r.reply = frame
	d := dec{frame}
	d.int()
	r.timeout, r.session, r.password = d.int(), d.long(), slices.Clone(d.buf())
	r.lastZxid = lastZxid
	return nil
}

// newRaw is a client with a session of its own, closed with the test.
func newRaw(t testing.TB, addr string) *raw {
	t.Helper()
	r, err := dialRaw(addr)
	if err == nil {
		err = r.connect(0, 10_000, 0, make([]byte, 16))
	}
	if err != nil {
		t.Fatal(err)
	}
	if r.session == 0 {
		t.Fatal("no session granted")
	}
	t.Cleanup(func() { r.nc.Close() })
	return r
}

// resume opens another connection for the session of r.
func (r *raw) resume(addr string) (*raw, error) {
	next, err := dialRaw(addr)
	if err != nil {
		return nil, err
	}
	if err := next.connect(r.lastZxid, 10_000, r.session, r.password); err != nil {
		next.nc.Close()
		return nil, err
	}
	next.xid = r.xid
	return next, nil
}

func (r *raw) send(body []byte) error {
	_, err := r.nc.Write(append(enc{}.int(int32(len(body))), body...))
	return err
}

func (r *raw) frame() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r.nc, head[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(r.nc, body)
	return body, err
}

func (r *raw) request(op int32, body enc) (int32, error) {
	r.xid++
	return r.xid, r.send(enc{}.int(r.xid).int(op).raw(body))
}

// read takes frames up to the next reply.
func (r *raw) read() (wireReply, error) {
	for {
		frame, err := r.frame()
		if err != nil {
			return wireReply{}, err
		}
		d := dec{frame}
		reply := wireReply{Xid: d.int(), Zxid: d.long(), Err: d.int(), Body: d.b}
		if reply.Xid == -1 {
			kind, state := d.int(), d.int()
			if reply.Zxid != -1 || reply.Err != 0 || state != 3 {
				return reply, fmt.Errorf("event header %+v, state %d", reply, state)
			}
			r.events = append(r.events, wireEvent{kind, d.str()})
			continue
		}
		reply.Events, r.events = r.events, nil
		if reply.Xid != -2 && reply.Zxid > 0 {
			r.lastZxid = reply.Zxid
		}
		return reply, nil
	}
}

// try sends a request and takes its reply.
func (r *raw) try(op int32, body enc) (wireReply, error) {
	xid, err := r.request(op, body)
	if err != nil {
		return wireReply{}, err
	}
	reply, err := r.read()
	if err == nil && reply.Xid != xid {
		err = fmt.Errorf("reply %d to request %d", reply.Xid, xid)
	}
	return reply, err
}

func (r *raw) call(t testing.TB, op int32, body enc) wireReply {
	t.Helper()
	reply, err := r.try(op, body)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// must is call, with error 0 expected.
func (r *raw) must(t testing.TB, op int32, body enc) *dec {
	t.Helper()
	reply := r.call(t, op, body)
	if reply.Err != 0 {
		t.Fatalf("op %d: error %d", op, reply.Err)
	}
	return &dec{reply.Body}
}

// create is the simplest of creates.
func (r *raw) create(t testing.TB, path string, data []byte, flags int32) string {
	t.Helper()
	return r.must(t, opCreate, createBody(path, data, flags)).str()
}

func createBody(path string, data []byte, flags int32) enc {
	return enc{}.str(path).buf(data).acls(open).int(flags)
}

// settle waits until all events of changes that have been answered have come, and returns them.
func (r *raw) settle(t testing.TB) []wireEvent {
	t.Helper()
	return r.call(t, opSync, enc{}.str("/")).Events
}

// wantClosed fails unless the server closes the connection without another frame.
func (r *raw) wantClosed(t testing.TB) {
	t.Helper()
	frame, err := r.frame()
	var timeout net.Error
	switch {
	case err == nil:
		t.Fatalf("frame %x, a closed connection wanted", frame)
	case errors.As(err, &timeout) && timeout.Timeout():
		t.Fatal("connection still open")
	}
}

// word asks a four-letter word.
func word(t testing.TB, addr, word string) string {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(rawPatience))
	io.WriteString(nc, word)
	var b strings.Builder
	if _, err := io.Copy(&b, nc); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
