package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"

	"logkit/lib/record"
)

// CutSuffix stands between the name of a .log file and the position at which a recovery has cut it, in the name of the
// file that keeps what was cut off: 00000000000000000000.log.cut-81920. A second one of the same position has -2 behind
// it, and so on. Nothing takes such a file for a part of the log, and nothing but a person deletes it.
const CutSuffix = ".cut-"

// CutOff describes what a recovery has cut off with intact batches in it, and the file that keeps it: from the place
// that was no batch, or not the one that must stand there, to the end of the log, byte for byte.
type CutOff struct {
	Path        string // of the file; "" while there is none
	Batches     int64  // intact ones
	First, Last int64  // the smallest and the largest id in them
	// Unsure: the search was given up, for something looks like ever so many batches, and what was found is not all that
	// there may be.
	Unsure bool
}

// uncut is what stands behind the last intact batch, up to the end of the file, and is to be cut off.
type uncut struct {
	end   int64
	found *CutOff // what is in it; nil: not known yet
}

// CutRest does what Recover could not, see Recovery.Uncut: it keeps the intact batches behind the end of the log in a
// file of their own and cuts the log. It is durable on return. The CutOff is nil when none were there, or nothing was
// left to do. After an error the log is as it was, and another try may be made.
func (w *Writer) CutRest() (*CutOff, error) {
	if w.rest == nil {
		return nil, nil
	}
	kept, err := w.cutRest()
	if err != nil {
		return nil, err
	}
	return kept, w.settle()
}

// cutRest is CutRest, except that the cut is not durable on return.
func (w *Writer) cutRest() (kept *CutOff, err error) {
	if w.rest.found == nil {
		if w.rest.found, err = w.survey(w.size, w.rest.end); err != nil {
			return nil, fmt.Errorf("look for intact batches behind position %d: %w", w.size, err)
		}
	}
	if found := *w.rest.found; found.Batches > 0 || found.Unsure {
		if found.Path, err = w.keep(w.size, w.rest.end); err != nil {
			return nil, fmt.Errorf("keep the %d bytes behind position %d: %w", w.rest.end-w.size, w.size, err)
		}
		kept = &found
	}
	if err := w.file.Truncate(w.size); err != nil {
		return nil, err
	}
	w.rest = nil
	return kept, nil
}

// surveyFactor is how many times its own length the search through a tail may read of it, in vain: bytes that look like
// the headers of long batches can make it read everything for each of them.
const surveyFactor = 8

// survey counts the intact batches in [from, to). One whose id is wrong has its records all the same, so ids count only
// where a batch is searched for.
func (w *Writer) survey(from, to int64) (*CutOff, error) {
	found := &CutOff{First: math.MaxInt64, Last: -1}
	k := newWalker(w.LogPath(), w.file, from, to, 0)
	defer k.free()
	k.reach = reach(w.base)
	k.budget = surveyFactor * (to - from)
	for k.pos < k.end {
		h, ok, err := k.intactHere()
		if err != nil {
			return nil, err
		}
		if ok {
			found.Batches++
			found.First = min(found.First, h.BaseOffset)
			found.Last = max(found.Last, h.LastOffset())
			k.pos += h.Size()
			continue
		}
		if _, err := k.resync(); err == errBudget {
			found.Unsure = true
			break
		} else if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// intactHere tells whether a whole batch with the right checksum stands at pos, whatever its ids. err is one of reading.
func (w *walker) intactHere() (h record.Header, ok bool, err error) {
	if w.end-w.pos < record.HeaderSize {
		return h, false, nil
	}
	b, err := w.bytes(record.HeaderSize)
	if err != nil {
		return h, false, err
	}
	h, bad := record.ParseHeader(b)
	if bad != nil || h.Size() > w.end-w.pos {
		return h, false, nil
	}
	err = w.checkSum(h.CRC, record.CRCStart, h.Size(), record.UpdateCRC)
	if isCorrupt(err) {
		return h, false, nil
	}
	return h, err == nil, err
}

// keep copies [from, to) of the log to a file beside it and makes that durable, name and all. One that is there already,
// from a recovery that did not come to its end, will do; no other is touched.
func (w *Writer) keep(from, to int64) (path string, err error) {
	for n := 1; ; n++ {
		path = fmt.Sprintf("%s%s%d", w.LogPath(), CutSuffix, from)
		if n > 1 {
			path = fmt.Sprintf("%s-%d", path, n)
		}
		same, err := w.sameIn(path, from, to)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, w.copyTo(path, from, to)
		case err != nil:
			return "", err
		case same:
			return path, w.env.FS.SyncDir(filepath.Dir(path))
		}
	}
}

// sameIn tells whether the file at path has exactly the bytes [from, to) of the log, and syncs it then: the process that
// wrote it may have died before.
func (w *Writer) sameIn(path string, from, to int64) (bool, error) {
	file, err := w.env.FS.OpenWrite(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	if size, err := file.Size(); err != nil || size != to-from {
		return false, err
	}
	same := true
	err = w.pieces(from, to, func(at int64, piece []byte) error {
		other := make([]byte, len(piece))
		if _, err := file.ReadAt(other, at); err != nil && err != io.EOF {
			return err
		}
		if !bytes.Equal(piece, other) {
			same = false
			return io.EOF
		}
		return nil
	})
	if !same || err != nil {
		return false, err
	}
	return true, file.Sync()
}

// copyTo writes [from, to) of the log to a file that is not there yet. What a crash or an error leaves of it is named
// path.tmp, which the next start deletes.
func (w *Writer) copyTo(path string, from, to int64) error {
	tmp := path + ".tmp"
	file, err := w.env.FS.Create(tmp)
	if err != nil {
		return err
	}
	err = w.pieces(from, to, func(at int64, piece []byte) error {
		_, err := file.WriteAt(piece, at)
		return err
	})
	if err == nil {
		err = file.Sync()
	}
	if failed := file.Close(); err == nil {
		err = failed
	}
	if err == nil {
		err = w.env.FS.Rename(tmp, path)
	}
	if err != nil {
		w.env.FS.Remove(tmp) // on a full disk others need the room; else the next start does it
		return err
	}
	return w.env.FS.SyncDir(filepath.Dir(path))
}

// pieces calls do for each piece of [from, to) of the log, with the position from the start of the range. io.EOF ends it.
func (w *Writer) pieces(from, to int64, do func(at int64, piece []byte) error) error {
	buf := make([]byte, min(to-from, 1<<20))
	for pos := from; pos < to; pos += int64(len(buf)) {
		buf = buf[:min(to-pos, int64(len(buf)))]
		if n, err := w.file.ReadAt(buf, pos); n < len(buf) {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if err := do(pos-from, buf); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}
