package commitlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
	"logkit/lib/vfs/crashfs"
)

// life is all that a log does: appending, with and without a flush, rolling, checkpoints, deleting from its start,
// closing and starting again.
func (m *machine) life() []func() error {
	return []func() error{
		m.add(true, 1), m.add(true, 1), m.add(false, 2), m.add(false, 1), m.add(true, 3), // rolls
		m.checkpoint,
		m.add(false, 1), m.addMany, m.add(false, 1),
		m.flush,
		func() error { return m.deleteBefore(m.written[min(1, len(m.written))].h.BaseOffset) },
		m.add(true, 1), m.add(true, 1), m.add(true, 1),
		m.reopen,
		m.add(false, 1), m.add(true, 1),
		func() error { return m.retain(Retention{Bytes: 400}) },
		m.checkpoint,
		m.add(true, 1), m.add(false, 1),
		m.flush,
		func() error { return m.retain(Retention{Age: time.Minute}) }, // everything
		m.add(true, 1), m.add(false, 1),
		m.reopen,
		func() error { return m.deleteBefore(m.high) },
		m.add(false, 2), m.add(true, 1),
	}
}

// add appends a batch of so many records.
func (m *machine) add(flush bool, records int) func() error {
	return func() error {
		list := make([]record.Record, records)
		for i := range list {
			list[i] = record.Record{Timestamp: int64(m.count), Value: fmt.Append(nil, m.count, strings.Repeat("x", 20))}
		}
		return m.append(encode(m.t, record.None, list), flush)
	}
}

// addMany appends a batch of more records than bytes.
func (m *machine) addMany() error { return m.append(many(), true) }

// run takes steps until one fails, and compares after each.
func (m *machine) run(steps []func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
		m.check()
	}
	return nil
}

// liveOn: after all that may happen to it each batch must be found, and the log must be able to go on.
func (m *machine) liveOn() {
	m.t.Helper()
	for _, b := range m.written[m.from(m.start):] {
		m.must(m.read(max(m.start, b.h.BaseOffset), 1))
	}
	m.must(m.run([]func() error{m.add(true, 1), m.add(false, 1), m.reopen, m.add(true, 2), m.add(true, 2)}))
}

// newLife makes a machine with a log whose segments hold two or three batches.
func newLife(t *testing.T) *machine {
	return newMachine(&quiet{T: t}, Options{SegmentBytes: 300, FlushInterval: time.Hour}, 1)
}

// quiet keeps what is logged until something is wrong.
type quiet struct {
	*testing.T
	lines []string
}

func (q *quiet) Logf(format string, args ...any) {
	q.lines = append(q.lines, fmt.Sprintf(format, args...))
}

func (q *quiet) Errorf(format string, args ...any) {
	q.Helper()
	q.T.Log(strings.Join(q.lines, "\n"))
	q.T.Errorf(format, args...)
}

func (q *quiet) Fatalf(format string, args ...any) {
	q.Helper()
	q.Errorf(format, args...)
	q.FailNow()
}

// seeds is how often each crash is tried with other luck.
func seeds() uint64 {
	if os.Getenv("LOGKIT_SOAK") != "" {
		return 100
	}
	return 2
}

var modes = []crashfs.Mode{crashfs.ProcessCrash, crashfs.PowerLoss}

// TestCrashAtEveryCall lets a log live, and its process die in each of the calls that can change what is on the disk.
// What comes back must be as the model has it.
func TestCrashAtEveryCall(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			for seed := range seeds() {
				n := 1
				for m := stopped(t, mode, seed, n); m != nil; m = stopped(t, mode, seed, n) {
					m.crash(m.mode, m.seed)
					m.liveOn()
					m.close()
					if t.Failed() {
						t.Fatalf("crash at call %d, seed %d", n, seed)
					}
					n++
				}
				if n < 100 {
					t.Fatalf("a whole life has %d calls", n)
				}
			}
		})
	}
}

// stopped is a log whose process has died in the n-th call of its life, or nil when there are not so many.
func stopped(t *testing.T, mode crashfs.Mode, seed uint64, n int) *machine {
	m := newLife(t)
	m.mode, m.seed = mode, seed<<16+uint64(n)
	m.fsys.StopAt(n)
	err := m.run(m.life())
	if err == nil {
		m.close()
		return nil
	}
	if !errors.Is(err, crashfs.ErrCrashed) {
		t.Fatalf("call %d: %v", n, err)
	}
	return m
}

// TestCrashAtEveryCallOfRecovery lets the process die, and then the power fail in each of the calls of the start.
func TestCrashAtEveryCallOfRecovery(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			crashes := 0
			for seed := range seeds() {
				for n := int(seed%5) + 1; ; n += 5 {
					calls := crashTwice(t, mode, seed, n)
					if calls < 0 {
						break
					}
					crashes += calls
				}
			}
			if crashes < 100 {
				t.Errorf("%d crashes while starting", crashes)
			}
		})
	}
}

// crashTwice crashes a life in its n-th call, and the start after it in each of its calls; it returns how many those
// are, or -1 when a life has fewer than n.
func crashTwice(t *testing.T, mode crashfs.Mode, seed uint64, n int) (calls int) {
	for ; ; calls++ {
		m := stopped(t, mode, seed, n)
		if m == nil {
			return -1
		}
		m.mode = crashfs.PowerLoss
		m.again = calls + 1
		m.crash(mode, m.seed)
		m.fsys.StopAt(0)
		m.liveOn()
		m.close()
		if t.Failed() {
			t.Fatalf("crash at call %d, and at call %d of the start, seed %d", n, calls+1, seed)
		}
		if m.again != 0 {
			return calls
		}
	}
}

