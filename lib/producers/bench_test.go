package producers

import (
	"runtime"
	"testing"
)

const crowd = 100_000

// filled is a State that remembers all it can of a crowd.
func filled() *State {
	s := New(Limits{Producers: crowd})
	for i := range int64(kept * crowd) {
		s.Add(Batch{Producer: i % crowd, Sequence: int32(i / crowd), FirstID: i})
	}
	return s
}

// BenchmarkAppend is the cost of one batch among 100,000 producers, and tells the memory that they take.
func BenchmarkAppend(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := filled()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		batch := Batch{Producer: int64(i) * 7919 % crowd, FirstID: int64(i)}
		batch.Sequence = s.at(s.known[batch.Producer]).next()
		if _, stored, err := s.Check(batch); stored || err != nil {
			b.Fatal(stored, err)
		}
		s.Add(batch)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/crowd, "B/producer")
}

func BenchmarkSnapshot(b *testing.B) {
	s := filled()
	var data []byte
	b.ReportAllocs()
	for b.Loop() {
		data = Append(data[:0], s.Entries())
	}
	b.SetBytes(int64(len(data)))
}

func BenchmarkRestore(b *testing.B) {
	data := Append(nil, filled().Entries())
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		entries, err := Decode(data)
		if err != nil {
			b.Fatal(err)
		}
		New(Limits{Producers: crowd}).Restore(entries, 0)
	}
}
