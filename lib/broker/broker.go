package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"logkit/lib/cluster"
	"logkit/lib/logdir"
)

// ErrWildcard: an address that names every interface is told to clients, who could not use it.
var ErrWildcard = errors.New("names no host that a client could connect to")

// Broker serves the Kafka protocol. Make one with New; Serve may be called once.
type Broker struct {
	options    Options
	member     *cluster.Member
	dir        *logdir.Dir // the member's
	advertised endpoint
	logger     *slog.Logger
	apis       *apiTable
	memory     *budget
	buffers    bufferPool
	complaints complaints
	send       sendFunc     // replaced by tests
	polls      atomic.Int64 // fetches that wait for records

	checking, checkingLarge chan struct{} // places for batches being checked; see check

	maxNewPartitions int32 // maxNewPartitions, but for tests

	// hard ends everything that still waits, after the time for an orderly end is over.
	hard     context.Context
	stopHard context.CancelFunc

	mu      sync.Mutex
	conns   map[*conn]struct{}
	closing bool // no connection is taken in any more
	running sync.WaitGroup
}

// New checks the options, gives the member its address, and returns a Broker that Serve will start. It keeps no goroutine.
func New(options Options) (*Broker, error) {
	options = options.withDefaults()
	if err := options.check(); err != nil {
		return nil, err
	}
	advertised, err := parseEndpoint(options.Advertise)
	if err != nil {
		return nil, err
	}
	b := &Broker{
		options:    options,
		member:     options.Member,
		dir:        options.Member.Dir(),
		advertised: advertised,
		logger:     options.Logger,
		apis:       newAPITable(standardAPIs()),
		memory:     newBudget(options.MemoryLimit),
		complaints: complaints{logger: options.Logger, allowed: complaintBurst, since: time.Now()},
		send:       sendFile,

		checking:         make(chan struct{}, runtime.GOMAXPROCS(0)),
		checkingLarge:    make(chan struct{}, 1),
		maxNewPartitions: maxNewPartitions,
		conns:            make(map[*conn]struct{}),
	}
	b.member.SetAddress(advertised.host, advertised.port)
	b.hard, b.stopHard = context.WithCancel(context.Background())
	return b, nil
}

// Advertised is the HOST:PORT that clients are told.
func (b *Broker) Advertised() string { return b.advertised.String() }

// id is the broker's in its cluster.
func (b *Broker) id() int32 { return b.member.ID() }

// Serve accepts connections until the context ends. Then it stops accepting and reading, writes the answers to what has
// been read, for at most Options.ShutdownTimeout, closes all connections and returns nil. It closes the listener, and
// leaves no goroutine behind. Any other end is an error.
func (b *Broker) Serve(ctx context.Context) error {
	closeListener := context.AfterFunc(ctx, func() { b.options.Listener.Close() })
	err := b.accept()
	closeListener()
	b.options.Listener.Close()
	b.drain()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("listener %s: %w", b.options.Listener.Addr(), err)
}

// accept takes connections until the listener is closed.
func (b *Broker) accept() error {
	const longestPause = time.Second
	pause := time.Duration(0)
	for {
		socket, err := b.options.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if err != nil {
			// No descriptors, or a client that has gone already: both pass.
			pause = min(max(2*pause, 5*time.Millisecond), longestPause)
			b.complaints.warn("no connection accepted", slog.String("reason", err.Error()))
			time.Sleep(pause)
			continue
		}
		pause = 0
		b.take(socket)
	}
}

// take begins to serve a connection, or refuses it.
func (b *Broker) take(socket net.Conn) {
	c := newConn(b, socket)
	b.mu.Lock()
	refused := b.closing || len(b.conns) >= b.options.MaxConnections
	if !refused {
		b.conns[c] = struct{}{}
		b.running.Add(1)
	}
	closing := b.closing
	b.mu.Unlock()
	if refused {
		if !closing {
			b.complaints.warn("connection refused: too many", slog.String("client", socket.RemoteAddr().String()),
				slog.Int("max_connections", b.options.MaxConnections))
		}
		socket.Close()
		c.stop()
		return
	}
	go func() {
		defer b.running.Done()
		c.serve()
		b.mu.Lock()
		delete(b.conns, c)
		b.mu.Unlock()
	}()
}

// drain ends all connections in order, and those that take too long without.
func (b *Broker) drain() {
	for _, c := range b.close() {
		c.drain()
	}
	ended := make(chan struct{})
	go func() {
		b.running.Wait()
		close(ended)
	}()
	timer := time.NewTimer(b.options.ShutdownTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		for _, c := range b.close() {
			c.socket.Close()
		}
	}
	b.stopHard()
	<-ended
}

// close lets no further connection in and returns those that there are.
func (b *Broker) close() []*conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closing = true
	return slices.Collect(maps.Keys(b.conns))
}
