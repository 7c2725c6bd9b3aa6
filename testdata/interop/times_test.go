package interop

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTimes: a time is the first record, in the order of ids, that is not older, to every client and whoever produced.
func TestTimes(t *testing.T) {
	t.Parallel()
	const year2100 = 4_102_444_800_000
	sent := []int64{ // out of order, equal, and in the future
		1_000_000, 3_000_000, 2_000_000, 3_000_000, 2_500_000, 5_000_000, 4_000_000, year2100, 5_000_001, 5_000_001,
	}
	asked := []int64{Start, End, 1, 999_999, 1_000_000, 1_000_001, 2_000_001, 2_999_999, 3_000_000, 3_000_001, 4_000_001,
		5_000_000, 5_000_001, 5_000_002, year2100, year2100 + 1}
	clients, b := clients(t), StartBroker(t)
	for _, producer := range clients {
		if producer.Name() == (Kcat{}).Name() {
			continue // which sets no times
		}
		for _, codec := range []string{"none", "gzip"} {
			t.Run(codec+"/from "+producer.Name(), func(t *testing.T) {
				t.Parallel()
				ctx := bounded(t)
				topic := codec + "-" + producer.Name()
				b.Topics(ctx, topic)
				var records []Record
				for i, at := range sent {
					records = append(records, Record{Time: at, Value: []byte(fmt.Sprint(i))})
				}
				produce(ctx, t, producer, b, topic, codec, AcksAll, records[:6], records[6:7], records[7:])
				records = stored(ctx, t, producer, b, topic, records, nil)
				want := make([]int64, len(asked))
				for i, at := range asked {
					want[i] = placeOf(records, at)
				}
				for _, c := range clients {
					t.Run("to "+c.Name(), func(t *testing.T) {
						got, err := c.Times(ctx, b.Addr, topic, 0, asked)
						if err != nil {
							t.Fatal(err)
						}
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("ids of %v (-want +got):\n%s", asked, diff)
						}
					})
				}
			})
		}
	}
}

func placeOf(records []Record, at int64) int64 {
	switch at {
	case Start:
		return records[0].ID
	case End:
		return records[len(records)-1].ID + 1
	}
	for _, r := range records {
		if r.Time >= at {
			return r.ID
		}
	}
	return None
}
