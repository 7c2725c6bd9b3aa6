package inspect

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/vfs"
)

// snapshotOf encodes a producer snapshot.
func snapshotOf(producers ...int64) []byte {
	b := []byte{0, 1, 0, 0, 0, 0}
	b = binary.BigEndian.AppendUint32(b, uint32(len(producers)))
	for _, id := range producers {
		b = binary.BigEndian.AppendUint64(b, uint64(id))
		b = binary.BigEndian.AppendUint16(b, 3)                  // epoch
		b = binary.BigEndian.AppendUint32(b, 9)                  // last sequence
		b = binary.BigEndian.AppendUint64(b, 42)                 // last id
		b = binary.BigEndian.AppendUint32(b, 4)                  // offset delta
		b = binary.BigEndian.AppendUint64(b, 1700000000000)      // timestamp
		b = binary.BigEndian.AppendUint32(b, 0xffffffff)         // coordinator epoch
		b = binary.BigEndian.AppendUint64(b, 0xffffffffffffffff) // first id of the transaction
	}
	binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[6:], castagnoli))
	return b
}

func txnOf(version int16, producer, first, last, stable int64) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(version))
	for _, n := range []int64{producer, first, last, stable} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

func TestSideFiles(t *testing.T) {
	snapshot := snapshotOf(7, 8)
	damaged := slices.Clone(snapshot)
	damaged[40] ^= 1
	const txn, snap, epochs = "00000000000000000000.txnindex", "00000000000000000042.snapshot", "leader-epoch-checkpoint"
	for _, row := range []struct {
		name, file, data string
		want             []string // entries
		kinds            []Kind
	}{
		{"epochs", epochs, "0\n2\n0 0\n3 450\n", []string{"epoch=0 start_offset=0", "epoch=3 start_offset=450"}, nil},
		{"no epochs", epochs, "0\n0\n", nil, nil},
		{"two epochs from one id", epochs, "0\n2\n0 5\n3 5\n", []string{"epoch=0 start_offset=5", "epoch=3 start_offset=5"}, nil},
		{"epochs go back", epochs, "0\n2\n3 5\n2 7\n", []string{"epoch=3 start_offset=5", "epoch=2 start_offset=7"}, []Kind{BadFile}},
		{"version", epochs, "1\n0\n", nil, []Kind{BadFile}},
		{"nothing", epochs, "", nil, []Kind{BadFile}},
		{"version alone", epochs, "0\n", nil, []Kind{BadFile}},
		{"too few", epochs, "0\n2\n0 0\n", []string{"epoch=0 start_offset=0"}, []Kind{BadFile}},
		{"no numbers", epochs, "0\n1\nx y\n", nil, []Kind{BadFile}},
		{"checkpoint", "recovery-point-offset-checkpoint", "0\n1\nclicks 3 4711\n", []string{"topic=clicks partition=3 offset=4711"}, nil},
		{"checkpoint without an id", "log-start-offset-checkpoint", "0\n1\nclicks 3\n", nil, []Kind{BadFile}},
		{"checkpoint below zero", "replication-offset-checkpoint", "0\n1\nclicks 3 -4\n", []string{"topic=clicks partition=3 offset=-4"}, []Kind{BadFile}},
		{"clean shutdown", "clean-shutdown", "0\n1\nt 0 271000 4510 274778 275510\n",
			[]string{"topic=t partition=0 base_offset=271000 size=4510 high_watermark=274778 next_offset=275510"}, nil},
		{"metadata", "partition.metadata", "version: 0\ntopic_id: noOKhwA-Sgaw1rdAE7M5xw", []string{"version=0", "topic_id=noOKhwA-Sgaw1rdAE7M5xw"}, nil},
		{"metadata of another version", "partition.metadata", "version: 7\n", nil, []Kind{BadFile}},
		{"meta of logd", "meta.properties", "version=0\ncluster.id=abc\nincarnation=def\n", []string{"version=0", "cluster.id=abc", "incarnation=def"}, nil},
		{"meta of Kafka", "meta.properties", "#\n#Sun Nov 29\ncluster.id=abc\nversion=1\nnode.id=1\n", []string{"cluster.id=abc", "version=1", "node.id=1"}, nil},
		{"meta without an identity", "meta.properties", "version=0\ncluster.id=abc\n", []string{"version=0", "cluster.id=abc"}, []Kind{BadFile}},
		{"meta emptied", "meta.properties", "", nil, []Kind{BadFile}},
		{"meta of another version", "meta.properties", "version=7\nbroker.id=1\n", []string{"version=7", "broker.id=1"}, []Kind{BadFile}},
		{"meta and something else", "meta.properties", "version=0\nbroker.id=1\nxyz\n", []string{"version=0", "broker.id=1"}, []Kind{BadFile}},
		{"producer ids", "producer-id-block", "0\n4000\n", []string{"next_producer_id=4000"}, nil},
		{"producer ids emptied", "producer-id-block", "", nil, []Kind{BadFile}},
		{"producer ids of another version", "producer-id-block", "1\n4000\n", nil, []Kind{BadFile}},
		{"no producer id", "producer-id-block", "0\n", nil, []Kind{BadFile}},
		{"a producer id too small", "producer-id-block", "0\n0\n", nil, []Kind{BadFile}},
		{"a producer id too large", "producer-id-block", "0\n9007199254740992\n", nil, []Kind{BadFile}},
		{"two producer ids", "producer-id-block", "0\n4000\n5000\n", nil, []Kind{BadFile}},
		{"settings", "topic-settings.json", "{\n\t\"t\": {\n\t\t\"retention.ms\": \"5\"\n\t},\n\t\"u\": {}\n}\n", []string{"topic=t name=retention.ms value=5"}, nil},
		{"settings cut short", "topic-settings.json", "{\n\t\"t\": {\n\t\t\"retention.ms\": \"5\"", []string{"topic=t name=retention.ms value=5"}, []Kind{BadFile}},
		{"settings that are numbers", "topic-settings.json", "{\"t\": {\"retention.ms\": 5}}", nil, []Kind{BadFile}},
		{"settings that are a list", "topic-settings.json", "[]", nil, []Kind{BadFile}},
		{"settings and more", "topic-settings.json", "{}{}", nil, []Kind{BadFile}},
		{"settings emptied", "topic-settings.json", "", nil, []Kind{BadFile}},
		{"quorum", "quorum-state", `{"leaderId":1,"leaderEpoch":5}`, []string{"leaderId=1 leaderEpoch=5"}, nil},
		{"quorum cut short", "quorum-state", `{"leaderId":1,`, nil, []Kind{BadFile}},
		{"lock", ".lock", "", nil, nil},
		{"clean shutdown of Kafka", ".kafka_cleanshutdown", `{"version":0,"brokerEpoch":7}`, nil, nil},
		{"snapshot", snap, string(snapshot), []string{
			"producer_id=7 producer_epoch=3 last_sequence=9 last_offset=42 offset_delta=4 timestamp=1700000000000 coordinator_epoch=-1 current_txn_first_offset=-1",
			"producer_id=8 producer_epoch=3 last_sequence=9 last_offset=42 offset_delta=4 timestamp=1700000000000 coordinator_epoch=-1 current_txn_first_offset=-1"}, nil},
		{"empty snapshot", snap, string(snapshotOf()), nil, nil},
		{"snapshot cut short", snap, string(snapshot[:5]), nil, []Kind{BadFile}},
		{"snapshot of another version", snap, "\x00\x07" + string(snapshot[2:]), nil, []Kind{BadFile}},
		{"transactions", txn, string(txnOf(0, 4, 6, 11, 12)), []string{"version=0 producer_id=4 first_offset=6 last_offset=11 last_stable_offset=12"}, nil},
		{"no transactions", txn, "", nil, nil},
		{"transactions go back", txn, string(txnOf(0, 4, 6, 11, 12)) + string(txnOf(0, 4, 2, 3, 12)),
			[]string{"version=0 producer_id=4 first_offset=6 last_offset=11 last_stable_offset=12", "version=0 producer_id=4 first_offset=2 last_offset=3 last_stable_offset=12"},
			[]Kind{IndexOrder}},
		{"half a transaction", txn, string(txnOf(0, 4, 6, 11, 12)[:20]), nil, []Kind{IndexSize}},
		{"version of a transaction", txn, string(txnOf(9, 4, 6, 11, 12)), []string{"version=9 producer_id=4 first_offset=6 last_offset=11 last_stable_offset=12"}, []Kind{BadFile}},
		{"ids of a transaction", txn, string(txnOf(0, 4, 11, 6, 12)), []string{"version=0 producer_id=4 first_offset=11 last_offset=6 last_stable_offset=12"}, []Kind{BadFile}},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), row.file)
			if err := os.WriteFile(path, []byte(row.data), 0o644); err != nil {
				t.Fatal(err)
			}
			var entries []string
			var kinds []Kind
			in := Inspector{FS: vfs.OS, Visitor: Visitor{
				Entry: func(_ *File, e *Entry) error {
					var fields []string
					for _, f := range e.Fields {
						fields = append(fields, fmt.Sprint(f.Name, "=", f.Value))
					}
					entries = append(entries, strings.Join(fields, " "))
					return nil
				},
				Verdict: func(_ *File, v *Verdict) error { kinds = append(kinds, v.Kind); return nil },
			}}
			if err := in.Path(path); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, entries); diff != "" {
				t.Error("(-want +got):", diff)
			}
			if !slices.Equal(kinds, row.kinds) {
				t.Errorf("%v, want %v", kinds, row.kinds)
			}
		})
	}
	damage, _, _ := lookAt(t, snap, damaged)
	if !slices.Equal(kindsOf(damage), []Kind{BadCRC}) {
		t.Errorf("flipped snapshot: %v", damage)
	}
}

// lookAt inspects a file of that name and contents.
func lookAt(t *testing.T, name string, data []byte) (damage, notices []*Verdict, batches int) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string][]byte{name: data})
	return look(t, filepath.Join(dir, name), Options{})
}

// TestEveryByteOfASnapshot: its checksum shows each flip, but of the version, which shows by itself.
func TestEveryByteOfASnapshot(t *testing.T) {
	snapshot := snapshotOf(7)
	for i := range snapshot {
		snapshot[i] ^= 0x10
		if damage, _, _ := lookAt(t, "00000000000000000042.snapshot", snapshot); len(damage) == 0 {
			t.Errorf("byte %d: nothing found", i)
		}
		snapshot[i] ^= 0x10
		if damage, _, _ := lookAt(t, "00000000000000000042.snapshot", snapshot[:i]); len(damage) == 0 {
			t.Errorf("%d bytes: nothing found", i)
		}
	}
}
