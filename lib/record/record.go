package record

// MaxHeaders is the largest number of headers of one record, so that a few bytes can not claim much memory. Kafka has
// no such limit of its own.
const MaxHeaders = 1 << 20

// minRecordSize is what a record takes at least: its length, and six fields of a byte each.
const minRecordSize = 7

// Record is one message. A nil key or value is null, which is not the same as an empty one.
type Record struct {
	Offset    int64 // id
	Timestamp int64 // ms since 1970
	Key       []byte
	Value     []byte
	Headers   []Field
}

// Field is one header of a record. Names may be repeated, and are arbitrary bytes; a nil value is null.
type Field struct {
	Name  string
	Value []byte
}

// RecordSize is the number of bytes that r takes at most in an uncompressed batch with its position delta there. It
// is exact for the first record (delta 0); for others the distance from the first one's timestamp is not known, and the
// largest is assumed: Builder.SizeWith knows it.
func RecordSize(r Record, delta int) int {
	timestamp := maxVarint64
	if delta == 0 {
		timestamp = 1
	}
	n := bodySize(&r, timestamp, delta)
	return varintSize(int64(n)) + n
}

// bodySize is the size of a record behind its length field, with a timestamp delta of so many bytes.
func bodySize(r *Record, timestamp, delta int) int {
	n := 1 + timestamp + varintSize(int64(delta)) + bytesSize(r.Key) + bytesSize(r.Value) + varintSize(int64(len(r.Headers)))
	for i := range r.Headers {
		f := &r.Headers[i]
		n += varintSize(int64(len(f.Name))) + len(f.Name) + bytesSize(f.Value)
	}
	return n
}

func bytesSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int64(len(b))) + len(b)
}

// appendRecord appends r, timestamp ms after the base timestamp, at position delta.
func appendRecord(dst []byte, r *Record, timestamp int64, delta int) []byte {
	dst = appendVarint(dst, int64(bodySize(r, varintSize(timestamp), delta)))
	dst = append(dst, 0) // attributes
	dst = appendVarint(dst, timestamp)
	dst = appendVarint(dst, int64(delta))
	dst = appendBytes(dst, r.Key)
	dst = appendBytes(dst, r.Value)
	dst = appendVarint(dst, int64(len(r.Headers)))
	for i := range r.Headers {
		f := &r.Headers[i]
		dst = appendVarint(dst, int64(len(f.Name)))
		dst = append(dst, f.Name...)
		dst = appendBytes(dst, f.Value)
	}
	return dst
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 1) // -1
	}
	return append(appendVarint(dst, int64(len(b))), b...)
}

// decoded is a record as it stands in a block, up to its headers. Key and value are slices of the block.
type decoded struct {
	timestamp  int64 // delta
	delta      int   // of the id
	key, value []byte
	headers    int // their number, of which nothing has been checked but that so many fit
	headersAt  int // position of the first
	end        int // position behind the record
}

// decode decodes the record at b[i:] and reports whether there is one.
func (d *decoded) decode(b []byte, i int) bool {
	size, i := varint32(b, i)
	if i == bad || size < 0 || size > len(b)-i {
		return false
	}
	d.end = i + size
	b = b[:d.end]
	i++ // attributes
	d.timestamp, i = varint64(b, i)
	d.delta, i = varint32(b, i)
	d.key, i = nullable(b, i)
	d.value, i = nullable(b, i)
	d.headers, i = varint32(b, i)
	d.headersAt = i
	return i != bad && d.headers >= 0 && d.headers <= MaxHeaders && 2*d.headers <= len(b)-i
}

// checkHeaders reports whether the headers are well formed and end with the record.
func (d *decoded) checkHeaders(b []byte) bool {
	b, i := b[:d.end], d.headersAt
	for range d.headers {
		_, i = required(b, i)
		_, i = nullable(b, i)
	}
	return i == d.end
}

// appendHeaders appends the headers to fields and reports whether they are well formed and end with the record. A name
// that is the same as that of the like field of known shares its memory.
func (d *decoded) appendHeaders(fields []Field, b []byte, known []Field) ([]Field, bool) {
	b, i := b[:d.end], d.headersAt
	for n := range d.headers {
		var name, value []byte
		name, i = required(b, i)
		value, i = nullable(b, i)
		if n < len(known) && known[n].Name == string(name) {
			fields = append(fields, Field{known[n].Name, value})
		} else {
			fields = append(fields, Field{string(name), value})
		}
	}
	return fields, i == d.end
}

// nullable decodes bytes that follow their length, nil for a length of -1.
func nullable(b []byte, i int) (p []byte, next int) {
	n, i := varint32(b, i)
	if uint(n) <= uint(len(b)-i) && i != bad {
		return b[i : i+n : i+n], i + n
	}
	if n == -1 && i != bad {
		return nil, i
	}
	return nil, bad
}

// required is nullable for bytes that can not be null.
func required(b []byte, i int) (p []byte, next int) {
	n, i := varint32(b, i)
	if i == bad || uint(n) > uint(len(b)-i) {
		return nil, bad
	}
	return b[i : i+n : i+n], i + n
}
