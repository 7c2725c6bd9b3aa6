package broker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/cluster"
	"logkit/lib/commitlog"
	"logkit/lib/logdir"
	"logkit/lib/record"
	"logkit/lib/registry/zkfake"
)

// seeds are requests of every kind and version, whole and in the ways that they may be broken.
func seeds(t testing.TB) (all [][]byte) {
	records := batch(t, record.None, "a value")
	for _, row := range standardAPIs() {
		for version := row.min; version <= row.max; version++ {
			var req kmsg.Request
			switch row.key {
			case kmsg.Produce:
				req = produceRequest(version, -1, produced{"t", 0, records})
			case kmsg.Fetch:
				req = fetchRequest(version, 0, fetched{"t", 0, 0}, fetched{"u", 1, 5})
			case kmsg.Metadata:
				req = metadataRequest(version, []string{"t", "u"}, false)
			case kmsg.DescribeConfigs:
				req = describeRequest(version, kmsg.ConfigResourceTypeTopic, "t", []string{"x"})
			default:
				if req = adminSeed(row.key); req == nil {
					req = row.key.Request()
				}
				req.SetVersion(version)
			}
			whole := encodeRequest(req, 1)
			flipped := bytes.Clone(whole)
			flipped[len(flipped)/2] ^= 0x80
			most := bytes.Clone(whole)
			for i := len(most) - min(8, len(most)-14); i < len(most); i++ {
				most[i] = 0xff
			}
			all = append(all, whole, whole[:len(whole)-1], flipped, most)
		}
	}
	return append(all, make([]byte, 64), bytes.Repeat([]byte{0xff}, 64))
}

// FuzzFrame reads arbitrary bytes as a stream of frames.
//
//   - It does not panic, and ends: with io.EOF between frames, or with the reason why not.
//   - No more is allocated for a frame than its size allows, and the budget is even at the end.
//   - What comes out is in the table, and its body is part of what went in.
func FuzzFrame(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
		f.Add(append(bytes.Clone(seed), seed...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		apis := newAPITable(standardAPIs())
		r := framer{
			in: bufio.NewReaderSize(bytes.NewReader(data), readBuffer), clock: noClock{}, apis: apis, timeout: time.Hour,
			maxBytes: 1 << 20, memory: newBudget(64 << 20), pool: new(bufferPool),
		}
		for {
			size, key, version, err := r.await()
			if err == io.EOF {
				break
			}
			var frame *frame
			if err == nil {
				frame, err = r.read(context.Background(), size, key, version)
			}
			if err != nil {
				if bad := (*frameError)(nil); !errors.As(err, &bad) {
					t.Fatalf("%T: %v", err, err)
				}
				break
			}
			if cap(frame.buffer.b) > max(minBuffer, size+size/4+1) {
				t.Fatalf("buffer of %d bytes for a frame of %d", cap(frame.buffer.b), size)
			}
			if err := apis.check(frame.key, frame.version); err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(data, frame.body) {
				t.Fatal("body is not from the input")
			}
			r.release(frame)
		}
		if r.memory.used != 0 {
			t.Fatalf("%d bytes are charged at the end", r.memory.used)
		}
	})
}

type noClock struct{}

func (noClock) readWithin(time.Duration) {}
func (noClock) ending() bool             { return false }

