package zkserver

import (
	"fmt"
	"testing"
)

// The clients of these benchmarks are in the same process: their time is in the figures.

func benchmark(b *testing.B, clients, depth int, request func(i, n int) (int32, enc)) {
	s, err := Open(Options{Dir: b.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	list := make([]*raw, clients)
	for i := range list {
		list[i] = newRaw(b, s.Addr().String())
		list[i].must(b, opCreate, createBody(fmt.Sprintf("/c%d", i), []byte("data"), 0))
	}
	b.ReportAllocs()
	b.ResetTimer()
	each(b, list, (b.N+clients-1)/clients, depth, request)
}

func BenchmarkGet(b *testing.B) {
	benchmark(b, 1, 1, func(i, _ int) (int32, enc) { return opGetData, enc{}.str(fmt.Sprintf("/c%d", i)).bool(false) })
}

func BenchmarkGetDeep(b *testing.B) {
	benchmark(b, 4, 32, func(i, _ int) (int32, enc) { return opGetData, enc{}.str(fmt.Sprintf("/c%d", i)).bool(false) })
}

func BenchmarkSet(b *testing.B) {
	benchmark(b, 1, 1, func(i, _ int) (int32, enc) {
		return opSetData, enc{}.str(fmt.Sprintf("/c%d", i)).buf([]byte("other")).int(-1)
	})
}

func BenchmarkCreateDeep(b *testing.B) {
	benchmark(b, 16, 64, func(i, n int) (int32, enc) {
		return opCreate, createBody(fmt.Sprintf("/c%d/%09d", i, n), []byte("about thirty bytes of some data"), 0)
	})
}
