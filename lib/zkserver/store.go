package zkserver

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"logkit/lib/vfs"
)

// The database has four buckets. Numbers are big-endian, records as on the wire.
//
//	meta      "format" -> 1 byte, formatVersion
//	          "state" -> | last zxid | number of nodes | number of sessions int64 | CRC int32 |
//	nodes     path -> | czxid | mzxid | pzxid | ctime | mtime int64 | version | aversion | creates int32 |
//	                  | owner int64 | access list: vector, empty for everybody | CRC of the data int32 | CRC int32 |
//	data      path -> data of the node, missing when it is null
//	sessions  id int64 -> | timeout in ms int32 | password buffer | CRC int32 |
//
// CRCs are CRC-32C; the last one of a row covers its key and what is before it, for bbolt checks nothing but its meta
// pages. Paths sort parents before children, so that loading is one walk.
var (
	bucketMeta     = []byte("meta")
	bucketNodes    = []byte("nodes")
	bucketData     = []byte("data")
	bucketSessions = []byte("sessions")
	keyFormat      = []byte("format")
	keyState       = []byte("state")
)

const formatVersion = 1

var (
	// ErrLocked is returned by Open when another process, or another server of this one, has the database.
	ErrLocked = errors.New("zookeeper database in use by another process")
	// ErrDamaged is wrapped by the errors of Open about a database that is not whole.
	ErrDamaged = errors.New("zookeeper database damaged")
)

// store is the database file.
type store struct {
	db     *bolt.DB
	broken bool // bbolt has panicked, perhaps with its locks held
}

// openStore opens the database in dir, or makes it, durably.
func openStore(dir string) (_ *store, err error) {
	dir = filepath.Clean(dir)
	if err := vfs.OS.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("zookeeper: %w", err)
	}
	if err := syncParents(dir); err != nil {
		return nil, fmt.Errorf("zookeeper: %w", err)
	}
	path := filepath.Join(dir, "zookeeper.db")
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recoverDamage(path, &err)
	// The free list is kept on disk: bbolt would find it again by walking through the file in a goroutine of its own,
	// where a damaged page is a panic that nobody can recover.
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout:      time.Nanosecond, // one try
		FreelistType: bolt.FreelistMapType,
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%w: %s", ErrLocked, path)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, fmt.Errorf("%w: %s: %v", ErrDamaged, path, err)
	case err != nil:
		return nil, fmt.Errorf("zookeeper: %w", err)
	}
	s := &store{db: db}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	if err := vfs.OS.SyncDir(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("zookeeper: %w", err), db.Close())
	}
	return s, nil
}

// syncParents makes the names that lead to dir durable. A parent that may not be read, or knows no sync, is not ours.
func syncParents(dir string) error {
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		err := vfs.OS.SyncDir(parent)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EINVAL) {
			return err
		}
	}
	return nil
}

// recoverDamage turns what bbolt does about a broken page, a panic or a fault beyond the end of the file, into an
// error. It is deferred, in a goroutine that has asked for memory faults to be panics (debug.SetPanicOnFault).
func recoverDamage(path string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %s: %v", ErrDamaged, path, p)
	}
}

// prepare makes the buckets of an empty database, and refuses one of another format.
func (s *store) prepare() error {
	var format []byte
	err := s.db.View(func(tx *bolt.Tx) error {
		if meta := tx.Bucket(bucketMeta); meta != nil {
			format = clone(meta.Get(keyFormat))
		}
		return nil
	})
	if err != nil || len(format) == 1 && format[0] == formatVersion {
		return err
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		if k, _ := tx.Cursor().First(); k != nil {
			return fmt.Errorf("zookeeper database of format %x, %d allowed", format, formatVersion)
		}
		for _, name := range [][]byte{bucketMeta, bucketNodes, bucketData, bucketSessions} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keyFormat, []byte{formatVersion})
	})
}

// close releases the file. One that bbolt has panicked over stays open, and locked, until the process ends.
func (s *store) close() error {
	if s.broken {
		return nil
	}
	return s.db.Close()
}

// loaded is what a database holds. zxid is 0 for an empty one.
type loaded struct {
	zxid     int64
	tree     *tree
	sessions []*session
}

func (s *store) load() (l loaded, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recoverDamage(s.db.Path(), &err)
	l.tree = newTree()
	err = s.db.View(func(tx *bolt.Tx) error {
		meta, nodes, data, sessions := tx.Bucket(bucketMeta), tx.Bucket(bucketNodes), tx.Bucket(bucketData), tx.Bucket(bucketSessions)
		if meta == nil || nodes == nil || data == nil || sessions == nil {
			return errors.New("bucket missing")
		}
		if err := loadTree(l.tree, nodes.Cursor(), data.Cursor()); err != nil {
			return err
		}
		err := sessions.ForEach(func(k, v []byte) error {
			sess, err := decodeSession(k, v)
			l.sessions = append(l.sessions, sess)
			return err
		})
		if err != nil {
			return err
		}
		return l.check(meta.Get(keyState))
	})
	if err != nil && !errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w: %s: %w", ErrDamaged, s.db.Path(), err)
	}
	return l, err
}

