package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"logkit/lib/index"
	"logkit/lib/record"
	"logkit/lib/vfs"
)

// maxIndexBytes bounds what is read of an index file: an entry for every byte position would be absurd already.
const maxIndexBytes = 64 << 20

// recoverBuffer is how many bytes a recovery reads at a time: enough to keep a disk busy, few enough for a processor's cache.
const recoverBuffer = 256 << 10

// Recovery is what reading a segment after a crash, or adopting one, has found.
type Recovery struct {
	Checked int64   // bytes read and found intact
	Cut     int64   // bytes behind the last intact batch that were cut off, or are to be, see Uncut
	Cause   error   // why: what stands there instead of a batch
	Kept    *CutOff // where they are when intact batches were among them; else nil
	Uncut   error   // why they are still in the log; see CutRest
	Damage  []Damage

	Batches int64 // intact batches in the part that was read
	End     int64 // id of the last record + 1; the base id when there is none
	// Claimed is End, or more where a damaged batch below the recovery point says that its records have those ids.
	Claimed int64
	Next    int64 // the smallest id that the next batch may have (DESIGN: next base)
}

// Damage is a range of a .log file below the recovery point that holds no intact batch. It is never cut off.
type Damage struct {
	From, To int64 // byte positions
	Err      error // what is wrong at From
}

// ErrOldFormat: a segment holds messages in a format of Kafka before 0.11, which is not served.
var ErrOldFormat = errors.New("message format 0 or 1, only record batches (format 2) are served")

// Recover opens the segment with base id base in dir for writing after a crash. Everything from the recovery point on
// (the id before which all was durable) is read: the longest run of intact batches is kept, what follows is cut off and
// the rest made durable, for a reader may be shown it next. Batches behind a bad place cannot stay in the log, for what
// comes again of those that were lost would have to go before them; so when there are intact ones, what is cut off is
// copied to a file of its own first (CutSuffix). Where that fails nothing is cut: the log ends before the bad place all
// the same, Recovery.Uncut says why, and nothing may be appended until CutRest has returned nil.
//
// Damage below the recovery point is no trace of the crash; it is reported and stays. Indexes are taken up where they
// agree with the log and built anew from there.
func Recover(env *Env, dir string, base, recoveryPoint int64) (*Writer, Recovery, error) {
	s := Open(env, dir, base)
	file, err := env.FS.OpenWrite(s.LogPath())
	if err != nil {
		return nil, Recovery{}, err
	}
	w := &Writer{Segment: s, file: file}
	r, err := w.recover(recoveryPoint)
	if err != nil {
		file.Close()
		return nil, r, fmt.Errorf("recover %s: %w", s.LogPath(), err)
	}
	w.publish()
	return w, r, nil
}

func (w *Writer) recover(recoveryPoint int64) (Recovery, error) {
	r := Recovery{End: w.base, Claimed: w.base, Next: w.base}
	size, err := w.file.Size()
	if err != nil {
		return r, err
	}
	known, pos := w.knownEntries(recoveryPoint, size)
	// After a failed sync the kernel shows pages that never reached the disk; the sync of a recovery would not write them.
	w.file.DropCache(pos)
	if size, err = w.file.Size(); err != nil {
		return r, err
	}
	k := newWalker(w.LogPath(), w.file, pos, size, w.base)
	if pos > 0 && !k.intactAt(pos, 0) {
		known, pos, k.pos = nil, 0, 0 // where the log ends, if nothing behind it is intact either, the batches before must say
		w.file.DropCache(pos)
	}
	w.index = newIndexBuilder(w.env, w.base, known)
	k.buf = make([]byte, 0, min(max(size-pos, 0), recoverBuffer)) // its own: not freed
	var corrupt *CorruptError
	for {
		h, at, err := k.stepIntact()
		switch {
		case err == nil:
			r.add(h)
			if at != pos || len(w.index.offsets) == 0 {
				w.index.add(h, at)
			}
			continue
		case err == io.EOF:
		case !errors.As(err, &corrupt) && r.End < recoveryPoint:
			return r, err
		case !errors.As(err, &corrupt):
			r.Cut, r.Cause, r.Uncut = size-k.pos, err, err // what the disk cannot read now may be intact
		case r.End < recoveryPoint:
			if last, ok := k.claim(); ok && last < recoveryPoint {
				r.Claimed = last + 1
			}
			if _, err := k.resync(); err != nil {
				return r, err
			}
			r.Damage = append(r.Damage, Damage{From: corrupt.Pos, To: k.pos, Err: corrupt.Err})
			continue
		case k.oldFormat():
			return r, fmt.Errorf("position %d: %w", corrupt.Pos, ErrOldFormat)
		default:
			r.Cut, r.Cause = size-corrupt.Pos, corrupt.Err
		}
		break
	}
	w.size = size - r.Cut
	if r.Cut > 0 {
		w.rest = &uncut{end: size}
		if r.Uncut == nil {
			r.Kept, r.Uncut = w.cutRest()
		}
	}
	return r, w.settle()
}

