package interop

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPlaces: a reader may begin at any id, those of no record included, and ends at the end of the log.
func TestPlaces(t *testing.T) {
	t.Parallel()
	clients, b := clients(t), StartBroker(t)
	for _, codec := range []string{"none", "zstd"} {
		ctx, began := bounded(t), time.Now()
		b.Topics(ctx, codec, codec+"-empty")
		var all []Record
		var sets [][]Record
		for _, n := range []int{5, 1, 7, 3} {
			for range n {
				all = append(all, Record{Time: 1_700_000_000_000, Value: []byte(fmt.Sprint(len(all)) + strings.Repeat(".", 100))})
			}
			sets = append(sets, all[len(all)-n:])
		}
		told := produce(ctx, t, Franz{}, b, codec, codec, AcksAll, sets...)
		all = stored(ctx, t, Franz{}, b, codec, all, told)
		batches, err := Batches(ctx, b.Addr, codec, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(batches) != 4 || batches[0].Last+1 == batches[1].Base {
			t.Fatalf("batches %+v, want 4 with gaps between them", batches)
		}
		last := batches[3].Last
		for _, place := range []struct {
			name string
			id   int64
		}{
			{"the first record", all[0].ID},
			{"within a batch", all[2].ID},
			{"the last record of a batch", batches[0].Last},
			{"the first id of a gap", batches[0].Last + 1},
			{"the last id of a gap", batches[2].Base - 1},
			{"the first record of a batch", batches[2].Base},
			{"within the last batch", batches[3].Base + 1},
			{"the last record", last},
			{"the end", last + 1},
		} {
			want := all
			for len(want) > 0 && want[0].ID < place.id {
				want = want[1:]
			}
			if place.id <= last {
				// Readers pass over a batch that is behind them, unless it fills each of their fetches.
				got, err := BatchAt(ctx, b.Addr, codec, 0, place.id)
				if err != nil {
					t.Fatal(err)
				}
				if got.Last < place.id || got.Base > want[0].ID {
					t.Errorf("%s, %d: batch %+v, want the one with %d", place.name, place.id, got, want[0].ID)
				}
			}
			for _, consumer := range clients {
				t.Run(codec+"/"+place.name+"/"+consumer.Name(), func(t *testing.T) {
					t.Parallel()
					got, err := consumer.Read(bounded(t), b.Addr, codec, 0, place.id, nil)
					if err != nil {
						t.Fatal(err)
					}
					compare(t, consumer, began, got, want)
				})
			}
		}
		for _, consumer := range clients {
			t.Run(codec+"/an empty log/"+consumer.Name(), func(t *testing.T) {
				t.Parallel()
				got, err := consumer.Read(bounded(t), b.Addr, codec+"-empty", 0, Start, nil)
				if err != nil || len(got) > 0 {
					t.Errorf("%d records, error %v, want none", len(got), err)
				}
			})
		}
	}
}
