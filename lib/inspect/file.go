package inspect

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// FileKind is what a file is.
type FileKind int8

const (
	UnknownFile    FileKind = iota
	LogFile                 // .log, .kafka, and the snapshots of KRaft (.checkpoint)
	IndexFile               // .index
	TimeIndexFile           // .timeindex
	TxnIndexFile            // .txnindex: aborted transactions
	SnapshotFile            // .snapshot: idempotent producers
	EpochsFile              // leader-epoch-checkpoint
	OffsetsFile             // *-offset-checkpoint, and logd's clean-shutdown
	MetadataFile            // partition.metadata
	PropertiesFile          // meta.properties: whose data directory it is
	ProducerIDFile          // logd's producer-id-block
	SettingsFile            // logd's topic-settings.json
	QuorumFile              // quorum-state of KRaft
	MarkerFile              // .lock, .kafka_cleanshutdown: that it is there is what it says
)

var kindNames = [...]string{"unknown", "log", "index", "timeindex", "txnindex", "snapshot", "leader-epochs", "checkpoint", "metadata",
	"properties", "producer-id", "settings", "quorum-state", "marker"}

func (k FileKind) String() string { return kindNames[k] }

// ofSegment tells whether files of this kind belong to a segment and are nothing without its log.
func (k FileKind) ofSegment() bool { return k == IndexFile || k == TimeIndexFile || k == TxnIndexFile }

// File is a file being inspected.
type File struct {
	Path string
	Kind FileKind
	// Base is the id in the name, negative when there is none that counts.
	Base      int64
	Size      int64  // bytes, negative when not known
	Format    Format // Format07, or another
	Leftover  string // .deleted, .cleaned, .swap, .tmp, or .cut-POSITION of logd; "" otherwise
	InDir     bool   // found in a directory, not named by the caller
	Topic     string // from the directory's name; "" when that is none of a partition
	Partition int32

	last bool // the last segment of its directory
}

// IsCut tells whether the file holds what a recovery of logd has cut off a log.
func (f *File) IsCut() bool { return strings.HasPrefix(f.Leftover, ".cut-") }

// leftOver says what a file is that is left over.
func (f *File) leftOver() string {
	if f.IsCut() {
		at, _, _ := strings.Cut(strings.TrimPrefix(f.Leftover, ".cut-"), "-")
		return "what a recovery has cut off the log at position " + at + ", " + count(f.Size, "byte")
	}
	return "a " + f.Kind.String() + " file, " + f.Leftover[1:]
}

// Aside tells whether the file was found in a directory and is no part of the log there: left over, or a snapshot.
func (f *File) Aside() bool {
	return f.InDir && (f.Leftover != "" || f.Kind == LogFile && f.Base < 0)
}

var (
	leftovers  = []string{".deleted", ".cleaned", ".swap", ".tmp"}
	cutName    = regexp.MustCompile(`^([0-9]{20}[.]log)([.]cut-[0-9]+(?:-[0-9]+)?)$`)
	digits20   = regexp.MustCompile(`^[0-9]{20}$`)
	kraftName  = regexp.MustCompile(`^[0-9]{20}-[0-9]{10}$`)
	partitionN = regexp.MustCompile(`^(.+)-([0-9]{1,10})(?:[.][0-9a-fA-F]+-(?:delete|future|stray))?$`)
)

// suffixes of files that are named after an id.
var suffixes = map[string]FileKind{
	".log": LogFile, ".kafka": LogFile, ".index": IndexFile, ".timeindex": TimeIndexFile, ".txnindex": TxnIndexFile, ".snapshot": SnapshotFile,
}

// named are the files that have always the same name.
var named = map[string]FileKind{
	"leader-epoch-checkpoint": EpochsFile, "partition.metadata": MetadataFile, "clean-shutdown": OffsetsFile,
	"meta.properties": PropertiesFile, "producer-id-block": ProducerIDFile, "topic-settings.json": SettingsFile,
	"quorum-state": QuorumFile, "bootstrap.checkpoint": LogFile, ".lock": MarkerFile, ".kafka_cleanshutdown": MarkerFile,
}

// Classify tells by its name what a file is. Nothing is read.
func Classify(path string) *File {
	f := &File{Path: path, Base: -1, Size: -1, Format: anyLog}
	name := filepath.Base(path)
	for _, suffix := range leftovers {
		if rest, ok := strings.CutSuffix(name, suffix); ok {
			name, f.Leftover = rest, suffix
		}
	}
	if dir, err := filepath.Abs(filepath.Dir(path)); err == nil {
		f.Topic, f.Partition, _ = parsePartition(filepath.Base(dir))
	}
	if m := cutName.FindStringSubmatch(name); m != nil {
		f.Kind = LogFile // its ids do not begin with the one in its name
		if f.Leftover == "" {
			f.Leftover = m[2]
		}
		return f
	}
	stem, suffix := splitSuffix(name)
	switch {
	case named[name] != UnknownFile:
		f.Kind = named[name]
	case strings.HasSuffix(name, "-offset-checkpoint"):
		f.Kind = OffsetsFile
	case suffix == ".checkpoint" && kraftName.MatchString(stem):
		f.Kind = LogFile // its ids do not begin with the one in its name, where the snapshot ends
	case suffixes[suffix] != UnknownFile:
		f.Kind = suffixes[suffix]
		if suffix == ".kafka" {
			f.Format = Format07
		}
		if digits20.MatchString(stem) {
			if base, err := strconv.ParseInt(stem, 10, 64); err == nil {
				f.Base = base
			}
		}
	}
	return f
}

func splitSuffix(name string) (stem, suffix string) {
	suffix = filepath.Ext(name)
	return strings.TrimSuffix(name, suffix), suffix
}

// parsePartition splits the name of a partition's directory, also of one that is being deleted or moved.
func parsePartition(name string) (topic string, partition int32, ok bool) {
	m := partitionN.FindStringSubmatch(name)
	if m == nil {
		return "", 0, false
	}
	n, err := strconv.ParseInt(m[2], 10, 32)
	if err != nil {
		return "", 0, false
	}
	return m[1], int32(n), true
}

// withSuffix is the path of the file of the same segment with another suffix.
func (f *File) withSuffix(suffix string) string {
	path := strings.TrimSuffix(f.Path, f.Leftover)
	return strings.TrimSuffix(path, filepath.Ext(path)) + suffix + f.Leftover
}
