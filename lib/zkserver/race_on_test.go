//go:build race

package zkserver

// underRace: the race detector watches.
const underRace = true
