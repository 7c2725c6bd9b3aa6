package assign

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRange(t *testing.T) {
	for _, row := range []struct {
		members    []string
		partitions []int32
		want       map[string][]int32
	}{
		{[]string{"c1", "c2"}, []int32{0, 1, 2}, map[string][]int32{"c1": {0, 1}, "c2": {2}}}, // the paper's example
		{[]string{"c1"}, []int32{0, 1, 2}, map[string][]int32{"c1": {0, 1, 2}}},
		{[]string{"c1", "c2", "c3"}, []int32{0, 1}, map[string][]int32{"c1": {0}, "c2": {1}, "c3": nil}},
		// Numbers are numbers, and names are bytes: capitals first, "c10" before "c9", é behind z.
		{[]string{"c9", "c10"}, []int32{9, 10}, map[string][]int32{"c10": {9}, "c9": {10}}},
		{[]string{"z", "é", "Z"}, []int32{2, 1, 0}, map[string][]int32{"Z": {0}, "z": {1}, "é": {2}}},
		{[]string{"a", "a"}, []int32{1, 1}, map[string][]int32{"a": {1}}},
		{[]string{"a"}, nil, map[string][]int32{"a": nil}},
		{nil, []int32{0}, map[string][]int32{}},
	} {
		if got := Range.Assign(row.members, row.partitions, nil); !cmp.Equal(got, row.want) {
			t.Errorf("%q, %v:\n got %v\nwant %v", row.members, row.partitions, got, row.want)
		}
	}
}

// TestLoadBalance is the sequence of Kafka 0.7.2's own suite, where a partition is a broker's and its own number.
func TestLoadBalance(t *testing.T) {
	at := func(broker, partition int32) int32 { return 1000*broker + partition }
	both := []string{"consumer1", "consumer2"}
	for _, row := range []struct {
		event      string
		members    []string
		partitions []int32
		want       map[string][]int32
	}{
		{"one consumer", both[:1], []int32{at(400, 0)}, map[string][]int32{"consumer1": {at(400, 0)}}},
		{"a second joins", both, []int32{at(400, 0)}, map[string][]int32{"consumer1": {at(400, 0)}, "consumer2": nil}},
		{"brokers 200 and 300 add two each", both, []int32{at(400, 0), at(200, 0), at(200, 1), at(300, 0), at(300, 1)},
			map[string][]int32{"consumer1": {at(200, 0), at(200, 1), at(300, 0)}, "consumer2": {at(300, 1), at(400, 0)}}},
		{"broker 400 leaves", both, []int32{at(200, 0), at(200, 1), at(300, 0), at(300, 1)},
			map[string][]int32{"consumer1": {at(200, 0), at(200, 1)}, "consumer2": {at(300, 0), at(300, 1)}}},
	} {
		if got := Range.Assign(row.members, row.partitions, nil); !cmp.Equal(got, row.want) {
			t.Errorf("%s:\n got %v\nwant %v", row.event, got, row.want)
		}
	}
}

