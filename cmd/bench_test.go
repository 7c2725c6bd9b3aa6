package cmd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/record"
)

// The numbers of README: make bench. Peers run beside ours, in the same run, against the same broker.

// lines and width of the file that is sent and read as a whole.
const (
	lines = 1_000_000
	width = 200
)

// bench is a broker, and what the tools are run with.
type bench struct {
	*testing.B
	bin   string
	addr  string
	topic int
}

func newBench(b *testing.B) *bench {
	b.Helper()
	bin, err := tools()
	if err != nil {
		b.Fatal(err)
	}
	m := &mortal{t: b, dir: b.TempDir(), listen: "127.0.0.1:0"}
	m.listen = m.start()
	b.Cleanup(m.kill)
	return &bench{B: b, bin: bin, addr: m.listen}
}

func (b *bench) newTopic() string {
	b.topic++
	name := fmt.Sprintf("t%d", b.topic)
	createTopic(b, b.addr, name)
	return name
}

// run runs a tool of ours, or a peer's, and returns how many bytes it has written.
func (b *bench) run(stdin string, args ...string) int64 {
	b.Helper()
	program := args[0]
	if own := filepath.Join(b.bin, program); fileExists(own) {
		program = own
	} else if _, err := exec.LookPath(program); err != nil {
		b.Skipf("SKIPPED: %s is not installed", program)
	}
	cmd := exec.Command(program, args[1:]...)
	var stderr bytes.Buffer
	var out counter
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v: %s", strings.Join(args, " "), err, &stderr)
	}
	return out.n
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// sample is a file of many lines.
func sample(b *testing.B) string {
	var text bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&text, "%0*d\n", width, i)
	}
	name := filepath.Join(b.TempDir(), "lines")
	if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
	return name
}

