package inspect

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"logkit/lib/record"
	"logkit/lib/vfs"
)

// Options bound what is believed and used.
type Options struct {
	MaxBatch        int64 // bytes; 0: DefaultMaxBatch
	MaxDecompressed int64 // bytes; 0: record.MaxDecompressed
	Deep            bool  // decode every record
}

// Visitor takes what is found. Any of its functions may be nil. An error ends the inspection and is returned, except
// ErrSkip, which ends that of the file.
type Visitor struct {
	Begin    func(*File) error           // before a log, and before any other file when Entry is there
	Batch    func(*File, *Batch) error   // a batch whose checksum is right; its bytes are valid until it returns
	Entry    func(*File, *Entry) error   // an entry of another file; nil: those are checked, not shown
	Verdict  func(*File, *Verdict) error // also notices: ask Kind.Damage
	End      func(*File) error
	Progress func(f *File, done int64) // bytes of a log that have been read, now and then
}

// ErrSkip is what a function of a Visitor returns to have the rest of the file passed over.
var ErrSkip = errors.New("the rest of the file is not wanted")

// ErrNotSegment: a file is neither named nor shaped like one of a log's, or a directory holds none.
var ErrNotSegment = errors.New("neither named nor shaped like a file of a log")

// Inspector looks at files and directories. It only reads.
type Inspector struct {
	FS vfs.FS
	Options
	Visitor

	only   string  // the one index that is held against its log; "": both
	unread []error // of files beside others that could be read
}

// Path inspects a file, the directory of a partition, or a directory of such directories. Verdicts are no errors; errors
// are ErrNotSegment, those of the file system, and those of the Visitor. A file of a directory that can not be read does
// not keep the rest from being inspected; the error says all that could not be.
func (in *Inspector) Path(path string) error {
	in.unread = nil
	err := in.path(path)
	if len(in.unread) > 0 {
		err = errors.Join(append(in.unread, err)...)
	}
	return err
}

func (in *Inspector) path(path string) error {
	info, err := in.FS.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return in.dir(path, false)
	}
	f := Classify(path)
	file, err := in.open(f)
	if err != nil {
		return err
	}
	defer file.Close()
	if f.Kind == UnknownFile {
		start, err := io.ReadAll(io.NewSectionReader(file, 0, min(f.Size, sniffSize)))
		if err == nil {
			err = sniff(f, start)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	switch {
	case f.Kind == LogFile:
		return in.log(f, file, new(Order))
	case (f.Kind == IndexFile || f.Kind == TimeIndexFile) && in.Entry == nil && f.Base >= 0:
		return in.againstLog(f, file)
	}
	return in.side(f, file)
}

// againstLog holds an index against the log beside it. When there is none, only its structure is looked at.
func (in *Inspector) againstLog(f *File, file vfs.File) error {
	log := Classify(f.withSuffix(".log"))
	data, err := in.open(log)
	if errors.Is(err, fs.ErrNotExist) {
		return in.side(f, file)
	}
	if err != nil {
		return err
	}
	defer data.Close()
	only := &Inspector{FS: in.FS, Options: in.Options, only: f.Path, Visitor: Visitor{Progress: in.Progress, Verdict: func(_ *File, v *Verdict) error {
		if v.File != f.Path {
			return nil
		}
		return in.verdict(f, v)
	}}}
	err = only.log(log, data, new(Order))
	in.unread = append(in.unread, only.unread...)
	return err
}

// Stream inspects a log that comes from r. It is told from its first bytes what it is.
func (in *Inspector) Stream(name string, r io.Reader) error {
	f := &File{Path: name, Base: -1, Size: -1, Format: anyLog}
	b := bufio.NewReaderSize(r, sniffSize)
	// No more is waited for than it takes to be sure: the stream may come slowly.
	for _, format := range []Format{Format07, anyLog} {
		start, _ := b.Peek(maxHead)
		if h, err := parseHead(start, format); err == nil && h.size <= sniffSize {
			start, _ = b.Peek(int(h.size))
			if certain(f, start) {
				return in.scan(f, b, new(Order), nil)
			}
		}
	}
	start, err := b.Peek(sniffSize)
	if err != nil && err != io.EOF {
		return err
	}
	if err := sniff(f, start); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return in.scan(f, b, new(Order), nil)
}

func (in *Inspector) open(f *File) (vfs.File, error) {
	file, err := in.FS.OpenRead(f.Path)
	if err != nil {
		return nil, &unreadError{err}
	}
	if f.Size, err = file.Size(); err != nil {
		file.Close()
		return nil, &unreadError{err}
	}
	return file, nil
}

// unreadError is what a file system says to the reading of one file, which is no reason to leave out the next.
type unreadError struct{ error }

func (e *unreadError) Unwrap() error { return e.error }

// goOn makes nothing of an error that concerns one file alone, and remembers it.
func (in *Inspector) goOn(err error) error {
	var unread *unreadError
	if !errors.As(err, &unread) {
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) { // deleted since the directory was read
		in.unread = append(in.unread, unread.error)
	}
	return nil
}

// source reads a file from its beginning.
func source(file vfs.File, size int64) io.Reader {
	return &fileReader{io.NewSectionReader(file, 0, size)}
}

type fileReader struct{ r io.Reader }

func (f *fileReader) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if err != nil && err != io.EOF {
		err = &unreadError{err}
	}
	return n, err
}

