package interop

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// awkward are records with everything that a record can have.
var awkward = []Record{
	{Time: 1_700_000_000_000, Key: []byte("key"), Value: []byte("value")},
	{Time: 1_600_000_000_000, Value: []byte("null key, and older than the one before")},
	{Time: 1_700_000_000_001, Key: []byte("tombstone")},
	{Time: 1_700_000_000_002},
	{Time: 1_700_000_000_003, Key: []byte{}, Value: []byte{}},
	{Time: 1_700_000_000_003, Key: []byte("null"), Value: []byte("null")},
	{Time: 1, Key: []byte("old"), Value: []byte("one millisecond")},
	{Time: 0, Key: []byte("older"), Value: []byte("none")},
	{Time: 4_102_444_800_000, Key: []byte("future"), Value: []byte("in the year 2100")},
	{Time: 1_700_000_000_004, Key: []byte{0, 0xff, '\n', 0x1b, '[', '3', '1', 'm'}, Value: []byte("\xc3\x28 \xf0\x9f\x00\r\n\t\"\\")},
	{Time: 1_700_000_000_005, Key: []byte("h"), Value: []byte("headers"), Headers: []Header{
		{Name: "a", Value: []byte("1")}, {Name: "b", Value: []byte("2")}, {Name: "a", Value: []byte("3")}, {Name: "a", Value: []byte("1")},
	}},
	{Time: 1_700_000_000_006, Key: []byte("h"), Value: []byte("null and empty headers"), Headers: []Header{
		{Name: "null"}, {Name: "empty", Value: []byte{}}, {Name: "null"},
	}},
	{Time: 1_700_000_000_007, Key: []byte("h"), Value: []byte("bytes in headers"), Headers: []Header{
		{Name: "größe", Value: []byte("\xff\xfe\x01\x1b")},
	}},
	{Time: 1_700_000_000_008, Value: []byte("no name"), Headers: []Header{{Name: "", Value: []byte("nameless")}}},
	{Time: 1_700_000_000_009, Key: bytes.Repeat([]byte("k"), 3000), Value: []byte(strings.Repeat("compressible ", 1000))},
}

// big are records of which two do not fit into a batch of 1 MiB, with bytes that no codec makes fewer of.
var big = func() (records []Record) {
	random := rand.NewChaCha8([32]byte{})
	for i, size := range []int{700_000, 10, 600_000} {
		value := make([]byte, size)
		random.Read(value)
		for j := range value {
			value[j] |= 0x80 // nothing that the input of kcat takes for a delimiter
		}
		records = append(records, Record{Time: 1_700_000_000_000 + int64(i), Key: []byte("big"), Value: value})
	}
	return records
}()

// TestPairs: what a client produces with a codec, every client reads back.
func TestPairs(t *testing.T) {
	t.Parallel()
	clients, b := clients(t), StartBroker(t)
	for _, codec := range Codecs {
		for _, producer := range clients {
			t.Run(codec+"/from "+producer.Name(), func(t *testing.T) {
				t.Parallel()
				ctx, began := bounded(t), time.Now()
				topic := codec + "-" + producer.Name()
				b.Topics(ctx, topic)
				sent := sendable(producer, awkward)
				told := produce(ctx, t, producer, b, topic, codec, AcksAll, sent, big)
				want := stored(ctx, t, producer, b, topic, append(sent, big...), told)
				checkCodec(ctx, t, b, topic, codec)
				for _, consumer := range clients {
					t.Run("to "+consumer.Name(), func(t *testing.T) {
						got, err := consumer.Read(ctx, b.Addr, topic, 0, Start, nil)
						if err != nil {
							t.Fatal(err)
						}
						compare(t, consumer, began, got, want)
					})
				}
			})
		}
	}
}

// sendable returns those of the records that a client can send.
func sendable(c Client, records []Record) (sendable []Record) {
	for _, r := range records {
		if c.Sends(r) {
			sendable = append(sendable, r)
		}
	}
	return sendable
}

// checkCodec: some batches are compressed, and none with another codec. A client may leave a batch plain that does not
// become smaller.
func checkCodec(ctx context.Context, t *testing.T, b *Broker, topic, codec string) {
	t.Helper()
	batches, err := Batches(ctx, b.Addr, topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	used := false
	for _, batch := range batches {
		used = used || batch.Codec == codec
		if batch.Codec != codec && batch.Codec != "none" {
			t.Errorf("%s: %+v, want %s", topic, batch, codec)
		}
	}
	if !used {
		t.Errorf("%s: no batch is %s", topic, codec)
	}
}
