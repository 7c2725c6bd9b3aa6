package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// message07 encodes a message of Kafka 0.7.
func message07(magic byte, codec Codec, payload []byte) []byte {
	b := []byte{0, 0, 0, 0, magic}
	if magic == 1 {
		b = append(b, byte(codec))
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(payload))
	b = append(b, payload...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-lengthSize07))
	return b
}

// set07 encodes messages as a compressed one.
func set07(t testing.TB, codec Codec, messages ...[]byte) []byte {
	t.Helper()
	block, err := compress(nil, codec, bytes.Join(messages, nil))
	if err != nil {
		t.Fatal(err)
	}
	return message07(1, codec, block)
}

func read07(message []byte, offset int64) (values []string, err error) {
	var it Iterator07
	if err := it.Reset(message, offset); err != nil {
		return nil, err
	}
	var r Record
	for it.Next(&r) {
		if r.Offset != offset || r.Timestamp != NoTimestamp || r.Key != nil || r.Value == nil {
			return nil, errors.New("not a record of 0.7")
		}
		values = append(values, string(r.Value))
	}
	if len(values) != it.Count() {
		return nil, errors.New("wrong count")
	}
	return values, it.Err()
}

func TestMessages07(t *testing.T) {
	hello := message07(1, None, []byte("hello"))
	if got := len(hello); got != 15 { // the example of Kafka 0.7's own dump tool
		t.Errorf("%d bytes, want 15", got)
	}
	for _, row := range []struct {
		name    string
		message []byte
		want    []string
	}{
		{"magic 1", hello, []string{"hello"}},
		{"magic 0", message07(0, None, []byte("older")), []string{"older"}},
		{"nothing", message07(1, None, nil), []string{""}},
		{"nothing, magic 0", message07(0, None, nil), []string{""}},
		{"gzip", set07(t, Gzip, hello, message07(0, None, []byte("x"))), []string{"hello", "x"}},
		{"snappy", set07(t, Snappy, hello, hello), []string{"hello", "hello"}},
		{"xerial", message07(1, Snappy, xerial(hello)), []string{"hello"}},
		{"empty set", set07(t, Gzip), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := read07(row.message, 4711)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error("(-want +got):", diff)
			}
		})
	}
}

func TestBrokenMessages07(t *testing.T) {
	good := message07(1, None, []byte("hello"))
	change := func(at int, b byte) []byte {
		m := bytes.Clone(good)
		m[at] = b
		return m
	}
	for _, row := range []struct {
		name    string
		message []byte
		want    error
	}{
		{"nothing", nil, ErrShort},
		{"cut short", good[:14], ErrShort},
		{"too long", append(bytes.Clone(good), 0), ErrLength},
		{"length 4", change(3, 4), ErrLength},
		{"length 5 of magic 1", change(3, 5), ErrLength},
		{"magic 2", change(4, 2), ErrMagic},
		{"codec 3", change(5, 3), ErrCodec},
		{"payload", change(12, 'x'), ErrCRC},
		{"crc", change(7, 1), ErrCRC},
		{"a set in a set", set07(t, Gzip, set07(t, Gzip, good)), ErrInvalid},
		{"half a message", set07(t, Gzip, good, good[:7]), ErrInvalid},
		{"no set", message07(1, Gzip, []byte("junk")), ErrInvalid},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := read07(row.message, 0); !errors.Is(err, row.want) {
				t.Errorf("%v, want %v", err, row.want)
			}
		})
	}
}

// FuzzMessage07 feeds arbitrary bytes to the reader of Kafka 0.7's messages.
//
//   - it never panics, and takes memory only up to the limit
//   - what passes has as many records as Count says
//   - what is refused has none
func FuzzMessage07(f *testing.F) {
	valid := message07(1, None, []byte("hello"))
	f.Add(valid)
	f.Add(valid[:9])
	f.Add(make([]byte, 32))
	f.Add(bytes.Repeat([]byte{0xff}, 32))
	f.Add(message07(0, None, nil))
	f.Add(set07(f, Gzip, valid, valid))
	f.Add(message07(1, Snappy, xerial(valid)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range [][]byte{b, seal07(b)} {
			it := Iterator07{MaxDecompressed: 1 << 16}
			err := it.Reset(m, 0)
			n := 0
			var r Record
			for it.Next(&r) {
				n++
			}
			if err != nil && n > 0 || err == nil && (it.Err() != nil || n != it.Count()) {
				t.Fatalf("%d records, count %d, %v and %v", n, it.Count(), err, it.Err())
			}
		}
	})
}

// seal07 gives bytes the length and the CRC of a message.
func seal07(b []byte) []byte {
	if len(b) < HeaderSize07 || b[4] > 1 {
		return b
	}
	m := message07(b[4], Codec(b[5]&3), b[HeaderSize07:])
	return m
}
