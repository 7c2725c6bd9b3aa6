package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"logkit/lib/cli"
	"logkit/lib/vfs"
)

// undo is the file of --undo-file, in the course of a run. It has the lines of an export. As long as the reset is not
// finished a line stands before them that names it,
//
//	{"unfinished":"--topic t --to latest","group":"g"}
//
// so that a run that finishes it adds to the file, instead of beginning one that has only the rest: what was kept of a
// partition first is where it was before the reset. A nil undo does nothing.
type undo struct {
	path   string
	intent string // what is to be done, in the words of the command line
	group  named
	before []byte         // what the file held; nil where there was none
	begun  []saved        // of it, what is of this very reset, which is not finished; else nil
	at     map[spot]saved // the same, by partition
	all    []saved        // what this run has written; nil for nothing
}

type spot struct {
	topic     string
	partition int32
}

// unfinished is the line that stands before the offsets.
type unfinished struct {
	Unfinished  string  `json:"unfinished"`
	Group       *string `json:"group"`
	GroupBase64 []byte  `json:"group_base64,omitempty"`
}

func (u *unfinished) name() string {
	return (&saved{Group: u.Group, GroupBase64: u.GroupBase64}).name()
}

// parseUnfinished returns nil for any other line.
func parseUnfinished(line []byte) *unfinished {
	var has map[string]json.RawMessage
	var u unfinished
	if json.Unmarshal(line, &has) != nil || has["unfinished"] == nil || json.Unmarshal(line, &u) != nil {
		return nil
	}
	return &u
}

// checkUndo refuses a file that can not be written, before anything is asked or moved, and goes on with the one that a
// symbolic link leads to.
func (o *options) checkUndo() error {
	if o.undoFile == "" || !o.execute {
		return nil
	}
	file, err := cli.StateFile(o.undoFile)
	if err != nil {
		return fmt.Errorf("--undo-file: %w", err)
	}
	dir := filepath.Dir(file) // it is replaced by renaming: what counts is the directory
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("--undo-file: directory %s: %w", dir, err)
	}
	o.undoFile = file
	return nil
}

// openUndo reads what the file holds.
func (o *options) openUndo(group, intent string) (*undo, error) {
	if o.undoFile == "" {
		return nil, nil
	}
	u := &undo{path: o.undoFile, intent: intent, group: name(group)}
	text, err := os.ReadFile(u.path)
	if errors.Is(err, fs.ErrNotExist) {
		return u, nil
	}
	if err != nil {
		return nil, fmt.Errorf("undo file: %w", err)
	}
	u.before = text
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if was := parseUnfinished(first); was == nil || was.Unfinished != intent || was.name() != group {
		return u, nil
	}
	lines, err := readSaved(bytes.NewReader(text))
	if err != nil {
		return u, nil // not by this tool: it is kept beside
	}
	u.begun, u.at = lines, map[spot]saved{}
	for _, l := range lines {
		u.at[spot{l.Topic, l.Partition}] = l
	}
	return u, nil
}

// target is where a partition was to go when the reset was begun, if it was begun and has not been moved by others since.
func (u *undo) target(topic string, partition int32, committed int64) (int64, bool) {
	if u == nil {
		return 0, false
	}
	l, found := u.at[spot{topic, partition}]
	if !found || l.To == nil || committed != *l.To && committed != offsetOf(l.Offset) {
		return 0, false
	}
	return *l.To, true
}

// begin writes where the partitions are that are to be moved. Those that the reset has begun with before keep what is
// written of them. What the file held of anything else goes to FILE~: it may be the only trace of the offsets that a run
// has left half way.
func (u *undo) begin(rows []*moved) error {
	if u == nil {
		return nil
	}
	lines := slices.Clone(u.begun)
	for i := range lines { // to where the rest goes now
		lines[i].To = nil
	}
	place := map[spot]*saved{}
	for i, l := range lines {
		place[spot{l.Topic, l.Partition}] = &lines[i]
	}
	for _, m := range rows {
		if l := place[spot{m.Topic, m.Partition}]; l != nil {
			l.To = m.To
		} else if m.from != m.to {
			lines = append(lines, saved{m.Group, m.GroupBase64, m.Topic, m.Partition, m.From, m.To})
		}
	}
	if u.begun == nil && u.before != nil {
		if err := vfs.WriteFileAtomic(vfs.OS, u.path+"~", u.before); err != nil {
			return fmt.Errorf("undo file: %w", err)
		}
	}
	header, err := cli.Objects([]unfinished{{u.intent, u.group.text, u.group.raw}})
	if err != nil {
		return err
	}
	u.all = lines
	return u.write(header, lines)
}

// finish says that all is where it shall be, of this run or of one before.
func (u *undo) finish() error {
	if u == nil || u.all == nil && u.begun == nil {
		return nil
	}
	lines := u.all
	if lines == nil {
		lines = u.begun
	}
	for i := range lines {
		lines[i].To = nil
	}
	return u.write(nil, lines)
}

func (u *undo) write(header []byte, lines []saved) error {
	text, err := cli.Objects(lines)
	if err == nil {
		err = vfs.WriteFileAtomic(vfs.OS, u.path, append(header, text...))
	}
	if err != nil {
		return fmt.Errorf("undo file: %w", err)
	}
	return nil
}

// forget leaves what was there, when nothing has been moved.
func (u *undo) forget() error {
	if u == nil || u.all == nil {
		return nil
	}
	u.all = nil
	var err error
	if u.before != nil {
		err = vfs.WriteFileAtomic(vfs.OS, u.path, u.before)
	} else {
		err = os.Remove(u.path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it could not be written
		return fmt.Errorf("undo file: %w", err)
	}
	return nil
}

// intent words what is to be done, for those who do it again. What a file says is named by its digest.
func (o *options) intent(wanted map[string]map[int32]int64) string {
	var words []string
	if o.allTopics {
		words = append(words, "--all-topics")
	}
	for _, c := range o.topics {
		words = append(words, "--topic "+c.String())
	}
	switch {
	case wanted != nil:
		digest := sha256.New()
		for _, topic := range slices.Sorted(maps.Keys(wanted)) {
			for _, p := range slices.Sorted(maps.Keys(wanted[topic])) {
				fmt.Fprintf(digest, "%s %d %d\n", topic, p, wanted[topic][p])
			}
		}
		words = append(words, fmt.Sprintf("--from-file sha256:%x", digest.Sum(nil)))
	case o.shift != nil:
		words = append(words, fmt.Sprintf("--shift %d", *o.shift))
	default:
		words = append(words, "--to "+o.to.String())
	}
	return strings.Join(words, " ")
}
