package cluster

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"logkit/lib/logdir"
	"logkit/lib/record"
	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
	"logkit/lib/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// broker is a member under test, with what it stands on. Its directory outlives it: see again.
type broker struct {
	*Member
	t       *testing.T
	zoo     *zkfake.Server
	path    string
	dir     *logdir.Dir
	session *registry.Session
	conn    *zkfake.Conn
	log     *logBuffer
	stop    func()
}

// start joins with the directory at path, and runs until the test ends or it is stopped.
func start(t *testing.T, zoo *zkfake.Server, path string, change ...func(*Options)) *broker {
	t.Helper()
	b, err := tryStart(t, zoo, path, change...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func tryStart(t *testing.T, zoo *zkfake.Server, path string, change ...func(*Options)) (*broker, error) {
	t.Helper()
	b, err := joined(t, zoo, path, change...)
	if err == nil {
		b.run(9000 + b.ID())
	}
	return b, err
}

// joined is a broker that does not run yet.
func joined(t *testing.T, zoo *zkfake.Server, path string, change ...func(*Options)) (*broker, error) {
	t.Helper()
	b := &broker{t: t, zoo: zoo, path: path, log: &logBuffer{}}
	logger := slog.New(slog.NewTextHandler(b.log, nil))
	var err error
	if b.dir, err = logdir.Open(vfs.OS, path, logdir.Options{Logger: logger}); err != nil {
		t.Fatal(err)
	}
	b.session, err = registry.NewSession(registry.Options{Backoff: time.Millisecond, Logger: logger, SessionTimeout: 200 * time.Millisecond},
		func(events func(zk.Event)) (registry.Conn, error) {
			b.conn = zoo.Connect(events)
			return b.conn, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	options := Options{Session: b.session, Dir: b.dir, ID: logdir.NoBrokerID, Retry: time.Millisecond, Resync: time.Hour, Logger: logger}
	for _, f := range change {
		f(&options)
	}
	if b.Member, err = Join(t.Context(), options); err != nil {
		b.session.Close()
		if err := b.dir.Close(); err != nil {
			t.Error(err)
		}
		return nil, err
	}
	return b, nil
}

func (b *broker) run(port int32) {
	ctx, cancel := context.WithCancel(context.Background())
	registered, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		b.SetAddress("127.0.0.1", port)
		if err := b.Run(ctx, func() error { close(registered); return nil }); err != nil {
			b.t.Errorf("broker %d: %v", b.ID(), err)
		}
	}()
	b.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		b.session.Close()
		if err := b.dir.Close(); err != nil {
			b.t.Errorf("broker %d: %v", b.ID(), err)
		}
	})
	b.t.Cleanup(b.stop)
	select {
	case <-registered:
	case <-time.After(patience):
		b.t.Fatal("not registered")
	}
}

// again stops the broker, and starts it on the same directory.
func (b *broker) again(change ...func(*Options)) *broker {
	b.t.Helper()
	b.stop()
	return start(b.t, b.zoo, b.path, change...)
}

// create creates a topic that is spread over the brokers.
func (b *broker) create(name string, partitions int, settings logdir.Settings) registry.Topic {
	b.t.Helper()
	replicas, err := b.Spread(partitions)
	if err != nil {
		b.t.Fatal(err)
	}
	t, err := b.CreateTopic(b.t.Context(), name, replicas, settings)
	if err != nil {
		b.t.Fatal(err)
	}
	return t
}

func (b *broker) remove(name string) {
	b.t.Helper()
	if err := b.DeleteTopic(b.t.Context(), b.Cluster().Topics[name]); err != nil {
		b.t.Fatal(err)
	}
}

// write appends a record to a partition that must be served, and waits until it is durable.
func (b *broker) write(topic string, partition int32, value string) {
	b.t.Helper()
	log, ok := b.Log(topic, partition)
	if !ok {
		b.t.Fatalf("%s-%d is not served by broker %d", topic, partition, b.ID())
	}
	builder := record.NewBuilder(record.None)
	builder.Append(record.Record{Value: []byte(value)})
	data, err := builder.Finish(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	h, err := record.ParseHeader(data)
	if err != nil {
		b.t.Fatal(err)
	}
	id, err := log.Append(data, h, true)
	if err == nil {
		err = log.WaitVisible(b.t.Context(), id)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// end is the high watermark of a partition, -1 where it is not served.
func (b *broker) end(topic string, partition int32) int64 {
	log, ok := b.Log(topic, partition)
	if !ok {
		return -1
	}
	return log.Positions().HighWatermark
}

// served names the partitions that are.
func (b *broker) served() (names []string) {
	for _, t := range b.dir.Topics() {
		for _, number := range t.Partitions {
			names = append(names, fmt.Sprintf("%s-%d", t.Name, number))
		}
	}
	return names
}

func (b *broker) tombstones() []string {
	b.t.Helper()
	ids, err := b.session.Tombstones(b.t.Context(), b.ID())
	if err != nil {
		b.t.Fatal(err)
	}
	return ids
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
		time.Sleep(time.Millisecond)
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

// count is the number of lines that contain part.
func (l *logBuffer) count(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}
