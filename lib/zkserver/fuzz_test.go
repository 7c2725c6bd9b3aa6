package zkserver

import (
	"bytes"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// Seeds are the files in testdata/seeds: a name, and bytes in hex, with spaces for the reader. They are valid, cut short,
// flipped, zeros, and lengths and counts at their limits.

func addSeeds(f *testing.F, pattern string, add func(b []byte)) {
	f.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "seeds", pattern))
	if err != nil || len(names) == 0 {
		f.Fatalf("no seeds %s: %v", pattern, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		if err != nil {
			f.Fatalf("%s: %v", name, err)
		}
		add(b)
	}
}

// FuzzFrame: arbitrary bytes behind the length of a frame.
//   - at most n bytes are read, and all of them when there is no error;
//   - memory is bounded by what has arrived, not by n.
func FuzzFrame(f *testing.F) {
	addSeeds(f, "*", func(b []byte) {
		f.Add(b, len(b))
		f.Add(b, len(b)/2)
		f.Add(b, MaxFrame)
	})
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n < 0 || n > MaxFrame {
			return
		}
		r := bytes.NewReader(b)
		got, err := readGrowing(r, nil, n)
		if read := len(b) - r.Len(); read > n {
			t.Fatalf("%d bytes read of a frame of %d", read, n)
		}
		if (err == nil) != (len(b) >= n) || err == nil && !bytes.Equal(got, b[:n]) {
			t.Fatalf("%d of %d bytes, %v", len(got), n, err)
		}
		if len(got) > 2*len(b)+frameKeep {
			t.Fatalf("%d bytes taken for %d that came", len(got), len(b))
		}
	})
}

// FuzzRequest: arbitrary bytes as the body of any operation.
//   - an error is errMalformed;
//   - what was decoded is not larger than what it was decoded from: strings and data by bytes, vectors by items;
//   - encoding it again and decoding that gives the same.
func FuzzRequest(f *testing.F) {
	addSeeds(f, "request-*", func(b []byte) {
		for op := range int32(25) {
			f.Add(op, b)
		}
		for _, op := range []int32{opAuth, opSetWatches, opSetWatches2, opAddWatch, opGetEphemerals} {
			f.Add(op, b)
		}
	})
	f.Fuzz(func(t *testing.T, op int32, b []byte) {
		d := &decoder{b: b}
		switch op {
		case opSetWatches, opSetWatches2:
			w := decodeWatchList(op, d)
			checkDecoded(t, d, b, len(w.data)+len(w.exist)+len(w.children)+len(w.persistent)+len(w.recursive), 4)
		case opMulti, opMultiRead:
			allowed := writesInMulti
			if op == opMultiRead {
				allowed = readsInMulti
			}
			list := decodeMulti(d, allowed)
			checkDecoded(t, d, b, len(list), 9)
		default:
			r := decodeRequest(op, d)
			if d.err != nil {
				checkDecoded(t, d, b, 0, 1)
				return
			}
			checkDecoded(t, d, b, len(r.path)+len(r.data), 1)
			checkDecoded(t, d, b, len(r.acl), 12)
			again := &decoder{b: encodeRequest(r)}
			if got := decodeRequest(op, again); again.err != nil || !reflect.DeepEqual(got, r) || len(again.b) != 0 {
				t.Fatalf("%+v came back as %+v, %v", r, got, again.err)
			}
		}
	})
}

func checkDecoded(t *testing.T, d *decoder, b []byte, items, size int) {
	t.Helper()
	if items*size > len(b) {
		t.Fatalf("%d items of %d bytes in %d", items, size, len(b))
	}
	if d.err != nil && !strings.HasPrefix(d.err.Error(), errMalformed.Error()) {
		t.Fatal(d.err)
	}
}

// encodeRequest is the reverse of decodeRequest.
func encodeRequest(r request) []byte {
	b := appendString(nil, r.path)
	switch r.op {
	case opCreate, opCreate2, opCreateContainer, opCreateTTL:
		b = appendInt32(appendACL(appendBuffer(b, r.data), r.acl), r.flags)
		if r.op == opCreateTTL {
			b = appendInt64(b, 0)
		}
	case opDelete, opCheck:
		b = appendInt32(b, r.version)
	case opSetData:
		b = appendInt32(appendBuffer(b, r.data), r.version)
	case opSetACL:
		b = appendInt32(appendACL(b, r.acl), r.version)
	case opExists, opGetData, opGetChildren, opGetChildren2:
		b = appendBool(b, r.watch)
	case opAddWatch, opCheckWatches, opRemoveWatches:
		b = appendInt32(b, r.flags)
	}
	return b
}

