package logdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"logkit/lib/commitlog"
	"logkit/lib/record"
	"logkit/lib/vfs/crashfs"
)

// TestCrashAtEveryCall lets a data directory live, and its process die in each of the calls that can change what is on
// the disk. Whatever was told to be so is so after the next start: the identity, topics made and deleted, settings, and
// every record that was visible.
func TestCrashAtEveryCall(t *testing.T) {
	seeds := uint64(1)
	if os.Getenv("LOGKIT_SOAK") != "" {
		seeds = 50
	}
	for _, mode := range []crashfs.Mode{crashfs.ProcessCrash, crashfs.PowerLoss} {
		t.Run(mode.String(), func(t *testing.T) {
			for seed := range seeds {
				n := 1
				for crashOnce(t, mode, seed, n) {
					n++
				}
				if n < 200 {
					t.Errorf("a whole life has %d calls", n)
				}
			}
		})
	}
}

// crashOnce crashes a life in its n-th call, and tells whether there are so many.
func crashOnce(t *testing.T, mode crashfs.Mode, seed uint64, n int) bool {
	w := newWorld(t)
	defer w.close()
	w.fsys.StopAt(n)
	err := w.run(w.life())
	if err == nil {
		w.fsys.StopAt(0)
		return false
	}
	if !errors.Is(err, crashfs.ErrCrashed) {
		t.Fatalf("call %d: %v", n, err)
	}
	seed = seed<<16 + uint64(n)
	w.crash(mode, seed)
	// What one process has seen, and not made durable, must be so for the next one too.
	w.crash(crashfs.PowerLoss, seed)
	if err := w.run(w.afterlife()); err != nil {
		t.Fatalf("crash at call %d, then: %v", n, err)
	}
	if t.Failed() {
		t.Fatalf("crash at call %d, seed %d", n, seed)
	}
	return true
}

// world is a data directory, the file system that it is on, and what its user has been told.
type world struct {
	t      *testing.T
	fsys   *crashfs.FS
	dir    *Dir
	topics map[string]*told

	incarnation string
	joined      bool
}

// told is what is known of a topic. While a call changes it nothing is.
type told struct {
	partitions int32
	deleted    bool
	setting    string
	logs       map[int32]*records
}

// records are those of a log: all of which the broker has taken, in order. Those below high were visible.
type records struct {
	list        []stored
	start, high int64
	wanted      int64 // the start that has been asked for
}

type stored struct {
	id    int64
	value string
}

const dataDir = "/var/lib/logkit/data"

func newWorld(t *testing.T) *world {
	return &world{t: t, fsys: crashfs.New(1), topics: map[string]*told{}}
}

func (w *world) life() []func() error {
	return []func() error{
		w.open,
		w.join,
		w.create("a", 2, "1000"),
		w.append("a", 0, true), w.append("a", 1, true), w.append("a", 1, false),
		w.checkpoint,
		w.append("a", 0, true), w.append("a", 0, true), w.append("a", 0, true),
		w.create("b", 1, ""),
		w.append("b", 0, true),
		w.deleteBefore("a", 0, 2),
		w.reopen,
		w.append("a", 0, true), w.append("b", 0, false),
		w.remove("b"),
		w.create("b", 2, "2000"),
		w.append("b", 0, true), w.append("b", 1, true),
		w.add("a", 4),
		w.append("a", 3, true), w.append("a", 3, false),
		w.expire,
		w.append("a", 1, true),
		w.set("a", "3000"),
		w.checkpoint,
		w.reopen,
		w.append("a", 0, true), w.append("a", 2, true),
	}
}

// afterlife is what must work whatever has happened before.
func (w *world) afterlife() []func() error {
	return []func() error{
		w.create("c", 2, "7"),
		w.append("c", 0, true), w.append("c", 1, false),
		w.reopen,
		w.append("c", 1, true),
		w.remove("c"),
		w.reopen,
	}
}

// run takes steps until one fails.
func (w *world) run(steps []func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) open() (err error) {
	w.dir, err = Open(w.fsys, dataDir, Options{
		Log:           commitlog.Options{SegmentBytes: 250, FlushInterval: time.Hour},
		IndexInterval: 1, OpenFiles: 3, CheckpointInterval: time.Hour, RetentionCheck: time.Hour,
	})
	if err != nil {
		return err
	}
	if w.incarnation == "" {
		w.incarnation = w.dir.Incarnation()
	}
	w.check()
	return nil
}

func (w *world) join() error {
	err := w.dir.Join(clusterID, brokerID)
	w.joined = w.joined || err == nil
	return err
}

