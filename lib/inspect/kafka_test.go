package inspect

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/record"
)

// The files *.dump in testdata/kafka are what Apache Kafka 3.9's own tool, kafka-dump-log.sh --print-data-log, has
// printed of the logs beside them, and of the real segments that LOGKIT_SEGMENTS names. The logs were written by Kafka's
// own MemoryRecordsBuilder, or by a broker.

// dumpLines is what Kafka's tool prints of a log.
func dumpLines(t *testing.T, log []byte, base int64) (lines []string) {
	t.Helper()
	s := NewScanner(bytes.NewReader(log), ScanOptions{Base: base, Size: int64(len(log))})
	var records Records
	for {
		item, err := s.Next()
		if err == io.EOF {
			// Payloads have newlines in them, and Kafka prints what is not UTF-8 as replacement characters.
			return strings.Split(strings.ToValidUTF8(strings.Join(lines, "\n"), "\uFFFD"), "\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		if item.Verdict != nil {
			t.Fatal(item.Verdict)
		}
		b := item.Batch
		lines = append(lines, dumpBatch(b))
		if err := records.Reset(b); err != nil {
			t.Fatal(err)
		}
		var r record.Record
		for n := int32(0); records.Next(&r); n++ {
			lines = append(lines, dumpRecord(b, &r, n))
		}
		if err := records.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func stamp(b *Batch, ms int64) string {
	switch {
	case b.Format == Format0:
		return "NoTimestampType: -1"
	case b.Attributes.LogAppendTime():
		return fmt.Sprintf("LogAppendTime: %d", ms)
	}
	return fmt.Sprintf("CreateTime: %d", ms)
}

func dumpBatch(b *Batch) string {
	if b.Format != Format2 {
		return fmt.Sprintf("offset: %d position: %d %s size: %d magic: %v compresscodec: %v crc: %d isvalid: true",
			b.Last, b.Position, stamp(b, b.MaxTimestamp), b.Size, b.Format, b.Codec(), b.CRC)
	}
	last := int64(b.BaseSequence)
	if last >= 0 {
		last += b.Last - b.Base
	}
	horizon := "OptionalLong.empty"
	if b.Attributes.HasDeleteHorizon() {
		horizon = fmt.Sprintf("OptionalLong[%d]", int64(binary.BigEndian.Uint64(b.Bytes[27:])))
	}
	return fmt.Sprintf("baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d "+
		"partitionLeaderEpoch: %d isTransactional: %v isControl: %v deleteHorizonMs: %s position: %d %s size: %d magic: 2 compresscodec: %v crc: %d isvalid: true",
		b.Base, b.Last, b.Count, b.BaseSequence, last, b.ProducerID, b.ProducerEpoch, b.LeaderEpoch, b.Attributes.Transactional(), b.Attributes.Control(),
		horizon, b.Position, stamp(b, b.MaxTimestamp), b.Size, b.Codec(), b.CRC)
}

func dumpRecord(b *Batch, r *record.Record, n int32) string {
	size := func(p []byte) int {
		if p == nil {
			return -1
		}
		return len(p)
	}
	line := fmt.Sprintf("| offset: %d %s keySize: %d valueSize: %d", r.Offset, stamp(b, r.Timestamp), size(r.Key), size(r.Value))
	if b.Format != Format2 {
		return line + shown(r)
	}
	var names []string
	for _, h := range r.Headers {
		names = append(names, h.Name)
	}
	sequence := int64(-1)
	if b.BaseSequence >= 0 {
		sequence = int64(b.BaseSequence) + r.Offset - b.Base
	}
	line += fmt.Sprintf(" sequence: %d headerKeys: [%s]", sequence, strings.Join(names, ","))
	if b.Attributes.Control() && len(r.Key) >= 4 && binary.BigEndian.Uint16(r.Key[2:]) < 2 {
		return line + fmt.Sprintf(" endTxnMarker: %s coordinatorEpoch: %d", [...]string{"ABORT", "COMMIT"}[r.Key[3]], int32(binary.BigEndian.Uint32(r.Value[2:])))
	}
	if b.Attributes.Control() {
		return line
	}
	return line + shown(r)
}

func shown(r *record.Record) (text string) {
	if r.Key != nil {
		text = " key: " + string(r.Key)
	}
	if r.Value != nil {
		text += " payload: " + string(r.Value)
	}
	return text
}

// ofOldMessage is what Kafka says of a single message of an old format and we do not: its checksum, and a stray brace.
var ofOldMessage = regexp.MustCompile(` isValid: true crc: \d+}`)

var replaced = regexp.MustCompile("\uFFFD+")

// wantLines reads what Kafka has printed.
func wantLines(t *testing.T, name string) (lines []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/kafka", name))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".gz") {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "Dumping ") || strings.HasPrefix(line, "Log starting offset: ") {
			continue
		}
		lines = append(lines, replaced.ReplaceAllString(ofOldMessage.ReplaceAllString(line, ""), "\uFFFD"))
	}
	if len(lines) == 0 {
		t.Fatalf("%s: nothing in it", name)
	}
	return lines
}

// TestKafkaSaysTheSame: batch by batch, record by record, field by field.
func TestKafkaSaysTheSame(t *testing.T) {
	for _, row := range []struct {
		log  string
		base int64
		dump string
	}{
		{"magic0.log", 0, "magic0.dump"},
		{"magic1.log", 0, "magic1.dump"},
		{"magic2.log", 0, "magic2.dump"},
		{"codecs.log", 0, "codecs.dump.gz"},
		{"txn-0/00000000000000000000.log", 0, "txn.dump"},
		{"compacted-0/00000000000000000000.log", 0, "compacted.dump"},
		{"compacted-0/00000000000000000600.log", 600, "compacted600.dump"},
	} {
		t.Run(row.log, func(t *testing.T) {
			log, err := os.ReadFile(filepath.Join("testdata/kafka", row.log))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wantLines(t, row.dump), dumpLines(t, log, row.base)); diff != "" {
				t.Error("(-Kafka +ours):", diff)
			}
		})
	}
}

