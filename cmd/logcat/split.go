package main

import "bytes"

// splitter cuts a stream that arrives in pieces of any size into messages, which end with a delimiter or with the
// stream. It holds at most limit bytes of a message: of a longer one only the length is told. Messages inside one piece
// are not copied.
type splitter struct {
	delimiter []byte // nil: the whole stream is one message, even an empty one
	limit     int
	emit      func(message []byte, size int64) error // message is nil when size is above limit; valid during the call

	held    []byte // the beginning of a message whose end has not come, or the last bytes of it when some were dropped
	dropped int64  // bytes of that message which are no longer held
}

// feed takes the next piece of the stream. An error of emit ends it.
func (s *splitter) feed(piece []byte) error {
	if s.delimiter == nil {
		s.hold(piece)
		return nil
	}
	if len(s.held) > 0 || s.dropped > 0 {
		end, found := s.join(piece)
		if !found {
			s.hold(piece)
			return nil
		}
		// The delimiter ends at piece[:end], and may begin in what is held.
		if over := len(s.delimiter) - end; over > 0 {
			s.held = s.held[:len(s.held)-over]
		} else {
			s.hold(piece[:-over])
		}
		if err := s.flush(); err != nil {
			return err
		}
		piece = piece[end:]
	}
	for {
		at := bytes.Index(piece, s.delimiter)
		if at < 0 {
			s.hold(piece)
			return nil
		}
		message := piece[:at]
		if at > s.limit {
			message = nil
		}
		if err := s.emit(message, int64(at)); err != nil {
			return err
		}
		piece = piece[at+len(s.delimiter):]
	}
}

// join looks for the first delimiter that ends in piece, taking into account that it may begin in the bytes held.
func (s *splitter) join(piece []byte) (end int, found bool) {
	if reach := len(s.delimiter) - 1; reach > 0 {
		tail := s.held[max(0, len(s.held)-reach):]
		seam := append(append(make([]byte, 0, 2*reach), tail...), piece[:min(len(piece), reach)]...)
		if at := bytes.Index(seam, s.delimiter); at >= 0 {
			return at + len(s.delimiter) - len(tail), true
		}
	}
	at := bytes.Index(piece, s.delimiter)
	return at + len(s.delimiter), at >= 0
}

// hold keeps a piece of an unfinished message, as far as it is not too long already. Of one that is, only as much is
// kept as may be the beginning of a delimiter.
func (s *splitter) hold(piece []byte) {
	if s.dropped == 0 && len(s.held)+len(piece) <= s.limit+len(s.delimiter) {
		s.held = append(s.held, piece...)
		return
	}
	total := s.dropped + int64(len(s.held)) + int64(len(piece))
	keep := max(0, len(s.delimiter)-1)
	if len(piece) < keep {
		s.held = append(s.held, piece...)
	} else {
		s.held = append(s.held[:0], piece...)
	}
	if extra := len(s.held) - keep; extra > 0 {
		s.held = append(s.held[:0], s.held[extra:]...)
	}
	s.dropped = total - int64(len(s.held))
}

// flush emits the message that is held.
func (s *splitter) flush() error {
	message, size := s.held, s.dropped+int64(len(s.held))
	if size > int64(s.limit) {
		message = nil
	} else if message == nil {
		message = []byte{}
	}
	s.dropped = 0
	err := s.emit(message, size)
	s.held = s.held[:0]
	return err
}

// end finishes the stream: what came after the last delimiter is a message, unless that is nothing.
func (s *splitter) end() error {
	if s.delimiter != nil && len(s.held) == 0 && s.dropped == 0 {
		return nil
	}
	return s.flush()
}

// forget drops a message that has begun, of a stream that breaks off.
func (s *splitter) forget() { s.held, s.dropped = s.held[:0], 0 }
