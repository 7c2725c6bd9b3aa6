// Package client is the thin layer between the tools and a Kafka broker.
//
// It stands on franz-go's kgo for connections, versions and broker discovery, and on record for what is inside a batch:
// a Producer encodes lines into batches of its own and sends them as raw produce requests, so that a refused batch can
// be taken apart down to the record that is refused; a Reader fetches raw batches, so that a damaged one can be reported
// and stepped over. Positions are ids as brokers give them out: they rise, and nothing here assumes that they rise by one.
package client

import (
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// DefaultTimeout is how long a broker is waited for when Options say nothing.
const DefaultTimeout = 10 * time.Second

// maxOverhead is what kgo allows.
const maxOverhead = 15 * time.Minute

// Acks says what a broker promises when it answers a produce request.
type Acks int8

const (
	AcksAll  Acks = -1 // the records are on disk
	AcksNone Acks = 0  // nothing: there is no answer
	AcksOne  Acks = 1  // the records are appended to the log
)

// Options of a Client. Brokers is required, the zero value of the rest has a sensible meaning.
type Options struct {
	Brokers  []string      // HOST:PORT of any brokers of the cluster; all are asked in turn
	Timeout  time.Duration // how long a broker may be away before an operation fails; 0 = DefaultTimeout
	Once     bool          // fail as soon as no broker is reachable, and wait for none but one that does not answer
	ClientID string        // told to the broker, which shows it in its logs
	Acks     Acks          // of all produce requests; kgo keeps it per client
}

// Client talks to one cluster. Its methods may be called from several goroutines, and block until the cluster has
// answered, the context ends, or no broker was reachable for Options.Timeout (an *UnavailableError).
type Client struct {
	opts Options
	kgo  *kgo.Client
	wire *wire
}

// New returns a client; nothing is dialled before the first request.
func New(opts Options) (*Client, error) {
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	acks := map[Acks]kgo.Acks{AcksAll: kgo.AllISRAcks(), AcksNone: kgo.NoAck(), AcksOne: kgo.LeaderAck()}[opts.Acks]
	w := newWire(opts.Timeout)
	k, err := kgo.NewClient(
		kgo.SeedBrokers(opts.Brokers...),
		kgo.ClientID(opts.ClientID),
		kgo.RequiredAcks(acks),
		kgo.DisableIdempotentWrite(),
		kgo.MaxVersions(versions()),
		kgo.Dialer(w.dial),
		kgo.WithHooks(w),
		kgo.RequestRetries(len(opts.Brokers)), // the retries that last as long as Timeout are ours: they know the cause
		kgo.RetryTimeout(opts.Timeout),
		kgo.RetryBackoffFn(func(int) time.Duration { return firstBackoff }),
		kgo.RequestTimeoutOverhead(min(opts.Timeout, maxOverhead-time.Second)+time.Second),
		kgo.BrokerMaxWriteBytes(1<<30),
		kgo.BrokerMaxReadBytes(1<<30),
		kgo.DisableClientMetrics(),
	)
	if err != nil {
		return nil, err
	}
	w.client = k
	return &Client{opts: opts, kgo: k, wire: w}, nil
}

// timeoutMillis is the timeout as a request tells it to a broker.
func (c *Client) timeoutMillis() int32 {
	return int32(min(c.opts.Timeout.Milliseconds(), math.MaxInt32))
}

// Close ends all requests under way and closes the connections.
func (c *Client) Close() { c.kgo.Close() }

// versions caps the requests that name topics by id in later versions: Produce from 13, Fetch from 13.
func versions() *kversion.Versions {
	v := kversion.Stable()
	v.SetMaxKeyVersion(int16(kmsg.Produce), 11)
	v.SetMaxKeyVersion(int16(kmsg.Fetch), 12)
	return v
}
