package logdir

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"logkit/lib/vfs"
)

const metaFile = "meta.properties"

// maxMetaBytes bounds what is read of meta.properties.
const maxMetaBytes = 1 << 20

// meta is the identity of a data directory: the lines "name=value" of meta.properties, as Kafka has them.
type meta struct {
	clusterID   string // random, 16 bytes in base64 without padding: who talks to whom
	incarnation string // random, made with the directory: whose registration is whose
}

// loadMeta reads the identity of dir, or gives it one. It is durable on return.
func loadMeta(fsys vfs.FS, dir string) (meta, error) {
	path := filepath.Join(dir, metaFile)
	data, err := vfs.ReadFile(fsys, path, maxMetaBytes)
	if errors.Is(err, fs.ErrNotExist) {
		m := meta{clusterID: randomID(), incarnation: randomID()}
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
	return fmt.Appendf(nil, "version=0\ncluster.id=%s\nincarnation=%s\n", m.clusterID, m.incarnation)
}

// parseMeta accepts blank lines, comments and names that it does not know.
func parseMeta(text string) (m meta, err error) {
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
		case "incarnation":
			m.incarnation = value
		}
	}
	if m.clusterID == "" || m.incarnation == "" {
		return m, errors.New("cluster.id or incarnation is missing")
	}
	return m, nil
}

func randomID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: it ends the process rather than return less
	return base64.RawURLEncoding.EncodeToString(b[:])
}
