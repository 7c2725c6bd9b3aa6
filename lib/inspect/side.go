package inspect

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
)

// Entry is one entry of a file beside the log.
type Entry struct {
	Position int64 // byte in the file; of a text, the line
	Fields   []Field
}

// Field is a column of an entry: an int64 or a string.
type Field struct {
	Name  string
	Value any
}

// side reads a file that is no log, giving its entries and verdicts away as they come. Only the structure is looked at.
type side struct {
	file  *File
	entry func(*Entry) error
	say   func(*Verdict)
}

func (s *side) emit(position int64, fields ...Field) error {
	if s.entry == nil {
		return nil
	}
	return s.entry(&Entry{Position: position, Fields: fields})
}

// maxSideFile bounds what is read of a file at once, in bytes: some million producers, or lines.
const maxSideFile = 64 << 20

func (s *side) read(r io.Reader) error {
	switch s.file.Kind {
	case IndexFile, TimeIndexFile:
		return s.index(r)
	case TxnIndexFile:
		return s.txnIndex(r)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxSideFile+1))
	switch {
	case err != nil:
		return err
	case len(data) > maxSideFile:
		s.bad(0, fmt.Sprintf("at most %d bytes", maxSideFile), "more")
		return nil
	}
	switch s.file.Kind {
	case SnapshotFile:
		return s.snapshot(data)
	case SettingsFile:
		return s.settings(data)
	case QuorumFile:
		return s.quorum(data)
	case MetadataFile:
		return s.metadata(string(data))
	case PropertiesFile:
		return s.properties(string(data))
	case MarkerFile:
		return nil
	}
	return s.text(string(data))
}

func (s *side) bad(position int64, expected, found string) {
	s.say(&Verdict{Kind: BadFile, File: s.file.Path, Position: position, ID: NoID, Expected: expected, Found: found})
}

func (s *side) index(r io.Reader) error {
	base := max(0, s.file.Base)
	if s.file.Kind == IndexFile {
		c := newOffsetCheck(s.file.Path, r, s.file.Size, base, s.say)
		for ; c.have; c.read() {
			if err := s.emit(c.at, Field{"offset", c.entry.Last}, Field{"log_position", c.entry.Position}); err != nil {
				return err
			}
		}
		c.finish()
		return c.trouble
	}
	c := newTimeCheck(s.file.Path, r, s.file.Size, base, s.say)
	for ; c.have; c.read() {
		if err := s.emit(c.at, Field{"timestamp", c.entry.Timestamp}, Field{"offset", c.entry.Last}); err != nil {
			return err
		}
	}
	c.finish()
	return c.trouble
}

// txnEntrySize is that of an aborted transaction: version int16, producer id, first and last id, last stable id, int64s.
const txnEntrySize = 34

func (s *side) txnIndex(r io.Reader) error {
	e := newEntryReader(s.file.Path, r, s.file.Size, txnEntrySize, s.say)
	previous := int64(-1)
	for {
		b, pos, err := e.next()
		if err == io.EOF {
			e.finish()
			return nil
		}
		if err != nil {
			return err
		}
		u64 := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
		version, producer, first, last, stable := int64(int16(binary.BigEndian.Uint16(b))), u64(2), u64(10), u64(18), u64(26)
		switch {
		case version != 0:
			e.complain(&Verdict{Kind: BadFile, Position: pos, End: e.pos, Expected: "version 0", Found: fmt.Sprint(version)})
		case producer < 0 || first < 0 || last < first || stable < 0:
			e.complain(&Verdict{Kind: BadFile, Position: pos, End: e.pos, Expected: "producer and ids of a transaction",
				Found: fmt.Sprintf("producer %d with ids %d to %d, stable %d", producer, first, last, stable)})
		case last <= previous:
			e.complain(&Verdict{Kind: IndexOrder, Position: pos, End: e.pos, Expected: fmt.Sprintf("a last id above %d", previous), Found: fmt.Sprint(last)})
		}
		previous = max(previous, last)
		if err := s.emit(pos, Field{"version", version}, Field{"producer_id", producer}, Field{"first_offset", first},
			Field{"last_offset", last}, Field{"last_stable_offset", stable}); err != nil {
			return err
		}
	}
}

// Sizes in bytes of a producer snapshot.
const (
	snapshotHead  = 10 // version int16, CRC-32C of all behind it uint32, number of entries int32
	snapshotEntry = 46
)

