package logdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"logkit/lib/vfs"
)

// Names of the files beside the partitions.
const (
	lockFile          = ".lock"
	cleanFile         = "clean-shutdown"
	recoveryPointFile = "recovery-point-offset-checkpoint"
	logStartFile      = "log-start-offset-checkpoint"
)

// maxCheckpointBytes bounds what is read of a checkpoint: some 100,000 partitions.
const maxCheckpointBytes = 64 << 20

// partition names a log.
type partition struct {
	topic  string
	number int32
}

func (p partition) dir() string { return p.topic + "-" + strconv.Itoa(int(p.number)) }

// checkpoint is the contents of a checkpoint file: for each partition the same count of numbers.
type checkpoint map[partition][]int64

// readCheckpoint reads a file with n numbers in each entry. A missing file is an empty checkpoint; ErrCheckpoint is in
// the error when its contents cannot be believed.
func readCheckpoint(fsys vfs.FS, dir, name string, n int) (checkpoint, error) {
	path := filepath.Join(dir, name)
	data, err := vfs.ReadFile(fsys, path, maxCheckpointBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := parseCheckpoint(string(data), n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ErrCheckpoint: a checkpoint file does not have the form that it must have.
var ErrCheckpoint = errors.New("damaged checkpoint")

func parseCheckpoint(text string, n int) (checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 3 || lines[0] != "0" || lines[len(lines)-1] != "" {
		return nil, fmt.Errorf("no version 0, or no final newline: %w", ErrCheckpoint)
	}
	entries := lines[2 : len(lines)-1]
	if count, err := strconv.Atoi(lines[1]); err != nil || count != len(entries) {
		return nil, fmt.Errorf("line 2: count %q before %d entries: %w", lines[1], len(entries), ErrCheckpoint)
	}
	c := make(checkpoint, len(entries))
	for i, line := range entries {
		p, numbers, err := parseEntry(line, n)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", i+3, line, err)
		}
		c[p] = numbers
	}
	return c, nil
}

func parseEntry(line string, n int) (p partition, numbers []int64, err error) {
	fields := strings.Split(line, " ")
	if len(fields) != n+2 || ValidTopic(fields[0]) != nil {
		return p, nil, ErrCheckpoint
	}
	number, err := strconv.ParseInt(fields[1], 10, 32)
	if err != nil || number < 0 {
		return p, nil, ErrCheckpoint
	}
	numbers = make([]int64, n)
	for i, field := range fields[2:] {
		if numbers[i], err = strconv.ParseInt(field, 10, 64); err != nil || numbers[i] < 0 {
			return p, nil, ErrCheckpoint
		}
	}
	return partition{fields[0], int32(number)}, numbers, nil
}

// write replaces the file by c, durably.
func (c checkpoint) write(fsys vfs.FS, dir, name string) error {
	return vfs.WriteFileAtomic(fsys, filepath.Join(dir, name), c.encode())
}

func (c checkpoint) encode() []byte {
	keys := make([]partition, 0, len(c))
	for p := range c {
		keys = append(keys, p)
	}
	sort.Slice(keys, func(i, j int) bool {
		if keys[i].topic != keys[j].topic {
			return keys[i].topic < keys[j].topic
		}
		return keys[i].number < keys[j].number
	})
	text := fmt.Appendf(nil, "0\n%d\n", len(keys))
	for _, p := range keys {
		text = fmt.Appendf(text, "%s %d", p.topic, p.number)
		for _, n := range c[p] {
			text = fmt.Appendf(text, " %d", n)
		}
		text = append(text, '\n')
	}
	return text
}
