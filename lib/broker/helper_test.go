package broker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"logkit/lib/cluster"
	"logkit/lib/commitlog"
	"logkit/lib/logdir"
	"logkit/lib/record"
	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
	"logkit/lib/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// server is a broker under test. Its Serve ends with the test, and must end well.
type server struct {
	*Broker
	t    testing.TB
	dir  *logdir.Dir
	log  *logBuffer
	stop context.CancelFunc
	done chan struct{}
}

// setup of a server; each field has a default.
type setup struct {
	fs    vfs.FS
	log   commitlog.Options
	id    int32         // 7
	retry time.Duration // of what the member could not do

	zookeeper *zkfake.Server // one of its own
	options   func(*Options)
	broker    func(*Broker) // before it serves
}

func serve(t testing.TB, s setup) *server {
	t.Helper()
	if s.fs == nil {
		s.fs = vfs.OS
	}
	dir, err := logdir.Open(s.fs, t.TempDir(), logdir.Options{Log: s.log})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := &logBuffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	if s.zookeeper == nil {
		s.zookeeper = zkfake.New()
	}
	member := join(t, s.zookeeper, cluster.Options{Dir: dir, ID: cmp.Or(s.id, 7), Retry: s.retry, Logger: logger})
	o := Options{
		Member: member, Listener: listener, AutoCreate: true, Log: s.log, ShutdownTimeout: patience, Logger: logger,
		ZooKeeper: "127.0.0.1:2181",
	}
	if s.options != nil {
		s.options(&o)
	}
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if s.broker != nil {
		s.broker(b)
	}
	ctx, stop := context.WithCancel(context.Background())
	srv := &server{Broker: b, t: t, dir: dir, log: log, stop: stop, done: make(chan struct{})}
	var running sync.WaitGroup
	register(t, ctx, b, &running)
	running.Go(func() {
		if err := b.Serve(ctx); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	go func() {
		defer close(srv.done)
		running.Wait()
	}()
	t.Cleanup(func() {
		srv.shutdown()
		if err := dir.Close(); err != nil {
			t.Errorf("closing the data directory: %v", err)
		}
	})
	if held, ok := s.fs.(*heldFS); ok {
		t.Cleanup(func() { held.hold(false) }) // goes before the others, which wait for the disk
	}
	return srv
}

// join makes a directory a broker of the cluster that is in a ZooKeeper in memory.
func join(t testing.TB, zookeeper *zkfake.Server, options cluster.Options) *cluster.Member {
	t.Helper()
	session, err := registry.NewSession(registry.Options{Backoff: time.Millisecond}, func(events func(zk.Event)) (registry.Conn, error) {
		return zookeeper.Connect(events), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	options.Session = session
	member, err := cluster.Join(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return member
}

// register runs the member of a broker until the context ends, and returns when it is registered.
func register(t testing.TB, ctx context.Context, b *Broker, running *sync.WaitGroup) {
	registered := make(chan struct{})
	running.Go(func() {
		if err := b.member.Run(ctx, func() error { close(registered); return nil }); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	<-registered
}

// createTopic creates one whose partitions are spread over the brokers that are there.
func createTopic(t testing.TB, b *Broker, name string, partitions int32) {
	t.Helper()
	replicas, err := b.member.Spread(int(partitions))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.member.CreateTopic(t.Context(), name, replicas, nil); err != nil {
		t.Fatal(err)
	}
}

// shutdown stops the broker and waits for its end.
func (s *server) shutdown() {
	s.stop()
	select {
	case <-s.done:
	case <-time.After(2 * patience):
		s.t.Fatal("the broker does not stop")
	}
}

// topic creates a topic and returns the log of its first partition.
func (s *server) topic(name string, partitions int32) *commitlog.Log {
	s.t.Helper()
	createTopic(s.t, s.Broker, name, partitions)
	log, _ := s.dir.Log(name, 0)
	return log
}

// remove deletes a topic.
func (s *server) remove(name string) error {
	return s.deleteTopic(name, 0)
}

// set replaces the settings of a topic.
func (s *server) set(topic string, settings logdir.Settings) {
	s.t.Helper()
	err := s.member.ChangeSettings(s.t.Context(), topic, func(old logdir.Settings) error {
		clear(old)
		maps.Copy(old, settings)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// eventually waits until f holds.
func (s *server) eventually(what string, f func() bool) {
	s.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			s.t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// logBuffer collects log lines.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// lines returns those lines that contain part.
func (l *logBuffer) lines(part string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range strings.Split(strings.TrimSpace(l.text.String()), "\n") {
		if line != "" && strings.Contains(line, part) {
			found = append(found, line)
		}
	}
	return found
}

// client is a connection on which requests are written by hand.
type client struct {
	t    testing.TB
	conn net.Conn
	next int32
}

func (s *server) dial() *client {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.options.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	return &client{t: s.t, conn: conn}
}

// encodeRequest is the frame of a request.
func encodeRequest(req kmsg.Request, correlation int32) []byte {
	name := "test"
	b := kbin.AppendInt16(make([]byte, 4), req.Key())
	b = kbin.AppendInt16(b, req.GetVersion())
	b = kbin.AppendInt32(b, correlation)
	b = kbin.AppendNullableString(b, &name)
	if req.IsFlexible() {
		b = append(b, 0)
	}
	b = req.AppendTo(b)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// send writes a request and returns its correlation id.
func (c *client) send(req kmsg.Request) int32 {
	c.t.Helper()
	c.next++
	c.write(encodeRequest(req, c.next))
	return c.next
}

func (c *client) write(b []byte) {
	c.t.Helper()
	c.conn.SetWriteDeadline(time.Now().Add(patience))
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// frame reads one whole response without its size.
func (c *client) frame() []byte {
	c.t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(patience))
	var size [4]byte
	if _, err := io.ReadFull(c.conn, size[:]); err != nil {
		c.t.Fatalf("response: %v", err)
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c.conn, b); err != nil {
		c.t.Fatalf("response: %v", err)
	}
	return b
}

// discard reads one response without keeping it and returns its size.
func (c *client) discard() int {
	c.t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(patience))
	var size [4]byte
	if _, err := io.ReadFull(c.conn, size[:]); err != nil {
		c.t.Fatalf("response: %v", err)
	}
	n := int(binary.BigEndian.Uint32(size[:]))
	if _, err := io.CopyN(io.Discard, c.conn, int64(n)); err != nil {
		c.t.Fatalf("response: %v", err)
	}
	return n
}

// receive reads the response to req, which must be the one with the correlation id.
func (c *client) receive(req kmsg.Request, correlation int32) kmsg.Response {
	c.t.Helper()
	b := c.frame()
	if got := int32(binary.BigEndian.Uint32(b)); got != correlation {
		c.t.Fatalf("response to request %d, want %d", got, correlation)
	}
	resp := req.ResponseKind()
	b = b[4:]
	if resp.IsFlexible() && req.Key() != kmsg.ApiVersions.Int16() {
		b = b[1:]
	}
	if err := resp.ReadFrom(b); err != nil {
		c.t.Fatalf("%T: %v", resp, err)
	}
	return resp
}

func (c *client) ask(req kmsg.Request) kmsg.Response {
	c.t.Helper()
	return c.receive(req, c.send(req))
}

// closed waits until the broker has closed the connection.
func (c *client) closed() {
	c.t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(patience))
	if n, err := io.Copy(io.Discard, c.conn); n > 0 || isTimeout(err) {
		c.t.Fatalf("%d bytes, then %v: want the connection closed", n, err)
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}

// batch encodes one batch with a record for each value.
func batch(t testing.TB, codec record.Codec, values ...string) []byte {
	t.Helper()
	b := record.NewBuilder(codec)
	for i, v := range values {
		b.Append(record.Record{Timestamp: 1_700_000_000_000 + int64(i), Value: []byte(v)})
	}
	out, err := b.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type produced struct {
	topic     string
	partition int32
	records   []byte
}

func produceRequest(version, acks int16, batches ...produced) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, int32(patience.Milliseconds())
	for _, b := range batches {
		part := kmsg.NewProduceRequestTopicPartition()
		part.Partition, part.Records = b.partition, b.records
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic, topic.Partitions = b.topic, []kmsg.ProduceRequestTopicPartition{part}
		req.Topics = append(req.Topics, topic)
	}
	return req
}

// produce appends one batch with acks=all and returns its base id.
func (c *client) produce(topic string, partition int32, records []byte) int64 {
	c.t.Helper()
	resp := c.ask(produceRequest(9, -1, produced{topic, partition, records})).(*kmsg.ProduceResponse)
	part := resp.Topics[0].Partitions[0]
	if part.ErrorCode != 0 {
		c.t.Fatalf("produce: error %d", part.ErrorCode)
	}
	return part.BaseOffset
}

type fetched struct {
	topic     string
	partition int32
	id        int64
}

func fetchRequest(version int16, wait time.Duration, from ...fetched) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = version, int32(wait.Milliseconds()), 1, 64<<20
	req.SessionEpoch = -1
	for _, f := range from {
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.FetchOffset, part.PartitionMaxBytes, part.CurrentLeaderEpoch = f.partition, f.id, 64<<20, -1
		if n := len(req.Topics); n > 0 && req.Topics[n-1].Topic == f.topic {
			req.Topics[n-1].Partitions = append(req.Topics[n-1].Partitions, part)
			continue
		}
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic, topic.Partitions = f.topic, []kmsg.FetchRequestTopicPartition{part}
		req.Topics = append(req.Topics, topic)
	}
	return req
}

// fetch reads one partition without waiting.
func (c *client) fetch(topic string, partition int32, id int64) kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	resp := c.ask(fetchRequest(11, 0, fetched{topic, partition, id})).(*kmsg.FetchResponse)
	return resp.Topics[0].Partitions[0]
}
