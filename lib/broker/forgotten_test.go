package broker

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestForgottenProducer: a topic is deleted and made again, and with it goes what is known of those who write to it.
// What a client sends next is refused, as it does not begin at 0; it goes on under another id without losing anything.
func TestForgottenProducer(t *testing.T) {
	s := serve(t, setup{options: func(o *Options) { o.AutoCreate = false }})
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Advertised()), kgo.DefaultProduceTopic("t"),
		kgo.MetadataMinAge(10*time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond }))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := s.dial()
	for range 3 {
		s.topic("t", 1)
		for i := range 3 {
			if err := client.ProduceSync(ctx, kgo.StringRecord(fmt.Sprintf("value %d", i))).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(string(c.fetch("t", 0, 0).RecordBatches), "value"); n != 3 {
			t.Errorf("%d messages are stored, want 3", n)
		}
		if err := s.remove("t"); err != nil {
			t.Fatal(err)
		}
	}
}
