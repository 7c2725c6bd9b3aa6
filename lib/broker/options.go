package broker

import (
	"fmt"
	"log/slog"
	"math"
	"net"
	"strconv"
	"time"

	"logkit/lib/cluster"
	"logkit/lib/commitlog"
)

// Options of a Broker. The zero value of a field is its default, where one is given.
type Options struct {
	// Member is the broker's part in its cluster. It, and its data directory, must stay open until Serve has returned.
	Member *cluster.Member
	// Listener is where connections come from. Serve closes it.
	Listener net.Listener
	// Advertise is the HOST:PORT that clients are told (the listener's address).
	Advertise string
	// ZooKeeper is where the cluster is coordinated, HOST:PORT,.../CHROOT, as tools are told it.
	ZooKeeper string

	// AutoCreate lets a Metadata request create the topics that it asks for.
	AutoCreate bool
	// Partitions of a topic that is created so (1).
	Partitions int32
	// MaxMessageBytes is the size of the largest batch (1 MiB).
	MaxMessageBytes int32
	// Log and Retention are how logs are kept; they are only told to those who ask.
	Log       commitlog.Options
	Retention commitlog.Retention

	// MaxConnections is how many clients are served at the same time (1000).
	MaxConnections int
	// MaxRequestBytes is the size of the largest request (100 MiB, as Kafka's socket.request.max.bytes).
	MaxRequestBytes int
	// MemoryLimit bounds the bytes of all requests being read and handled, and of the answers that wait (128 MiB). It is
	// at least a quarter above MaxRequestBytes.
	MemoryLimit int64

	// IdleTimeout closes a connection on which nothing is asked (10 minutes).
	IdleTimeout time.Duration
	// FrameTimeout closes one whose request has begun but does not come; large ones get more (30 s).
	FrameTimeout time.Duration
	// WriteTimeout closes one that takes nothing of its answer for so long (30 s).
	WriteTimeout time.Duration
	// ShutdownTimeout is how long Serve waits for answers that are owed when its context has ended (2 s).
	ShutdownTimeout time.Duration

	// Logger takes what an operator should know (none).
	Logger *slog.Logger
}

// Defaults of Options.
const (
	DefaultMaxMessageBytes = 1 << 20
	DefaultMaxConnections  = 1000
	DefaultMaxRequestBytes = 100 << 20
	DefaultMemoryLimit     = 128 << 20
	DefaultIdleTimeout     = 10 * time.Minute
	DefaultFrameTimeout    = 30 * time.Second
	DefaultWriteTimeout    = 30 * time.Second
	DefaultShutdownTimeout = 2 * time.Second
	// DefaultRetention is told to be the default of a Retention's age (Kafka's log.retention.hours).
	DefaultRetention = 7 * 24 * time.Hour
)

func (o Options) withDefaults() Options {
	setDefault(&o.Partitions, 1)
	setDefault(&o.MaxMessageBytes, DefaultMaxMessageBytes)
	setDefault(&o.MaxConnections, DefaultMaxConnections)
	setDefault(&o.MaxRequestBytes, DefaultMaxRequestBytes)
	setDefault(&o.MemoryLimit, DefaultMemoryLimit)
	setDefault(&o.IdleTimeout, DefaultIdleTimeout)
	setDefault(&o.FrameTimeout, DefaultFrameTimeout)
	setDefault(&o.WriteTimeout, DefaultWriteTimeout)
	setDefault(&o.ShutdownTimeout, DefaultShutdownTimeout)
	if o.Advertise == "" {
		o.Advertise = o.Listener.Addr().String()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault[T int | int32 | int64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

func (o Options) check() error {
	if o.MaxRequestBytes > math.MaxInt32 {
		return fmt.Errorf("largest request of %d bytes, at most %d allowed", o.MaxRequestBytes, math.MaxInt32)
	}
	if int64(o.MaxMessageBytes) >= int64(o.MaxRequestBytes) {
		return fmt.Errorf("largest request of %d bytes, it must exceed the largest batch of %d", o.MaxRequestBytes, o.MaxMessageBytes)
	}
	if _, buffer := classOf(o.MaxRequestBytes); o.MemoryLimit < int64(buffer) {
		return fmt.Errorf("memory limit of %d bytes, a request of %d needs %d", o.MemoryLimit, o.MaxRequestBytes, buffer)
	}
	return nil
}

// endpoint is an address as clients are told it.
type endpoint struct {
	host string
	port int32
}

// parseEndpoint splits HOST:PORT and refuses a host that no client could use.
func parseEndpoint(address string) (endpoint, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return endpoint{}, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return endpoint{}, fmt.Errorf("address %s: port %q, allowed are 1 to 65535", address, portText)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return endpoint{}, fmt.Errorf("address %s: %w", address, ErrWildcard)
	}
	return endpoint{host: host, port: int32(port)}, nil
}

func (e endpoint) String() string { return net.JoinHostPort(e.host, strconv.Itoa(int(e.port))) }
