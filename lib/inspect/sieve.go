package inspect

// Sieve lets those batches through that can stand in one log together: give it those that an Inspector finds, in order.
// It keeps back what goes back or was there before, for the ids of a log rise, and what contradicts itself. A batch that
// claims ids further on than those before it lead to is believed only when the next one goes on behind it: till then a
// copy is held, so memory is that of one batch. The zero value is ready but for Keep.
type Sieve struct {
	// Keep takes what comes through, in order; f is what was given with it. The batch is valid until it returns.
	Keep func(f *File, b *Batch) error
	Left int64 // batches that check and were kept back

	began  bool
	next   int64 // the smallest id that may follow what was let through, and what is held
	before int64 // the same without what is held

	held    Batch
	file    *File
	holding bool
	bytes   []byte
}

// Add takes a batch. Errors are those of Keep.
func (s *Sieve) Add(f *File, b *Batch) error {
	switch b.Verdict {
	case IDsBack, Duplicate, Malformed:
		s.Left++
		return nil
	}
	if b.Format == Format07 { // positions, which nothing in the batch can make wrong
		return s.Keep(f, b)
	}
	if s.began && b.Base < s.next {
		s.Left++
		if !s.holding || b.Base < s.before {
			return nil
		}
		s.holding, s.next = false, s.before // it is the one before that stands wrong
	}
	if err := s.Flush(); err != nil {
		return err
	}
	if !s.began {
		s.began, s.next = true, 0
	} else if b.Base == s.next {
		s.next = b.Next
		return s.Keep(f, b)
	}
	s.before, s.next = s.next, b.Next
	s.hold(f, b)
	return nil
}

func (s *Sieve) hold(f *File, b *Batch) {
	s.bytes = append(s.bytes[:0], b.Bytes...)
	s.held, s.file, s.holding = *b, f, true
	s.held.Bytes = s.bytes
}

// Flush lets through what is held, because nothing comes behind it.
func (s *Sieve) Flush() error {
	if !s.holding {
		return nil
	}
	s.holding = false
	return s.Keep(s.file, &s.held)
}

// Reset begins another log, whose ids begin anew, and lets through what is held of the one before.
func (s *Sieve) Reset() error {
	err := s.Flush()
	s.began = false
	return err
}
