// Package assign says which member of a group reads which partition of a topic. Its functions depend on nothing but
// their arguments, and not on the order in which these come: every member computes the same assignment from what it has
// read of the registries, so that nobody has to tell it to the others.
//
// In every assignment each partition is exactly one member's, and no member of the topic has two more than another.
//
// # Range
//
// Algorithm 1 of the paper. Partitions in the order of their numbers, members in the order of their bytes; with n
// partitions and m members each takes n/m of them in a row, and the first n mod m members one more:
//
//	3 partitions, 2 members:  A 0 1   B 2
//	5 partitions, 2 members:  A 0 1 2   B 3 4
//
// It depends on members and partitions alone. When a member comes or goes, most partitions move. Partitions whose broker
// is away are assigned like all others: it comes back, and until then only they stand still.
//
// # Sticky
//
// Each member keeps what it owns as far as its share allows, its lowest partitions first; the rest goes, in order, to
// those that have too little. The larger shares (one more than n/m) go to members that own as many already, then to the
// others, in the order of their bytes. No balanced assignment moves fewer partitions.
//
// Owners change while members carry an assignment out, and each reads them at another moment. So it is essential that
// the assignment stays the same however much of it has been done: releasing and claiming as it says leads to the same
// one again. That is why a member's number of partitions counts only up to the larger share: one that gives up its
// surplus keeps its place.
package assign