func (s *side) snapshot(data []byte) error {
	if len(data) < snapshotHead {
		s.bad(0, fmt.Sprintf("a header of %d bytes", snapshotHead), count(int64(len(data)), "byte"))
		return nil
	}
	if version := int16(binary.BigEndian.Uint16(data)); version != 1 {
		s.bad(0, "version 1", fmt.Sprint(version))
		return nil
	}
	expected, found := binary.BigEndian.Uint32(data[2:]), crc32.Checksum(data[6:], castagnoli)
	if expected != found {
		s.say(&Verdict{Kind: BadCRC, File: s.file.Path, Position: 2, ID: NoID, Expected: hex8(expected), Found: hex8(found)})
	}
	entries := data[snapshotHead:]
	if n := int64(int32(binary.BigEndian.Uint32(data[6:]))); n*snapshotEntry != int64(len(entries)) {
		s.bad(6, fmt.Sprintf("%d producers of %d bytes", n, snapshotEntry), count(int64(len(entries)), "byte"))
	}
	for pos := snapshotHead; len(entries) >= snapshotEntry; pos, entries = pos+snapshotEntry, entries[snapshotEntry:] {
		u64 := func(at int) int64 { return int64(binary.BigEndian.Uint64(entries[at:])) }
		u32 := func(at int) int64 { return int64(int32(binary.BigEndian.Uint32(entries[at:]))) }
		if err := s.emit(int64(pos), Field{"producer_id", u64(0)}, Field{"producer_epoch", int64(int16(binary.BigEndian.Uint16(entries[8:])))},
			Field{"last_sequence", u32(10)}, Field{"last_offset", u64(14)}, Field{"offset_delta", u32(22)}, Field{"timestamp", u64(26)},
			Field{"coordinator_epoch", u32(34)}, Field{"current_txn_first_offset", u64(38)}); err != nil {
			return err
		}
	}
	return nil
}

// text reads the files that are lines.
func (s *side) text(data string) error {
	lines := strings.Split(strings.TrimSuffix(data, "\n"), "\n")
	if lines[0] != "0" {
		s.bad(1, "version 0", short(lines[0]))
		return nil
	}
	if s.file.Kind == ProducerIDFile {
		return s.producerID(lines[1:])
	}
	if len(lines) < 2 {
		s.bad(2, "a number of entries", "the end")
		return nil
	}
	entries := lines[2:]
	if n, err := strconv.ParseInt(lines[1], 10, 64); err != nil || n != int64(len(entries)) {
		s.bad(2, fmt.Sprintf("the number of entries, %d", len(entries)), short(lines[1]))
	}
	var previous []int64
	for i, line := range entries {
		fields := strings.Fields(line)
		var err error
		if s.file.Kind == EpochsFile {
			previous, err = s.epoch(int64(i)+3, fields, line, previous)
		} else {
			err = s.offsets(int64(i)+3, fields, line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func numbers(fields []string) (list []int64, ok bool) {
	for _, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil, false
		}
		list = append(list, n)
	}
	return list, true
}

// epoch is a line of leader-epoch-checkpoint: an epoch and its first id, both rising. The last may begin at the end.
func (s *side) epoch(line int64, fields []string, text string, previous []int64) ([]int64, error) {
	n, ok := numbers(fields)
	if !ok || len(n) != 2 {
		s.bad(line, "EPOCH ID", short(text))
		return previous, nil
	}
	if previous != nil && (n[0] <= previous[0] || n[1] < previous[1]) {
		s.bad(line, fmt.Sprintf("more than epoch %d from id %d", previous[0], previous[1]), short(text))
	}
	return n, s.emit(line, Field{"epoch", n[0]}, Field{"start_offset", n[1]})
}

// cleanFields are the numbers of a line of logd's clean-shutdown.
var cleanFields = []string{"base_offset", "size", "high_watermark", "next_offset"}

// offsets is a line of a checkpoint file: a partition and an id, or in clean-shutdown four numbers.
func (s *side) offsets(line int64, fields []string, text string) error {
	names := []string{"offset"}
	if strings.HasSuffix(s.file.Path, "clean-shutdown") {
		names = cleanFields
	}
	if len(fields) != 2+len(names) {
		s.bad(line, "TOPIC PARTITION "+strings.ToUpper(strings.Join(names, " ")), short(text))
		return nil
	}
	n, ok := numbers(fields[1:])
	if !ok || n[0] < 0 {
		s.bad(line, "TOPIC PARTITION "+strings.ToUpper(strings.Join(names, " ")), short(text))
		return nil
	}
	e := []Field{{"topic", fields[0]}, {"partition", n[0]}}
	for i, name := range names {
		if n[i+1] < 0 {
			s.bad(line, "an id", short(text))
		}
		e = append(e, Field{name, n[i+1]})
	}
	return s.emit(line, e...)
}

// short is a piece of text that is safe and short enough to be shown.
func short(text string) string {
	const most = 60
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strconv.Quote(text)
}
