package inspect

import (
	"fmt"
	"testing"

	"logkit/lib/record"
)

// A verdict on damage says which ids are lost: from where the batch before leads to, up to the batch behind, whether ids
// are positions or count records; of several in a row each has its own where that can be known.
func TestLostIDs(t *testing.T) {
	type lost struct{ from, to, records int64 }
	const kafka = 100 // base of the log whose ids count records
	for _, row := range []struct {
		name   string
		log    func(testing.TB, int64, int) ([]byte, []int64)
		base   int64
		broken []int // batches
		want   func(starts []int64) []lost
	}{
		{"positions", ours, 0, []int{4}, func(at []int64) []lost { return []lost{{at[4], at[5], 2}} }},
		{"the first", ours, 0, []int{0}, func(at []int64) []lost { return []lost{{at[0], at[1], 1}} }},
		{"two in a row", ours, 0, []int{4, 5}, func(at []int64) []lost { return []lost{{at[4], at[5], 2}, {at[5], at[6], 3}} }},
		{"two places", ours, 0, []int{2, 5}, func(at []int64) []lost { return []lost{{at[2], at[3], 3}, {at[5], at[6], 3}} }},
		{"the last", ours, 0, []int{8}, func(at []int64) []lost { return []lost{{at[8], at[9], 3}} }},
		{"records", kafkas, kafka, []int{4}, func([]int64) []lost { return []lost{{kafka + 7, kafka + 9, 2}} }},
		{"two in a row of records", kafkas, kafka, []int{4, 5}, func([]int64) []lost { return []lost{{kafka + 7, 0, 2}, {kafka + 7, kafka + 12, 3}} }},
		{"the last of records", kafkas, kafka, []int{8}, func([]int64) []lost { return []lost{{kafka + 15, 0, 3}} }},
	} {
		t.Run(row.name, func(t *testing.T) {
			log, starts := row.log(t, row.base, 9)
			for _, i := range row.broken {
				log[starts[i]+record.HeaderSize+3] ^= 1
			}
			starts = append(starts, int64(len(log)))
			var got []lost
			for _, v := range scan(t, log, ScanOptions{Base: row.base}).verdicts {
				if v.Kind != BadCRC {
					t.Errorf("%v", &v)
				}
				got = append(got, lost{v.ID, v.EndID, v.Records})
			}
			if want := row.want(starts); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}
