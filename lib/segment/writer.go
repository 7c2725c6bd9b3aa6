package segment

import (
	"fmt"
	"math"
	"path/filepath"

	"logkit/lib/record"
	"logkit/lib/vfs"
)

// Writer is a segment that is appended to. Its methods are for one goroutine at a time, except Sync, which may run
// beside Append: it covers what was appended before it began.
type Writer struct {
	*Segment
	file  vfs.File
	size  int64 // bytes of whole batches
	index *indexBuilder
	rest  *uncut // what stands behind size since a recovery; nil: nothing
}

// Create makes an empty segment with base id base in dir. A file of that name without contents is taken over; one with
// contents is an error, for it may be somebody's data. The name is durable on return.
func Create(env *Env, dir string, base int64) (*Writer, error) {
	s := Open(env, dir, base)
	if size, err := s.Size(); err == nil && size > 0 {
		return nil, fmt.Errorf("%s has %d bytes already", s.LogPath(), size)
	} else if err != nil && !isMissing(err) {
		return nil, err
	}
	if err := s.Remove(); err != nil { // indexes that a deleted segment has left behind
		return nil, err
	}
	file, err := env.FS.Create(s.LogPath())
	if err != nil {
		return nil, err
	}
	w := &Writer{Segment: s, file: file, index: newIndexBuilder(env, base, nil)}
	if err := env.FS.SyncDir(filepath.Dir(s.path)); err != nil {
		if left := w.discard(); left != nil {
			return nil, &TornError{Write: err, Cut: left}
		}
		return nil, err
	}
	w.publish()
	return w, nil
}

// discard deletes the files of a segment that nothing has been appended to.
func (w *Writer) discard() error {
	w.file.Close()
	return w.Remove()
}

// Size is the number of bytes appended.
func (w *Writer) Size() int64 { return w.size }

// Fits tells whether a batch of size bytes whose last id is last can go into this segment, when a segment may have
// limit bytes: an empty one takes any.
func (w *Writer) Fits(size, last, limit int64) bool {
	return last-w.base <= math.MaxInt32 && (w.size == 0 || w.size+size <= min(limit, MaxBytes))
}

// Append writes a batch, whose base id is set, with one write(2). It is not durable before Sync. When the disk refuses,
// the file is cut back to where it was; an error of that is joined, and then the file must not be written any more.
func (w *Writer) Append(batch []byte, h record.Header) error {
	if _, err := w.file.WriteAt(batch, w.size); err != nil {
		if cut := w.file.Truncate(w.size); cut != nil {
			return &TornError{Write: err, Cut: cut}
		}
		return err
	}
	if w.index.add(h, w.size) {
		w.publish()
	}
	w.size += int64(len(batch))
	return nil
}

// TornError: a call was refused, and what it left behind could not be cut off or deleted.
type TornError struct{ Write, Cut error }

func (e *TornError) Error() string   { return fmt.Sprintf("%v; then %v", e.Write, e.Cut) }
func (e *TornError) Unwrap() []error { return []error{e.Write, e.Cut} }

func (w *Writer) publish() { w.written.Store(w.index.entries()) }

// Sync makes what was appended durable.
func (w *Writer) Sync() error { return w.file.Sync() }

// IndexSaver returns a function that writes the indexes as they are at the call to their files, so that after a crash the
// log need not be read from its start. What they point at must be durable then. It may run beside Append and Sync, but
// must have ended before any other method is called.
func (w *Writer) IndexSaver() func() error {
	entries := w.index.entries()
	return func() error { return w.saveIndexes(entries) }
}

// Conclude writes the indexes to their files as they must be before another segment follows. What was appended must be
// durable. Appending may go on when none does follow.
func (w *Writer) Conclude() error {
	w.index.finish()
	return w.saveIndexes(w.index.entries())
}

// ConcludeExpired is Conclude for a segment that is to be deleted. When there is no room for its indexes they are deleted,
// durably: whoever reads it until then has them built again.
func (w *Writer) ConcludeExpired() error {
	err := w.Conclude()
	if !vfs.IsNoSpace(err) {
		return err
	}
	for _, suffix := range []string{TimeIndexSuffix, IndexSuffix} {
		if err := w.env.FS.Remove(w.path + suffix); err != nil && !isMissing(err) {
			return err
		}
		w.env.Files.Forget(w.path + suffix)
	}
	return w.env.FS.SyncDir(filepath.Dir(w.path))
}

// Seal ends the writing of a segment that is concluded: it becomes one like all others.
func (w *Writer) Seal() {
	w.written.Store(nil)
	w.file.Close() // everything is synced: its error would say nothing about the data
}

// Abandon closes the file without saving anything.
func (w *Writer) Abandon() error { return w.file.Close() }
