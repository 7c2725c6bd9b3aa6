package cmd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestExactlyOnce lets producers send through a proxy that drops answers and resets connections, to a logd that is
// killed again and again, or stopped in order. With idempotence every message is stored exactly once, and in order.
// Without it, at least once: how many twice shows what there was to be careful about.
func TestExactlyOnce(t *testing.T) {
	length := 5 * time.Second
	if os.Getenv("LOGKIT_SOAK") != "" {
		length = 4 * time.Minute
	}
	p := newProxy(t)
	logd := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0", flags: []string{"--segment-bytes", "64KiB", "--advertise", p.addr()}}
	p.backend.Store(new(logd.start()))
	t.Cleanup(logd.kill)
	senders := map[string]func(ctx context.Context, t *testing.T, broker, topic string) int{
		"franz-go": func(ctx context.Context, t *testing.T, b, topic string) int { return sendFranz(ctx, t, b, topic) },
		"franz-go-careless": func(ctx context.Context, t *testing.T, b, topic string) int {
			return sendFranz(ctx, t, b, topic, kgo.DisableIdempotentWrite())
		},
		"librdkafka": sendKcat,
		"logcat":     sendLogcat,
	}
	for topic := range senders {
		createTopic(t, p.addr(), topic)
	}
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var running sync.WaitGroup
	var mu sync.Mutex
	count := make(map[string]int)
	for topic, send := range senders {
		running.Go(func() {
			n := send(ctx, t, p.addr(), topic)
			mu.Lock()
			defer mu.Unlock()
			count[topic] = n
		})
	}
	began := time.Now()
	kills := suffer(ctx, logd, p)
	running.Wait()
	t.Logf("all are acknowledged after %v", time.Since(began))
	t.Logf("%d kills; %d resets, %d times answers swallowed, %d ends inside an answer", kills, p.harm[0], p.harm[1], p.harm[2])
	for topic := range senders {
		values := readTopic(t, p.addr(), topic, count[topic])
		twice := len(values) - count[topic]
		t.Logf("%s: %d messages, %d of them once more", topic, count[topic], twice)
		switch {
		case count[topic] < 100:
			t.Errorf("%s: %d messages were sent, which proves little", topic, count[topic])
		case topic == "franz-go-careless":
			slices.Sort(values)
			checkOnce(t, topic, slices.Compact(values))
		default:
			checkOnce(t, topic, values)
		}
	}
}

// checkOnce: the values are the numbers from 0 on.
func checkOnce(t *testing.T, topic string, values []int) {
	for i, v := range values {
		if v != i {
			t.Errorf("%s: message %d is number %d: %v", topic, i, v, values[max(0, i-5):min(i+10, len(values))])
			return
		}
	}
}

// suffer kills or stops logd and disturbs connections until the context ends, and leaves it running. It returns how many
// kills there were.
func suffer(ctx context.Context, m *mortal, p *proxy) (kills int) {
	for i := 1; ; i++ {
		select {
		case <-ctx.Done():
			return kills
		case <-time.After(time.Duration(20+rand.IntN(100)) * time.Millisecond):
		}
		switch {
		case i%30 == 0:
			m.stop()
			p.backend.Store(new(m.start()))
		case i%8 == 0:
			m.kill()
			kills++
			p.backend.Store(new(m.start()))
		default:
			p.disturb()
		}
	}
}

// sendFranz sends numbers until the context ends, and returns how many, when all are acknowledged.
func sendFranz(ctx context.Context, t *testing.T, broker, topic string, opts ...kgo.Opt) (n int) {
	opts = append(opts, kgo.SeedBrokers(broker), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(time.Millisecond), kgo.StopProducerOnDataLossDetected(), kgo.AlwaysRetryEOF(), kgo.RecordRetries(1<<30),
		kgo.RequestRetries(1<<30), kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond }),
		kgo.DialTimeout(time.Second), kgo.RequestTimeoutOverhead(time.Second), kgo.ProduceRequestTimeout(time.Second))
	client, err := kgo.NewClient(opts...)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer client.Close()
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for ; ctx.Err() == nil; <-tick.C {
		client.Produce(t.Context(), kgo.StringRecord(strconv.Itoa(n)), func(r *kgo.Record, err error) {
			if err != nil {
				t.Errorf("%s: message %s: %v", topic, r.Value, err)
			}
		})
		n++
	}
	flush, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := client.Flush(flush); err != nil {
		t.Errorf("%s: %v", topic, err)
	}
	return n
}

// sendLogcat does the same with our own tool.
func sendLogcat(ctx context.Context, t *testing.T, broker, topic string) int {
	dir, err := tools()
	if err != nil {
		t.Error(err)
		return 0
	}
	return sendLines(ctx, t, filepath.Join(dir, "logcat"), "--broker", broker, "--timeout", "1m", topic)
}

// sendKcat does the same with librdkafka.
func sendKcat(ctx context.Context, t *testing.T, broker, topic string) int {
	kcat, err := exec.LookPath("kcat")
	if err != nil {
		t.Errorf("librdkafka: %v", err)
		return 0
	}
	// kcat gives up when no broker at all is there. A second address, where nobody ever says a word, keeps it going.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
		return 0
	}
	defer silent.Close()
	return sendLines(ctx, t, kcat, "-P", "-b", broker+","+silent.Addr().String(), "-t", topic, "-p", "0", "-X", "enable.idempotence=true",
		"-X", "queue.buffering.max.ms=2", "-X", "retry.backoff.ms=20", "-X", "reconnect.backoff.ms=10", "-X", "reconnect.backoff.max.ms=50",
		"-X", "batch.num.messages=100", "-X", "socket.timeout.ms=300000", "-X", "message.timeout.ms=120000",
		"-X", "api.version.request.timeout.ms=300000", "-X", "socket.connection.setup.timeout.ms=300000",
		"-X", "log_level=3")
}

// sendLines writes numbers to the standard input of a program until the context ends, and returns how many, when the
// program has ended and all of them are acknowledged.
func sendLines(ctx context.Context, t *testing.T, program string, args ...string) (n int) {
	deadline, _ := ctx.Deadline()
	kill, cancel := context.WithTimeout(t.Context(), patience+time.Until(deadline))
	defer cancel()
	cmd := exec.CommandContext(kill, program, args...)
	var said strings.Builder
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return 0
	}
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for ; ctx.Err() == nil; <-tick.C {
		if _, err := fmt.Fprintln(in, n); err != nil {
			break
		}
		n++
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: %v: %s", program, err, said.String())
	}
	return n
}

func createTopic(t testing.TB, broker, topic string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	create := kmsg.NewCreateTopicsRequestTopic()
	create.Topic, create.NumPartitions, create.ReplicationFactor = topic, 1, 1
	req.Topics = append(req.Topics, create)
	resp, err := req.RequestWith(t.Context(), client)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readTopic reads the numbers in a topic, at least n of them, to its end.
func readTopic(t *testing.T, broker, topic string, n int) (values []int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for end, last := int64(0), int64(-2); last+1 < end || len(values) < n; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil && ctx.Err() != nil {
			t.Errorf("%s: %d messages are there, %d were sent", topic, len(values), n)
			return values
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) { end = p.HighWatermark })
		fetches.EachRecord(func(r *kgo.Record) {
			v, err := strconv.Atoi(string(r.Value))
			if err != nil {
				t.Errorf("%s: value %q", topic, r.Value)
			}
			values, last = append(values, v), r.Offset
		})
	}
	return values
}
