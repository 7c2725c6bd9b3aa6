package logdir

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"logkit/lib/commitlog"
	"logkit/lib/vfs"
)

const (
	// producerIDFile is the first producer id that has not been given out, nor set apart: the line "0" (its version) and
	// the number.
	producerIDFile = "producer-id-block"
	// producerIDBlock is how many ids are set apart with one write (Kafka's ProducerIdsBlock).
	producerIDBlock = 1000
	// maxFirstProducerID bounds where a directory begins, below the integers that every language can count.
	maxFirstProducerID = 1 << 52
)

// producerIDs gives out ids of idempotent producers. A directory begins at a random id, so that what brokers of one
// cluster give out does not meet, nor what a directory gives out that has lost its file. Whatever id has been given out
// lies below the number in the file, which is durable before: no crash brings an id back.
type producerIDs struct {
	mu        sync.Mutex
	next, end int64 // [next, end) is set apart
}

// NextProducerID returns a producer id that has never been given out. Once in 1000 calls it writes a file, durably.
func (d *Dir) NextProducerID() (int64, error) {
	p := &d.producerIDs
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.isClosed() {
		return 0, commitlog.ErrClosed
	}
	if p.next == p.end {
		if err := d.setApart(); err != nil {
			return 0, fmt.Errorf("producer ids: %w", err)
		}
	}
	p.next++
	return p.next - 1, nil
}

// setApart takes the next block.
func (d *Dir) setApart() error {
	p, path := &d.producerIDs, filepath.Join(d.path, producerIDFile)
	first := p.end
	if first == 0 {
		first = d.firstProducerID(path)
	}
	if err := vfs.WriteFileAtomic(d.fsys, path, fmt.Appendf(nil, "0\n%d\n", first+producerIDBlock)); err != nil {
		return err
	}
	p.next, p.end = first, first+producerIDBlock
	return nil
}

// firstProducerID is where to go on after a start. A file that cannot be believed counts as missing, and is said.
func (d *Dir) firstProducerID(path string) int64 {
	data, err := vfs.ReadFile(d.fsys, path, maxMetaBytes)
	if err == nil {
		var first int64
		if first, err = parseProducerID(string(data)); err == nil {
			return first
		}
	}
	first := producerIDBlock * (1 + rand.Int64N(maxFirstProducerID/producerIDBlock))
	if !errors.Is(err, fs.ErrNotExist) {
		d.options.Logger.Error("producer ids go on at a random number", "file", path, "first", first, "reason", err)
	}
	return first
}

func parseProducerID(text string) (int64, error) {
	number, ok := strings.CutPrefix(text, "0\n")
	number, whole := strings.CutSuffix(number, "\n")
	id, err := strconv.ParseInt(number, 10, 64)
	if !ok || !whole || err != nil || id <= 0 || id >= 2*maxFirstProducerID {
		return 0, fmt.Errorf("%q is not version 0 and a number in [1, %d): %w", text, int64(2*maxFirstProducerID), ErrCheckpoint)
	}
	return id, nil
}