// BenchmarkFile sends a file of a million lines of 200 bytes, durably (acks=all), and reads it back: an op is the file.
func BenchmarkFile(b *testing.B) {
	w := newBench(b)
	file := sample(b)
	rate := func(b *testing.B) {
		b.ReportMetric(lines*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		b.ReportMetric(lines*(width+1)*float64(b.N)/b.Elapsed().Seconds()/1e6, "MB/s")
	}
	for name, args := range map[string]func(topic string) []string{
		"logcat": func(topic string) []string { return []string{"logcat", "-b", w.addr, topic, file} },
		"kcat":   func(topic string) []string { return []string{"kcat", "-P", "-b", w.addr, "-t", topic, "-l", file} },
	} {
		b.Run("send/"+name, func(b *testing.B) {
			w.B = b
			for b.Loop() {
				w.run("", args(w.newTopic())...)
			}
			rate(b)
		})
	}
	w.B = b
	full := w.newTopic()
	w.run("", "logcat", "-b", w.addr, full, file)
	for name, args := range map[string][]string{
		"logtail": {"logtail", "-b", w.addr, "-o", "earliest", full},
		"kcat":    {"kcat", "-C", "-b", w.addr, "-t", full, "-o", "beginning", "-e", "-q"},
	} {
		b.Run("read/"+name, func(b *testing.B) {
			w.B = b
			for b.Loop() {
				if n := w.run("", args...); n != lines*(width+1) {
					b.Fatalf("%d bytes, want %d", n, lines*(width+1))
				}
			}
			rate(b)
		})
	}
}

// BenchmarkOneLine is echo x | logcat t: an op is a process that has sent one line, durably.
func BenchmarkOneLine(b *testing.B) {
	w := newBench(b)
	topic := w.newTopic()
	for name, args := range map[string][]string{
		"logcat": {"logcat", "-b", w.addr, topic},
		"kcat":   {"kcat", "-P", "-b", w.addr, "-t", topic},
	} {
		b.Run(name, func(b *testing.B) {
			w.B = b
			for b.Loop() {
				w.run("x\n", args...)
			}
		})
	}
}

// BenchmarkBatches produces and consumes over the protocol, as the paper measures it: batches of 1, of 50 and of as many
// records of 200 bytes as a request of 1 MiB holds. Produce requests want acks=all, 32 are on their way at a time. An op
// is a record.
func BenchmarkBatches(b *testing.B) {
	w := newBench(b)
	for _, size := range []int{1, 50, 4900} {
		b.Run(fmt.Sprintf("produce/%d", size), func(b *testing.B) {
			w.B = b
			topic := w.newTopic()
			b.ResetTimer()
			w.produce(topic, size, b.N)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
		w.B = b
		topic := w.newTopic()
		count := min(200_000, 20_000*size)
		w.produce(topic, size, count)
		b.Run(fmt.Sprintf("consume/%d", size), func(b *testing.B) {
			w.B = b
			for b.Loop() {
				w.consume(topic, count)
			}
			b.ReportMetric(float64(b.N*count)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

func (b *bench) client(options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(b.addr))...)
	if err != nil {
		b.Fatal(err)
	}
	return client
}

// produce sends at least n records in batches of size.
func (b *bench) produce(topic string, size, n int) {
	b.Helper()
	builder := record.NewBuilder(record.None)
	value := bytes.Repeat([]byte("x"), width)
	for range size {
		builder.Append(record.Record{Timestamp: time.Now().UnixMilli(), Value: value})
	}
	batch, err := builder.Finish(nil)
	if err != nil {
		b.Fatal(err)
	}
	client := b.client()
	defer client.Close()
	broker := client.SeedBrokers()[0]
	places := make(chan struct{}, 32)
	var sending sync.WaitGroup
	for sent := 0; sent < n; sent += size {
		places <- struct{}{}
		sending.Go(func() {
			defer func() { <-places }()
			req := kmsg.NewPtrProduceRequest()
			req.Acks, req.TimeoutMillis = -1, 30_000
			part := kmsg.NewProduceRequestTopicPartition()
			part.Records = batch
			want := kmsg.NewProduceRequestTopic()
			want.Topic, want.Partitions = topic, []kmsg.ProduceRequestTopicPartition{part}
			req.Topics = append(req.Topics, want)
			resp, err := broker.Request(context.Background(), req)
			if err == nil {
				err = kerr.ErrorForCode(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
			}
			if err != nil {
				b.Error(err)
			}
		})
	}
	sending.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// consume reads n records from the beginning.
func (b *bench) consume(topic string, n int) {
	b.Helper()
	client := b.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	defer client.Close()
	for n > 0 {
		fetches := client.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			b.Fatal(err)
		}
		n -= fetches.NumRecords()
	}
}

// BenchmarkDelivery is the time from sending a record with acks=all to having it at a consumer that waits for it.
func BenchmarkDelivery(b *testing.B) {
	w := newBench(b)
	topic := w.newTopic()
	producer := w.client(kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0))
	defer producer.Close()
	consumer := w.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	defer consumer.Close()
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		producer.Produce(context.Background(), kgo.StringRecord("x"), func(_ *kgo.Record, err error) {
			if err != nil {
				b.Error(err)
			}
		})
		if err := consumer.PollFetches(context.Background()).Err(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
}

// BenchmarkStart is the time from starting logd on a directory that is there to having it ready, with its ZooKeeper.
func BenchmarkStart(b *testing.B) {
	m := &mortal{t: b, dir: b.TempDir(), listen: "127.0.0.1:0"}
	m.listen = m.start()
	m.stop()
	for b.Loop() {
		m.start()
		b.StopTimer()
		b.ReportMetric(resident(b, m.cmd.Process.Pid)/1024, "MiB")
		m.stop()
		b.StartTimer()
	}
}

// resident is the memory of a process, in KiB.
func resident(b *testing.B, pid int) (kib float64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			fmt.Sscan(rest, &kib)
		}
	}
	return kib
}
