package segment

import (
	"io"

	"logkit/lib/record"
)

// headersBuffer is how many bytes Headers reads at a time.
const headersBuffer = 64 << 10

// Headers calls visit with the header of each batch in the first limit bytes of the log whose base id is not below from,
// in order. It steps over damage, and looks at no checksum.
func (s *Segment) Headers(from, limit int64, visit func(record.Header)) error {
	h, err := s.Log()
	if err != nil {
		return err
	}
	defer h.Release()
	w, err := s.walkFrom(h, from, limit)
	if err != nil {
		return err
	}
	w.buf = make([]byte, 0, max(min(limit-w.pos, headersBuffer), 0))
	for {
		b, err := walkTo(w, func(header record.Header) bool { return header.BaseOffset >= from })
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		visit(b.Header)
	}
}