// oldFormat tells whether an intact message of the formats before record batches stands at pos: no trace of a crash, but
// a log of somebody else that must not be cut off.
func (w *walker) oldFormat() bool {
	b, err := w.bytes(record.EntryHeaderSize)
	if err != nil {
		return false
	}
	h, err := record.ParseEntry(b)
	if err != nil || h.Size() > w.end-w.pos {
		return false
	}
	return w.checkSum(h.CRC, record.EntryCRCStart, h.Size(), record.UpdateEntryCRC) == nil
}

// claim is the last id of what stands at pos, when its header is that of a batch that could be there.
func (w *walker) claim() (last int64, ok bool) {
	b, err := w.bytes(record.HeaderSize)
	if err != nil {
		return 0, false
	}
	h, err := record.ParseHeader(b)
	return h.LastOffset(), err == nil && w.check(h) == nil
}

func (r *Recovery) add(h record.Header) {
	r.Checked += h.Size()
	r.Batches++
	r.End = h.LastOffset() + 1
	r.Claimed = r.End
	r.Next = h.NextBase()
}

// settle makes the file durable, name and all.
func (w *Writer) settle() error {
	if err := w.file.Sync(); err != nil {
		return err
	}
	return w.env.FS.SyncDir(filepath.Dir(w.path))
}

// knownEntries reads the indexes as they are on disk and keeps those entries below the recovery point that can be
// true, together with the position of the batch that the last of them points at: reading begins there. The others may be of
// what a crash has taken away.
func (w *Writer) knownEntries(recoveryPoint, size int64) (*entries, int64) {
	offsets, err := vfs.ReadFile(w.env.FS, w.path+IndexSuffix, maxIndexBytes)
	if err != nil {
		w.distrust(IndexSuffix, err)
		return nil, 0
	}
	x := index.NewOffsets(w.base, bytes.NewReader(offsets), int64(len(offsets)))
	n := 0
	var last index.OffsetEntry
	for ; n < x.Len(); n++ {
		e, err := x.At(n)
		if err != nil || e.Last >= recoveryPoint {
			break
		}
		last = e
	}
	offsets = offsets[:n*index.OffsetEntrySize]
	if err := index.CheckOffsets(w.base, offsets, size); err != nil {
		w.distrust(IndexSuffix, err)
		return nil, 0
	}
	if n == 0 {
		return nil, 0
	}
	k := newWalker(w.LogPath(), w.file, last.Position, size, w.base)
	defer k.free()
	if err := k.confirm(last); err != nil {
		w.distrust(IndexSuffix, err)
		return nil, 0
	}
	times, ok := w.knownTimes(last.Last)
	if !ok {
		return nil, 0 // each entry says what is largest so far: they begin at the beginning or not at all
	}
	return &entries{offsets: offsets, times: times}, last.Position
}

// knownTimes reads the time index up to the entry for id last.
func (w *Writer) knownTimes(last int64) (times []byte, ok bool) {
	times, err := vfs.ReadFile(w.env.FS, w.path+TimeIndexSuffix, maxIndexBytes)
	if err != nil {
		w.distrust(TimeIndexSuffix, err)
		return nil, false
	}
	x := index.NewTimes(w.base, bytes.NewReader(times), int64(len(times)))
	n := 0
	for ; n < x.Len(); n++ {
		if e, err := x.At(n); err != nil || e.Last > last {
			break
		}
	}
	times = times[:n*index.TimeEntrySize]
	if err := index.CheckTimes(w.base, times, last+1); err != nil {
		w.distrust(TimeIndexSuffix, err)
		return nil, false
	}
	return times, true
}

func (w *Writer) distrust(suffix string, err error) {
	if !isMissing(err) {
		w.env.Logger.Warn("index built again from the log", "segment", w.LogPath(), "file", w.path+suffix, "reason", err)
	}
}
