package interop

import (
	"fmt"
	"testing"
	"time"
)

// TestAcks: what is sent with fewer acks than all arrives as well, if a little later than it is answered.
func TestAcks(t *testing.T) {
	t.Parallel()
	clients, b := clients(t), StartBroker(t)
	for _, acks := range []int{AcksNone, AcksLeader} {
		for _, producer := range clients {
			t.Run(fmt.Sprintf("%d/from %s", acks, producer.Name()), func(t *testing.T) {
				t.Parallel()
				ctx, began := bounded(t), time.Now()
				topic := fmt.Sprintf("acks-%d-%s", acks, producer.Name())
				b.Topics(ctx, topic)
				sent := append(sendable(producer, awkward), Record{Time: 1_700_000_000_000, Value: []byte("the last")})
				told := produce(ctx, t, producer, b, topic, "none", acks, sent)
				got, err := Franz{}.Read(ctx, b.Addr, topic, 0, Start, []byte("the last"))
				if err != nil {
					t.Fatal(err)
				}
				compare(t, Franz{}, began, got, stored(ctx, t, producer, b, topic, sent, told))
			})
		}
	}
}
