package interop

import (
	"context"
	"errors"
)

// Record is a record as a client sends or shows it. Null and empty differ: nil is null.
type Record struct {
	ID      int64    `json:"id"`   // offset; not looked at when sending
	Time    int64    `json:"time"` // ms since 1970
	Key     []byte   `json:"key"`
	Value   []byte   `json:"value"`
	Headers []Header `json:"headers"`
}

// Header is one field of a record's headers; names may repeat.
type Header struct {
	Name  string `json:"name"`
	Value []byte `json:"value"`
}

// Codecs are all there are, by the names that configurations use.
var Codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// Acks that a producer waits for, by Kafka's numbers.
const (
	AcksNone   = 0
	AcksLeader = 1
	AcksAll    = -1
)

// Places in a log, as timestamps of ListOffsets and as where to read from.
const (
	End   = -1
	Start = -2
)

// None is where an id would be: of a record that was not acknowledged, or of a time that no record reaches.
const None = -1

// ErrCannot is what a client answers that has no such function.
var ErrCannot = errors.New("not in this client")

// Client is a Kafka client. Its methods may be called from several goroutines, and end with their context.
type Client interface {
	Name() string

	// Sends tells whether the client can send that record at all.
	Sends(r Record) bool
	// Sent is what a broker stores of a record that the client sends.
	Sent(r Record) Record
	// Shows is what a reader of the client gets to see of a stored record.
	Shows(r Record) Record

	// Producer connects to brokers.
	Producer(ctx context.Context, brokers, codec string, acks int) (Producer, error)
	// Read returns the records of a partition from an id, or Start, up to the end of the log at that time, as the client
	// finds it out by itself. When until is not nil, it waits and goes on up to the record with that value.
	Read(ctx context.Context, brokers, topic string, partition int32, from int64, until []byte) ([]Record, error)
	// Times returns for each time, Start or End the id that ListOffsets gives, or None.
	Times(ctx context.Context, brokers, topic string, partition int32, times []int64) ([]int64, error)
}

// Producer is for one goroutine.
type Producer interface {
	// Send sends records, in as few batches as it can, and waits for the answers. It returns the id of each record, None
	// for those that were not acknowledged, or nil if the client does not tell; the error is the first refusal.
	Send(ctx context.Context, topic string, partition int32, records []Record) ([]int64, error)
	Close() error
}

// AnyTime stands in Sent for a time that the client chooses.
const AnyTime = -3

// exact is embedded by clients that can send and show everything.
type exact struct{}

func (exact) Sends(Record) bool     { return true }
func (exact) Sent(r Record) Record  { return r }
func (exact) Shows(r Record) Record { return r }
