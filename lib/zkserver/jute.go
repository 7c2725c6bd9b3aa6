package zkserver

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// errMalformed is wrapped by every error of a decoder: the bytes are not the record they should be.
var errMalformed = errors.New("malformed record")

// decoder reads the fields of a record from b, which it never copies: buffers point into b. The first error sticks, and
// every later field is zero, so that a record is decoded in a straight line and err looked at once.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", errMalformed, fmt.Sprintf(format, args...))
		d.b = nil
	}
}

// end refuses bytes that are left over.
func (d *decoder) end() error {
	if len(d.b) > 0 {
		d.fail("%d bytes left over", len(d.b))
	}
	return d.err
}

func (d *decoder) take(n int) []byte {
	if n > len(d.b) {
		d.fail("%d bytes wanted, %d left", n, len(d.b))
		return nil
	}
	taken := d.b[:n:n]
	d.b = d.b[n:]
	return taken
}

func (d *decoder) bool() bool {
	b := d.take(1)
	return b != nil && b[0] != 0
}

func (d *decoder) int32() int32 {
	b := d.take(4)
	if b == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

func (d *decoder) int64() int64 {
	b := d.take(8)
	if b == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// buffer returns nil for a null buffer and a slice that is not nil for an empty one.
func (d *decoder) buffer() []byte {
	n := d.int32()
	switch {
	case d.err != nil || n == -1:
		return nil
	case n < -1:
		d.fail("length %d", n)
		return nil
	case n == 0:
		return []byte{}
	}
	return d.take(int(n))
}

// string refuses null: none of the strings of a request may be.
func (d *decoder) string() string {
	b := d.buffer()
	if b == nil {
		d.fail("null string")
	}
	return string(b)
}

// count returns how many items a vector has, at least itemSize bytes each, so that nobody allocates for items which
// cannot be there. A null vector has none.
func (d *decoder) count(itemSize int) int {
	n := d.int32()
	if n == -1 {
		return 0
	}
	if n < 0 || int64(n)*int64(itemSize) > int64(len(d.b)) {
		d.fail("%d items in %d bytes", n, len(d.b))
		return 0
	}
	return int(n)
}

func (d *decoder) strings() []string {
	items := make([]string, d.count(4))
	for i := range items {
		items[i] = d.string()
	}
	if d.err != nil {
		return nil
	}
	return items
}

func (d *decoder) acl() []acl {
	list := make([]acl, d.count(12))
	for i := range list {
		list[i] = acl{perms: d.int32(), scheme: d.string(), id: d.string()}
	}
	if d.err != nil {
		return nil
	}
	return list
}

// The encoders append one field each and return the longer slice, as append does.

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func appendBuffer(b, v []byte) []byte {
	if v == nil {
		return appendInt32(b, -1)
	}
	return append(appendInt32(b, int32(len(v))), v...)
}

func appendString(b []byte, v string) []byte {
	return append(appendInt32(b, int32(len(v))), v...)
}

func appendStrings(b []byte, v []string) []byte {
	b = appendInt32(b, int32(len(v)))
	for _, s := range v {
		b = appendString(b, s)
	}
	return b
}

func appendACL(b []byte, list []acl) []byte {
	b = appendInt32(b, int32(len(list)))
	for _, a := range list {
		b = appendInt32(b, a.perms)
		b = appendString(b, a.scheme)
		b = appendString(b, a.id)
	}
	return b
}

func appendStat(b []byte, s stat) []byte {
	b = appendInt64(b, s.czxid)
	b = appendInt64(b, s.mzxid)
	b = appendInt64(b, s.ctime)
	b = appendInt64(b, s.mtime)
	b = appendInt32(b, s.version)
	b = appendInt32(b, s.cversion)
	b = appendInt32(b, s.aversion)
	b = appendInt64(b, s.owner)
	b = appendInt32(b, s.dataLength)
	b = appendInt32(b, s.children)
	return appendInt64(b, s.pzxid)
}
