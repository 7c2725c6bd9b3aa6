package record

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goldenRecords are what testdata/batch.hex holds.
var goldenRecords = []Record{
	{Offset: 100, Timestamp: 1_700_000_000_000, Key: []byte("key"), Value: []byte("value"), Headers: []Field{{"h", []byte("1")}}},
	{Offset: 101, Timestamp: 1_700_000_000_001, Value: []byte{}, Headers: []Field{{"no", nil}, {"no", []byte{}}}},
	{Offset: 102, Timestamp: 100_000_000_000, Key: []byte{}},
}

// golden reads annotated hex: what follows # is for people.
func golden(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var digits strings.Builder
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGolden(t *testing.T) {
	batch := golden(t, "testdata/batch.hex")
	if _, err := Validate(batch, Limits{}); err != nil {
		t.Error(err)
	}
	var it Iterator
	if diff := cmp.Diff(goldenRecords, read(t, &it, batch)); diff != "" {
		t.Error("records (-want +got):", diff)
	}

	b := NewBuilder(None)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = 1000, 1, 42
	for _, r := range goldenRecords {
		b.Append(r)
	}
	built, err := b.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	SetBaseOffset(built, 100)
	SetLeaderEpoch(built, 7)
	if !bytes.Equal(batch, built) {
		t.Errorf("built:\n%swant:\n%s", hex.Dump(built), hex.Dump(batch))
	}
}
