package broker

import (
	"encoding/binary"
	"math"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchResult is what a Fetch is answered with.
type fetchResult struct {
	version int16
	code    int16 // of the whole answer
	topics  []kmsg.FetchRequestTopic
	parts   []fetchPart // those of all topics, in order
}

// fetchEncoder writes everything but the records: they are put in at the cuts.
//
//	throttle int32 │ v7: code int16, session int32 │ array of topics { name │ array of partitions │ v12: tags } │ v12: tags
//
// and a partition is
//
//	index int32 │ code int16 │ high watermark int64 │ last stable offset int64 │ v5: log start int64 │
//	aborted transactions null array │ v11: preferred replica int32 │ records: length, and a cut │ v12: tags
type fetchEncoder struct {
	version int16
	dst     []byte
	cuts    []cut
	records int64 // bytes at all cuts
}

// cut is where the records of a partition belong.
type cut struct {
	at   int // in dst
	part *fetchPart
}

func (e *fetchEncoder) flexible() bool { return e.version >= 12 }

// encodeFetch returns the frame without its records, with the size of the whole.
func encodeFetch(correlation int32, r *fetchResult) *fetchEncoder {
	e := &fetchEncoder{version: r.version, dst: make([]byte, 0, 64+80*len(r.parts))}
	e.dst = append(e.dst, 0, 0, 0, 0) // size
	e.dst = kbin.AppendInt32(e.dst, correlation)
	e.tags() // of the header
	e.dst = kbin.AppendInt32(e.dst, 0)
	if e.version >= 7 {
		e.dst = kbin.AppendInt16(e.dst, r.code)
		e.dst = kbin.AppendInt32(e.dst, 0) // no session
	}
	e.array(len(r.topics))
	parts := r.parts
	for i := range r.topics {
		n := len(r.topics[i].Partitions)
		e.topic(r.topics[i].Topic, parts[:n])
		parts = parts[n:]
	}
	e.tags()
	binary.BigEndian.PutUint32(e.dst, uint32(e.size()))
	return e
}

// size is that of the frame, without the four bytes that say so.
func (e *fetchEncoder) size() int64 { return int64(len(e.dst)) - sizeLen + e.records }

func (e *fetchEncoder) topic(name string, parts []fetchPart) {
	if e.flexible() {
		e.dst = kbin.AppendCompactString(e.dst, name)
	} else {
		e.dst = kbin.AppendString(e.dst, name)
	}
	e.array(len(parts))
	for i := range parts {
		e.partition(&parts[i])
	}
	e.tags()
}

func (e *fetchEncoder) partition(p *fetchPart) {
	marks := p.slice.Positions
	e.dst = kbin.AppendInt32(e.dst, p.key.partition)
	e.dst = kbin.AppendInt16(e.dst, p.code)
	e.dst = kbin.AppendInt64(e.dst, marks.HighWatermark)
	e.dst = kbin.AppendInt64(e.dst, marks.HighWatermark) // last stable offset
	if e.version >= 5 {
		e.dst = kbin.AppendInt64(e.dst, marks.Start)
	}
	if e.flexible() {
		e.dst = kbin.AppendCompactNullableArrayLen(e.dst, 0, true)
	} else {
		e.dst = kbin.AppendNullableArrayLen(e.dst, 0, true)
	}
	if e.version >= 11 {
		e.dst = kbin.AppendInt32(e.dst, -1)
	}
	if e.flexible() {
		e.dst = kbin.AppendUvarint(e.dst, 1+uint32(p.slice.Len))
	} else {
		e.dst = kbin.AppendInt32(e.dst, int32(p.slice.Len))
	}
	if p.slice.Len > 0 {
		e.cuts = append(e.cuts, cut{at: len(e.dst), part: p})
		e.records += p.slice.Len
	}
	e.tags()
}

func (e *fetchEncoder) array(n int) {
	if e.flexible() {
		e.dst = kbin.AppendCompactArrayLen(e.dst, n)
	} else {
		e.dst = kbin.AppendArrayLen(e.dst, n)
	}
}

// tags writes that there are no tagged fields.
func (e *fetchEncoder) tags() {
	if e.flexible() {
		e.dst = append(e.dst, 0)
	}
}

// writeFetch puts the answer out, the records straight from their files.
func writeFetch(out *output, correlation int32, r *fetchResult) error {
	e := encodeFetch(correlation, r)
	if e.size() > math.MaxInt32 {
		return badFrame("Fetch answer of %d bytes", e.size())
	}
	from := 0
	for _, c := range e.cuts {
		out.add(e.dst[from:c.at])
		from = c.at
		if err := out.sendRange(c.part.slice.Handle, c.part.slice.Pos, c.part.slice.Len); err != nil {
			return err
		}
	}
	return out.write(e.dst[from:])
}
