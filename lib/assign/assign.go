package assign

import (
	"fmt"
	"slices"
)

// Strategy is a way to assign partitions. It is text as it stands in a member's registration.
type Strategy string

// The strategies.
const (
	Range  Strategy = "range"
	Sticky Strategy = "sticky"
)

// Strategies are the names that there are.
func Strategies() []string { return []string{string(Range), string(Sticky)} }

// Parse returns the strategy of that name. No name is Range: so the registrations of Kafka 0.8 mean it.
func Parse(name string) (Strategy, error) {
	switch s := Strategy(name); s {
	case "":
		return Range, nil
	case Range, Sticky:
		return s, nil
	}
	return "", fmt.Errorf("strategy %.100q, allowed are range and sticky", name)
}

// Assign returns the partitions of one topic that each member has, in the order of their numbers; every member that has
// none is there with nil. owners says who owns a partition now, as far as somebody does; Range does not look at it, and
// members that are not listed own nothing. Members and partitions that are listed twice count once. The arguments are
// not changed. An unknown strategy is taken for Range; see Parse.
func (s Strategy) Assign(members []string, partitions []int32, owners map[int32]string) map[string][]int32 {
	members, partitions = sorted(members), sorted(partitions)
	if len(members) == 0 {
		return map[string][]int32{}
	}
	if s == Sticky {
		return assignSticky(members, partitions, owners)
	}
	return assignRange(members, partitions)
}

// assignRange takes its arguments sorted.
func assignRange(members []string, partitions []int32) map[string][]int32 {
	assigned := make(map[string][]int32, len(members))
	share, extra := len(partitions)/len(members), len(partitions)%len(members)
	for i, m := range members {
		n := share
		if i < extra {
			n++
		}
		assigned[m], partitions = take(partitions, n)
	}
	return assigned
}

// sorted returns a sorted copy without what is there twice.
func sorted[T ~string | ~int32](list []T) []T {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// take returns a copy of the first n, and the rest.
func take(list []int32, n int) (first, rest []int32) {
	return append([]int32(nil), list[:n]...), list[n:]
}
