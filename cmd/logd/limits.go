package main

import (
	"math"

	"logkit/lib/broker"
	"logkit/lib/cli"
)

// limits bound what clients can make logd take at once. Each is above the one before: a request holds a batch, and memory
// holds a request, in a buffer of up to a quarter more. Those that are not given follow those that are.
type limits struct{ message, request, memory *sizeWithin }

// leastMemory is what requests of every kind can be read in.
const leastMemory = 2 << 20

func defaultLimits() limits {
	message, request, memory := cli.Size(broker.DefaultMaxMessageBytes), cli.Size(broker.DefaultMaxRequestBytes), cli.Size(broker.DefaultMemoryLimit)
	return limits{
		message: sizes(&message, 1<<10, math.MaxInt32/2),
		request: sizes(&request, 2<<10, math.MaxInt32/2),
		memory:  sizes(&memory, leastMemory, 1<<50),
	}
}

// settle gives a value to those that have none, and refuses those that do not go together.
func (l *limits) settle() error {
	message, request, memory := l.message.Size, l.request.Size, l.memory.Size
	if !l.request.given {
		if l.message.given {
			*request = min(max(*request, withQuarter(*message)), l.request.most)
		}
		if l.memory.given {
			*request = min(*request, rounded(*memory-*memory/5))
		}
	}
	if !l.memory.given {
		*memory = max(*memory, withQuarter(*request))
	}
	if !l.message.given {
		*message = min(*message, rounded(*request/2))
	}
	switch {
	case *message >= *request && l.request.given:
		return cli.Usagef("option --max-request-bytes %s: must be more than --max-message-bytes, %s", request, message)
	case *message >= *request:
		return cli.Usagef("option --max-message-bytes %s: must be less than --max-request-bytes, %s", message, request)
	case *memory < withQuarter(*request):
		return cli.Usagef("option --memory-limit %s: must be at least a quarter more than --max-request-bytes, %s", memory, request)
	}
	return nil
}

func withQuarter(n cli.Size) cli.Size { return n + n/4 }

// rounded is a size without a remainder that would say nothing.
func rounded(n cli.Size) cli.Size {
	for _, unit := range []cli.Size{1 << 20, 1 << 10} {
		if n >= 8*unit {
			return n / unit * unit
		}
	}
	return n
}
