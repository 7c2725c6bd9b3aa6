package interop

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// theLast is the value behind everything else in a log.
var theLast = []byte("the last")

// TestRestart: while every client produces with acks=all, and another follows, the broker is stopped and killed. What
// was acknowledged is there, under the id that was told, and who follows misses nothing and sees nothing twice.
func TestRestart(t *testing.T) {
	t.Parallel()
	clients, b := clients(t), StartBroker(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var feeds []*feed
	for _, c := range clients {
		f := &feed{client: c, topic: "restart-" + c.Name(), stop: make(chan struct{})}
		feeds = append(feeds, f)
		b.Topics(ctx, f.topic)
	}
	var producing, following sync.WaitGroup
	followed := make([][]Record, len(feeds))
	for i, f := range feeds {
		producing.Go(func() { f.run(ctx, t, b) })
		follower := ownProcess(t, clients[(i+1)%len(clients)])
		following.Go(func() {
			var err error
			if followed[i], err = follower.Read(ctx, b.Addr, f.topic, 0, Start, theLast); err != nil {
				t.Errorf("%s behind %s: %v", follower.Name(), f.client.Name(), err)
			}
		})
	}

	moving(ctx, t, feeds)
	b.Stop()
	b.Start()
	moving(ctx, t, feeds)
	b.Kill()
	b.Start()
	moving(ctx, t, feeds)
	for _, f := range feeds {
		close(f.stop)
	}
	producing.Wait()
	following.Wait()

	for i, f := range feeds {
		t.Run(f.client.Name(), func(t *testing.T) {
			all, err := Franz{}.Read(ctx, b.Addr, f.topic, 0, Start, nil)
			if err != nil {
				t.Fatal(err)
			}
			f.check(t, all)
			compare(t, clients[(i+1)%len(clients)], time.Time{}, followed[i], all)
		})
	}
}

// ownProcess returns a client that can wait without anybody else having to.
func ownProcess(t *testing.T, c Client) Client {
	python, ok := c.(*Python)
	if !ok {
		return c
	}
	own := &Python{name: python.name, script: python.script, sends: python.sends}
	t.Cleanup(own.Close)
	return own
}

// moving waits until each feed has gone on for a while.
func moving(ctx context.Context, t *testing.T, feeds []*feed) {
	t.Helper()
	const enough = 60
	for _, f := range feeds {
		for from := f.progress.Load(); f.progress.Load() < from+enough; time.Sleep(2 * time.Millisecond) {
			if t.Failed() {
				t.FailNow() // somebody has said why
			}
			if ctx.Err() != nil {
				t.Fatalf("%s does not go on: %d records acknowledged", f.client.Name(), from)
			}
		}
	}
}

// feed sends numbers to a topic until it is stopped.
type feed struct {
	client   Client
	topic    string
	stop     chan struct{}
	progress atomic.Int64 // records acknowledged

	numbers int   // sent, from 0 on
	acked   []ack // in the order of the numbers
}

// ack is a number that was acknowledged, with the id that was told, or None.
type ack struct {
	number int
	id     int64
}

func (f *feed) stopped() bool {
	select {
	case <-f.stop:
		return true
	default:
		return false
	}
}

func (f *feed) run(ctx context.Context, t *testing.T, b *Broker) {
	if f.client.Name() == (Kcat{}).Name() {
		if err := f.runKcat(ctx, b); err != nil {
			t.Errorf("kcat: %v", err)
		}
		return
	}
	p, err := ownProcess(t, f.client).Producer(ctx, b.Addr, "none", AcksAll)
	if err != nil {
		t.Errorf("%s: %v", f.client.Name(), err)
		return
	}
	defer p.Close()
	for !f.stopped() && ctx.Err() == nil {
		const atOnce = 10
		var records []Record
		for i := range atOnce {
			records = append(records, Record{Time: 1_700_000_000_000, Value: []byte(strconv.Itoa(f.numbers + i))})
		}
		ids, err := p.Send(ctx, f.topic, 0, records)
		for i, id := range ids {
			if id != None {
				f.acked = append(f.acked, ack{f.numbers + i, id})
				f.progress.Add(1)
			}
		}
		f.numbers += atOnce
		if err != nil {
			time.Sleep(10 * time.Millisecond) // a client that gives up is asked again, in peace
		}
	}
	for {
		_, err := p.Send(ctx, f.topic, 0, []Record{{Time: 1_700_000_000_000, Value: theLast}})
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Errorf("%s: %v", f.client.Name(), err)
			return
		}
	}
}

// runKcat feeds one kcat through a pipe. It tells nothing before its end; then exit status 0 acknowledges all. The
// numbers go in as fast as the broker answers.
func (f *feed) runKcat(ctx context.Context, b *Broker) error {
	cmd := exec.CommandContext(ctx, "kcat", "-P", "-E", "-b", b.Addr, "-t", f.topic, "-p", "0",
		"-X", "acks=-1", "-X", "linger.ms=1", "-X", "retry.backoff.ms=50", "-X", "reconnect.backoff.ms=20", "-X", "reconnect.backoff.max.ms=100",
		"-X", "max.in.flight.requests.per.connection=1")
	cmd.SysProcAttr = dieWithParent
	var said words
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for !f.stopped() && ctx.Err() == nil {
		for range 10 {
			fmt.Fprintln(in, f.numbers)
			f.acked = append(f.acked, ack{f.numbers, None})
			f.numbers++
		}
		places, err := Franz{}.Times(ctx, b.Addr, f.topic, 0, []int64{End})
		if err == nil && places[0] > f.progress.Load() {
			f.progress.Store(places[0])
		}
	}
	in.Write(append(bytes.Clone(theLast), '\n'))
	in.Close()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, said.String())
	}
	return nil
}

// check compares what is in the log with what was acknowledged.
func (f *feed) check(t *testing.T, all []Record) {
	t.Helper()
	byID, last := make(map[int64]int), make(map[int]int64)
	for _, r := range all {
		if bytes.Equal(r.Value, theLast) {
			continue
		}
		number, err := strconv.Atoi(string(r.Value))
		if err != nil || number < 0 || number >= f.numbers {
			t.Errorf("record %d: %q, which was not sent", r.ID, r.Value)
		}
		byID[r.ID] = number
		last[number] = r.ID
	}
	previous := int64(None)
	for _, a := range f.acked {
		id := a.id
		if id == None {
			id = last[a.number]
		}
		if number, ok := byID[id]; !ok || number != a.number {
			t.Fatalf("acknowledged: %d under id %d; there is %d, %v", a.number, id, number, ok)
		}
		if id <= previous {
			t.Errorf("acknowledged: %d under id %d, behind id %d", a.number, id, previous)
		}
		previous = id
	}
	t.Logf("%d records sent, %d acknowledged, %d in the log", f.numbers, len(f.acked), len(byID))
}
