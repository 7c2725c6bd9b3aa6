package assign

import "slices"

// assignSticky takes members and partitions sorted.
func assignSticky(members []string, partitions []int32, owners map[int32]string) map[string][]int32 {
	assigned := make(map[string][]int32, len(members))
	for _, m := range members {
		assigned[m] = nil
	}
	var free []int32
	for _, p := range partitions {
		owner, owned := owners[p]
		if _, member := assigned[owner]; owned && member {
			assigned[owner] = append(assigned[owner], p)
		} else {
			free = append(free, p)
		}
	}
	shares := shares(members, len(partitions), assigned)
	for _, m := range members {
		if surplus := len(assigned[m]) - shares[m]; surplus > 0 {
			keep := assigned[m][:shares[m]]
			free = append(free, assigned[m][shares[m]:]...)
			assigned[m] = slices.Clip(keep)
		}
	}
	slices.Sort(free)
	for _, m := range members {
		var got []int32
		got, free = take(free, shares[m]-len(assigned[m]))
		assigned[m] = append(assigned[m], got...)
		slices.Sort(assigned[m])
		if len(assigned[m]) == 0 {
			assigned[m] = nil
		}
	}
	return assigned
}

// shares says how many of n partitions each member shall have. Each larger share that goes to one who owns as many
// saves a move.
func shares(members []string, n int, owned map[string][]int32) map[string]int {
	share, larger := n/len(members), n%len(members)
	shares := make(map[string]int, len(members))
	for _, owning := range []bool{true, false} {
		for _, m := range members {
			if (len(owned[m]) > share) != owning {
				continue
			}
			shares[m] = share
			if larger > 0 {
				shares[m]++
				larger--
			}
		}
	}
	return shares
}
