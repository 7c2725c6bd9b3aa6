package producers

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// ErrSnapshot: the bytes are no snapshot, or a damaged one.
var ErrSnapshot = errors.New("damaged snapshot of producers")

// Sizes in bytes.
const (
	snapshotHeader  = 10
	snapshotEntry   = 46
	snapshotVersion = 1
)

// MaxSnapshotBytes is above the size of every snapshot of a State with the default limits.
const MaxSnapshotBytes = snapshotHeader + kept*DefaultProducers*snapshotEntry

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Entry is one entry of a snapshot.
type Entry struct {
	Producer         int64
	Epoch            int16
	LastSequence     int32 // -1: the producer is known by its epoch alone, and the next three mean nothing
	LastID           int64 // of the batch's last record
	Delta            int32 // last id - first id, and last sequence - first sequence
	Time             int64 // ms since 1970
	CoordinatorEpoch int32 // of transactions: -1
	TransactionFirst int64 // first id of an open transaction: -1
}

// Decode reads a snapshot: Kafka's .snapshot file (ProducerStateManager), all numbers big-endian.
//
//	 0  version            int16   1
//	 2  CRC                uint32  CRC-32C of everything behind it
//	 6  count              int32   of the entries, which follow, 46 bytes each:
//
//	 0  producer id        int64
//	 8  epoch              int16
//	10  last sequence      int32   -1: no batch
//	14  last id            int64
//	22  delta              int32   last id - first id of the batch
//	26  timestamp          int64   ms since 1970: of the append; in Kafka's files the largest of the batch's records
//	34  coordinator epoch  int32   -1
//	38  first id of the open transaction  int64  -1
//
// Kafka has an entry for each producer, with its last batch. Here a producer has one for each of its last five, oldest
// first: whoever reads them into a map by producer, as Kafka does, ends with the last one.
//
// The error wraps ErrSnapshot. The bytes are not kept, and no more is allocated than they account for.
func Decode(data []byte) ([]Entry, error) {
	if len(data) < snapshotHeader {
		return nil, fmt.Errorf("%w: %d bytes, the header has %d", ErrSnapshot, len(data), snapshotHeader)
	}
	if version := int16(binary.BigEndian.Uint16(data)); version != snapshotVersion {
		return nil, fmt.Errorf("%w: version %d, %d allowed", ErrSnapshot, version, snapshotVersion)
	}
	if want, found := binary.BigEndian.Uint32(data[2:]), crc32.Checksum(data[6:], castagnoli); want != found {
		return nil, fmt.Errorf("%w: checksum %08x, its bytes have %08x", ErrSnapshot, want, found)
	}
	count := int64(int32(binary.BigEndian.Uint32(data[6:])))
	data = data[snapshotHeader:]
	if count*snapshotEntry != int64(len(data)) {
		return nil, fmt.Errorf("%w: %d entries in %d bytes", ErrSnapshot, count, len(data))
	}
	entries := make([]Entry, count)
	for i := range entries {
		b := data[i*snapshotEntry:]
		entries[i] = Entry{
			Producer:         int64(binary.BigEndian.Uint64(b)),
			Epoch:            int16(binary.BigEndian.Uint16(b[8:])),
			LastSequence:     int32(binary.BigEndian.Uint32(b[10:])),
			LastID:           int64(binary.BigEndian.Uint64(b[14:])),
			Delta:            int32(binary.BigEndian.Uint32(b[22:])),
			Time:             int64(binary.BigEndian.Uint64(b[26:])),
			CoordinatorEpoch: int32(binary.BigEndian.Uint32(b[34:])),
			TransactionFirst: int64(binary.BigEndian.Uint64(b[38:])),
		}
		if err := entries[i].check(); err != nil {
			return nil, fmt.Errorf("%w: entry %d of %d: %w", ErrSnapshot, i, count, err)
		}
	}
	return entries, nil
}

func (e *Entry) check() error {
	switch {
	case e.Producer < 0 || e.Epoch < 0:
		return fmt.Errorf("producer %d with epoch %d", e.Producer, e.Epoch)
	case e.LastSequence < -1:
		return fmt.Errorf("last sequence %d", e.LastSequence)
	case e.LastSequence >= 0 && (e.Delta < 0 || int64(e.Delta) > e.LastID):
		return fmt.Errorf("last id %d with delta %d", e.LastID, e.Delta)
	}
	return nil
}

// Append encodes a snapshot behind dst; it is the inverse of Decode.
func Append(dst []byte, entries []Entry) []byte {
	start := len(dst)
	dst = slices.Grow(dst, snapshotHeader+len(entries)*snapshotEntry)
	dst = binary.BigEndian.AppendUint16(dst, snapshotVersion)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(entries)))
	for _, e := range entries {
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.Producer))
		dst = binary.BigEndian.AppendUint16(dst, uint16(e.Epoch))
		dst = binary.BigEndian.AppendUint32(dst, uint32(e.LastSequence))
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.LastID))
		dst = binary.BigEndian.AppendUint32(dst, uint32(e.Delta))
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.Time))
		dst = binary.BigEndian.AppendUint32(dst, uint32(e.CoordinatorEpoch))
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.TransactionFirst))
	}
	binary.BigEndian.PutUint32(dst[start+2:], crc32.Checksum(dst[start+6:], castagnoli))
	return dst
}

// Entries is all that is remembered, those producers first that have been silent longest.
func (s *State) Entries() []Entry { return View{s.chunks}.Entries() }

// Entries is all that was remembered, those producers first that had been silent longest.
func (v View) Entries() []Entry {
	var all []*producer
	n := 0
	for _, c := range v.chunks {
		for i := range c.of {
			if p := &c.of[i]; p.turn > 0 {
				all = append(all, p)
				n += max(int(p.count), 1)
			}
		}
	}
	slices.SortFunc(all, func(a, b *producer) int { return cmp.Compare(a.turn, b.turn) })
	entries := make([]Entry, 0, n)
	for _, p := range all {
		e := Entry{Producer: p.id, Epoch: p.epoch, CoordinatorEpoch: -1, TransactionFirst: -1}
		if p.count == 0 {
			e.LastSequence, e.LastID, e.Time = -1, -1, p.time()
			entries = append(entries, e)
		}
		for _, b := range p.batches[:p.count] {
			e.LastSequence, e.Delta = after(b.sequence, int64(b.delta)), b.delta
			e.LastID, e.Time = b.firstID+int64(b.delta), b.time
			entries = append(entries, e)
		}
	}
	return entries
}

// Restore adds what a snapshot holds. A time behind now, in ms since 1970, counts as now.
func (s *State) Restore(entries []Entry, now int64) {
	for _, e := range entries {
		e.Time = min(e.Time, now)
		if e.LastSequence < 0 {
			p := s.touch(e.Producer, e.Epoch)
			p.count, p.run = 0, 0
			p.batches[0] = stored{time: e.Time}
			continue
		}
		s.Add(Batch{
			Producer: e.Producer, Epoch: e.Epoch, Delta: e.Delta, Time: e.Time,
			Sequence: after(e.LastSequence, -int64(e.Delta)), FirstID: e.LastID - int64(e.Delta),
		})
	}
}