// faults are errors of the operating system and the calls that it gives them to. passing: the log must go on by itself.
var faults = []struct {
	err     error
	ops     []crashfs.Op
	passing bool
}{
	{syscall.ENOSPC, []crashfs.Op{crashfs.OpCreate, crashfs.OpWrite, crashfs.OpRename}, true},
	{syscall.EMFILE, []crashfs.Op{
		crashfs.OpCreate, crashfs.OpOpenRead, crashfs.OpOpenWrite, crashfs.OpReadDir, crashfs.OpSyncDir,
	}, true},
	{syscall.EIO, []crashfs.Op{
		crashfs.OpCreate, crashfs.OpWrite, crashfs.OpTruncate, crashfs.OpSync, crashfs.OpSyncDir, crashfs.OpRename,
		crashfs.OpRemove,
	}, false},
}

// TestFaultAtEveryCall lets each call fail once. A full disk, or a lack of descriptors, may cost what was refused alone;
// another error may cost the log its writing until it is opened again. Nothing visible goes in any case.
func TestFaultAtEveryCall(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.err.Error(), func(t *testing.T) {
			for n := 1; faultOnce(t, fault.err, fault.ops, fault.passing, n); n++ {
				if t.Failed() {
					t.Fatalf("fault in call %d", n)
				}
			}
		})
	}
}

// faultOnce tells whether a life has n calls of those kinds.
func faultOnce(t *testing.T, fault error, ops []crashfs.Op, passing bool, n int) bool {
	m := newLife(t)
	defer m.close()
	calls := 0
	m.fsys.Before(func(c crashfs.Call) error {
		if !slices.Contains(ops, c.Op) {
			return nil
		}
		if calls++; calls == n {
			m.t.Logf("fault in call: %v", c)
			return fault
		}
		return nil
	})
	m.faults = true
	for _, step := range m.life() {
		if err := step(); err != nil {
			if failed := m.log.Err(); passing && failed != nil && !errors.Is(failed, ErrClosed) {
				m.t.Errorf("the log has failed for good: %v", failed)
			}
			m.after(err)
		}
		m.check()
	}
	happened := calls >= n
	n = 0 // no more
	m.liveOn()
	return happened
}

// TestFlushCoversWhatCameBefore: a batch that is appended while a flush runs is not visible when that one ends, and a
// power loss then takes that batch alone.
func TestFlushCoversWhatCameBefore(t *testing.T) {
	for seed := range uint64(20) {
		m := newLife(t)
		m.must(m.add(true, 1)())
		begun, release := m.fsys.Hold(crashfs.OpSync, ".log")
		durable := make(chan error)
		go func() { durable <- m.add(true, 1)() }()
		<-begun
		before := m.log.Positions()
		again, h := batch(t, record.None, "while the flush runs")
		base, err := m.log.Append(again, h, false)
		if err != nil {
			t.Fatal(err)
		}
		if p := m.log.Positions(); p.HighWatermark != before.HighWatermark || p.Start != before.Start {
			t.Errorf("%+v while the flush runs, %+v before", p, before)
		}
		release()
		m.must(<-durable)
		if p := m.log.Positions(); p.HighWatermark != m.last() {
			t.Errorf("high watermark %d, %d are flushed", p.HighWatermark, m.last())
		}
		m.refused = append(m.refused, written{h: h, data: again}.at(base)) // may be there, or not
		m.crash(crashfs.PowerLoss, seed)
		m.close()
	}
}

// TestAppendAfterRefusedRoll: a segment could not be begun. What was appended meanwhile is all there, also when the power
// failed before the deletion of what had been made of it was durable.
func TestAppendAfterRefusedRoll(t *testing.T) {
	for seed := range uint64(40) {
		m := newMachine(&quiet{T: t}, Options{SegmentBytes: 600, FlushInterval: time.Hour}, 1)
		m.must(m.run([]func() error{m.add(true, 1), m.add(true, 1)}))
		m.fsys.Fail(crashfs.OpSyncDir, logPath, 3, syscall.EMFILE) // two are for the indexes
		err := m.add(true, 30)()
		if !vfs.IsNoDescriptor(err) {
			t.Fatalf("append of a batch that does not fit: %v, want EMFILE", err)
		}
		m.must(m.run([]func() error{m.add(true, 1), m.add(false, 1)})) // these do fit
		if seed == 0 {
			m.must(m.run([]func() error{m.add(true, 30), m.reopen}))
		} else {
			m.crash(crashfs.PowerLoss, seed)
		}
		m.liveOn()
		m.close()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestReadOnFullDisk: indexes that are missing are not needed on the disk to read.
func TestReadOnFullDisk(t *testing.T) {
	m := newLife(t)
	m.must(m.run([]func() error{m.add(true, 3), m.add(true, 3), m.add(true, 3), m.reopen}))
	list, err := m.fsys.ReadDir(logPath)
	m.must(err)
	removed := 0
	for _, entry := range list {
		if ext := filepath.Ext(entry.Name()); ext == segment.IndexSuffix || ext == segment.TimeIndexSuffix {
			m.must(m.fsys.Remove(filepath.Join(logPath, entry.Name())))
			removed++
		}
	}
	if removed < 4 {
		t.Fatalf("%d indexes removed", removed)
	}
	m.fsys.SetCapacity(m.fsys.Used())
	m.full = true
	m.crash(crashfs.ProcessCrash, 1)
	m.must(m.findTime(2))
	m.fsys.SetCapacity(0)
	m.liveOn()
	m.close()
}
