//go:build !race

package zkpeer

// Race tells that the race detector watches.
const Race = false
