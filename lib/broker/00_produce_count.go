package broker

import "github.com/twmb/franz-go/pkg/kbin"

// maxProduceParts is how many topics, partitions and unknown tagged fields together a Produce may have.
const maxProduceParts = 20_000

// checkProduceCounts walks over the body of a Produce, allocating nothing, and refuses one with too many parts: a frame
// may be large, and two bytes of it may claim, or be, what decodes into seventy. What the walk does not understand is
// left for the decoder to refuse, which reads the same fields in the same order and so stops no later.
//
//	transactional id   nullable string, v3+
//	acks, timeout      int16, int32
//	topics             array of { name string; partitions array of { index int32; records nullable bytes } }
//	tagged fields      v9+, behind each partition, each topic, and the whole
func checkProduceCounts(version int16, body []byte) error {
	w := produceWalk{Reader: kbin.Reader{Src: body}, flexible: version >= 9}
	if version >= 3 {
		w.str()
	}
	w.Int16()
	w.Int32()
	for topics := w.array(); w.more(topics); topics-- {
		w.str()
		for partitions := w.array(); w.more(partitions); partitions-- {
			w.Int32()
			w.records()
			w.tags()
		}
		w.tags()
	}
	w.tags()
	if w.parts > maxProduceParts {
		return badFrame("Produce with more than %d topics, partitions and tagged fields", maxProduceParts)
	}
	return nil
}

// produceWalk reads the compact forms of flexible versions and the plain ones alike.
type produceWalk struct {
	kbin.Reader
	flexible bool
	parts    int64 // as announced
}

// more tells whether to go on with an array of which n elements are left.
func (w *produceWalk) more(n int32) bool { return n > 0 && w.Ok() && w.parts <= maxProduceParts }

func (w *produceWalk) array() (n int32) {
	if w.flexible {
		n = w.CompactArrayLen()
	} else {
		n = w.ArrayLen()
	}
	w.parts += int64(max(n, 0))
	return n
}

func (w *produceWalk) str() {
	if w.flexible {
		w.skip(int(w.Uvarint()) - 1)
	} else {
		w.skip(int(w.Int16()))
	}
}

func (w *produceWalk) records() {
	if w.flexible {
		w.skip(int(w.Uvarint()) - 1)
	} else {
		w.skip(int(w.Int32()))
	}
}

// skip passes over n bytes; a negative n is null.
func (w *produceWalk) skip(n int) {
	if n > 0 {
		w.Span(n)
	}
}

func (w *produceWalk) tags() {
	if !w.flexible || w.parts > maxProduceParts {
		return
	}
	for n := w.Uvarint(); n > 0 && w.Ok() && w.parts <= maxProduceParts; n-- {
		w.parts++
		w.Uvarint()
		w.Span(int(w.Uvarint()))
	}
}
