package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pgregory.net/rapid"

	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
	"logkit/lib/vfs/crashfs"
)

// machine is a log, the crashing file system under it, what a data directory would remember of it, and its model.
type machine struct {
	t       rapid.TB
	fsys    *crashfs.FS
	options Options
	env     *segment.Env
	log     *Log // never nil, except while it is opened
	faults  bool // calls may fail for reasons of their own
	full    bool // or because the disk is full
	mode    crashfs.Mode
	seed    uint64 // mode and seed of the crash that is to come
	again   int    // the call of the next start to crash in; 0: none

	// The model.
	count   int       // batches there have been
	written []written // all that are in the log, and those that were deleted from its start
	refused []written // those that may yet turn up behind them: a crash can put together what was written of one
	start   int64
	high    int64
	saved   []int64 // what the file that remembers the start can hold
	unsaved bool    // it does not hold the last one, for the disk is full: a segment below that may be gone all the same
}

// written is a batch as it is in the log, base id and all.
type written struct {
	h       record.Header
	data    []byte
	records []record.Record
}

func encode(t rapid.TB, codec record.Codec, records []record.Record) written {
	b := record.NewBuilder(codec)
	for _, r := range records {
		b.Append(r)
	}
	data, err := b.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := record.ParseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	return written{h, data, records}
}

// many is a batch of more records than bytes.
var many = sync.OnceValue(func() written {
	b := record.NewBuilder(record.Zstd)
	records := slices.Repeat([]record.Record{{Timestamp: 50}}, 2500)
	for _, r := range records {
		b.Append(r)
	}
	data, err := b.Finish(nil)
	if err != nil {
		panic(err)
	}
	h, err := record.ParseHeader(data)
	if err != nil || h.Size() >= int64(h.Count) {
		panic(fmt.Sprintf("%d bytes: %v", h.Size(), err))
	}
	return written{h, data, records}
})

const dataPath, logPath = "/data", "/data/log"

func newMachine(t rapid.TB, options Options, indexInterval int64) *machine {
	m := &machine{t: t, options: options}
	m.options.SaveStart = m.saveStart
	m.env = &segment.Env{Logger: slog.New(slog.NewTextHandler(logWriter{m}, nil)), IndexInterval: indexInterval}
	m.begin()
	return m
}

// begin makes an empty log on another file system.
func (m *machine) begin() {
	m.fsys, m.saved, m.unsaved = crashfs.New(1), []int64{0}, false
	m.written, m.refused, m.start, m.high, m.faults, m.full, m.again = nil, nil, 0, 0, false, false, 0
	m.must(m.fsys.MkdirAll(logPath))
	m.must(m.fsys.SyncDir("/"))
	m.must(m.fsys.SyncDir(dataPath))
	m.must(m.open())
}

// logWriter gives what the log says to the test.
type logWriter struct{ m *machine }

func (w logWriter) Write(line []byte) (int, error) {
	w.m.t.Logf("  %s", bytes.TrimSpace(line))
	return len(line), nil
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) close() {
	m.log.Close()
	m.env.Files.Close()
	if n := m.fsys.Descriptors(); n != 0 {
		m.t.Errorf("%d files are still open", n)
	}
}

// save and load keep numbers in a file, as a data directory does for its logs.
func (m *machine) save(name string, numbers ...int64) error {
	return vfs.WriteFileAtomic(m.fsys, dataPath+"/"+name, fmt.Append(nil, numbers))
}

func (m *machine) load(name string) ([]int64, error) {
	data, err := vfs.ReadFile(m.fsys, dataPath+"/"+name, 1000)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var numbers []int64
	for _, field := range strings.Fields(strings.Trim(string(data), "[]")) {
		n, err := strconv.ParseInt(field, 10, 64)
		m.must(err)
		numbers = append(numbers, n)
	}
	return numbers, err
}

func (m *machine) saveStart(start int64) error {
	if start > m.log.Positions().HighWatermark {
		m.t.Errorf("start %d is to be remembered, above the high watermark %d", start, m.log.Positions().HighWatermark)
	}
	m.saved = append(m.saved, start)
	err := m.save("start", start)
	if err == nil {
		m.saved = []int64{start}
	}
	m.unsaved = err != nil && (m.unsaved || vfs.IsNoSpace(err))
	return err
}

// open opens the log as a data directory does: what is remembered of an orderly end is forgotten first.
func (m *machine) open() error {
	m.env.FS, m.env.Files = m.fsys, segment.NewFiles(m.fsys, 2)
	if err := m.fsys.SyncDir(dataPath); err != nil {
		return err
	}
	start, err1 := m.load("start")
	point, err2 := m.load("point")
	clean, err3 := m.load("clean")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	var from Checkpoint
	if start != nil {
		from.Start = start[0]
	}
	if point != nil {
		from.RecoveryPoint = point[0]
	}
	if clean != nil {
		from.Clean = &Clean{Base: clean[0], Size: clean[1], High: clean[2], End: clean[3]}
		if err := m.fsys.Remove(dataPath + "/clean"); err != nil {
			return err
		}
		if err := m.fsys.SyncDir(dataPath); err != nil {
			return err
		}
	}
	log, err := Open(m.env, logPath, m.options, from)
	if err == nil {
		m.log = log
	}
	return err
}

// restart opens the log, after a crash or an orderly end, until that goes well; then the log may have lost what was not visible.
func (m *machine) restart() {
	m.t.Helper()
	for {
		err := m.open()
		if err == nil {
			break
		}
		m.env.Files.Close()
		switch {
		case errors.Is(err, crashfs.ErrCrashed):
			m.t.Logf("crash while opening: %v", err)
			m.fsys = m.fsys.Crash(m.mode, m.seed)
			m.faults, m.again = false, 0
		case !m.faults:
			m.t.Fatalf("open: %v", err)
		}
	}
	m.compare()
}

// crash ends the process, or takes the power away, and starts again.
func (m *machine) crash(mode crashfs.Mode, seed uint64) {
	m.t.Helper()
	next := m.fsys.Crash(mode, seed)
	m.high = max(m.high, m.log.Positions().HighWatermark)
	m.log.Close()
	m.env.Files.Close()
	m.fsys, m.faults = next, false
	if m.again > 0 {
		m.fsys.StopAt(m.again)
	}
	m.restart()
}

// after settles what an action has ended with. Only a file system that fails or crashes may be the cause of an error.
func (m *machine) after(err error) {
	m.t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, crashfs.ErrCrashed):
		m.t.Logf("crash: %v", err)
		m.crash(m.mode, m.seed)
	case !m.faults && !(m.full && vfs.IsNoSpace(err)):
		m.t.Fatalf("error: %v", err)
	case m.log.Err() != nil:
		m.t.Logf("log failed: %v", err)
		if n, err := m.readOn(500); err == nil && n < m.from(m.high) {
			m.t.Errorf("%d batches are read after that, %d were visible", n, m.from(m.high))
		}
		m.log.Close()
		m.env.Files.Close()
		m.restart()
	default:
		m.t.Logf("refused: %v", err)
	}
}
