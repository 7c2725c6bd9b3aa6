package cmd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestKill kills logd, again and again, at moments that nobody chooses: while it appends, rolls, flushes, starts and
// recovers. Producers number their messages and note what was acknowledged. In the end nothing acknowledged is missing,
// the messages of each producer are in order, and logsegdump finds nothing wrong with the files.
//
// LOGKIT_KILLS sets the number of kills. A killed process leaves the page cache behind, so this tries the order of what
// logd does, and its recovery; what a power cut takes is tried in lib/commitlog on a file system that forgets.
func TestKill(t *testing.T) {
	kills := 12
	if os.Getenv("LOGKIT_SOAK") != "" {
		kills = 200
	}
	if n, err := strconv.Atoi(os.Getenv("LOGKIT_KILLS")); err == nil {
		kills = n
	}
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0", flags: []string{"--segment-bytes", "32KiB"}}
	v.listen = v.start() // where it comes back each time
	t.Cleanup(v.kill)
	createTopic(t, v.listen, "t")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	journals := make([]*journal, 4)
	var producing sync.WaitGroup
	for i := range journals {
		journals[i] = &journal{producer: i}
		producing.Go(func() { journals[i].produce(ctx, t, v.listen) })
	}
	for range kills {
		time.Sleep(time.Duration(rand.IntN(120)) * time.Millisecond)
		v.kill()
		for rand.IntN(3) == 0 { // also while it starts and recovers
			v.launch()
			time.Sleep(time.Duration(rand.IntN(15)) * time.Millisecond)
			v.kill()
		}
		v.start()
	}
	stop()
	producing.Wait()
	acked := 0
	values := readValues(t, v.listen)
	for _, j := range journals {
		j.check(t, values)
		acked += j.acked
	}
	t.Logf("%d kills, %d messages acknowledged, %d stored", kills, acked, len(values))
	if acked < 10*kills {
		t.Errorf("%d messages in %d rounds prove little", acked, kills)
	}
	v.stop()
	inspect(t, v)
}

// inspect checks the files that are left.
func inspect(t *testing.T, v *mortal) {
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	check := exec.Command(filepath.Join(tools, "logsegdump"), "--check", filepath.Join(v.dir, "data", "t-0"))
	if said, err := check.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("logsegdump --check: %v: %s", err, said)
	}
}

// journal is what one producer has sent, and how much of it was acknowledged: the numbers from 0 to acked-1.
type journal struct {
	producer int
	sent     int
	acked    int
}

// produce sends numbers until the context ends and all are acknowledged.
func (j *journal) produce(ctx context.Context, t *testing.T, broker string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.DefaultProduceTopic("t"), kgo.DisableIdempotentWrite(),
		kgo.MaxProduceRequestsInflightPerBroker(1), kgo.ProducerLinger(time.Millisecond), kgo.MaxBufferedRecords(500),
		kgo.RecordRetries(1<<30), kgo.RequestRetries(1<<30), kgo.DialTimeout(time.Second),
		kgo.RetryBackoffFn(func(int) time.Duration { return 5 * time.Millisecond }))
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Close()
	var mu sync.Mutex
	for ; ctx.Err() == nil; j.sent++ {
		number := j.sent
		client.Produce(t.Context(), kgo.StringRecord(fmt.Sprintf("%d %d", j.producer, number)), func(_ *kgo.Record, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil || number != j.acked {
				t.Errorf("producer %d: message %d: acknowledged after %d: %v", j.producer, number, j.acked, err)
			}
			j.acked = number + 1
		})
		time.Sleep(100 * time.Microsecond)
	}
	flush, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := client.Flush(flush); err != nil {
		t.Errorf("producer %d: %v", j.producer, err)
	}
}

// check finds the producer's messages among values: all that were acknowledged, first occurrences in order, and none
// that was never sent.
func (j *journal) check(t *testing.T, values []string) {
	next := 0
	for _, value := range values {
		producer, number, ok := strings.Cut(value, " ")
		if !ok || producer != strconv.Itoa(j.producer) {
			continue
		}
		n, err := strconv.Atoi(number)
		switch {
		case err != nil || n >= j.sent:
			t.Errorf("producer %d: %q was never sent", j.producer, value)
		case n == next:
			next++
		case n > next:
			t.Errorf("producer %d: message %d comes before %d", j.producer, n, next)
			return
		}
	}
	if next < j.acked {
		t.Errorf("producer %d: %d messages were acknowledged, %d are stored", j.producer, j.acked, next)
	}
}

// readValues reads the topic to its end with logtail.
func readValues(t *testing.T, broker string) []string {
	t.Helper()
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(tools, "logtail"), "-b", broker, "-o", "earliest", "t").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}
