package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"logkit/lib/vfs"
)

// dir inspects a directory. Those in a nested one are not looked at: no partition is in another.
func (in *Inspector) dir(path string, nested bool) error {
	names, err := in.FS.ReadDir(path)
	if err != nil {
		return &unreadError{err}
	}
	var logs, rest []*File
	var partitions []string
	for _, entry := range names {
		mode := entry.Type()
		_, _, isPartition := parsePartition(entry.Name())
		if f := Classify(entry.Name()); mode&fs.ModeSymlink != 0 && (isPartition || f.Kind != UnknownFile) {
			info, err := in.FS.Stat(filepath.Join(path, entry.Name()))
			if err != nil {
				in.unread = append(in.unread, err)
				continue
			}
			mode = info.Mode().Type()
		}
		if mode.IsDir() && isPartition && !nested {
			partitions = append(partitions, filepath.Join(path, entry.Name()))
		}
		if !mode.IsRegular() { // reading a pipe might never end
			continue
		}
		f := Classify(filepath.Join(path, entry.Name()))
		f.InDir = true
		switch {
		case f.Kind == UnknownFile, f.Kind == MarkerFile:
		case f.Kind == LogFile && f.Base >= 0 && f.Leftover == "":
			logs = append(logs, f)
		default:
			rest = append(rest, f)
		}
	}
	if len(logs)+len(rest) == 0 {
		return in.dirs(path, partitions)
	}
	slices.SortFunc(logs, func(a, b *File) int { return cmp.Compare(a.Base, b.Base) })
	if err := in.logs(path, logs); err != nil {
		return err
	}
	for _, f := range rest {
		if err := in.goOn(in.beside(f, logs)); err != nil {
			return err
		}
	}
	if err := in.missing(path, logs, rest); err != nil {
		return err
	}
	return in.partitions(partitions)
}

// dirs inspects a directory that has no files of a log itself. A data directory may be without a partition too.
func (in *Inspector) dirs(path string, partitions []string) error {
	if _, err := in.FS.Stat(filepath.Join(path, "meta.properties")); err != nil && len(partitions) == 0 {
		return fmt.Errorf("%s: %w", path, ErrNotSegment)
	}
	return in.partitions(partitions)
}

func (in *Inspector) partitions(paths []string) error {
	for _, path := range paths {
		if err := in.goOn(in.dir(path, true)); err != nil && !errors.Is(err, ErrNotSegment) {
			return err
		}
	}
	return nil
}

// logs inspects the segments of a partition in order. A broker may be at work: it deletes the oldest, and a directory that
// is changed while it is read need not show all files.
func (in *Inspector) logs(dir string, logs []*File) error {
	order := &Order{hint: in.layoutHint(dir)}
	before := "" // the segment before
	for i, f := range logs {
		for {
			missed := in.unlisted(dir, order, f.Base)
			if missed == nil || missed.Path == before {
				break
			}
			if err := in.inOrder(missed, order); err != nil {
				return err
			}
			before = missed.Path
		}
		if before != "" && !in.exists(before) {
			order.damaged = true // and so may have been those behind it
		}
		f.last = i == len(logs)-1
		if err := in.inOrder(f, order); err != nil {
			return err
		}
		before = f.Path
	}
	return nil
}

// unlisted is a segment that goes on where the log ends, before base, and was not in the directory when that was read.
func (in *Inspector) unlisted(dir string, order *Order, base int64) *File {
	if !order.known || order.damaged {
		return nil
	}
	for _, next := range []int64{order.exact, order.next} {
		f := Classify(filepath.Join(dir, fmt.Sprintf("%020d.log", next)))
		if f.InDir = true; next < base && next > order.base && in.exists(f.Path) {
			return f
		}
	}
	return nil
}

// inOrder inspects the next segment of a partition.
func (in *Inspector) inOrder(f *File, order *Order) error {
	file, err := in.open(f)
	if err == nil {
		err = in.ordered(f, file, order)
		file.Close()
	} else {
		order.damaged = true // the next one need not join what was not read
	}
	return in.goOn(err)
}

