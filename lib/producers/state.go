package producers

import (
	"math"
	"time"
)

// kept is how many batches of a producer are remembered with their ids.
const kept = 5

// Defaults of Limits.
const (
	DefaultProducers = 100_000
	DefaultExpiry    = 24 * time.Hour // Kafka's producer.id.expiration.ms
)

// Limits bound what is remembered. A zero field takes the default.
type Limits struct {
	Producers int           // how many; each takes some 200 bytes
	Expiry    time.Duration // without a batch
}

func (l Limits) withDefaults() Limits {
	if l.Producers <= 0 {
		l.Producers = DefaultProducers
	}
	if l.Expiry <= 0 {
		l.Expiry = DefaultExpiry
	}
	return l
}

// Batch is what counts here of a batch. Its records have the sequences, and the ids, from the first one on.
type Batch struct {
	Producer int64 // not negative
	Epoch    int16 // not negative
	Sequence int32 // of its first record; not negative
	Delta    int32 // number of records - 1; not negative
	FirstID  int64 // of its first record; Check does not look at it
	Time     int64 // when it was appended, ms since 1970; Check does not look at it
}

// after is the sequence n behind another.
func after(sequence int32, n int64) int32 { return int32((int64(sequence) + n) & math.MaxInt32) }

// behind is how many sequences lie in [from, to).
func behind(from, to int32) int32 { return (to - from) & math.MaxInt32 }

// producer is what is remembered of one. Those of a State are a ring in the order of their last batches.
type producer struct {
	id      int64
	older   *producer
	newer   *producer
	batches [kept]stored // the last count ones, oldest first
	run     int32        // how many sequences before the next one are known to be stored, without a gap; 2^30 at most
	epoch   int16
	count   int8
}

type stored struct {
	firstID  int64
	time     int64
	sequence int32
	delta    int32
}

// next is the sequence with which the next batch must begin.
func (p *producer) next() int32 {
	if p.count == 0 {
		return 0
	}
	last := p.batches[p.count-1]
	return after(last.sequence, int64(last.delta)+1)
}

// nextID is the id of the last record that the producer has stored + 1.
func (p *producer) nextID() int64 {
	last := p.batches[max(p.count, 1)-1]
	return last.firstID + int64(last.delta) + 1
}

// time is when the producer has stored something.
func (p *producer) time() int64 { return p.batches[max(p.count, 1)-1].time }

// State is what a partition remembers. It is for one goroutine at a time.
type State struct {
	limits Limits
	known  map[int64]*producer
	ring   producer // ring.newer has been silent longest, ring.older spoke last
}

// New returns a State that knows nobody.
func New(limits Limits) *State {
	s := &State{limits: limits.withDefaults(), known: make(map[int64]*producer)}
	s.ring.older, s.ring.newer = &s.ring, &s.ring
	return s
}

// SetLimits replaces the limits; they hold from the next Add and Expire on.
func (s *State) SetLimits(limits Limits) { s.limits = limits.withDefaults() }

// Len is the number of producers that are known.
func (s *State) Len() int { return len(s.known) }

// Check tells what is to be done with a batch: append it, when it is neither stored nor an error is returned; or answer
// with the id of its first record, when it is one of the last batches. The error is a *SequenceError.
func (s *State) Check(b Batch) (firstID int64, isStored bool, err error) {
	p := s.known[b.Producer]
	if p == nil {
		if b.Sequence != 0 {
			return 0, false, &SequenceError{Batch: b, Err: ErrUnknown}
		}
		return 0, false, nil
	}
	refuse := func(err error) (int64, bool, error) {
		return 0, false, &SequenceError{Batch: b, Epoch: p.epoch, Expected: p.next(), Before: p.nextID(), Err: err}
	}
	if b.Epoch < p.epoch {
		return refuse(ErrEpoch)
	}
	if b.Epoch > p.epoch {
		if b.Sequence != 0 {
			return refuse(ErrOutOfOrder)
		}
		return 0, false, nil
	}
	for _, old := range p.batches[:p.count] {
		if old.sequence == b.Sequence && old.delta == b.Delta {
			return old.firstID, true, nil
		}
	}
	switch back := behind(b.Sequence, p.next()); {
	case back == 0:
		return 0, false, nil
	case back <= p.run && b.Delta < back:
		return refuse(ErrDuplicate)
	}
	return refuse(ErrOutOfOrder)
}

// Add remembers a batch that is in the log, whatever Check would say to it: the log is right.
func (s *State) Add(b Batch) {
	p := s.touch(b.Producer, b.Epoch)
	if p.count > 0 && p.next() != b.Sequence {
		p.count, p.run = 0, 0 // something is missing from the log, or the sequences began anew
	}
	if p.count == kept {
		copy(p.batches[:], p.batches[1:])
		p.count--
	}
	p.batches[p.count] = stored{firstID: b.FirstID, time: b.Time, sequence: b.Sequence, delta: b.Delta}
	p.count++
	p.run = int32(min(int64(p.run)+int64(b.Delta)+1, 1<<30))
}

// touch returns a producer as the one that spoke last. In another epoch it has stored nothing.
func (s *State) touch(id int64, epoch int16) *producer {
	p := s.known[id]
	if p != nil {
		p.unlink()
	} else {
		if len(s.known) >= s.limits.Producers {
			s.forget(s.ring.newer)
		}
		p = &producer{id: id, epoch: epoch}
		s.known[id] = p
	}
	if p.epoch != epoch {
		*p = producer{id: id, epoch: epoch}
	}
	p.older, p.newer = s.ring.older, &s.ring
	p.older.newer, p.newer.older = p, p
	return p
}

func (p *producer) unlink() { p.older.newer, p.newer.older = p.newer, p.older }

func (s *State) forget(p *producer) {
	p.unlink()
	delete(s.known, p.id)
}

// Expire forgets the producers that have stored nothing for too long; now is in ms since 1970. It returns how many.
func (s *State) Expire(now int64) (gone int) {
	for p := s.ring.newer; p != &s.ring && now-p.time() > s.limits.Expiry.Milliseconds(); p = s.ring.newer {
		s.forget(p)
		gone++
	}
	return gone
}
