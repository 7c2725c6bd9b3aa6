package inspect

import (
	"fmt"
	"math"

	"logkit/lib/record"
)

// Layout is how the ids of a log go on from batch to batch.
type Layout int8

const (
	UnknownLayout Layout = iota
	Consecutive          // as Kafka has them: by records, with gaps where compaction or a transaction left some
	Positions            // as logd has them: by bytes, without gaps (record.Header.NextBase)
)

// Order follows the ids through a log, from segment to segment. The zero value knows nothing.
type Order struct {
	Layout Layout

	hint    Layout // what the layout is when the batches do not tell
	base    int64  // of the segment, negative: not known
	known   bool   // a batch has been seen, or the base of the segment is known
	next    int64  // the smallest id that may follow
	exact   int64  // the id that follows by the rule of Positions
	before  int64  // next, before the batch that was seen last
	side    int64  // next of a batch that went back, 0 when that was not the last one
	epoch   int32  // leader epoch, -1: none
	recent  [64]seen
	n       int  // of those
	damaged bool // what comes is behind damage
}

// seen is what tells a batch from others.
type seen struct {
	base, last int64
	size       int64
	crc        uint32
}

// begin starts a segment that is named after base, negative when that is not known. The verdict says that it does not
// join the one before.
func (o *Order) begin(base int64) (v *Verdict) {
	if o.n == 0 {
		o.epoch = -1
	}
	o.base, o.side = base, 0
	if base < 0 {
		return nil
	}
	switch least := o.least(); {
	case o.n == 0:
	case base < least:
		v = &Verdict{Kind: Join, ID: base, Expected: atLeast(least), Found: fmt.Sprint(base)}
	case o.Layout == Positions && base != o.exact && !o.damaged:
		v = &Verdict{Kind: Join, ID: base, Expected: fmt.Sprint(o.exact), Found: fmt.Sprint(base)}
	}
	o.known, o.next, o.exact, o.before, o.damaged = true, base, base, base, false
	return v
}

// least is the smallest id that the next batch may have.
func (o *Order) least() int64 {
	if o.Layout == Positions {
		return o.exact
	}
	return o.next
}

// expected is the smallest id that may follow; NoID: any.
func (o *Order) expected() int64 {
	if !o.known {
		return NoID
	}
	return o.next
}

// prescanBatches is how many batches are looked at to find out the layout.
const prescanBatches = 64

// prescan looks at the batches at the beginning of a log for what their ids say about its layout.
func (o *Order) prescan(b []byte) {
	if o.Layout != UnknownLayout {
		return
	}
	votes := 0
	var previous record.Header
	for i := range prescanBatches {
		h, err := record.ParseHeader(b)
		if err != nil {
			break
		}
		if i > 0 {
			votes += vote(previous, h.BaseOffset)
		}
		if previous = h; h.Size() > int64(len(b)) {
			break
		}
		b = b[h.Size():]
	}
	switch {
	case votes > 0:
		o.Layout = Positions
	case votes < 0:
		o.Layout = Consecutive
	default:
		o.Layout = o.hint
	}
}

// vote is positive when the base of the next batch says that ids are positions, negative when it says that they are not.
func vote(h record.Header, next int64) int {
	switch {
	case h.NextBase() == h.LastOffset()+1:
		return 0
	case next == h.NextBase():
		return 1
	case next == h.LastOffset()+1:
		return -1
	}
	return 0
}

// add judges the ids of a batch against those before, and remembers them.
func (o *Order) add(b *Batch) (found []*Verdict) {
	damaged := o.damaged
	o.damaged = false
	o.settle(b)
	if b.Format == Format07 {
		b.Next = b.Base + b.Size
		return nil
	}
	b.Next = min(b.Last, math.MaxInt64-1) + 1
	exact := advance(b.Base, max(b.Size, b.Last-b.Base+1))
	if o.Layout == Positions {
		b.Next = exact
	}
	say := func(kind Kind, expected, what string) {
		found = append(found, &Verdict{Kind: kind, Position: b.Position, End: b.Position + b.Size, ID: b.Base, Expected: expected, Found: what})
	}
	least := o.least()
	switch {
	case o.known && b.Base < least && o.wasSeen(b):
		say(Duplicate, atLeast(least), fmt.Sprintf("ids %d to %d again", b.Base, b.Last))
		return found
	case o.known && b.Base < least || b.Base < 0:
		if o.side == 0 || b.Base < o.side { // else it follows one that has been complained about
			say(IDsBack, atLeast(least), fmt.Sprint(b.Base))
		}
		if b.Base == o.before || o.side > 0 && b.Base >= o.side {
			break // it is the one before that stands wrong, or the ids really begin anew
		}
		o.side = max(b.Next, 1)
		o.exact = advance(o.exact, max(b.Size, b.Last-b.Base+1))
		o.remember(b)
		return found
	case o.Layout == Positions && o.known && b.Base != o.exact && !damaged:
		say(MissingBatch, fmt.Sprint(o.exact), fmt.Sprint(b.Base))
	}
	if o.base >= 0 && b.Last-o.base > math.MaxInt32 {
		say(IDRange, fmt.Sprintf("at most %d", o.base+math.MaxInt32), fmt.Sprint(b.Last))
	}
	if b.LeaderEpoch >= 0 && b.LeaderEpoch < o.epoch {
		say(EpochBack, fmt.Sprintf("at least %d", o.epoch), fmt.Sprint(b.LeaderEpoch))
	}
	o.epoch = b.LeaderEpoch
	o.before = least
	o.known, o.next, o.exact, o.side = true, min(b.Last, math.MaxInt64-1)+1, exact, 0
	o.remember(b)
	return found
}

func atLeast(id int64) string { return fmt.Sprintf("at least %d", id) }

// settle takes a vote on the layout from each batch until it is known.
func (o *Order) settle(b *Batch) {
	switch {
	case o.Layout != UnknownLayout || b.Format == Format07:
	case b.Format != Format2:
		o.Layout = Consecutive
	case o.n == 0 || o.exact == o.next:
	case b.Base == o.exact:
		o.Layout = Positions
	case b.Base == o.next:
		o.Layout = Consecutive
	}
}

func (o *Order) remember(b *Batch) {
	o.recent[o.n%len(o.recent)] = seen{b.Base, b.Last, b.Size, b.CRC}
	o.n++
}

func (o *Order) wasSeen(b *Batch) bool {
	for _, s := range o.recent[:min(o.n, len(o.recent))] {
		if s == (seen{b.Base, b.Last, b.Size, b.CRC}) {
			return true
		}
	}
	return false
}

func advance(id, n int64) int64 {
	if id > math.MaxInt64-n {
		return math.MaxInt64
	}
	return id + n
}