// FuzzRow: arbitrary bytes as rows of the database, with a right CRC, too, for nobody guesses one.
//   - a node that is accepted encodes to a row that decodes to the same node;
//   - a session that is accepted encodes to the same bytes, under the same key;
//   - a state that is accepted has the size of one.
func FuzzRow(f *testing.F) {
	addSeeds(f, "*", func(b []byte) { f.Add("/a", b) })
	node := appendNode(nil, "/a", &node{czxid: 1, owner: 2, acl: []acl{{1, "ip", "10.0.0.0/8"}}, data: []byte("x")})
	session := (&session{id: 0x3132333435363738}).row()
	state := stateRow(1, 0, 0)
	for key, row := range map[string][]byte{"/a": node, "12345678": session, "state": state} {
		f.Add(key, row)
		f.Add(key, row[:len(row)-4])
		f.Add(key, row[:len(row)-9])
	}
	f.Fuzz(func(t *testing.T, key string, b []byte) {
		for _, row := range [][]byte{b, sealed([]byte(key), b[:len(b):len(b)])} {
			if n, err := decodeNode([]byte(key), row); err == nil {
				again, err := decodeNode([]byte(key), appendNode(nil, key, n))
				if err != nil || !reflect.DeepEqual(n, again) {
					t.Errorf("node %+v became %+v, %v", n, again, err)
				}
			}
			if sess, err := decodeSession([]byte(key), row); err == nil {
				if !bytes.Equal(sess.row(), row) || string(appendInt64(nil, sess.id)) != key {
					t.Errorf("session %x became %x", row, sess.row())
				}
			}
			l := loaded{tree: newTree()}
			if err := l.check(row); err == nil && len(row) != 28 && row != nil {
				t.Errorf("state of %d bytes", len(row))
			}
		}
	})
}

// FuzzConnection: arbitrary bytes as all that a client ever sends, with and without a session before them.
//   - the server does not panic, and the connection ends once the client is gone;
//   - the tree and its index of ephemeral nodes, and the counts of watches, agree with themselves;
//   - somebody else is still served.
func FuzzConnection(f *testing.F) {
	addSeeds(f, "*", func(b []byte) { f.Add(b, false); f.Add(b, true) })
	s, err := Open(Options{Dir: f.TempDir(), TickTime: time.Second, MaxTreeBytes: 8 << 20})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	s.mu.Lock()
	s.commit = func([]change) error { return nil } // a disk would be all that is tested
	s.mu.Unlock()
	f.Fuzz(func(t *testing.T, b []byte, session bool) {
		client, err := s.Dial()
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { io.Copy(io.Discard, client) })
		client.SetDeadline(time.Now().Add(rawPatience))
		if session {
			hello := connectBody(0, 1000, 0, make([]byte, 16))
			client.Write(append(enc{}.int(int32(len(hello))), hello...))
		}
		client.Write(b)
		client.Close()
		wg.Wait()
		checkServer(t, s)
		other, err := s.Dial()
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		other.SetDeadline(time.Now().Add(rawPatience))
		if _, err := other.Write([]byte("ruok")); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(io.LimitReader(other, 4)); err != nil || string(answer) != "imok" {
			t.Fatalf("%q, %v", answer, err)
		}
	})
}

// checkServer compares the server's indexes with each other.
func checkServer(t *testing.T, s *Server) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	owned, bytes := 0, int64(0)
	for path, n := range s.tree.nodes {
		bytes += n.bytes(path)
		if _, ok := s.tree.find(parentOf(path)).children[nameOf(path)]; !ok && path != "/" {
			t.Errorf("%q is not among its parent's children", path)
		}
		if n.ephemeral() {
			owned++
			if _, ok := s.tree.ephemerals[n.owner][path]; !ok {
				t.Errorf("%q is not among its owner's nodes", path)
			}
			if s.sessions[n.owner] == nil {
				t.Errorf("%q outlives its session", path)
			}
		}
	}
	for _, paths := range s.tree.ephemerals {
		owned -= len(paths)
	}
	if owned != 0 || bytes != s.tree.bytes {
		t.Errorf("%d ephemeral nodes too many, %d bytes counted as %d", owned, bytes, s.tree.bytes)
	}
	count := 0
	for path, conns := range s.watches.byPath {
		count += len(conns)
		for c, kinds := range conns {
			if _, ok := c.watched[path]; !ok || kinds == 0 {
				t.Errorf("watch %x on %q is not in its connection", kinds, path)
			}
		}
	}
	if count != s.watches.count {
		t.Errorf("%d watches counted as %d", count, s.watches.count)
	}
}
