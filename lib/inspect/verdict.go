package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Kind says what is wrong, or worth knowing. Its text is what JSON shows.
type Kind string

// Verdicts on the batches of a log.
const (
	TornTail      Kind = "torn_tail"      // the log ends within a batch
	ZeroTail      Kind = "zero_tail"      // the log ends in zeros
	Zeros         Kind = "zeros"          // zeros between batches
	BadMagic      Kind = "bad_magic"      // no format that exists
	BadLength     Kind = "bad_length"     // a length that can not be, or is not that of the batch
	TooLarge      Kind = "too_large"      // more bytes than the limit
	Bomb          Kind = "bomb"           // more bytes than the limit when decompressed
	BadCRC        Kind = "bad_crc"        // the checksum is not that of the bytes
	Malformed     Kind = "malformed"      // the checksum is right and the contents contradict themselves
	CodecMismatch Kind = "codec_mismatch" // said to be uncompressed, and compressed all the same
	IDsBack       Kind = "ids_back"       // ids below those before
	Duplicate     Kind = "duplicate"      // a batch that was there already
	MissingBatch  Kind = "missing_batch"  // a gap in a log that has none
	IDRange       Kind = "id_range"       // an id too far from the segment's base for an index
	EpochBack     Kind = "epoch_back"     // a leader epoch below the one before
	Join          Kind = "join"           // a segment that does not begin where the one before ends
)

// Verdicts on the files beside a log.
const (
	IndexEntry Kind = "index_entry" // an entry that points wrong
	IndexOrder Kind = "index_order" // entries that do not rise
	IndexSize  Kind = "index_size"  // no whole number of entries
	BadFile    Kind = "bad_file"    // contents that are not those of such a file
	MissingLog Kind = "missing_log" // an index, or a partition, without a log
)

// Notices: no damage.
const (
	Preallocated Kind = "preallocated" // a zero tail up to a round size, as Kafka makes it with log.preallocate
	Leftover     Kind = "leftover"     // a file that a compaction, a deletion or a crash has left, or that is being made
	Growing      Kind = "growing"      // the log is being written to
)

// Damage tells whether a verdict of this kind says that something is wrong.
func (k Kind) Damage() bool { return k != Preallocated && k != Leftover && k != Growing && k != "" }

// IsRange tells whether a verdict of this kind is on bytes that are no batch, rather than on a batch or on an entry.
func (k Kind) IsRange() bool {
	switch k {
	case TornTail, ZeroTail, Zeros, BadMagic, BadLength, BadCRC, TooLarge, Preallocated:
		return true
	}
	return false
}

var kindTexts = map[Kind]string{
	TornTail: "torn tail", ZeroTail: "zero tail", Zeros: "zeros", BadMagic: "bad magic", BadLength: "bad length", TooLarge: "too large", Bomb: "decompresses to too much",
	BadCRC: "bad crc", Malformed: "malformed", CodecMismatch: "codec mismatch", IDsBack: "ids go back", Duplicate: "duplicated batch",
	MissingBatch: "missing batch", IDRange: "id out of range", EpochBack: "leader epoch goes back", Join: "segments do not join",
	IndexEntry: "index entry points wrong", IndexOrder: "index entries out of order", IndexSize: "index has a partial entry",
	BadFile: "bad contents", MissingLog: "log is missing", Preallocated: "preallocated", Leftover: "leftover", Growing: "being written",
}

// Kinds are all of them, in the order of their names.
func Kinds() []Kind { return slices.Sorted(maps.Keys(kindTexts)) }

// String is the kind in words, as verdicts have it.
func (k Kind) String() string {
	if text, ok := kindTexts[k]; ok {
		return text
	}
	return string(k)
}

// NoID is the id of a verdict that concerns none.
const NoID = -1

// Verdict is one thing found in a file.
type Verdict struct {
	Kind     Kind
	File     string
	Position int64  // byte in the file where it begins
	End      int64  // byte behind it: where reading goes on
	ID       int64  // of the batch, or the smallest it can have; NoID when there is none to name
	EndID    int64  // on bytes that are no batch: ids from ID up to, and without, this one are lost at most; 0: not known
	Records  int64  // on bytes that are no batch: how many the head says that they are, right or wrong; 0: not known
	Expected string // what should be there
	Found    string // what is
}

// Error is the verdict on one line, without the name of a tool.
func (v *Verdict) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: position %d", v.File, v.Position)
	if v.End > v.Position {
		fmt.Fprintf(&b, " to %d", v.End)
	}
	switch {
	case v.ID >= 0 && v.EndID > v.ID:
		fmt.Fprintf(&b, ": ids %d to %d", v.ID, v.EndID)
	case v.ID >= 0:
		fmt.Fprintf(&b, ": id %d", v.ID)
	}
	if v.Records > 0 {
		fmt.Fprintf(&b, ": %s by its header", count(v.Records, "record"))
	}
	b.WriteString(": " + v.Kind.String())
	if v.Expected != "" {
		b.WriteString(": expected " + v.Expected)
	}
	if v.Found != "" {
		if v.Expected == "" {
			b.WriteString(": found ")
		} else {
			b.WriteString(", found ")
		}
		b.WriteString(v.Found)
	}
	return b.String()
}

// hex8 is how checksums are shown.
func hex8(crc uint32) string { return fmt.Sprintf("%08x", crc) }

func count(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + one + "s"
}
