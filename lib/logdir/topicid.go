package logdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"logkit/lib/commitlog"
	"logkit/lib/vfs"
)

// topicIDFile says, in the directory of a partition, which topic it was made for. It is Kafka's partition.metadata:
//
//	version: 0
//	topic_id: oyD8sTjKSqGqrN5ZbF0Z2g
//
// The id is 16 bytes in base64url without padding.
const topicIDFile = "partition.metadata"

// damagedTopicID stands for the id in a file that nobody can read: no topic has it.
const damagedTopicID = "(damaged)"

// writeTopicID makes id the one of the partition in dir, durably. An empty id is not written.
func writeTopicID(fsys vfs.FS, dir, id string) error {
	if id == "" {
		return nil
	}
	return vfs.WriteFileAtomic(fsys, filepath.Join(dir, topicIDFile), encodeTopicID(id))
}

func encodeTopicID(id string) []byte { return []byte("version: 0\ntopic_id: " + id + "\n") }

// readTopicID is the id that the partition in dir was made for, "" when there is no file.
func readTopicID(fsys vfs.FS, dir string) (string, error) {
	path := filepath.Join(dir, topicIDFile)
	data, err := vfs.ReadFile(fsys, path, maxMetaBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	id, err := parseTopicID(string(data))
	if err != nil {
		return damagedTopicID, fmt.Errorf("%s: %w", path, err)
	}
	return id, nil
}

// errTopicID: a file does not have the form of a partition.metadata.
var errTopicID = errors.New("not a topic id of version 0")

func parseTopicID(text string) (string, error) {
	version, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	id, ok := strings.CutPrefix(rest, "topic_id: ")
	if version != "version: 0" || !ok || len(id) != 22 || strings.Trim(id, base64URL) != "" {
		return "", fmt.Errorf("%.80q: %w", text, errTopicID)
	}
	return id, nil
}

const base64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Adopt says which topic a partition belongs to, durably, and shows it if it was hidden. ErrNoTopic: it is not there.
func (d *Dir) Adopt(topic string, number int32, topicID string) error {
	d.creating.Lock()
	defer d.creating.Unlock()
	if d.isClosed() {
		return commitlog.ErrClosed
	}
	p := partition{topic, number}
	if !d.has(p) {
		return fmt.Errorf("topic %q: partition %d: %w", topic, number, ErrNoTopic)
	}
	if err := writeTopicID(d.fsys, filepath.Join(d.path, p.dir()), topicID); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids[p] = topicID
	delete(d.hidden, p)
	return nil
}