func TestSticky(t *testing.T) {
	for _, row := range []struct {
		what    string
		members []string
		n       int32
		owners  map[int32]string
		want    map[string][]int32
	}{
		{"nobody owns anything", []string{"a", "b"}, 3, nil, map[string][]int32{"a": {0, 1}, "b": {2}}},
		{"one joins", []string{"a", "b"}, 4, map[int32]string{0: "b", 1: "b", 2: "b", 3: "b"}, map[string][]int32{"a": {2, 3}, "b": {0, 1}}},
		{"one has gone", []string{"a", "c"}, 4, map[int32]string{0: "a", 1: "b", 2: "b", 3: "c"}, map[string][]int32{"a": {0, 1}, "c": {2, 3}}},
		{"the larger share stays", []string{"a", "b"}, 3, map[int32]string{1: "b", 2: "b"}, map[string][]int32{"a": {0}, "b": {1, 2}}},
		{"partitions that are no more", []string{"a"}, 1, map[int32]string{0: "a", 7: "a"}, map[string][]int32{"a": {0}}},
		{"nobody is there", nil, 1, map[int32]string{0: "a"}, map[string][]int32{}},
	} {
		if got := Sticky.Assign(row.members, numbers(row.n), row.owners); !cmp.Equal(got, row.want) {
			t.Errorf("%s:\n got %v\nwant %v", row.what, got, row.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, name := range Strategies() {
		if s, err := Parse(name); err != nil || string(s) != name {
			t.Errorf("%q: %q, %v", name, s, err)
		}
	}
	if s, err := Parse(""); err != nil || s != Range {
		t.Errorf("no name: %q, %v", s, err)
	}
	for _, name := range []string{"Range", "roundrobin", " sticky"} {
		if _, err := Parse(name); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

func numbers(n int32) (list []int32) {
	for p := range n {
		list = append(list, p)
	}
	return list
}

// world is what a member reads.
type world struct {
	members    []string
	partitions []int32
	owners     map[int32]string
}

func drawWorld(t *rapid.T) world {
	w := world{
		members:    rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9-]{1,3}`), 1, 8, rapid.ID).Draw(t, "members"),
		partitions: rapid.SliceOfNDistinct(rapid.Int32Range(0, 40), 0, 24, rapid.ID).Draw(t, "partitions"),
		owners:     map[int32]string{},
	}
	gone := append(slices.Clone(w.members), "gone/1", "gone/2")
	for _, p := range w.partitions {
		if rapid.IntRange(0, 4).Draw(t, "owned") > 0 {
			w.owners[p] = rapid.SampledFrom(gone).Draw(t, "owner")
		}
	}
	return w
}

// TestEveryPartitionOnce: exactly one member has it, and the members' numbers differ by one at most.
func TestEveryPartitionOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, s := range []Strategy{Range, Sticky} {
			got := s.Assign(w.members, w.partitions, w.owners)
			if len(got) != len(w.members) {
				t.Fatalf("%s: %d members in %v, want %d", s, len(got), got, len(w.members))
			}
			seen := map[int32]string{}
			least, most := len(w.partitions), 0
			for m, list := range got {
				if !slices.Contains(w.members, m) || !slices.IsSorted(list) {
					t.Fatalf("%s: member %q with %v", s, m, list)
				}
				least, most = min(least, len(list)), max(most, len(list))
				for _, p := range list {
					if other, twice := seen[p]; twice || !slices.Contains(w.partitions, p) {
						t.Fatalf("%s: partition %d for %q and %q", s, p, m, other)
					}
					seen[p] = m
				}
			}
			if len(seen) != len(w.partitions) || most-least > 1 {
				t.Fatalf("%s: %v: %d partitions of %d, shares from %d to %d", s, got, len(seen), len(w.partitions), least, most)
			}
		}
	})
}

func TestOrderOfTheInputDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		members, partitions := rapid.Permutation(w.members).Draw(t, "m"), rapid.Permutation(w.partitions).Draw(t, "p")
		for _, s := range []Strategy{Range, Sticky} {
			kept := fmt.Sprint(members, partitions)
			one, two := s.Assign(w.members, w.partitions, w.owners), s.Assign(members, partitions, maps.Clone(w.owners))
			if !cmp.Equal(one, two) {
				t.Fatalf("%s: %v and %v", s, one, two)
			}
			if now := fmt.Sprint(members, partitions); now != kept {
				t.Fatalf("%s has changed its arguments: %s, were %s", s, now, kept)
			}
		}
	})
}

// TestStickyMovesTheMinimum compares with the best of all ways to hand out the larger shares.
func TestStickyMovesTheMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		owned := map[string]int{}
		for p, m := range w.owners {
			if slices.Contains(w.members, m) && slices.Contains(w.partitions, p) {
				owned[m]++
			}
		}
		got := Sticky.Assign(w.members, w.partitions, w.owners)
		kept := 0
		for m, list := range got {
			for _, p := range list {
				if w.owners[p] == m {
					kept++
				}
			}
		}
		share, larger, best := len(w.partitions)/len(w.members), len(w.partitions)%len(w.members), 0
		for choice := range 1 << len(w.members) {
			sum, chosen := 0, 0
			for i, m := range w.members {
				bit := choice >> i & 1
				chosen += bit
				sum += min(owned[m], share+bit)
			}
			if chosen == larger {
				best = max(best, sum)
			}
		}
		if kept != best {
			t.Fatalf("%v of %v: %d partitions stay, could be %d", got, w.owners, kept, best)
		}
	})
}

// TestStickyStaysTheSameWhileItIsCarriedOut: members that read the owners at different moments agree.
func TestStickyStaysTheSameWhileItIsCarriedOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		want := Sticky.Assign(w.members, w.partitions, w.owners)
		target := map[int32]string{}
		for m, list := range want {
			for _, p := range list {
				target[p] = m
			}
		}
		for p := range target {
			if w.owners[p] == target[p] {
				continue
			}
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 1:
				delete(w.owners, p) // released
			case 2:
				w.owners[p] = target[p] // and claimed
			}
		}
		if got := Sticky.Assign(w.members, w.partitions, w.owners); !cmp.Equal(got, want) {
			t.Fatalf("with owners %v:\n got %v\nwant %v", w.owners, got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("range")
	f.Add("")
	f.Fuzz(func(t *testing.T, name string) {
		s, err := Parse(name)
		if err == nil && name != "" && string(s) != name {
			t.Fatalf("%q is %q", name, s)
		}
	})
}
