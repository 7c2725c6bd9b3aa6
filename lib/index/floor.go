package index

import (
	"io"
	"sort"
	"sync"
)

// pageSize is how many bytes of an index are read at once when the search has come down to so many: reading them costs no
// more than reading one entry.
const pageSize = 4 << 10

var pages = sync.Pool{New: func() any { return new([pageSize]byte) }}

// floor finds the last of n entries of size bytes for which holds is true, by binary search; holds must be true for a
// prefix.
func floor[E any](source io.ReaderAt, n, size int, decode func([]byte) E, holds func(E) bool) (found E, ok bool, err error) {
	page := pages.Get().(*[pageSize]byte)
	defer pages.Put(page)
	low, high := 0, n // all before low hold, and none from high on does
	for low < high {
		from, count := low, high-low
		if count*size > pageSize {
			from, count = low+count/2, 1
		}
		b := page[:count*size]
		if _, err := source.ReadAt(b, int64(from)*int64(size)); err != nil {
			return found, false, err
		}
		holding := sort.Search(count, func(i int) bool { return !holds(decode(b[i*size:])) })
		if holding > 0 {
			found, ok = decode(b[(holding-1)*size:]), true
			low = from + holding
		}
		if holding < count {
			high = from + holding
		}
	}
	return found, ok, nil
}
