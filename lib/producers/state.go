package producers

import (
	"math"
	"slices"
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

// producer is what is remembered of one.
type producer struct {
	id      int64
	turn    uint64       // rises with each batch of any producer; 0: nobody
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

// State is what a partition remembers. It is for one goroutine at a time; a View of it is not.
type State struct {
	limits Limits
	known  map[int64]int32 // slots
	chunks []*chunk        // the producers, by slot
	ring   []link          // by slot, in the order of their last batches; that of slot 0 joins the last to the first
	free   []int32         // slots of nobody
	turn   uint64          // of the last batch
	view   uint64          // how many views have been taken
}

// link is a producer's place in the order. Slot 0's newer one has been silent longest, its older one spoke last.
type link struct{ older, newer int32 }

// chunkSize is how many producers are copied when one of them changes that a View shows.
const chunkSize = 64

// chunk holds the producers of some slots. It is shared with views, and may not be changed, when it was made before the
// last of them.
type chunk struct {
	view uint64
	of   [chunkSize]producer
}

// New returns a State that knows nobody.
func New(limits Limits) *State {
	return &State{
		limits: limits.withDefaults(), known: make(map[int64]int32), ring: make([]link, 1), chunks: []*chunk{new(chunk)},
	}
}

// at is the producer of a slot, to be looked at.
func (s *State) at(slot int32) *producer { return &s.chunks[slot/chunkSize].of[slot%chunkSize] }

// own is the producer of a slot, to be changed.
func (s *State) own(slot int32) *producer {
	c := &s.chunks[slot/chunkSize]
	if (*c).view != s.view {
		copied := **c
		copied.view = s.view
		*c = &copied
	}
	return &(*c).of[slot%chunkSize]
}

// View is what a State remembers at one moment. It does not change with the State, and may be used in another goroutine.
type View struct{ chunks []*chunk }

// View costs some microseconds, whatever there is, and each change of the State somewhat more afterwards: 64 producers
// are copied for the first one that changes.
func (s *State) View() View {
	s.view++
	return View{slices.Clone(s.chunks)}
}

// SetLimits replaces the limits; they hold from the next Add and Expire on.
func (s *State) SetLimits(limits Limits) { s.limits = limits.withDefaults() }

// Len is the number of producers that are known.
func (s *State) Len() int { return len(s.known) }

// Check tells what is to be done with a batch: append it, when it is neither stored nor an error is returned; or answer
// with the id of its first record, when it is one of the last batches. The error is a *SequenceError.
func (s *State) Check(b Batch) (firstID int64, isStored bool, err error) {
	slot, ok := s.known[b.Producer]
	if !ok {
		if b.Sequence != 0 {
			return 0, false, &SequenceError{Batch: b, Err: ErrUnknown}
		}
		return 0, false, nil
	}
	p := s.at(slot)
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
	slot, ok := s.known[id]
	if ok {
		s.unlink(slot)
	} else {
		if len(s.known) >= s.limits.Producers {
			s.forget(s.ring[0].newer)
		}
		slot = s.vacant()
		s.known[id] = slot
	}
	p := s.own(slot)
	if !ok || p.epoch != epoch {
		*p = producer{id: id, epoch: epoch}
	}
	s.turn++
	p.turn = s.turn
	last := s.ring[0].older
	s.ring[slot] = link{older: last}
	s.ring[last].newer, s.ring[0].older = slot, slot
	return p
}

// vacant returns a slot of nobody.
func (s *State) vacant() int32 {
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		return slot
	}
	slot := len(s.ring)
	s.ring = append(s.ring, link{})
	if slot/chunkSize == len(s.chunks) {
		s.chunks = append(s.chunks, &chunk{view: s.view})
	}
	return int32(slot)
}

func (s *State) unlink(slot int32) {
	l := s.ring[slot]
	s.ring[l.older].newer, s.ring[l.newer].older = l.newer, l.older
}

func (s *State) forget(slot int32) {
	s.unlink(slot)
	p := s.own(slot)
	delete(s.known, p.id)
	*p = producer{}
	s.free = append(s.free, slot)
}

// Expire forgets the producers that have stored nothing for too long; now is in ms since 1970. It returns how many.
func (s *State) Expire(now int64) (gone int) {
	for slot := s.ring[0].newer; slot != 0 && now-s.at(slot).time() > s.limits.Expiry.Milliseconds(); slot = s.ring[0].newer {
		s.forget(slot)
		gone++
	}
	return gone
}
