package inspect

import (
	"hash/crc32"
	"math/rand"
	"testing"
)

func TestRangeCRC(t *testing.T) {
	data := make([]byte, 20*crcBlock+123)
	random := rand.New(rand.NewSource(1))
	random.Read(data)
	for _, c := range []*rangeCRC{newCastagnoli(), newIEEE()} {
		pos := int64(0)
		for range 2000 {
			pos = min(pos+int64(random.Intn(200)), int64(len(data)-1)) // it only moves forward
			window := data[pos:]
			from := random.Intn(min(100, len(window)))
			to := from + random.Intn(len(window)-from+1)
			if got, want := c.sum(window, pos, from, to), crc32.Checksum(window[from:to], c.table); got != want {
				t.Fatalf("position %d, %d to %d: %08x, want %08x", pos, from, to, got, want)
			}
		}
	}
}
