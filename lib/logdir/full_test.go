package logdir

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"logkit/lib/commitlog"
	"logkit/lib/vfs/crashfs"
)

// fullDir is a directory with a topic of several segments on a disk that has no byte left.
func fullDir(t *testing.T, retention commitlog.Retention) (*crashfs.FS, *Dir, *commitlog.Log) {
	t.Helper()
	fsys := crashfs.New(1)
	d, err := Open(fsys, "/data", Options{Retention: retention, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := create(d, "t", 1, Settings{"segment.bytes": "1024"}); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		appendOne(t, d, "t", 0, fmt.Sprintf("a record, number %d", i))
	}
	log, _ := d.Log("t", 0)
	if _, n, err := log.Size(); n < 4 || err != nil {
		t.Fatalf("%d segments, %v", n, err)
	}
	fsys.SetCapacity(fsys.Used())
	return fsys, d, log
}

// TestRetentionOnFullDisk: what makes room on a full disk is retention, so that needs none, not even to remember where the
// log starts, or to begin another segment behind the last one.
func TestRetentionOnFullDisk(t *testing.T) {
	for name, retention := range map[string]commitlog.Retention{"by size": {Bytes: 1500}, "by age, all": {Age: time.Hour}} {
		t.Run(name, func(t *testing.T) {
			fsys, d, log := fullDir(t, retention)
			before := log.Positions()
			now := time.Now().Add(2 * time.Hour)
			for range 3 { // what could not be done without room is done the next time
				d.Retain(now)
			}
			bytes, n, err := log.Size()
			if err != nil || n > 3 || bytes > 3000 {
				t.Errorf("%d segments of %d bytes are left, %v", n, bytes, err)
			}
			after := log.Positions()
			if after.Start <= before.Start || after.HighWatermark != before.HighWatermark {
				t.Errorf("positions %+v, before %+v", after, before)
			}
			appendOne(t, d, "t", 0, "there is room again")
			end := log.Positions()
			left := fsys.Crash(crashfs.PowerLoss, 1)
			d.Close()
			again, err := Open(left, "/data", Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			log, _ = again.Log("t", 0)
			if p := log.Positions(); p != end {
				t.Errorf("after a crash %+v, before %+v", p, end)
			}
		})
	}
}

// TestCrashInRetentionOnFullDisk: whatever call of it a machine dies in, no record that may be read is lost, no id is given
// twice.
func TestCrashInRetentionOnFullDisk(t *testing.T) {
	for seed := range uint64(4) {
		for n := 1; ; n++ {
			fsys, d, log := fullDir(t, commitlog.Retention{Bytes: 1500})
			high := log.Positions()
			fsys.StopAt(n)
			d.Retain(time.Now())
			_, stopped := fsys.Stat("/data")
			mode := crashfs.Mode(n % 2)
			after := fsys.Crash(mode, seed)
			d.Close()
			again, err := Open(after, "/data", Options{})
			if err != nil {
				t.Fatalf("%v in call %d: %v", mode, n, err)
			}
			log, _ = again.Log("t", 0)
			p := log.Positions()
			if p.HighWatermark != high.HighWatermark || p.End != high.End || p.Start > high.HighWatermark-20 {
				t.Errorf("%v in call %d: positions %+v, before %+v", mode, n, p, high)
			}
			again.Close()
			if stopped == nil {
				if n < 5 {
					t.Errorf("%d calls that change something", n-1)
				}
				break
			}
		}
	}
}
