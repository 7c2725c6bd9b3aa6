package broker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestFranzGo: a client that knows nothing of us writes and reads, compressed and not, in every partition, and sees the
// ids that the broker gave out.
func TestFranzGo(t *testing.T) {
	s := serve(t, setup{options: func(o *Options) { o.Partitions = 3 }})
	for _, codec := range []struct {
		name  string
		codec kgo.CompressionCodec
	}{
		{"none", kgo.NoCompression()}, {"gzip", kgo.GzipCompression()}, {"snappy", kgo.SnappyCompression()},
		{"lz4", kgo.Lz4Compression()}, {"zstd", kgo.ZstdCompression()},
	} {
		t.Run(codec.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
			defer cancel()
			topic := "t-" + codec.name
			client, err := kgo.NewClient(kgo.SeedBrokers(s.Advertised()), kgo.AllowAutoTopicCreation(),
				kgo.ProducerBatchCompression(codec.codec), kgo.DefaultProduceTopic(topic), kgo.MaxBufferedRecords(100_000))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			const n = 5000
			sent := make(map[string]string, n)
			var records []*kgo.Record
			for i := range n {
				records = append(records, kgo.KeyStringRecord(fmt.Sprint(i%97), fmt.Sprintf("value %d", i)))
			}
			if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				sent[fmt.Sprintf("%d/%d", r.Partition, r.Offset)] = string(r.Value)
			}
			if len(sent) != n {
				t.Fatalf("%d different ids for %d records", len(sent), n)
			}

			reader, err := kgo.NewClient(kgo.SeedBrokers(s.Advertised()), kgo.ConsumeTopics(topic),
				kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(time.Second))
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			for len(sent) > 0 {
				fetches := reader.PollFetches(ctx)
				if errs := fetches.Errors(); len(errs) > 0 {
					t.Fatal(errs)
				}
				fetches.EachRecord(func(r *kgo.Record) {
					id := fmt.Sprintf("%d/%d", r.Partition, r.Offset)
					if want, ok := sent[id]; !ok || want != string(r.Value) {
						t.Errorf("record %s: %q, want %q", id, r.Value, want)
					}
					delete(sent, id)
				})
			}
		})
	}
}
