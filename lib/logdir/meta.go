package logdir

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"logkit/lib/vfs"
)

const metaFile = "meta.properties"

// maxMetaBytes bounds what is read of meta.properties.
const maxMetaBytes = 1 << 20

// NoBrokerID is the id of a directory that has not been given one.
const NoBrokerID = -1

// meta is the identity of a data directory: the lines "name=value" of meta.properties, as Kafka has them.
//
//	version=0
//	cluster.id=Xq0YhZ7ZQ0m9Jm4sG2m6VQ    who talks to whom; missing before the directory has joined a cluster
//	broker.id=0                           its number there; likewise
//	incarnation=q8ZjFqYdSx6Mh1Wc0bqYxA    random, made with the directory: whose registration is whose
type meta struct {
	clusterID   string
	brokerID    int32 // or NoBrokerID
	incarnation string
}

// loadMeta reads the identity of dir, or gives it one. It is durable on return.
func loadMeta(fsys vfs.FS, dir string) (meta, error) {
	path := filepath.Join(dir, metaFile)
	data, err := vfs.ReadFile(fsys, path, maxMetaBytes)
	if errors.Is(err, fs.ErrNotExist) {
		m := meta{brokerID: NoBrokerID, incarnation: randomID()}
		return m, vfs.WriteFileAtomic(fsys, path, m.encode())
	}
	if err != nil {
		return meta{}, err
	}
	m, err := parseMeta(string(data))
	if err != nil {
		return meta{}, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func (m meta) encode() []byte {
	text := []byte("version=0\n")
	if m.clusterID != "" {
		text = fmt.Appendf(text, "cluster.id=%s\n", m.clusterID)
	}
	if m.brokerID != NoBrokerID {
		text = fmt.Appendf(text, "broker.id=%d\n", m.brokerID)
	}
	return fmt.Appendf(text, "incarnation=%s\n", m.incarnation)
}

// parseMeta accepts blank lines, comments and names that it does not know.
func parseMeta(text string) (m meta, err error) {
	m.brokerID = NoBrokerID
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return m, fmt.Errorf("line %d: %q is not NAME=VALUE", number+1, line)
		}
		switch name {
		case "cluster.id":
			m.clusterID = value
		case "broker.id":
			id, err := strconv.ParseUint(value, 10, 31)
			if err != nil {
				return m, fmt.Errorf("line %d: broker.id %q, allowed are 0 to %d", number+1, value, math.MaxInt32)
			}
			m.brokerID = int32(id)
		case "incarnation":
			m.incarnation = value
		}
	}
	if m.incarnation == "" {
		return m, errors.New("incarnation is missing")
	}
	return m, nil
}

// ClusterID is the identity of the cluster that the directory belongs to, "" before it has joined one.
func (d *Dir) ClusterID() string { return d.identity().clusterID }

// BrokerID is the id that the directory has in its cluster, NoBrokerID before it was given one.
func (d *Dir) BrokerID() int32 { return d.identity().brokerID }

// Incarnation is the random identity of the directory itself.
func (d *Dir) Incarnation() string { return d.identity().incarnation }

func (d *Dir) identity() meta {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.meta
}

// Join remembers the cluster, and the id in it, of the directory. It is durable on return.
func (d *Dir) Join(clusterID string, brokerID int32) error {
	d.creating.Lock()
	defer d.creating.Unlock()
	m := d.identity()
	if m.clusterID == clusterID && m.brokerID == brokerID {
		return nil
	}
	m.clusterID, m.brokerID = clusterID, brokerID
	if err := vfs.WriteFileAtomic(d.fsys, filepath.Join(d.path, metaFile), m.encode()); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.meta = m
	return nil
}

func randomID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: it ends the process rather than return less
	return base64.RawURLEncoding.EncodeToString(b[:])
}