func (w *world) reopen() error {
	if err := w.dir.Close(); err != nil {
		return err
	}
	for _, topic := range w.topics {
		for _, log := range topic.logs {
			log.high = max(log.high, log.end()) // an orderly end flushes
		}
	}
	return w.open()
}

func (w *world) close() {
	if err := w.dir.Close(); err != nil {
		w.t.Error(err)
	}
	if n := w.fsys.Descriptors(); n != 0 {
		w.t.Errorf("%d files are still open", n)
	}
}

// crash ends the process, or takes the power away, and starts again.
func (w *world) crash(mode crashfs.Mode, seed uint64) {
	w.t.Helper()
	w.fsys = w.fsys.Crash(mode, seed)
	if w.dir != nil {
		w.dir.Close() // it cannot write any more
	}
	if err := w.open(); err != nil {
		w.t.Fatalf("open after a %v: %v", mode, err)
	}
}

// change makes a step of something that changes a topic: in between it is not known.
func (w *world) change(topic string, call func() error, after func(*told)) func() error {
	return func() error {
		old := w.topics[topic]
		if old == nil {
			old = &told{}
		}
		delete(w.topics, topic)
		if err := call(); err != nil {
			return err
		}
		after(old)
		w.topics[topic] = old
		return nil
	}
}

func (w *world) create(topic string, partitions int32, retention string) func() error {
	return w.change(topic, func() error { return create(w.dir, topic, partitions, settings(retention)) }, func(s *told) {
		*s = told{partitions: partitions, setting: retention, logs: map[int32]*records{}}
	})
}

func settings(retention string) Settings {
	if retention == "" {
		return nil
	}
	return Settings{"retention.ms": retention}
}

func (w *world) remove(topic string) func() error {
	return w.change(topic, func() error { return w.dir.Delete(topic) }, func(s *told) { s.deleted = true })
}

func (w *world) add(topic string, partitions int32) func() error {
	return func() error {
		err := addPartitions(w.dir, topic, partitions)
		if err == nil {
			w.topics[topic].partitions = partitions
		}
		return err
	}
}

func (w *world) set(topic, retention string) func() error {
	return w.change(topic, func() error { return w.dir.SetSettings(topic, settings(retention)) },
		func(s *told) { s.setting = retention })
}

func (w *world) checkpoint() error { return w.dir.Checkpoint() }

// expire deletes all segments.
func (w *world) expire() error {
	for name, topic := range w.topics {
		for number, known := range topic.logs {
			log, _ := w.dir.Log(name, number)
			if err := log.Flush(); err != nil {
				return err
			}
			known.high, known.wanted = known.end(), known.end()
		}
	}
	w.dir.Retain(time.Now().Add(time.Hour))
	if _, err := w.fsys.Stat("/"); err != nil {
		return err
	}
	for _, topic := range w.topics {
		for _, log := range topic.logs {
			log.start = log.wanted
		}
	}
	return nil
}

func (w *world) deleteBefore(topic string, number int32, records int) func() error {
	return func() error {
		log, _ := w.dir.Log(topic, number)
		known := w.topics[topic].logs[number]
		known.wanted = known.list[records].id
		_, err := log.DeleteBefore(known.wanted)
		if err == nil {
			known.start = known.wanted
		}
		return err
	}
}

// append writes a batch of two records.
func (w *world) append(topic string, number int32, flush bool) func() error {
	return func() error {
		known := w.topics[topic].logs[number]
		if known == nil {
			known = &records{}
			w.topics[topic].logs[number] = known
		}
		b := record.NewBuilder(record.None)
		values := make([]string, 2)
		for i := range values {
			values[i] = fmt.Sprintf("%s-%d record %d", topic, number, len(known.list)+i)
			b.Append(record.Record{Timestamp: 1, Value: []byte(values[i])})
		}
		data, err := b.Finish(nil)
		if err != nil {
			return err
		}
		h, err := record.ParseHeader(data)
		if err != nil {
			return err
		}
		log, _ := w.dir.Log(topic, number)
		base, err := log.Append(data, h, flush)
		if err != nil {
			return err
		}
		for i, value := range values {
			known.list = append(known.list, stored{base + int64(i), value})
		}
		if !flush {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = log.WaitVisible(ctx, base+1)
		known.high = max(known.high, log.Positions().HighWatermark)
		return err
	}
}

func (r *records) end() int64 {
	if n := len(r.list); n > 0 {
		return r.list[n-1].id + 1
	}
	return 0
}
