package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"logkit/lib/index"
	"logkit/lib/record"
	"logkit/lib/vfs"
)

// MaxBytes is the largest size of a segment's .log file: positions in an index are int32.
const MaxBytes = math.MaxInt32

// Env is what all segments of a data directory share.
type Env struct {
	FS     vfs.FS
	Files  *Files
	Logger *slog.Logger
	// IndexInterval is how many bytes of log lie between two index entries, at least; Kafka's log.index.interval.bytes.
	IndexInterval int64
}

// Segment is the read side of one segment. All methods may be called from several goroutines; they take the number of
// bytes that may be looked at (limit) from the caller, who knows what is durable.
type Segment struct {
	env  *Env
	path string // without suffix
	log  string // of the .log file: every read asks for it
	base int64

	// written holds the indexes while the segment is being written, or when the disk did not take them, and is nil when
	// they are in their files.
	written atomic.Pointer[entries]
	rebuild sync.Mutex   // one rebuild at a time
	size    atomic.Int64 // see Size; 0: not known
}

// entries are the encoded indexes of a segment that is being written. The writer replaces the whole; the bytes that a
// reader has seen never change.
type entries struct{ offsets, times []byte }

// Open names the segment with base id base in dir. It touches no file: they are opened when they are read.
func Open(env *Env, dir string, base int64) *Segment {
	path := Path(dir, base)
	return &Segment{env: env, path: path, log: path + LogSuffix, base: base}
}

// Base is the id of the first record, and the name of the files.
func (s *Segment) Base() int64 { return s.base }

// LogPath is the path of the .log file.
func (s *Segment) LogPath() string { return s.log }

// Size is the length of the .log file in bytes. That of a segment that is not being written does not change, and the disk is
// asked for it once.
func (s *Segment) Size() (int64, error) {
	if size := s.size.Load(); size > 0 {
		return size, nil
	}
	sealed := s.written.Load() == nil
	info, err := s.env.FS.Stat(s.LogPath())
	if err != nil {
		return 0, err
	}
	if sealed {
		s.size.Store(info.Size())
	}
	return info.Size(), nil
}

// ModTime is when the .log file was last appended to, by the clock of the file system.
func (s *Segment) ModTime() (time.Time, error) {
	info, err := s.env.FS.Stat(s.LogPath())
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// Born is when the segment was begun, by the clock of the file system; where that does not know, when it was last appended
// to.
func (s *Segment) Born() (time.Time, error) {
	born, err := s.env.FS.Born(s.LogPath())
	if err == nil && born.IsZero() {
		return s.ModTime()
	}
	return born, err
}

// Log opens the .log file for reading; release the handle after use.
func (s *Segment) Log() (*Handle, error) { return s.env.Files.Open(s.LogPath()) }

// Remove deletes the files of the segment; a missing one is no error. Readers that hold a handle may finish. Only
// SyncDir of the directory makes it durable.
func (s *Segment) Remove() error {
	var errs []error
	// The log goes first: indexes without a log are ignored, a log without indexes would have them built again.
	for _, suffix := range []string{LogSuffix, IndexSuffix, TimeIndexSuffix} {
		if err := s.env.FS.Remove(s.path + suffix); err != nil && !isMissing(err) {
			errs = append(errs, err)
		}
	}
	s.Forget()
	return errors.Join(errs...)
}

// Forget closes the files of the segment that nobody reads. Call it when they have been moved or deleted from outside.
func (s *Segment) Forget() {
	for _, suffix := range []string{LogSuffix, IndexSuffix, TimeIndexSuffix} {
		s.env.Files.Forget(s.path + suffix)
	}
}

// offsets is the offset index, wherever it is. Call release after the last use of it.
func (s *Segment) offsets() (x index.Offsets, release func(), err error) {
	source, size, release, err := s.index(IndexSuffix, func(e *entries) []byte { return e.offsets })
	return index.NewOffsets(s.base, source, size), release, err
}

// times is the time index, wherever it is. Call release after the last use of it.
func (s *Segment) times() (x index.Times, release func(), err error) {
	source, size, release, err := s.index(TimeIndexSuffix, func(e *entries) []byte { return e.times })
	return index.NewTimes(s.base, source, size), release, err
}

// index is one of the indexes, in memory or in its file, building both again when that is missing.
func (s *Segment) index(suffix string, in func(*entries) []byte) (source io.ReaderAt, size int64, release func(), err error) {
	for rebuilt := false; ; rebuilt = true {
		if e := s.written.Load(); e != nil {
			data := in(e)
			return bytes.NewReader(data), int64(len(data)), func() {}, nil
		}
		h, err := s.env.Files.Open(s.path + suffix)
		if isMissing(err) && !rebuilt {
			if err := s.rebuildIndexes(errors.New(suffix + " is missing")); err != nil {
				return nil, 0, nil, err
			}
			continue
		}
		if err != nil {
			return nil, 0, nil, err
		}
		if size, err = h.Size(); err != nil {
			h.Release()
			return nil, 0, nil, err
		}
		return h, size, h.Release, nil
	}
}

// rebuildIndexes makes both indexes from the log, in their files, or in memory when the disk does not take them. When the
// log cannot be read they stay as they are. It is for a segment that is not being written: a writer has its own.
func (s *Segment) rebuildIndexes(reason error) error {
	s.rebuild.Lock()
	defer s.rebuild.Unlock()
	began := time.Now()
	size, err := s.Size()
	if err != nil {
		return err
	}
	h, err := s.Log()
	if err != nil {
		return err
	}
	defer h.Release()
	b := newIndexBuilder(s.env, s.base, nil)
	w := newWalker(s.LogPath(), h, 0, size, s.base)
	defer w.free()
	for {
		batch, err := walkTo(w, func(record.Header) bool { return true })
		if err == io.EOF {
			break
		}
		if err != nil { // an index that ends here would hide what is behind
			return err
		}
		b.add(batch.Header, batch.Pos)
	}
	b.finish()
	if err := s.saveIndexes(b.entries()); err != nil {
		// A full disk keeps nobody from reading.
		s.env.Logger.Error("index stays in memory", "segment", s.LogPath(), "reason", err)
		s.written.Store(b.entries())
	}
	if _, err := s.env.FS.Stat(s.LogPath()); isMissing(err) {
		s.Remove() // retention has deleted the segment meanwhile, and the indexes before they were written once more
		return err
	}
	s.env.Logger.Warn("index built again from the log", "segment", s.LogPath(), "reason", reason, "bytes", size, "took", time.Since(began))
	return nil
}

// saveIndexes replaces both index files, durably. The time index goes first: one that is ahead of the offset index can be
// cut to what that knows of, but one that is behind would pass for complete, see knownTimes.
func (s *Segment) saveIndexes(e *entries) error {
	for _, index := range []struct {
		suffix string
		data   []byte
	}{{TimeIndexSuffix, e.times}, {IndexSuffix, e.offsets}} {
		if err := vfs.WriteFileAtomic(s.env.FS, s.path+index.suffix, index.data); err != nil {
			return fmt.Errorf("index of %s: %w", s.LogPath(), err)
		}
		s.env.Files.Forget(s.path + index.suffix)
	}
	return nil
}
