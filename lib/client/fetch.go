package client

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// source is where a Reader reads. It is an interface for the sake of tests.
type source interface {
	// lookUp asks for the leaders of a topic's partitions.
	lookUp(ctx context.Context, topic string) (Topic, error)
	// fetch sends a request to a broker and waits for its answer.
	fetch(ctx context.Context, leader int32, req *kmsg.FetchRequest) (*kmsg.FetchResponse, error)
	// explain words an error of the two for a person.
	explain(err error) error
}

// brokerSource reads from the brokers of a client.
type brokerSource struct{ c *Client }

func (s *brokerSource) lookUp(ctx context.Context, topic string) (Topic, error) {
	return s.c.lookUp(ctx, topic, false)
}

func (s *brokerSource) fetch(ctx context.Context, leader int32, req *kmsg.FetchRequest) (*kmsg.FetchResponse, error) {
	resp, err := s.c.kgo.Broker(int(leader)).Request(ctx, req)
	if err != nil {
		return nil, err
	}
	answer := resp.(*kmsg.FetchResponse)
	return answer, brokerError(answer.ErrorCode, nil)
}

func (s *brokerSource) explain(err error) error {
	if transport(err) {
		return s.c.unavailable(err)
	}
	return err
}

// fetched is a broker's answer, or the error instead of it, for the partitions that were asked for.
type fetched struct {
	leader int32
	parts  []*part
	resp   *kmsg.FetchResponse
	err    error
}

// request builds the fetch request for some partitions of one leader. The first ones are served first.
func (l *readerLoop) request(parts []*part) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(l.opts.MaxWait.Milliseconds())
	req.MinBytes = 1
	req.MaxBytes = l.opts.MaxBytes
	index := map[string]int{}
	for _, p := range parts {
		at, ok := index[p.Topic]
		if !ok {
			at = len(req.Topics)
			index[p.Topic] = at
			topic := kmsg.NewFetchRequestTopic()
			topic.Topic = p.Topic
			req.Topics = append(req.Topics, topic)
		}
		want := kmsg.NewFetchRequestTopicPartition()
		want.Partition, want.FetchOffset, want.PartitionMaxBytes = p.Partition, p.pos, p.bytes
		req.Topics[at].Partitions = append(req.Topics[at].Partitions, want)
		req.MaxBytes = max(req.MaxBytes, p.bytes)
	}
	return req
}

// fetch runs in a goroutine of its own and sends one answer. A broker that is silent for the timeout counts as away.
func (l *readerLoop) fetch(leader int32, parts []*part, req *kmsg.FetchRequest) {
	ctx, cancel := context.WithTimeout(l.ctx, l.opts.MaxWait+l.timeout)
	defer cancel()
	resp, err := l.source.fetch(ctx, leader, req)
	l.answers <- fetched{leader, parts, resp, err}
}

// learned is what was heard of topics.
type learned struct {
	topics map[string]Topic
	errs   map[string]error
}

// ask runs in a goroutine of its own and sends one answer.
func (l *readerLoop) ask(topics []string) {
	ctx, cancel := context.WithTimeout(l.ctx, l.timeout)
	defer cancel()
	got := learned{map[string]Topic{}, map[string]error{}}
	for _, name := range topics {
		topic, err := l.source.lookUp(ctx, name)
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			err = &UnknownTopicError{Topic: name}
		}
		got.topics[name], got.errs[name] = topic, err
	}
	l.learned <- got
}

// learn takes the leaders from what was heard.
func (l *readerLoop) learn(got learned) {
	l.asking = false
	var chunks []Chunk
	for _, p := range l.parts {
		topic, asked := got.topics[p.Topic]
		if !asked || p.leader >= 0 {
			continue
		}
		err := got.errs[p.Topic]
		if err == nil && int(p.Partition) >= len(topic.Partitions) {
			err = &NoPartitionError{Topic: p.Topic, Partition: p.Partition, Count: int32(len(topic.Partitions))}
			chunks = l.ended(chunks, p, err)
			continue
		}
		if err == nil {
			p.leader = topic.Partitions[p.Partition].Leader
		}
		if err == nil && p.leader < 0 {
			err = &PartitionError{Topic: p.Topic, Partition: p.Partition, Err: brokerError(kerr.LeaderNotAvailable.Code, nil)}
		}
		if err != nil {
			chunks = l.failed(chunks, p, err)
		}
	}
	if len(chunks) > 0 {
		l.pending = append(l.pending, answerOut{-1, chunks})
	}
}
