package broker

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
	"logkit/lib/producers"
	"logkit/lib/record"
)

const (
	// maxDecompressed bounds what one batch may hold when it is unpacked for checking, usualDecompressed what several may
	// at the same time.
	maxDecompressed   = 128 << 20
	usualDecompressed = 8 << 20
	// shortestProduceTimeout: a busy disk takes that long for a flush, so a smaller timeout of a request counts as this.
	shortestProduceTimeout = time.Second
	// zstdVersion is the first Produce that may carry zstd (KIP-110).
	zstdVersion = 7
)

// Produce (v0-11): appends batches to logs.
//
//   - Each partition's records must be exactly one batch of magic 2 that passes record.Validate. What is refused is
//     answered by itself: the other partitions of the request are appended.
//   - Batches are checked and appended in the order of the request, straight from the frame's buffer.
//   - acks=all is answered when the batches are durable, and visible; REQUEST_TIMED_OUT when that takes longer than the
//     request's timeout, although they may become so later. acks=1 is answered after the append, acks=0 not at all: then
//     an error closes the connection, as in Kafka.
//   - A batch of an idempotent producer that is stored already is answered like the first time, and as late: with the
//     same id, when it is durable. When its id is forgotten, DUPLICATE_SEQUENCE_NUMBER, which clients take for success.
//     One that is not the next is refused; then the log start, from v5 on, tells clients whether their records can have
//     been deleted meanwhile.
//   - v0-2 carry the formats before magic 2, which are not stored: UNSUPPORTED_FOR_MESSAGE_FORMAT for each partition.
//     They are in the table for librdkafka's sake, which compresses only where Produce starts at 0.
//   - v3 adds the transactional id, which is not used: a batch with the transactional bit is refused.
//   - v5 adds the log start to the answer, v7 allows zstd, v8 adds error messages, v9 is flexible.
func handleProduce(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.ProduceRequest)
	p := &producing{
		broker: c.broker, version: req.Version, acks: req.Acks,
		answer: &produceAnswer{
			broker: c.broker, correlation: correlation, resp: req.ResponseKind().(*kmsg.ProduceResponse),
			deadline: time.Now().Add(max(time.Duration(req.TimeoutMillis)*time.Millisecond, shortestProduceTimeout)),
		},
	}
	for i := range req.Topics {
		p.topic(&req.Topics[i])
	}
	switch {
	case req.Acks != 0:
		return p.answer, nil
	case p.refused != nil:
		return nil, badFrame("Produce with acks=0 refused: %v", p.refused)
	}
	return nil, nil
}

// producing is a Produce being handled.
type producing struct {
	broker  *Broker
	version int16
	acks    int16
	answer  *produceAnswer
	largest int32 // batch of the topic, in bytes
	refused error // the first error
}

func (p *producing) topic(t *kmsg.ProduceRequestTopic) {
	p.largest = p.broker.largestBatch(t.Topic)
	topic := kmsg.NewProduceResponseTopic()
	topic.Topic = strings.Clone(t.Topic) // the request's points into the frame
	topic.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(t.Partitions))
	for i := range t.Partitions {
		part := &topic.Partitions[i]
		part.Default()
		part.Partition = t.Partitions[i].Partition
		if err := p.partition(t.Topic, t.Partitions[i], part); err != nil {
			refuse(part, err)
			if p.refused == nil {
				p.refused = err
			}
		}
	}
	p.answer.resp.Topics = append(p.answer.resp.Topics, topic)
	p.answer.partitions += len(t.Partitions)
}

func (p *producing) partition(topic string, in kmsg.ProduceRequestTopicPartition, out *kmsg.ProduceResponseTopicPartition) error {
	if p.acks < -1 || p.acks > 1 {
		return kerr.InvalidRequiredAcks
	}
	log, ok := p.broker.member.Log(topic, in.Partition)
	if !ok {
		return p.broker.absent(topic, in.Partition)
	}
	if p.version < 3 {
		return kerr.UnsupportedForMessageFormat
	}
	header, err := p.broker.check(in.Records, p.largest)
	if err != nil {
		return err
	}
	if header.Attributes.Codec() == record.Zstd && p.version < zstdVersion {
		return kerr.UnsupportedCompressionType
	}
	return p.append(log, in.Records, header, out)
}

// append appends a batch that has been checked, and notes what is to be waited for.
func (p *producing) append(log *commitlog.Log, batch []byte, header record.Header, out *kmsg.ProduceResponseTopicPartition) error {
	out.LogStartOffset = log.Positions().Start
	all := p.acks == -1
	base, err := log.Append(batch, header, all)
	last := base + int64(header.LastOffsetDelta)
	if sequence := (*producers.SequenceError)(nil); errors.As(err, &sequence) {
		last = sequence.Before - 1
	}
	if all && (err == nil || errors.Is(err, producers.ErrDuplicate)) {
		p.answer.waits = append(p.answer.waits, flushWait{log: log, last: last, part: out})
	}
	if err == nil {
		out.BaseOffset = base
	}
	return err
}

