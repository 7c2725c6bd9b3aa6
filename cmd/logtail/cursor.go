package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"logkit/lib/cli"
	"logkit/lib/vfs"
)

// cursor is the file that --cursor names: a JSON object, topic -> partition -> id of the message to print next. It is
// written by rename, after standard output has taken the messages before. A nil cursor does nothing.
type cursor struct {
	name  string
	next  map[string]map[string]int64
	dirty bool
}

// maxCursor bounds the file that is read, in bytes: some million partitions.
const maxCursor = 64 << 20

// openCursor reads the file, which need not exist.
func openCursor(name string) (*cursor, error) {
	name, err := cli.StateFile(name)
	if err != nil {
		return nil, fmt.Errorf("--cursor: %w", err)
	}
	c := &cursor{name: name, next: map[string]map[string]int64{}}
	// It is replaced by renaming: what counts is the directory, and that is to be known before anything is printed.
	dir := filepath.Dir(name)
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return nil, fmt.Errorf("--cursor: directory %s: %w", dir, err)
	}
	text, err := vfs.ReadFile(vfs.OS, name, maxCursor)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if len(text) == 0 {
		err = errors.New("empty")
	} else if json.Unmarshal(text, &c.next) != nil || !c.possible() {
		err = errors.New(`allowed is {"TOPIC":{"PARTITION":ID}}`)
	}
	if err != nil { // it may be dear to somebody: nobody is told to remove it
		return nil, cli.WithHint(fmt.Errorf("%s: not a file that --cursor has written: %w", name, err),
			"give the name of a file that need not exist, and is for --cursor alone: --cursor FILE TOPIC")
	}
	if c.next == nil {
		c.next = map[string]map[string]int64{}
	}
	return c, nil
}

// possible reports whether the names are those of partitions, and the numbers are ids.
func (c *cursor) possible() bool {
	for _, of := range c.next {
		for partition, next := range of {
			if n, err := strconv.ParseInt(partition, 10, 32); err != nil || n < 0 || next < 0 {
				return false
			}
		}
	}
	return true
}

// position is the id to go on from in a partition, if the file knows it.
func (c *cursor) position(topic string, partition int32) (int64, bool) {
	if c == nil {
		return 0, false
	}
	next, known := c.next[topic][strconv.Itoa(int(partition))]
	return next, known
}

// follow takes over how far the partitions have been read.
func (c *cursor) follow(places map[partition]*place) {
	if c == nil {
		return
	}
	for _, p := range places {
		of := c.next[p.Topic]
		if of == nil {
			of = map[string]int64{}
			c.next[p.Topic] = of
		}
		id := strconv.Itoa(int(p.Partition))
		if next, known := of[id]; !known || next != p.next {
			of[id], c.dirty = p.next, true
		}
	}
}

// save writes the file, if something has changed since it was written.
func (c *cursor) save() error {
	if c == nil || !c.dirty {
		return nil
	}
	text, err := json.Marshal(c.next)
	if err != nil {
		return err
	}
	if err := vfs.WriteFileAtomic(vfs.OS, c.name, append(text, '\n')); err != nil {
		return err
	}
	c.dirty = false
	return nil
}
