package zkserver

import (
	"fmt"
	"log/slog"
	"time"
)

// Limits that are part of the protocol or of the file, not options.
const (
	// MaxFrame is the largest request in bytes, ZooKeeper's jute.maxbuffer.
	MaxFrame = 0xfffff
	// MaxPath is the longest path in bytes: paths are keys of the database.
	MaxPath = 32768
)

// Options says where a server keeps its tree and what it grants its clients. The zero value of a field is its default.
type Options struct {
	// Dir holds the database, zookeeper.db. It is made if it is missing.
	Dir string
	// Listen is the TCP address to serve, such as "127.0.0.1:2181". Empty: no TCP, only Dial.
	Listen string

	// TickTime is the unit of session time: expiry is looked for several times a tick, and a server that was stopped
	// for longer than a tick extends all sessions. Default 2 s.
	TickTime time.Duration
	// MinSessionTimeout and MaxSessionTimeout bound what a client may ask for. Default 2 and 20 ticks.
	MinSessionTimeout, MaxSessionTimeout time.Duration

	// MaxConns bounds TCP connections. Default 2,000. Neither this nor MaxSessions keeps out those of Dial.
	MaxConns int
	// MaxSessions bounds sessions, with or without a connection. Default 10,000.
	MaxSessions int
	// MaxOutstanding bounds the requests of one connection whose replies it has not read. Default 1,000.
	MaxOutstanding int
	// MaxWatches bounds the watches of all connections together, where one counts once for every 256 bytes of its path.
	// Default 250,000.
	MaxWatches int
	// MaxTreeBytes bounds the memory of the tree, by an estimate: data, paths, access lists and 256 bytes
	// for each node.
	// Default 256 MiB.
	MaxTreeBytes int64

	// Logger gets what an operator should know. Default: nothing is logged.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, fmt.Errorf("zookeeper: no directory given")
	}
	setDefault(&o.TickTime, 2*time.Second)
	setDefault(&o.MinSessionTimeout, 2*o.TickTime)
	setDefault(&o.MaxSessionTimeout, 20*o.TickTime)
	setDefault(&o.MaxConns, 2_000)
	setDefault(&o.MaxSessions, 10_000)
	setDefault(&o.MaxOutstanding, 1_000)
	setDefault(&o.MaxWatches, 250_000)
	setDefault(&o.MaxTreeBytes, 256<<20)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.TickTime < time.Millisecond {
		return o, fmt.Errorf("zookeeper: tick time %v, at least 1ms allowed", o.TickTime)
	}
	if o.MinSessionTimeout < 0 || o.MaxSessionTimeout < o.MinSessionTimeout {
		return o, fmt.Errorf("zookeeper: session timeouts from %v to %v allow none", o.MinSessionTimeout, o.MaxSessionTimeout)
	}
	return o, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