// check reads the state, and compares what has been loaded with it.
func (l *loaded) check(row []byte) error {
	d := unseal(keyState, row)
	if row == nil {
		d = &decoder{b: make([]byte, 24)} // before the first commit
	}
	zxid, nodes, sessions := d.int64(), d.int64(), d.int64()
	if err := d.end(); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if nodes != int64(len(l.tree.nodes)) || sessions != int64(len(l.sessions)) {
		return fmt.Errorf("%d nodes of %d, %d sessions of %d", len(l.tree.nodes), nodes, len(l.sessions), sessions)
	}
	l.zxid = zxid
	return nil
}

func stateRow(zxid int64, nodes, sessions int) []byte {
	row := appendInt64(appendInt64(appendInt64(nil, zxid), int64(nodes)), int64(sessions))
	return sealed(keyState, row)
}

// loadTree walks both buckets side by side.
func loadTree(t *tree, nodes, data *bolt.Cursor) error {
	dataKey, value := data.First()
	for k, v := nodes.First(); k != nil; k, v = nodes.Next() {
		path := string(k)
		n, err := decodeNode(k, v)
		if err != nil {
			return fmt.Errorf("node %q: %w", path, err)
		}
		if !validPath(path) || path != "/" && t.find(parentOf(path)) == nil {
			return fmt.Errorf("node %q: no parent", path)
		}
		if string(dataKey) == path {
			n.data = clone(value)
			if value == nil {
				n.data = []byte{}
			}
			dataKey, value = data.Next()
		}
		if checksum(n.data) != n.dataCRC {
			return fmt.Errorf("node %q: CRC of its data", path)
		}
		t.insert(path, n)
	}
	if dataKey != nil {
		return fmt.Errorf("data of %q, which is no node", dataKey)
	}
	return nil
}

func appendNode(b []byte, path string, n *node) []byte {
	for _, v := range []int64{n.czxid, n.mzxid, n.pzxid, n.ctime, n.mtime} {
		b = appendInt64(b, v)
	}
	for _, v := range []int32{n.version, n.aversion, n.creates} {
		b = appendInt32(b, v)
	}
	b = appendACL(appendInt64(b, n.owner), n.acl)
	return sealed([]byte(path), appendInt32(b, int32(n.dataCRC)))
}

// decodeNode reads a node without its data.
func decodeNode(key, row []byte) (*node, error) {
	d := unseal(key, row)
	n := &node{
		czxid: d.int64(), mzxid: d.int64(), pzxid: d.int64(), ctime: d.int64(), mtime: d.int64(),
		version: d.int32(), aversion: d.int32(), creates: d.int32(), owner: d.int64(),
	}
	if n.acl = d.acl(); len(n.acl) == 0 {
		n.acl = nil
	}
	n.dataCRC = uint32(d.int32())
	return n, d.end()
}

// row is the session's entry.
func (sess *session) row() []byte {
	b := appendBuffer(appendInt32(nil, int32(sess.timeout.Milliseconds())), sess.password[:])
	return sealed(appendInt64(nil, sess.id), b)
}

func decodeSession(key, row []byte) (*session, error) {
	k, d := decoder{b: key}, unseal(key, row)
	sess := &session{id: k.int64(), timeout: time.Duration(d.int32()) * time.Millisecond}
	password := d.buffer()
	if copy(sess.password[:], password) != len(password) || len(password) != len(sess.password) {
		d.fail("password of %d bytes", len(password))
	}
	if err := errors.Join(k.end(), d.end()); err != nil {
		return nil, fmt.Errorf("session %x: %w", key, err)
	}
	return sess, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// sealed appends the CRC of a row.
func sealed(key, row []byte) []byte {
	return appendInt32(row, int32(crc32.Update(checksum(key), castagnoli, row)))
}

// unseal returns a decoder of the row in front of its CRC, or one that has failed.
func unseal(key, row []byte) *decoder {
	n := len(row) - 4
	if n < 0 || !bytes.Equal(sealed(key, row[:n:n]), row) {
		d := &decoder{}
		d.fail("CRC of %d bytes", len(row))
		return d
	}
	return &decoder{b: row[:n]}
}

// change is one key that a commit writes; a nil value deletes it.
type change struct {
	bucket     []byte
	key, value []byte
}

// commit writes the changes in one transaction. When it returns nil they are on disk.
func (s *store) commit(changes []change) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	s.broken = true
	defer recoverDamage(s.db.Path(), &err)
	err = s.write(changes)
	s.broken = false
	return noSpace(err)
}

// noSpace gives an error its kind back: when the file can not be made longer, bbolt keeps only the text of what the
// operating system said.
func noSpace(err error) error {
	if err == nil || vfs.IsNoSpace(err) {
		return err
	}
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if text, ok := strings.CutSuffix(err.Error(), errno.Error()); ok {
			return fmt.Errorf("%s%w", text, errno)
		}
	}
	return err
}

func (s *store) write(changes []change) error {
	tx, err := s.db.Begin(true)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	for _, c := range changes {
		bucket := tx.Bucket(c.bucket)
		if c.value == nil {
			err = bucket.Delete(c.key)
		} else {
			err = bucket.Put(c.key, c.value)
		}
		if err != nil {
			return fmt.Errorf("%s of %q: %w", c.bucket, c.key, err)
		}
	}
	return tx.Commit()
}
