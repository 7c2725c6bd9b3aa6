package record

import (
	"bytes"
	"testing"
)

func TestSetProducer(t *testing.T) {
	build := func(id int64, epoch int16, sequence int32) []byte {
		b := NewBuilder(None)
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = id, epoch, sequence
		b.Append(Record{Value: []byte("value")})
		data, err := b.Finish(nil)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	data := build(-1, -1, -1)
	SetProducer(data, 1<<40, 300, 1<<30)
	if want := build(1<<40, 300, 1<<30); !bytes.Equal(data, want) {
		t.Errorf("changed to\n%x, built as\n%x", data, want)
	}
	SetProducer(data, -1, -1, -1)
	if want := build(-1, -1, -1); !bytes.Equal(data, want) {
		t.Errorf("changed back to\n%x, built as\n%x", data, want)
	}
}

func TestSetMaxTimestamp(t *testing.T) {
	build := func(timestamp int64) []byte {
		b := NewBuilder(None)
		b.Append(Record{Timestamp: 5, Value: []byte("value")})
		b.latest = timestamp
		data, err := b.Finish(nil)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	data := build(-1)
	for _, timestamp := range []int64{-1, 5, 1 << 40, 5} {
		SetMaxTimestamp(data, timestamp)
		if want := build(timestamp); !bytes.Equal(data, want) {
			t.Errorf("changed to\n%x, built as\n%x", data, want)
		}
	}
}
