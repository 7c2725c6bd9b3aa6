//go:build race

package zkpeer

// Race tells that the race detector watches. go-zookeeper 1.0.4 has a race of its own, when it sets watches again after a
// connection was lost: what does that is run without the detector.
const Race = true
