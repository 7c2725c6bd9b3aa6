package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"logkit/lib/assign"
	"logkit/lib/client"
	"logkit/lib/registry"
)

// Options of a member. Session, Source, Group and Topics are required, the zero value of the rest is sensible.
type Options struct {
	Session  *registry.Session // stays the caller's, who closes it after Close
	Source   Source            // where the messages are; see FromClient
	Group    string
	Member   string   // its name, which nobody else may have; "": one is made up
	Topics   []string // each once
	Strategy assign.Strategy
	Latest   bool // begin at the end where nothing is committed, or where what is committed is out of range
	Follow   bool // go on for ever; else Next ends with io.EOF at the ends as they are when the member starts
	Wait     bool // wait for topics that are not there (any more), instead of ending
	Confirm  bool // commit what Confirm says, of what was delivered

	Patience    time.Duration // without Follow: how long ZooKeeper may be away; 0 = client.DefaultTimeout
	CommitEvery time.Duration // 1 s
	Debounce    time.Duration // how long to wait for more changes after one, on average; 50 ms
	Resync      time.Duration // how long to believe watches; 30 s
	Drain       time.Duration // how long a partition may be kept for a write, or Confirm, to come; the session timeout
	Retry       time.Duration // pause before a partition is read again that could not be; 1 s

	Reader client.ReaderOptions // how to read; memory is two answers of MaxBytes for each broker. Forever is Follow
	Told   func(Event)          // what is worth telling; called from several goroutines, one at a time
}

func (o Options) withDefaults() (Options, error) {
	if o.Member == "" {
		o.Member = memberName(o.Group)
	}
	if o.Strategy == "" {
		o.Strategy = assign.Range
	}
	if _, err := assign.Parse(string(o.Strategy)); err != nil {
		return o, err
	}
	if len(o.Topics) == 0 {
		return o, errors.New("no topics to read")
	}
	o.Topics = slices.Compact(slices.Sorted(slices.Values(o.Topics)))
	o.Patience = cmp.Or(o.Patience, client.DefaultTimeout)
	o.CommitEvery = cmp.Or(o.CommitEvery, time.Second)
	o.Debounce = cmp.Or(o.Debounce, 50*time.Millisecond)
	o.Resync = cmp.Or(o.Resync, 30*time.Second)
	o.Drain = cmp.Or(o.Drain, o.Session.Timeout())
	o.Retry = cmp.Or(o.Retry, time.Second)
	o.Reader.Forever = o.Follow
	return o, nil
}

// memberName is made as Kafka 0.8 makes it: GROUP_HOST-MILLISECONDS-RANDOM.
func memberName(group string) string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	name := fmt.Sprintf("%s-%d-%08x", host, time.Now().UnixMilli(), rand.Uint32())
	if len(group)+1+len(name) > registry.MaxName {
		return name
	}
	return group + "_" + name
}

// Source is where a member reads: the brokers, by way of a client.
type Source interface {
	NewReader(client.ReaderOptions) Reader
	Topic(ctx context.Context, name string, create bool) (client.Topic, error)
	Offsets(ctx context.Context, topic string, partitions []int32, at int64) (map[int32]int64, error)
}

// Reader is what a member needs of a client.Reader.
type Reader interface {
	C() <-chan []client.Chunk
	Add(...client.Span)
	Remove(topic string, partition int32)
	Close()
}

// FromClient reads from the brokers that the client knows.
func FromClient(c *client.Client) Source { return clientSource{c} }

type clientSource struct{ *client.Client }

func (s clientSource) NewReader(o client.ReaderOptions) Reader { return s.Client.NewReader(o) }
