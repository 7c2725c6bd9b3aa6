package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"logkit/lib/vfs"
)

// ErrExists: a file that was to be written is there already. It stays as it is.
var ErrExists = errors.New("file exists")

// Salvage writes the intact batches of a log to another segment: give it those that an Inspector finds, in order. It
// leaves out what a Sieve keeps back. End it with Close or Abort.
type Salvage struct {
	FS vfs.FS
	// Target is a file that is not there yet, or a directory: then the segment is named after its first id, gets its
	// indexes, and is followed by another one when it is full.
	Target string

	Batches, Bytes int64    // written
	Files          []string // written, in order

	sieve  Sieve
	inDir  bool
	tmp    vfs.File
	name   string // what tmp becomes
	base   int64
	format Format
	size   int64
	index  *indexBuilder
}

// Left is how many batches that check have been left out.
func (s *Salvage) Left() int64 { return s.sieve.Left }

// Add takes a batch, and writes it when it is clear that it belongs to the log.
func (s *Salvage) Add(b *Batch) error {
	s.sieve.Keep = s.keep
	return s.sieve.Add(nil, b)
}

func (s *Salvage) keep(_ *File, b *Batch) error {
	if s.tmp == nil && len(s.Files) == 0 {
		info, err := s.FS.Stat(s.Target)
		s.inDir = err == nil && info.IsDir()
	}
	if s.tmp != nil && (s.size+b.Size > math.MaxInt32 || b.Last-s.base > math.MaxInt32) {
		if err := s.finish(); err != nil {
			return err
		}
	}
	if s.tmp == nil {
		if err := s.begin(b); err != nil {
			return err
		}
	}
	return s.write(b)
}

func (s *Salvage) begin(b *Batch) error {
	s.base, s.size, s.format = b.Base, 0, b.Format
	s.index = newIndexBuilder(b.Base)
	s.name = s.Target
	switch {
	case s.inDir:
		suffix := ".log"
		if b.Format == Format07 {
			suffix = ".kafka"
		}
		s.name = filepath.Join(s.Target, fmt.Sprintf("%020d", b.Base)+suffix)
	case len(s.Files) > 0:
		return fmt.Errorf("%s: more than a segment can hold, a directory can be given instead: %w", s.Target, ErrFull)
	}
	if _, err := s.FS.Stat(s.name); err == nil {
		return fmt.Errorf("%s: %w", s.name, ErrExists)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := s.FS.Create(s.name + ".tmp")
	s.tmp = file
	return err
}

// ErrFull: a segment can not hold more.
var ErrFull = errors.New("segment is full")

func (s *Salvage) write(b *Batch) error {
	if _, err := s.tmp.WriteAt(b.Bytes, s.size); err != nil {
		return err
	}
	s.index.add(b, s.size)
	s.size += b.Size
	s.Batches++
	s.Bytes += b.Size
	return nil
}

// finish makes the file that is being written durable, under its name.
func (s *Salvage) finish() error {
	file := s.tmp
	s.tmp = nil
	err := file.Sync()
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := s.FS.Rename(s.name+".tmp", s.name); err != nil {
		return err
	}
	s.Files = append(s.Files, s.name)
	if s.inDir && s.format != Format07 {
		s.index.addTime()
		if err := writeIndexes(s.FS, s.name, s.index.offsets, s.index.times); err != nil {
			return err
		}
	}
	return s.FS.SyncDir(filepath.Dir(s.name))
}

// Close ends the writing. Without an error, all that was added is durable.
func (s *Salvage) Close() error {
	if err := s.sieve.Flush(); err != nil {
		return err
	}
	if s.tmp == nil {
		return nil
	}
	return s.finish()
}

// Abort throws away what has been written since the last whole file.
func (s *Salvage) Abort() {
	if s.tmp != nil {
		s.tmp.Close()
		s.FS.Remove(s.name + ".tmp")
		s.tmp = nil
	}
}

// Name is what a segment must be called that begins with the first batch of the last file.
func (s *Salvage) Name() string {
	if s.format == Format07 {
		return fmt.Sprintf("%020d.kafka", s.base)
	}
	return fmt.Sprintf("%020d.log", s.base)
}

// writeIndexes replaces the indexes of the log at path, durably.
func writeIndexes(fsys vfs.FS, path string, offsets, times []byte) error {
	f := Classify(path)
	if err := vfs.WriteFileAtomic(fsys, f.withSuffix(".index"), offsets); err != nil {
		return err
	}
	return vfs.WriteFileAtomic(fsys, f.withSuffix(".timeindex"), times)
}
