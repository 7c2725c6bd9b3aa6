package interop

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "6") // of what they do most is waiting
	code := m.Run()
	confluent.Close()
	kafkaPython.Close()
	RemoveTools()
	os.Exit(code)
}

var (
	confluent   = NewConfluent()
	kafkaPython = NewKafkaPython()
)

// all are the clients that every table here runs over, by what would stop them.
var all = []struct {
	client  Client
	missing func() error
}{
	{Franz{}, nil},
	{Sarama{}, nil},
	{Segmentio{}, nil},
	{confluent, confluent.Missing},
	{kafkaPython, kafkaPython.Missing},
	{Kcat{}, func() error { _, err := exec.LookPath("kcat"); return err }},
}

// clients returns those that are installed, and says which are not.
func clients(t *testing.T) (found []Client) {
	for _, c := range all {
		if c.missing != nil {
			if err := c.missing(); err != nil {
				fmt.Fprintf(os.Stderr, "SKIPPED: %s in %s (testdata/debian/install): %v\n", c.client.Name(), t.Name(), err)
				continue
			}
		}
		found = append(found, c.client)
	}
	return found
}

// bounded returns a context that ends before anyone loses patience with the test. The time that it takes to build the tools
// does not count.
func bounded(t *testing.T) context.Context {
	Tool(t, "logd")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// produce sends sets of records, one after the other, to partition 0 through a producer of its own. It returns the ids.
func produce(ctx context.Context, t *testing.T, c Client, b *Broker, topic, codec string, acks int, sets ...[]Record) (ids []int64) {
	t.Helper()
	p, err := c.Producer(ctx, b.Addr, codec, acks)
	if err != nil {
		t.Fatalf("%s: %v", c.Name(), err)
	}
	for _, records := range sets {
		more, err := p.Send(ctx, topic, 0, records)
		if err != nil {
			t.Fatalf("%s to %s: %v", c.Name(), topic, err)
		}
		ids = append(ids, more...)
	}
	if err := p.Close(); err != nil {
		t.Fatalf("%s to %s: %v", c.Name(), topic, err)
	}
	return ids
}

// stored is what a client sent to an empty partition, with the ids that the batches on the wire say, which must be
// those that the client was told.
func stored(ctx context.Context, t *testing.T, c Client, b *Broker, topic string, sent []Record, told []int64) []Record {
	t.Helper()
	batches, err := Batches(ctx, b.Addr, topic, 0)
	if err != nil {
		t.Fatalf("%s: %v", topic, err)
	}
	var ids []int64
	for i, batch := range batches {
		if i > 0 && batch.Base != batches[i-1].Next() {
			t.Errorf("%s: base %d behind %+v", topic, batch.Base, batches[i-1])
		}
		for id := batch.Base; id <= batch.Last; id++ {
			ids = append(ids, id)
		}
	}
	if told != nil && !cmp.Equal(told, ids) {
		t.Errorf("%s: %s was told ids %v, stored are %v", topic, c.Name(), told, ids)
	}
	if len(ids) != len(sent) {
		t.Fatalf("%s: %d records in the batches, %s sent %d", topic, len(ids), c.Name(), len(sent))
	}
	want := make([]Record, len(sent))
	for i, r := range sent {
		want[i] = c.Sent(r)
		want[i].ID = ids[i]
	}
	return want
}

// compare compares what a client read with what is stored.
func compare(t *testing.T, c Client, began time.Time, got, want []Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s read %d records, want %d", c.Name(), len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		g, w := got[i], c.Shows(want[i])
		if w.Time == AnyTime {
			if at := time.UnixMilli(g.Time); at.Before(began.Add(-time.Second)) || at.After(time.Now()) {
				t.Errorf("%s read time %v, sent after %v", c.Name(), at, began)
			}
			w.Time = g.Time
		}
		if len(g.Headers) == 0 && len(w.Headers) == 0 {
			g.Headers, w.Headers = nil, nil // there is no null list of headers
		}
		if !reflect.DeepEqual(g, w) {
			t.Fatalf("%s, record %d of %d (-want +got):\n%.2000s", c.Name(), i, len(want), cmp.Diff(w, g))
		}
	}
}
