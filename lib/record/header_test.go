package record

import "testing"

func TestFindHeader(t *testing.T) {
	for at := range 5 {
		b := make([]byte, at+HeaderSize)
		if got := FindHeader(b); got != -1 {
			t.Errorf("%d zeros: %d, want -1", len(b), got)
		}
		b[at+16] = 2
		if got := FindHeader(b); got != at {
			t.Errorf("magic of a header at %d: %d", at, got)
		}
		if got := FindHeader(b[:len(b)-1]); got != -1 {
			t.Errorf("part of a header at %d: %d, want -1", at, got)
		}
	}
}
