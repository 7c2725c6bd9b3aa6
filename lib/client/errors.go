package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	// ErrUnavailable is matched by errors that say that no broker, or not the one in charge, could be reached in time.
	ErrUnavailable = errors.New("broker not reachable")
	// ErrUnknownTopic is matched by errors that name a topic which does not exist.
	ErrUnknownTopic = errors.New("no such topic")
	// ErrTooLarge is matched by errors about a record that is larger than its topic allows.
	ErrTooLarge = errors.New("record too large")
	// ErrOutOfRange is matched by errors about an id that is outside its partition.
	ErrOutOfRange = errors.New("id out of range")
)

// UnavailableError says which broker could not be reached and why. It matches ErrUnavailable.
type UnavailableError struct {
	Addr string // HOST:PORT, or several with commas
	Err  error
}

func (e *UnavailableError) Error() string   { return fmt.Sprintf("broker %s: %v", e.Addr, e.Err) }
func (e *UnavailableError) Unwrap() []error { return []error{ErrUnavailable, e.Err} }

// NoLeaderError names partitions whose broker is not there. It matches ErrUnavailable.
type NoLeaderError struct {
	Topic      string
	Partitions []int32
}

func (e *NoLeaderError) Error() string {
	if len(e.Partitions) == 1 {
		return fmt.Sprintf("topic %q: partition %d: %s", e.Topic, e.Partitions[0], noLeader)
	}
	return fmt.Sprintf("topic %q: partitions %s: no leaders, their brokers are not there", e.Topic, strings.Trim(fmt.Sprint(e.Partitions), "[]"))
}
func (e *NoLeaderError) Unwrap() error { return ErrUnavailable }

// UnknownTopicError names a topic that does not exist. It matches ErrUnknownTopic.
type UnknownTopicError struct{ Topic string }

func (e *UnknownTopicError) Error() string { return fmt.Sprintf("topic %q: no such topic", e.Topic) }
func (e *UnknownTopicError) Unwrap() error { return ErrUnknownTopic }

// SizeError says that a record would make a batch of Size bytes where Max are allowed. It matches ErrTooLarge.
type SizeError struct {
	Size, Max int64
	By        string // whose limit that is, with a verb; "" = the topic's
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%d bytes with its batch, %s %d", e.Size, cmp.Or(e.By, "the topic allows"), e.Max)
}
func (e *SizeError) Unwrap() error { return ErrTooLarge }

// OutOfRangeError names an id that a partition does not have, and the range that it has: Start is the first id, End the
// one after the last; both are valid places to start. It matches ErrOutOfRange.
type OutOfRangeError struct {
	Topic              string
	Partition          int32
	Offset, Start, End int64
}

func (e *OutOfRangeError) Error() string {
	return fmt.Sprintf("topic %q: partition %d: offset %d is out of range [%d, %d]", e.Topic, e.Partition, e.Offset, e.Start, e.End)
}
func (e *OutOfRangeError) Unwrap() error { return ErrOutOfRange }

// PartitionError says on which partition an operation failed.
type PartitionError struct {
	Topic     string
	Partition int32
	Err       error
}

func (e *PartitionError) Error() string {
	return fmt.Sprintf("topic %q: partition %d: %v", e.Topic, e.Partition, e.Err)
}
func (e *PartitionError) Unwrap() error { return e.Err }

// noLeader words LEADER_NOT_AVAILABLE, which Kafka's description takes for an election: no broker that is there keeps the
// partition.
const noLeader = "no leader, its broker is not there"

// brokerError turns a broker's error code into an error; nil for 0. The text is the code's description and name. That there
// is no leader matches ErrUnavailable.
func brokerError(code int16, message *string) error {
	err := kerr.ErrorForCode(code)
	if err == nil {
		return nil
	}
	ke := new(kerr.Error)
	if !errors.As(err, &ke) {
		return err
	}
	text := strings.ToLower(ke.Description[:1]) + strings.TrimSuffix(ke.Description[1:], ".")
	if ke == kerr.LeaderNotAvailable {
		text = noLeader
	}
	if message != nil && *message != "" {
		text = *message
	}
	return &codeError{text: text, kerr: ke}
}

// codeError prints a broker's error in this project's way; errors.Is and As see the kerr.Error below.
type codeError struct {
	text string
	kerr *kerr.Error
}

func (e *codeError) Error() string { return fmt.Sprintf("%s (%s)", e.text, e.kerr.Message) }
func (e *codeError) Unwrap() []error {
	if e.kerr == kerr.LeaderNotAvailable {
		return []error{e.kerr, ErrUnavailable}
	}
	return []error{e.kerr}
}

// answered reports whether err is a broker's answer, rather than one of the way to it.
func answered(err error) bool { return errors.As(err, new(*kerr.Error)) }

// transport reports whether err came from the way to the broker, not from the broker's answer. Such an operation may
// succeed when it is tried again.
func transport(err error) bool {
	for _, other := range []error{nil, context.Canceled, kgo.ErrClientClosed, ErrUnknownTopic} {
		if errors.Is(err, other) {
			return false
		}
	}
	return !answered(err)
}

// retriable reports whether the operation that met err may succeed when it is tried again.
func retriable(err error) bool {
	if ke := new(kerr.Error); errors.As(err, &ke) {
		return ke.Retriable
	}
	return transport(err)
}

// unavailable words a transport error: the address and the cause, without the layers in between.
func (c *Client) unavailable(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	addr := strings.Join(c.opts.Brokers, ",")
	cause := err
	if closed := new(closedError); errors.As(err, &closed) {
		addr = closed.addr
	}
	if op := new(net.OpError); errors.As(err, &op) {
		if op.Addr != nil {
			addr = op.Addr.String()
		}
		cause = op.Err
	}
	if dns := new(net.DNSError); errors.As(err, &dns) {
		cause = fmt.Errorf("look up %s: %s", dns.Name, dns.Err)
	}
	switch {
	case errors.As(err, new(*kgo.ErrFirstReadEOF)), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		cause = errors.New("connection closed by the other side")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		cause = fmt.Errorf("no answer within %v", c.opts.Timeout)
		if mute := c.wire.mute(); mute != "" {
			addr = mute
		}
	}
	if errno := syscall.Errno(0); errors.As(cause, &errno) {
		cause = errno
	}
	return &UnavailableError{Addr: addr, Err: cause}
}

// NoPartitionError names a partition that a topic does not have.
type NoPartitionError struct {
	Topic            string
	Partition, Count int32
}

func (e *NoPartitionError) Error() string {
	return fmt.Sprintf("topic %q: no partition %d, it has 0 to %d", e.Topic, e.Partition, e.Count-1)
}
