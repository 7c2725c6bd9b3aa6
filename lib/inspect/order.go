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

	hint     Layout // what the layout is when the batches do not tell
	base     int64  // of the segment, negative: not known
	known    bool   // a batch has been seen, or the base of the segment is known
	next     int64  // the smallest id that may follow
	exact    int64  // the id that follows by the rule of Positions
	proper   int64  // what would follow the last batch, had it followed the one before it
	position int64  // of the last batch
	side     int64  // next of a batch that went back, 0 when that was not the last one
	epoch    int32  // leader epoch, -1: none
	recent   [64]seen
	n        int  // of those
	damaged  bool // what comes is behind damage, or behind what was not read
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
	case !o.known:
	case base < least:
		v = &Verdict{Kind: Join, ID: base, Expected: atLeast(least), Found: fmt.Sprint(base)}
	case o.Layout == Positions && base != o.exact && !o.damaged:
		v = &Verdict{Kind: Join, ID: base, Expected: fmt.Sprint(o.exact), Found: fmt.Sprint(base)}
	}
	o.known, o.next, o.exact, o.proper, o.damaged = true, base, base, base, false
	return v
}

// beginEmpty begins a segment that has nothing in it. One at the end that stands below where the log ends is no damage: it
// was begun and given up, and the broker deletes it when it starts. Further on is the place of a batch that is missing.
func (o *Order) beginEmpty(f *File) (v *Verdict) {
	if o.known && f.Base < o.least() {
		v = &Verdict{Kind: Join, File: f.Path, ID: f.Base, Expected: atLeast(o.least()), Found: fmt.Sprint(f.Base)}
		if f.last {
			v.Kind, v.Expected, v.Found = Leftover, "", "an empty segment below the end of the log"
		}
		return v
	}
	if v = o.begin(f.Base); v != nil {
		v.File = f.Path
	}
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
	return o.least()
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
	span := b.Last - b.Base + 1
	b.Next = advance(b.Last, 1)
	if o.Layout == Positions {
		span = max(span, b.Size)
		b.Next = advance(b.Base, span)
	}
	least := o.least()
	switch {
	case b.Base < 0 || o.known && b.Base < least:
		v, stays := o.back(b, least)
		if v != nil {
			found = append(found, v)
		}
		if !stays {
			if v.Kind != Duplicate {
				o.exact = advance(o.exact, span) // it stands in the place of one
			}
			return found
		}
	case o.Layout == Positions && o.known && b.Base != o.exact && !damaged:
		found = append(found, on(b, MissingBatch, fmt.Sprint(o.exact), fmt.Sprint(b.Base)))
	}
	if o.base >= 0 && b.Last-o.base > math.MaxInt32 {
		found = append(found, on(b, IDRange, fmt.Sprintf("at most %d", o.base+math.MaxInt32), fmt.Sprint(b.Last)))
	}
	if b.LeaderEpoch >= 0 && b.LeaderEpoch < o.epoch {
		found = append(found, on(b, EpochBack, fmt.Sprintf("at least %d", o.epoch), fmt.Sprint(b.LeaderEpoch)))
	}
	if b.LeaderEpoch >= 0 {
		o.epoch = b.LeaderEpoch
	}
	o.proper, o.position = advance(least, span), b.Position
	o.known, o.next, o.exact, o.side = true, advance(b.Last, 1), advance(b.Base, max(b.Size, b.Last-b.Base+1)), 0
	o.remember(b)
	return found
}

// on is a verdict on a batch.
func on(b *Batch, kind Kind, expected, found string) *Verdict {
	return &Verdict{Kind: kind, Position: b.Position, End: b.Position + b.Size, ID: b.Base, Expected: expected, Found: found}
}

// back judges a batch whose ids are below the least that they could be. stays: the ids of the log go on from it all the
// same, because it is the batch before that stands wrong, or because the ids really begin anew here.
func (o *Order) back(b *Batch, least int64) (v *Verdict, stays bool) {
	switch {
	case b.Base < 0:
		return on(b, IDsBack, atLeast(max(0, least)), fmt.Sprint(b.Base)), false
	case o.wasSeen(b):
		return on(b, Duplicate, atLeast(least), fmt.Sprintf("ids %d to %d again", b.Base, b.Last)), false
	case o.n > 0 && b.Base == o.proper:
		one := o.latest()
		return &Verdict{Kind: IDsBack, Position: o.position, End: b.Position, ID: one.base,
			Expected: fmt.Sprintf("below %d, which comes next", b.Base), Found: fmt.Sprint(one.base)}, true
	case o.side > 0 && b.Base >= o.side:
		return nil, true // it follows one that has been complained about
	}
	o.side = max(advance(b.Last, 1), 1)
	return on(b, IDsBack, atLeast(least), fmt.Sprint(b.Base)), false
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

// latest is the batch that was added last; there must be one.
func (o *Order) latest() seen { return o.recent[(o.n-1)%len(o.recent)] }

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
