package interop

import (
	"errors"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

// TestMoreRecordsThanBytes: a batch may hold more records than bytes, and then the log advances by their number; nobody
// loses one of them.
func TestMoreRecordsThanBytes(t *testing.T) {
	t.Parallel()
	sent := make([]Record, 20_000)
	for i := range sent {
		sent[i] = Record{Time: 1_700_000_000_000, Value: []byte{'x'}}
	}
	clients, b := clients(t), StartBroker(t)
	for _, producer := range clients {
		t.Run("from "+producer.Name(), func(t *testing.T) {
			t.Parallel()
			ctx, began := bounded(t), time.Now()
			topic := "many-" + producer.Name()
			b.Topics(ctx, topic)
			told := produce(ctx, t, producer, b, topic, "zstd", AcksAll, sent)
			want := stored(ctx, t, producer, b, topic, sent, told)
			batches, err := Batches(ctx, b.Addr, topic, 0)
			if err != nil {
				t.Fatal(err)
			}
			crowded := 0
			for _, batch := range batches {
				if int64(batch.Records) > batch.Size {
					crowded++
				}
			}
			if crowded == 0 {
				t.Errorf("%s: no batch has more records than bytes: %+v", topic, batches)
			}
			for _, consumer := range clients {
				t.Run("to "+consumer.Name(), func(t *testing.T) {
					got, err := consumer.Read(ctx, b.Addr, topic, 0, Start, nil)
					if consumer.Name() == (Sarama{}).Name() {
						checkSaramaRefuses(t, got, err, batches)
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					compare(t, consumer, began, got, want)
				})
			}
		})
	}
}

// checkSaramaRefuses: sarama takes such a batch for one that goes on in the next response, however large that is, if
// nothing behind it in the response makes up for the bytes that it misses. That is so with every broker.
func checkSaramaRefuses(t *testing.T, got []Record, err error, batches []Batch) {
	t.Helper()
	const header, tail = 61, 16 // bytes of a batch up to the records; at most of a response behind the last batch
	rest, sure := int64(0), true
	readable := true
	for i := len(batches) - 1; i >= 0; i-- {
		rest += batches[i].Size
		missing := int64(batches[i].Records) - (rest - header)
		readable = readable && missing <= 0
		sure = sure && (missing <= 0 || missing > tail)
	}
	switch {
	case err != nil && !errors.Is(err, sarama.ErrMessageTooLarge):
		t.Error(err)
	case sure && readable != (err == nil):
		t.Errorf("sarama read %d records of %+v: %v", len(got), batches, err)
	}
}
