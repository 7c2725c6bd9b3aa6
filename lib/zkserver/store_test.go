package zkserver

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
)

// checkDatabase has bbolt look for pages that are lost or used twice.
func checkDatabase(st *store) error {
	return st.db.View(func(tx *bolt.Tx) (first error) {
		for err := range tx.Check() {
			if first == nil {
				first = err
			}
		}
		return first
	})
}

// filled makes a database with some of everything, and returns its directory.
func filled(t *testing.T) string {
	t.Helper()
	s := start(t, Options{})
	r := newRaw(t, s.Addr().String())
	for _, path := range []string{"/a", "/a/b", "/a/b/c", "/z"} {
		r.create(t, path, []byte("data"), 0)
	}
	r.create(t, "/big", make([]byte, 100_000), 0)
	r.must(t, opCreate, enc{}.str("/private").buf(nil).acls([3]string{"31", "digest", userDigest}).int(0))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.opts.Dir
}

// Each row breaks one thing in the records; what is left is refused by name, not served in part.
func TestDamagedRecords(t *testing.T) {
	put := func(bucket []byte, key string, value []byte) func(tx *bolt.Tx) error {
		return func(tx *bolt.Tx) error { return tx.Bucket(bucket).Put([]byte(key), value) }
	}
	node0 := node{}
	node := appendNode(nil, "/a", &node0)
	row := (&session{id: 0x3132333435363738}).row() // whose key is "12345678"
	list := sealed([]byte("/a"), append(node[:len(node)-12:len(node)-12], 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0))
	for name, breakIt := range map[string]func(tx *bolt.Tx) error{
		"bucket missing":          func(tx *bolt.Tx) error { return tx.DeleteBucket(bucketSessions) },
		"short state":             put(bucketMeta, "state", []byte{1, 2, 3}),
		"CRC of the state":        put(bucketMeta, "state", append(stateRow(1, 10, 1), 0)),
		"state missing":           func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Delete(keyState) },
		"session missing":         func(tx *bolt.Tx) error { return emptyBucket(tx, bucketSessions) },
		"parent missing":          func(tx *bolt.Tx) error { return tx.Bucket(bucketNodes).Delete([]byte("/a/b")) },
		"root missing":            func(tx *bolt.Tx) error { return tx.Bucket(bucketNodes).Delete([]byte("/")) },
		"built-in missing":        func(tx *bolt.Tx) error { return tx.Bucket(bucketNodes).Delete([]byte("/zookeeper/quota")) },
		"no nodes under a zxid":   func(tx *bolt.Tx) error { return emptyBucket(tx, bucketNodes, bucketData) },
		"node cut short":          put(bucketNodes, "/a", node[:20]),
		"bytes behind a node":     put(bucketNodes, "/a", sealed([]byte("/a"), append(node[:len(node)-4:len(node)-4], 1))),
		"CRC of a node":           put(bucketNodes, "/a", append(node[:len(node)-1:len(node)-1], node[len(node)-1]^1)),
		"CRC of another node":     put(bucketNodes, "/b", node),
		"other data":              put(bucketData, "/a", []byte("dat4")),
		"data of a null node":     put(bucketData, "/private", []byte("x")),
		"access list too long":    put(bucketNodes, "/a", list),
		"path that is none":       put(bucketNodes, "a", appendNode(nil, "a", &node0)),
		"path with empty name":    put(bucketNodes, "/a//b", appendNode(nil, "/a//b", &node0)),
		"data without node":       put(bucketData, "/none", nil),
		"data without node, last": put(bucketData, "/zz", []byte("x")),
		"short session":           put(bucketSessions, "12345678", sealed([]byte("12345678"), row[:10:10])),
		"CRC of a session":        put(bucketSessions, "12345678", append(row[:len(row)-1:len(row)-1], row[len(row)-1]^1)),
		"short session id":        put(bucketSessions, "1", sealed([]byte("1"), row[:len(row)-4:len(row)-4])),
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			st, err := openStore(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := st.db.Update(breakIt); err != nil {
				t.Fatal(err)
			}
			if err := st.close(); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
			os.Remove(filepath.Join(dir, "zookeeper.db")) // so that nothing is verified
		})
	}
}

func emptyBucket(tx *bolt.Tx, names ...[]byte) error {
	for _, name := range names {
		if err := errors.Join(tx.DeleteBucket(name), second(tx.CreateBucket(name))); err != nil {
			return err
		}
	}
	return nil
}

func second(_ *bolt.Bucket, err error) error { return err }

func TestOtherFormat(t *testing.T) {
	dir := filled(t)
	st, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = st.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyFormat, []byte{9}) })
	if err = errors.Join(err, st.close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir}); err == nil {
		t.Error("a format of the future is opened")
	}
	os.Remove(filepath.Join(dir, "zookeeper.db"))
}

// A file that is cut, zeroed or flipped somewhere is refused, or serves what it always did where the damage touches
// nothing in use; it never brings the process down.
func TestDamagedFile(t *testing.T) {
	dir := filled(t)
	whole, err := os.ReadFile(filepath.Join(dir, "zookeeper.db"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := s.dump()
	s.Close()
	rng := rand.New(rand.NewPCG(7, 7))
	page := os.Getpagesize()
	refused := 0
	const rounds = 150
	for round := range rounds {
		b := append([]byte(nil), whole...)
		// Not the two meta pages: with one of them gone, bbolt goes back to the state of the other, one commit ago.
		switch at := 2*page + rng.IntN(len(b)-2*page); round % 4 {
		case 0:
			b = b[:at]
		case 1:
			b[at] ^= byte(1 + rng.IntN(255))
		case 2:
			clear(b[at/page*page : min(len(b), (at/page+1)*page)])
		case 3: // the head of a page, where its kind, size and elements are
			start := at / page * page
			for i := range 8 {
				b[start+i*4+rng.IntN(4)] = byte(rng.Uint32())
			}
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "zookeeper.db"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Options{Dir: dir})
		if err != nil {
			refused++
			continue
		}
		if diff := cmp.Diff(want, s.dump()); diff != "" {
			t.Errorf("round %d: %s", round, diff)
		}
		if err := s.Close(); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
	t.Logf("%d of %d refused", refused, rounds)
	if refused == 0 {
		t.Error("nothing was refused")
	}
}