// largestBatch is how many bytes a batch of a topic may have: what is set for the topic counts before what is for all.
func (b *Broker) largestBatch(topic string) int32 {
	if own := b.dir.MaxMessageBytes(topic); own > 0 {
		return own
	}
	return b.options.MaxMessageBytes
}

// check validates a batch of at most largest bytes. It takes a processor, and memory for what is in the batch: nobody can
// know how much before it is unpacked. So each processor has a place for a batch that holds no more than is usual, and
// one that turns out to hold more is checked again where there is room for one at a time.
func (b *Broker) check(batch []byte, largest int32) (record.Header, error) {
	header, err := checkIn(b.checking, batch, record.Limits{MaxBytes: largest, MaxDecompressed: usualDecompressed})
	if errors.Is(err, record.ErrTooLarge) && len(batch) <= int(largest) {
		header, err = checkIn(b.checkingLarge, batch, record.Limits{MaxBytes: largest, MaxDecompressed: maxDecompressed})
	}
	return header, err
}

func checkIn(places chan struct{}, batch []byte, limits record.Limits) (record.Header, error) {
	places <- struct{}{}
	defer func() { <-places }()
	return record.Validate(batch, limits)
}

// refuse puts an error into the answer for a partition.
func refuse(part *kmsg.ProduceResponseTopicPartition, err error) {
	part.ErrorCode = produceCode(err)
	part.BaseOffset = -1
	part.ErrorMessage = kmsg.StringPtr(err.Error())
}

// produceCode is Kafka's code for what can go wrong with a batch.
func produceCode(err error) int16 {
	for _, known := range []struct {
		err  error
		code *kerr.Error
	}{
		{record.ErrTooLarge, kerr.MessageTooLarge},
		{record.ErrCRC, kerr.CorruptMessage},
		{record.ErrMagic, kerr.UnsupportedForMessageFormat},
		{record.ErrCodec, kerr.UnsupportedCompressionType},
		{producers.ErrDuplicate, kerr.DuplicateSequenceNumber},
		{producers.ErrOutOfOrder, kerr.OutOfOrderSequenceNumber},
		{producers.ErrEpoch, kerr.InvalidProducerEpoch},
		{producers.ErrUnknown, kerr.UnknownProducerID},
		{commitlog.ErrStorage, kerr.KafkaStorageError},
		{commitlog.ErrClosed, kerr.NotLeaderForPartition},
		{commitlog.ErrDeleted, kerr.UnknownTopicOrPartition},
		{context.DeadlineExceeded, kerr.RequestTimedOut},
	} {
		if errors.Is(err, known.err) {
			return known.code.Code
		}
	}
	var code *kerr.Error
	if errors.As(err, &code) {
		return code.Code
	}
	return kerr.InvalidRecord.Code
}

// produceAnswer is owed for a Produce with acks=1 or all. It keeps nothing of the frame.
type produceAnswer struct {
	broker      *Broker
	correlation int32
	resp        *kmsg.ProduceResponse
	partitions  int
	waits       []flushWait
	deadline    time.Time
}

// flushWait is a batch that must be durable before the answer.
type flushWait struct {
	log  *commitlog.Log
	last int64 // id of its last record
	part *kmsg.ProduceResponseTopicPartition
}

func (a *produceAnswer) cost() int64 {
	const each = 200 // of a partition's answer, its wait, and room for a message
	return each * int64(1+len(a.resp.Topics)+a.partitions)
}

func (a *produceAnswer) release() {}

func (a *produceAnswer) write(out *output) error {
	if err := a.await(out); err != nil {
		return err
	}
	const each = 64 // about what each part takes
	return out.write(appendResponse(make([]byte, 0, each*(1+len(a.resp.Topics)+a.partitions)), a.correlation, a.resp))
}

// await waits for the flushes. Its error means that the broker has given up waiting altogether.
func (a *produceAnswer) await(out *output) error {
	if a.durable() {
		return nil
	}
	if err := out.flush(); err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(a.broker.hard, a.deadline)
	defer cancel()
	for _, w := range a.waits {
		err := w.log.WaitVisible(ctx, w.last)
		if a.broker.hard.Err() != nil {
			return a.broker.hard.Err()
		}
		if err != nil {
			refuse(w.part, err)
		}
	}
	return nil
}

func (a *produceAnswer) durable() bool {
	for _, w := range a.waits {
		if w.log.Positions().HighWatermark <= w.last {
			return false
		}
	}
	return true
}
