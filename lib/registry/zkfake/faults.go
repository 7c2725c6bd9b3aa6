package zkfake

import "math/rand/v2"

// Call is what is about to be called.
type Call struct {
	Number int    // of the connection, from 1
	Op     string // create, set, delete, multi, get, exists, children or sync
	Path   string // "" for a multi
}

// Fault is what happens to a call.
type Fault int8

// The faults. All but ExpireBefore give zk.ErrConnectionClosed.
const (
	None          Fault = iota
	Lose                // the connection breaks before the request was sent
	LoseReply           // the connection breaks after the request was carried out
	ExpireBefore        // the session ends, and the request is carried out in the next one
	ExpireAndLose       // the session ends, and the request is lost
	ExpireAfter         // the request is carried out, the session ends, the reply is lost
	faults
)

// Faults decides about each call. It may do something else first: what it does happens between two calls. It is called
// without a lock, by whoever makes the call.
type Faults func(Call) Fault

// Chaos lets one call in that many fail, in ways that follow from the seed. It is for one goroutine.
func Chaos(seed uint64, oneIn int) Faults {
	r := rand.New(rand.NewPCG(seed, 0))
	return func(Call) Fault {
		if r.IntN(oneIn) > 0 {
			return None
		}
		return 1 + Fault(r.IntN(int(faults)-1))
	}
}
