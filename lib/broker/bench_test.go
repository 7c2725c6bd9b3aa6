package broker

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/record"
)

// pipelined is how many requests are on their way at the same time.
const pipelined = 16

// exchange asks n times, and waits for the answers.
func (c *client) exchange(n int, request []byte, refresh func(frame []byte)) {
	for sent, answered := 0, 0; answered < n; {
		if sent < n && sent-answered < pipelined {
			refresh(request)
			c.write(request)
			sent++
			continue
		}
		c.discard()
		answered++
	}
}

// BenchmarkProduce measures requests with one batch, acks=1, over loopback.
func BenchmarkProduce(b *testing.B) {
	for _, size := range []int{100, 10_000, 500_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := serve(b, setup{})
			s.topic("t", 1)
			c := s.dial()
			request := encodeRequest(produceRequest(9, 1, produced{"t", 0, batch(b, record.None, string(make([]byte, size)))}), 1)
			b.SetBytes(int64(len(request)))
			b.ReportAllocs()
			b.ResetTimer()
			c.exchange(b.N, request, func([]byte) {})
		})
	}
}

// BenchmarkFetch measures answers with so many bytes of records, all of them in the page cache, over loopback.
func BenchmarkFetch(b *testing.B) {
	for _, size := range []int{100, 10_000, 500_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := serve(b, setup{})
			s.topic("t", 1)
			c := s.dial()
			records := batch(b, record.None, string(make([]byte, size)))
			for range 8 {
				c.produce("t", 0, bytes.Clone(records))
			}
			req := fetchRequest(11, 0, fetched{"t", 0, 0})
			req.Topics[0].Partitions[0].PartitionMaxBytes = int32(len(records))
			request := encodeRequest(req, 1)
			at := len(request) - len(req.AppendTo(nil)) + offsetIn(req)
			next := int64(0)
			b.SetBytes(int64(len(records)))
			b.ReportAllocs()
			b.ResetTimer()
			c.exchange(b.N, request, func(frame []byte) {
				binary.BigEndian.PutUint64(frame[at:], uint64(next%8*int64(len(records))))
				next++
			})
		})
	}
}

// offsetIn finds the fetch offset in the body of a request of one partition.
func offsetIn(req *kmsg.FetchRequest) int {
	part := &req.Topics[0].Partitions[0]
	before := req.AppendTo(nil)
	part.FetchOffset = -1
	after := req.AppendTo(nil)
	part.FetchOffset = 0
	for i := range before {
		if before[i] != after[i] {
			return i
		}
	}
	panic("no fetch offset")
}

// BenchmarkMetadata measures the answer about one topic of many.
func BenchmarkMetadata(b *testing.B) {
	s := serve(b, setup{})
	s.topic("t", 10)
	c := s.dial()
	request := encodeRequest(metadataRequest(9, []string{"t"}, false), 1)
	b.ReportAllocs()
	b.ResetTimer()
	c.exchange(b.N, request, func([]byte) {})
}

// BenchmarkProduceBesideWaiting measures acks=all while a consumer of many partitions waits for more than there is.
func BenchmarkProduceBesideWaiting(b *testing.B) {
	s := serve(b, setup{})
	const partitions = 500
	s.topic("t", partitions)
	producer, consumer := s.dial(), s.dial()
	var all []fetched
	for p := range int32(partitions) {
		producer.produce("t", p, batch(b, record.None, "a value"))
		all = append(all, fetched{"t", p, 0})
	}
	req := fetchRequest(11, time.Hour, all...)
	req.MinBytes = 1 << 30
	consumer.send(req)
	s.eventually("the fetch waits", s.waits(1))
	request := encodeRequest(produceRequest(9, -1, produced{"t", 0, batch(b, record.None, "a value")}), 1)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		producer.write(request)
		producer.discard()
	}
}
