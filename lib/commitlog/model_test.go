package commitlog

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"logkit/lib/record"
	"logkit/lib/vfs/crashfs"
)

// TestModel does random things to a log on a file system that crashes, fails and fills up, and compares what the log
// says with a model: a list of batches. What holds after every action:
//
//   - everything from the start to the high watermark is read back, the same bytes in the same order, whatever id the
//     reading begins with;
//   - the start, the high watermark and the end are what the batches make them;
//   - what was visible stays visible, crash or not; what a crash leaves is a prefix of what was written.
func TestModel(t *testing.T) {
	soak(t, 1000, 100_000)
	rapid.Check(t, func(t *rapid.T) {
		options := Options{
			SegmentBytes:  rapid.SampledFrom([]int64{1, 300, 1000, 5000}).Draw(t, "segment bytes"),
			FlushInterval: time.Hour,
		}
		m := newMachine(t, options, rapid.SampledFrom([]int64{1, 200, 2000}).Draw(t, "index interval"))
		defer m.close()
		t.Repeat(m.actions())
	})
}

// soak sets how many runs, of some 30 actions each, there are, and how many under LOGKIT_SOAK.
func soak(t *testing.T, runs, soakRuns int) {
	if os.Getenv("LOGKIT_SOAK") != "" {
		runs = soakRuns
	}
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(runs), "rapid.nofailfile": "true"} {
		f := flag.Lookup(name)
		if f.Value.String() != f.DefValue {
			continue // it was asked for
		}
		flag.Set(name, value)
		t.Cleanup(func() { flag.Set(name, f.DefValue) })
	}
}

func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"append": func(t *rapid.T) {
			m.after(m.append(drawBatch(t, m.count), rapid.Bool().Draw(t, "flush")))
		},
		"flush": func(*rapid.T) {
			m.after(m.flush())
		},
		"read": func(t *rapid.T) {
			m.after(m.read(m.drawID(t), rapid.Int64Range(0, 2000).Draw(t, "max bytes")))
		},
		"find time": func(t *rapid.T) {
			m.after(m.findTime(rapid.Int64Range(0, 110).Draw(t, "time")))
		},
		"checkpoint": func(*rapid.T) {
			m.after(m.checkpoint())
		},
		"reopen": func(*rapid.T) {
			m.after(m.reopen())
		},
		"delete records": func(t *rapid.T) {
			m.after(m.deleteBefore(m.drawID(t)))
		},
		"retain": func(t *rapid.T) {
			r := Retention{Bytes: rapid.Int64Range(1, 3000).Draw(t, "bytes")}
			if rapid.Bool().Draw(t, "by age") {
				r = Retention{Age: time.Minute}
			}
			m.after(m.retain(r))
		},
		"crash": func(t *rapid.T) {
			m.crash(drawMode(t), rapid.Uint64().Draw(t, "seed"))
		},
		"crash soon": func(t *rapid.T) {
			m.mode, m.seed = drawMode(t), rapid.Uint64().Draw(t, "seed")
			m.fsys.StopAt(rapid.IntRange(1, 20).Draw(t, "calls"))
		},
		"disk fills": func(t *rapid.T) {
			m.full = true
			m.fsys.SetCapacity(m.fsys.Used() + rapid.Int64Range(0, 500).Draw(t, "room"))
		},
		"disk has room": func(*rapid.T) {
			m.full = false
			m.fsys.SetCapacity(0)
		},
		"call fails": func(t *rapid.T) {
			fault := faults[rapid.IntRange(0, len(faults)-1).Draw(t, "fault")]
			op := rapid.SampledFrom(fault.ops).Draw(t, "call")
			m.faults = true
			m.fsys.Fail(op, "", rapid.IntRange(1, 5).Draw(t, "n"), fault.err)
		},
		"": func(t *rapid.T) {
			m.t = t
			m.check()
		},
	}
}

func drawMode(t *rapid.T) crashfs.Mode {
	return rapid.SampledFrom([]crashfs.Mode{crashfs.ProcessCrash, crashfs.PowerLoss}).Draw(t, "mode")
}

// drawBatch makes a batch, sometimes of more records than bytes.
func drawBatch(t *rapid.T, number int) written {
	codec := rapid.SampledFrom([]record.Codec{record.None, record.Gzip, record.Snappy, record.LZ4, record.Zstd}).Draw(t, "codec")
	if codec == record.Zstd && rapid.Bool().Draw(t, "many") {
		return many()
	}
	var records []record.Record
	for i := range rapid.IntRange(1, 4).Draw(t, "records") {
		value := fmt.Sprintf("%d/%d %s", number, i, strings.Repeat("x", rapid.IntRange(0, 300).Draw(t, "size")))
		records = append(records, record.Record{Timestamp: rapid.Int64Range(0, 100).Draw(t, "timestamp"), Value: []byte(value)})
	}
	return encode(t, codec, records)
}

// drawID is an id anywhere: in a batch, in a gap, below the start, at the end, beyond it.
func (m *machine) drawID(t *rapid.T) int64 {
	p := m.log.Positions()
	marks := []int64{p.Start, p.HighWatermark, p.End}
	if n := len(m.written); n > 0 {
		h := m.written[rapid.IntRange(0, n-1).Draw(t, "batch")].h
		marks = append(marks, h.BaseOffset, h.LastOffset(), h.NextBase())
	}
	return rapid.SampledFrom(marks).Draw(t, "mark") + rapid.Int64Range(-2, 2).Draw(t, "beside")
}
