package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sender carries encoded batches to the brokers. It is an interface for the sake of tests.
type sender interface {
	// send calls sent as soon as batches of this partition that are sent later can not overtake this one, at the latest
	// when it returns. again says that this batch was tried before, and that the partition may have moved. The batch is
	// not kept.
	send(ctx context.Context, partition int32, batch []byte, again bool, sent func()) outcome
	// explain words an error of send for a person.
	explain(err error) error
}

// outcome is what became of a batch that was sent.
type outcome struct {
	base    int64  // id that its first record was given
	settled func() // if not nil, to be called when the outcome has been dealt with
	err     error
}

// brokerSender sends to the partitions of a topic, each to its leader.
type brokerSender struct {
	c      *Client
	name   string
	asking sync.Mutex // held during a look-up

	mu      sync.Mutex
	topic   Topic     // guarded by mu, like learned
	learned time.Time // when topic was heard of
}

func newBrokerSender(c *Client, topic Topic) *brokerSender {
	return &brokerSender{c: c, name: topic.Name, topic: topic, learned: time.Now()}
}

func (s *brokerSender) explain(err error) error {
	if transport(err) {
		return s.c.unavailable(err)
	}
	return err
}

func (s *brokerSender) send(ctx context.Context, partition int32, batch []byte, again bool, sent func()) outcome {
	leader, err := s.leader(ctx, partition, again)
	if err != nil {
		return outcome{err: err}
	}
	link := s.c.wire.link(leader)
	resp, err := link.produce(ctx, s.request(partition, batch), sent)
	base, err := s.answer(partition, resp, err)
	return outcome{base, link.settled, err}
}

func (s *brokerSender) request(partition int32, batch []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks = int16(s.c.opts.Acks)
	req.TimeoutMillis = s.c.timeoutMillis()
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = partition, batch
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = s.name
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)

	return req
}

// answer reads the answer to request.
func (s *brokerSender) answer(partition int32, answer kmsg.Response, err error) (base int64, _ error) {
	if err != nil {
		return 0, err
	}
	if s.c.opts.Acks == AcksNone {
		return -1, nil
	}
	resp, ok := answer.(*kmsg.ProduceResponse)
	if !ok || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].Partition != partition {
		return 0, errors.New("produce answer for other partitions than the one asked for")
	}
	got := resp.Topics[0].Partitions[0]
	if got.ErrorCode == kerr.DuplicateSequenceNumber.Code { // it is stored, and nobody remembers where
		return -1, nil
	}
	return got.BaseOffset, brokerError(got.ErrorCode, got.ErrorMessage)
}

// leader returns the broker in charge of a partition, asking anew when the last answer did not lead to success. A topic
// that was deleted in the meantime is not made again.
func (s *brokerSender) leader(ctx context.Context, partition int32, again bool) (int32, error) {
	if leader, fresh := s.known(partition); leader >= 0 && (!again || fresh) {
		return leader, nil
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	if leader, fresh := s.known(partition); leader >= 0 && fresh { // another partition has asked meanwhile
		return leader, nil
	}
	topic, err := s.c.lookUp(ctx, s.name, false)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	s.topic, s.learned = topic, time.Now()
	s.mu.Unlock()
	if leader, _ := s.known(partition); leader >= 0 {
		return leader, nil
	}
	return 0, brokerError(kerr.LeaderNotAvailable.Code, nil)
}

// known returns the leader as last heard, -1 for none, and whether that was just heard.
func (s *brokerSender) known(partition int32) (leader int32, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh = time.Since(s.learned) < firstBackoff
	if int(partition) >= len(s.topic.Partitions) {
		return -1, fresh
	}
	return s.topic.Partitions[partition].Leader, fresh
}