// TestKafkaDirectories: partitions as a broker has left them, one with transactions and one in the middle of a compaction.
func TestKafkaDirectories(t *testing.T) {
	for _, dir := range []string{"txn-0", "compacted-0"} {
		damage, _, batches := look(t, filepath.Join("testdata/kafka", dir), Options{Deep: true})
		if len(damage) != 0 || batches == 0 {
			t.Errorf("%s: %v, %d batches", dir, damage, batches)
		}
	}
}

// realSegments is the directory with segments of real brokers; without it a test says loudly that it has not run.
func realSegments(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("LOGKIT_SEGMENTS")
	if dir == "" {
		fmt.Fprintln(os.Stderr, "SKIPPED: LOGKIT_SEGMENTS does not name the directory of real segments")
		t.Skip("LOGKIT_SEGMENTS is not set")
	}
	return dir
}

func TestRealSegments(t *testing.T) {
	root := realSegments(t)
	dumps, err := filepath.Glob("testdata/kafka/real-*.dump.gz")
	if err != nil || len(dumps) == 0 {
		t.Fatalf("no dumps: %v", err)
	}
	for _, dump := range dumps {
		set := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(dump), "real-"), ".dump.gz")
		t.Run(set, func(t *testing.T) {
			log, err := os.ReadFile(filepath.Join(root, set, logName(0)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wantLines(t, filepath.Base(dump)), dumpLines(t, log, 0)); diff != "" {
				t.Error("(-Kafka +ours):", diff)
			}
			// All files of the set, whole or as single files: nothing that is normal is damage.
			damage, notices, batches := look(t, filepath.Join(root, set), Options{Deep: true})
			if len(damage) != 0 || len(notices) != 0 || batches == 0 {
				t.Errorf("%v %v", damage, notices)
			}
			files, err := os.ReadDir(filepath.Join(root, set))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if damage, _, _ := look(t, filepath.Join(root, set, file.Name()), Options{Deep: true}); len(damage) != 0 {
					t.Errorf("%s: %v", file.Name(), damage)
				}
			}
		})
	}
}

// TestWireSamples: record sets that client libraries test themselves with.
func TestWireSamples(t *testing.T) {
	dir := filepath.Join(realSegments(t), "wire")
	for name, want := range map[string]struct {
		batches int
		kinds   string
	}{
		"kafka-python_record_batch_data_v0.bin":  {4, "[]"},
		"kafka-python_record_batch_data_v1.bin":  {4, "[]"},
		"kafka-python_record_batch_data_v2.bin":  {4, "[ids go back]"}, // four batches that are no log
		"kafka-python_control_batch_data_v2.bin": {0, "[bad crc]"},
		"kafkajs_messages_v0_uncompressed.bin":   {3, "[]"},
		"kafkajs_messages_v0_GZIP.bin":           {1, "[]"},
	} {
		damage, _, batches := look(t, filepath.Join(dir, name), Options{Deep: true})
		if batches != want.batches || fmt.Sprint(kindsOf(damage)) != want.kinds {
			t.Errorf("%s: %d batches, %v, want %+v", name, batches, damage, want)
		}
	}
}
