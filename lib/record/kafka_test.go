package record

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// kmsgRecords decodes a batch with franz-go's generated code and decompressor.
func kmsgRecords(t *testing.T, batch []byte) []Record {
	t.Helper()
	var k kmsg.RecordBatch
	if err := k.ReadFrom(batch); err != nil {
		t.Fatal(err)
	}
	h, err := ParseHeader(batch)
	if err != nil {
		t.Fatal(err)
	}
	want := Header{
		k.FirstOffset, k.Length, k.PartitionLeaderEpoch, k.Magic, uint32(k.CRC), Attributes(k.Attributes), k.LastOffsetDelta,
		k.FirstTimestamp, k.MaxTimestamp, k.ProducerID, k.ProducerEpoch, k.FirstSequence, k.NumRecords,
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Error("header (-kmsg +ours):", diff)
	}
	block, err := kgo.DefaultDecompressor().Decompress(k.Records, kgo.CompressionCodecType(h.Attributes.Codec()))
	if err != nil {
		t.Fatal(err)
	}
	var records []Record
	for len(block) > 0 {
		size, n := binary.Varint(block)
		var r kmsg.Record
		if err := r.ReadFrom(block[:n+int(size)]); err != nil {
			t.Fatal(err)
		}
		block = block[n+int(size):]
		ours := Record{
			Offset: k.FirstOffset + int64(r.OffsetDelta), Timestamp: k.FirstTimestamp + r.TimestampDelta64, Key: r.Key, Value: r.Value,
		}
		if h.Attributes.LogAppendTime() {
			ours.Timestamp = k.MaxTimestamp
		}
		for _, f := range r.Headers {
			ours.Headers = append(ours.Headers, Field{f.Key, f.Value})
		}
		records = append(records, ours)
	}
	return records
}

func TestKmsgReadsOurs(t *testing.T) {
	for _, codec := range codecs {
		t.Run(codec.String(), func(t *testing.T) {
			if diff := cmp.Diff(awkward(), kmsgRecords(t, build(t, codec, awkward()))); diff != "" {
				t.Error("(-want +got):", diff)
			}
		})
	}
}

// withBlock returns the batch with another block of records in place of its own.
func withBlock(batch []byte, codec Codec, block []byte) []byte {
	batch = append(bytes.Clone(batch[:HeaderSize]), block...)
	binary.BigEndian.PutUint16(batch[attributesAt:], uint16(codec))
	return sealed(batch)
}

func TestCodecsAgreeWithFranz(t *testing.T) {
	blocks := map[string][]byte{
		"lines":    build(t, None, benchRecords(3000))[HeaderSize:],
		"tiny":     []byte("x"),
		"zeros":    make([]byte, 3<<20),
		"awkward":  build(t, None, awkward())[HeaderSize:],
		"no order": []byte(strconv.FormatUint(0x9e3779b97f4a7c15, 2)),
	}
	for _, codec := range codecs[1:] {
		theirs, err := kgo.DefaultCompressor([]kgo.CompressionCodec{
			{}, kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
		}[codec])
		if err != nil {
			t.Fatal(err)
		}
		for name, block := range blocks {
			t.Run(codec.String()+"/"+name, func(t *testing.T) {
				compressed, _ := theirs.Compress(new(bytes.Buffer), block)
				got, err := decompress([]byte("before"), codec, compressed, 0)
				if err != nil || !bytes.Equal(got, append([]byte("before"), block...)) {
					t.Errorf("theirs read by us: %d bytes, want %d behind 6; %v", len(got), len(block), err)
				}
				compressed, err = compress([]byte("before"), codec, block)
				if err != nil {
					t.Fatal(err)
				}
				compressed, found := bytes.CutPrefix(compressed, []byte("before"))
				got, err = kgo.DefaultDecompressor().Decompress(compressed, kgo.CompressionCodecType(codec))
				if err != nil || !bytes.Equal(got, block) || !found {
					t.Errorf("ours read by them: %d bytes, want %d; %v", len(got), len(block), err)
				}
			})
		}
	}
}

// segmentSets are the files of $LOGKIT_SEGMENTS that hold batches of magic 2, as real brokers and clients wrote them.
var segmentSets = []struct {
	file             string
	batches, records int
	last             int64 // id
}{
	{"k011-magic2-test0-2/00000000000000000000.log", 10, 11, 10},
	{"k28-kraftless-snappy/00000000000000000000.log", 9, 9, 8},
	{"gzip-single-record/00000000000000000000.log", 17, 17, 16},
	{"two-leader-epochs-index/00000000000000000000.log", 626, 711, 710},
	{"kraft-payment-idempotent/00000000000000000000.log", 1, 1, 0},
	{"cluster-metadata-tiny/00000000000000000000.log", 2, 3, 3},
	{"wire/kafka-python_record_batch_data_v2.bin", 4, 5, 0},
}

func TestRealSegments(t *testing.T) {
	dir := os.Getenv("LOGKIT_SEGMENTS")
	if dir == "" {
		t.Skip("LOGKIT_SEGMENTS is not set: no files of real brokers were read")
	}
	var it Iterator
	for _, set := range segmentSets {
		t.Run(filepath.Dir(set.file), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, set.file))
			if err != nil {
				t.Fatal(err)
			}
			batches, records, last := 0, 0, int64(-1)
			for len(data) > 0 {
				h, err := ParseHeader(data)
				if err != nil {
					t.Fatalf("batch %d: %v", batches, err)
				}
				batch := data[:h.Size()]
				data = data[h.Size():]
				got := read(t, &it, batch)
				if diff := cmp.Diff(kmsgRecords(t, batch), got); diff != "" {
					t.Errorf("batch %d (-kmsg +ours): %s", batches, diff)
				}
				_, err = Validate(batch, Limits{})
				if produced := h.Attributes&brokersAttributes == 0; produced != (err == nil) {
					t.Errorf("batch %d with attributes %#x: Validate: %v", batches, h.Attributes, err)
				}
				batches++
				records += len(got)
				last = h.LastOffset()
			}
			if batches != set.batches || records != set.records || last != set.last {
				t.Errorf("%d batches, %d records, last id %d; want %d, %d, %d", batches, records, last, set.batches, set.records, set.last)
			}
		})
	}
}

func TestRealControlBatchIsDamaged(t *testing.T) {
	dir := os.Getenv("LOGKIT_SEGMENTS")
	if dir == "" {
		t.Skip("LOGKIT_SEGMENTS is not set: no files of real clients were read")
	}
	batch, err := os.ReadFile(filepath.Join(dir, "wire/kafka-python_control_batch_data_v2.bin"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := ParseHeader(batch)
	if err != nil || !h.Attributes.Control() {
		t.Fatalf("attributes %#x, %v; want a control batch", h.Attributes, err)
	}
	wantError(t, "checksum", CheckCRC(batch[:h.Size()]), ErrCRC)
	var it Iterator
	if got := read(t, &it, sealed(bytes.Clone(batch[:h.Size()]))); len(got) != 1 {
		t.Errorf("%d records, want the marker", len(got))
	}
}