// FuzzRequest gives an arbitrary body to the handler of a key and version.
//
//   - It does not panic.
//   - What is allocated is bounded by what was charged for the frame, and a constant.
//   - An answer is a well-formed response of that key and version, with the correlation id, in one frame.
//   - Nothing but a batch that passes record.Validate is appended.
func FuzzRequest(f *testing.F) {
	for _, seed := range seeds(f) {
		if len(seed) < 14 {
			continue
		}
		fr := frame{key: int16(binary.BigEndian.Uint16(seed[4:])), version: int16(binary.BigEndian.Uint16(seed[6:]))}
		fr.buffer = &buffer{b: seed[4:]}
		apis := newAPITable(standardAPIs())
		if apis.check(fr.key, fr.version) == nil && fr.parseHeader(apis.flexible(fr.key, fr.version)) == nil {
			f.Add(fr.key, fr.version, fr.body)
		}
	}
	b := fuzzBroker(f)
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		row := b.apis.find(key)
		if row == nil || b.apis.check(key, version) != nil || len(body) > maxControlFrame {
			return
		}
		local, remote := net.Pipe()
		defer local.Close()
		defer remote.Close()
		c := newConn(b, local)
		c.stop() // a fetch does not wait
		fr := &frame{key: key, version: version, correlation: 77, body: bytes.Clone(body)}
		end := onlyTopicT(t, b)

		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a, err := c.handle(fr)
		runtime.ReadMemStats(&after)
		if grown, allowed := after.TotalAlloc-before.TotalAlloc, uint64(len(body))*decodeFactor*4+8<<20; grown > allowed {
			t.Fatalf("%d bytes allocated for a body of %d", grown, len(body))
		}
		if key != kmsg.Produce.Int16() && key != kmsg.DeleteTopics.Int16() && end != logEnd(b) {
			t.Fatalf("key %d appended to a log", key)
		}
		if err != nil || a == nil {
			return
		}
		defer a.release()
		out := newOutput(local, &b.buffers, time.Second, nil)
		defer out.drop()
		if err := a.write(out); err != nil {
			t.Fatalf("answer: %v", err)
		}
		checkAnswer(t, row, version, out.pending.b)
	})
}

func checkAnswer(t *testing.T, row *api, version int16, answer []byte) {
	if size := binary.BigEndian.Uint32(answer); int(size) != len(answer)-4 {
		t.Fatalf("frame of %d bytes says %d", len(answer)-4, size)
	}
	if id := binary.BigEndian.Uint32(answer[4:]); id != 77 {
		t.Fatalf("correlation id %d", id)
	}
	resp := row.key.Response()
	resp.SetVersion(min(version, row.max))
	if version > row.max {
		resp.SetVersion(0)
	}
	answer = answer[8:]
	if resp.IsFlexible() && row.key != kmsg.ApiVersions {
		answer = answer[1:]
	}
	if err := resp.ReadFrom(answer); err != nil {
		t.Fatalf("%s v%d: %v", row.key.Name(), version, err)
	}
}

// onlyTopicT makes good what admin requests have done before, and returns the end of the log of t.
func onlyTopicT(t *testing.T, b *Broker) int64 {
	for name, topic := range b.member.Cluster().Topics {
		if name == "t" && len(topic.Replicas) == 1 {
			continue
		}
		if err := b.deleteTopic(name, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, known := b.member.Cluster().Topics["t"]; !known {
		createTopic(t, b, "t", 1)
	}
	return logEnd(b)
}

func logEnd(b *Broker) int64 {
	log, _ := b.dir.Log("t", 0)
	return log.Positions().End
}

// fuzzBroker has one topic, t, and a disk that takes no time.
func fuzzBroker(f *testing.F) *Broker {
	fs := newHeldFS()
	fs.skip = true
	dir, err := logdir.Open(fs, f.TempDir(), logdir.Options{Log: commitlog.Options{SegmentBytes: 1 << 20}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { dir.Close() })
	member := join(f, zkfake.New(), cluster.Options{Dir: dir, ID: 1})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { listener.Close() })
	b, err := New(Options{Member: member, Listener: listener})
	if err != nil {
		f.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	f.Cleanup(func() {
		stop()
		running.Wait()
	})
	register(f, ctx, b, &running)
	createTopic(f, b, "t", 1)
	b.maxNewPartitions = 4 // of each input
	return b
}

// FuzzProduceCounts holds the walk over a Produce against the decoder.
//
//   - It does not panic, and what it lets pass does not decode into more parts than the bound.
func FuzzProduceCounts(f *testing.F) {
	for version := int16(0); version <= 11; version++ {
		req := produceRequest(version, -1, produced{"t", 0, []byte("xyz")}, produced{"u", 1, nil})
		f.Add(version, req.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if version < 0 || version > 11 {
			return
		}
		if checkProduceCounts(version, body) != nil {
			return
		}
		req := kmsg.NewPtrProduceRequest()
		req.Version = version
		if req.ReadFrom(body) != nil {
			return
		}
		parts := req.UnknownTags.Len()
		for _, topic := range req.Topics {
			parts += 1 + topic.UnknownTags.Len()
			for _, p := range topic.Partitions {
				parts += 1 + p.UnknownTags.Len()
			}
		}
		if parts > maxProduceParts {
			t.Fatalf("%d parts passed", parts)
		}
	})
}