// ordered inspects a segment of a partition. An empty one has no batch that would show where it stands.
func (in *Inspector) ordered(f *File, file vfs.File, order *Order) error {
	if f.Size == 0 {
		if v := order.beginEmpty(f); v != nil {
			if err := in.verdict(f, v); err != nil {
				return skipped(err)
			}
		}
	}
	return in.log(f, file, order)
}

// layoutHint looks whether the directory around that of a partition is logd's.
func (in *Inspector) layoutHint(dir string) Layout {
	const mostBytes = 1 << 20
	data, err := vfs.ReadFile(in.FS, filepath.Join(dir, "..", "meta.properties"), mostBytes)
	if err == nil && strings.Contains(string(data), "\nincarnation=") {
		return Positions
	}
	return UnknownLayout
}

// beside inspects a file that is no segment of the log: indexes have been held against theirs already.
func (in *Inspector) beside(f *File, logs []*File) error {
	if f.Leftover == "" && (f.Kind == IndexFile || f.Kind == TimeIndexFile) && in.Entry == nil &&
		slices.ContainsFunc(logs, func(l *File) bool { return l.Base == f.Base }) {
		return nil
	}
	file, err := in.open(f)
	if err != nil {
		return err
	}
	defer file.Close()
	if f.Leftover != "" {
		if err := in.verdict(f, &Verdict{Kind: Leftover, File: f.Path, ID: NoID, Found: f.leftOver()}); err != nil {
			return skipped(err)
		}
	}
	if f.IsCut() || f.Leftover == ".tmp" {
		return nil // damaged by what it is, or half written
	}
	if f.Kind == LogFile {
		return in.log(f, file, new(Order))
	}
	return in.side(f, file)
}

func (in *Inspector) verdict(f *File, v *Verdict) error {
	if in.Verdict == nil {
		return nil
	}
	return in.Verdict(f, v)
}

// missing says which logs are not there, though there are files that are nothing without them. Where the log begins is
// where a deletion goes on: what it has left in front of that is no damage, and neither is an index with nothing in it.
func (in *Inspector) missing(dir string, logs, rest []*File) error {
	var orphans, others []*File
	ofPartition := false
	for _, f := range rest {
		ofPartition = ofPartition || f.Kind.ofSegment() || f.Kind == SnapshotFile || f.Kind == EpochsFile || f.Kind == MetadataFile
		switch {
		case f.Kind == LogFile && !f.IsCut():
			others = append(others, f)
		case f.Leftover == "" && f.Kind.ofSegment() && f.Base >= 0:
			orphans = append(orphans, f)
		}
	}
	said := int64(-1)
	for _, f := range orphans {
		sameBase := func(l *File) bool { return l.Base == f.Base }
		if f.Base == said || slices.ContainsFunc(logs, sameBase) || slices.ContainsFunc(others, sameBase) {
			continue
		}
		kind := MissingLog
		if len(logs) > 0 && (f.Base < logs[0].Base || f.Size == 0) {
			kind = Leftover
		}
		log := f.withSuffix(".log")
		if !in.exists(f.Path) || in.exists(log) {
			continue // somebody is at work here
		}
		said = f.Base
		v := &Verdict{Kind: kind, File: f.Path, ID: f.Base, Expected: filepath.Base(log) + " beside it", Found: "none"}
		if err := in.verdict(f, v); err != nil {
			return skipped(err)
		}
	}
	if said >= 0 || len(logs) > 0 || len(others) > 0 || !ofPartition || !livePartition(dir) {
		return nil
	}
	f := &File{Path: dir, Base: -1, Size: -1, InDir: true}
	return skipped(in.verdict(f, &Verdict{Kind: MissingLog, File: dir, ID: NoID, Expected: "a log in the directory of a partition", Found: "none"}))
}

func (in *Inspector) exists(path string) bool {
	_, err := in.FS.Stat(path)
	return err == nil
}

// livePartition tells whether dir has the name of a partition that is not being deleted.
func livePartition(dir string) bool {
	if path, err := filepath.Abs(dir); err == nil {
		dir = path
	}
	_, _, ok := parsePartition(filepath.Base(dir))
	return ok && !strings.HasSuffix(dir, "-delete")
}