// sniffSize is how many bytes at most are looked at to find out what a file without a telling name is.
const sniffSize = 1 << 20

// certain tells whether a log begins with b, because its first batch checks.
func certain(f *File, b []byte) bool {
	for _, format := range []Format{anyLog, Format07} {
		h, err := parseHead(b, format)
		if err == nil && h.size <= int64(len(b)) && h.sum(b[:h.size]) == h.crc && (format == anyLog || h.size > record.HeaderSize07) {
			f.Kind, f.Format = LogFile, format
			return true
		}
	}
	return false
}

// sniff finds out what a file is from its beginning: a log when a batch in it checks, or when it begins like one.
func sniff(f *File, b []byte) error {
	if certain(f, b) {
		return nil
	}
	first := func(format Format) (at int64) {
		s := NewScanner(bytes.NewReader(b), ScanOptions{Base: -1, Size: -1, Format: format})
		for {
			item, err := s.Next()
			if err != nil {
				return -1
			}
			if item.Batch != nil {
				return item.Batch.Position
			}
		}
	}
	at07 := first(Format07)
	_, err := parseHead(b, anyLog)
	switch {
	case at07 == 0:
		f.Format = Format07
	case first(anyLog) > 0:
	case err == nil && looksLikeHead(b): // a batch that is damaged, or longer than what was read
	default:
		return ErrNotSegment
	}
	f.Kind = LogFile
	return nil
}

// looksLikeHead tells whether a head that could be parsed has nothing in it that no program would write.
func looksLikeHead(b []byte) bool {
	const unknownAttributes = 0x80
	return b[0]&0x80 == 0 && (b[magicAt] < 2 && b[17]&0xf0 == 0 || b[magicAt] == 2 && b[attributesAt] == 0 && b[attributesAt+1]&unknownAttributes == 0)
}

// side inspects a file that is no log.
func (in *Inspector) side(f *File, r vfs.File) error {
	var failed error
	s := &side{file: f, say: func(v *Verdict) {
		if failed == nil {
			failed = in.verdict(f, v)
		}
	}}
	if in.Entry != nil {
		s.entry = func(e *Entry) error { return in.Entry(f, e) }
		if in.Begin != nil {
			if err := in.Begin(f); err != nil {
				return skipped(err)
			}
		}
	}
	err := s.read(source(r, f.Size))
	if err == nil {
		err = failed
	}
	if err == nil && in.Entry != nil && in.End != nil {
		err = in.End(f)
	}
	return skipped(err)
}

func skipped(err error) error {
	if errors.Is(err, ErrSkip) {
		return nil
	}
	return err
}
