package registry_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"logkit/lib/registry"
)

// TestTwinDoesWhatZooKeeperDoes makes the same random calls on all, by two sessions, and compares all that comes back.
func TestTwinDoesWhatZooKeeperDoes(t *testing.T) {
	transcripts := map[string][]string{}
	all(t, func(t *testing.T, target target) {
		for seed := range uint64(8) {
			transcripts[target.name] = append(transcripts[target.name], transcript(t, target, seed)...)
		}
	})
	for _, other := range []string{"zookeeper", "zkserver"} { // the first one only where it is installed
		if want := transcripts[other]; want != nil {
			if diff := cmp.Diff(want, transcripts["twin"]); diff != "" {
				t.Errorf("%s and the twin differ (-%s +twin):\n%s", other, other, diff)
			}
		}
	}
}

type script struct {
	r       *rand.Rand
	conns   []registry.Conn
	root    string
	zxids   map[int64]int // in the order of appearance: their values differ
	watches []<-chan zk.Event
	lines   []string
}

func transcript(t *testing.T, target target, seed uint64) []string {
	s := &script{r: rand.New(rand.NewPCG(seed, 1)), zxids: map[int64]int{}}
	s.conns = []registry.Conn{target.conn(t), target.conn(t)}
	if target.name != "twin" {
		s.root = fmt.Sprintf("/transcript-%d-%d", seed, time.Now().UnixNano())
	} else {
		s.root = fmt.Sprintf("/transcript-%d", seed)
	}
	_, err := s.conns[0].Create(s.root, []byte{}, 0, zk.WorldACL(zk.PermAll))
	must(t, err)
	for range 250 {
		s.step()
	}
	s.conns[0].Close() // ends the session: its ephemeral nodes go
	s.conns = s.conns[1:]
	s.walk(t, s.conns[0], s.root)
	// What a connection was told of its watches it tells them in its own time, so each is waited for; what has not
	// happened by the time its own connection is closed never will, and zk says that of every watch left.
	s.conns[0].Close()
	for i, w := range s.watches {
		select {
		case e := <-w:
			if e.Type == zk.EventNotWatching {
				s.say("watch %d: silent", i)
				continue
			}
			s.say("watch %d: %v %s", i, e.Type, strings.TrimPrefix(e.Path, s.root))
		case <-time.After(30 * time.Second):
			t.Fatalf("watch %d: open after its connection was closed", i)
		}
	}
	return s.lines
}

func (s *script) say(format string, args ...any) {
	s.lines = append(s.lines, strings.ReplaceAll(fmt.Sprintf(format, args...), s.root, "ROOT"))
}

// path picks one of few nodes, three deep, and now and then one that is not allowed.
func (s *script) path() string {
	if s.r.IntN(40) == 0 {
		return s.root + []string{"/", "/a/", "//a", "/./a", "/..", "/a\x01b", "/\u00e9", "/\uf000"}[s.r.IntN(8)]
	}
	path := s.root
	for range 1 + s.r.IntN(3) {
		path += "/" + string(rune('a'+s.r.IntN(3)))
	}
	return path
}

func (s *script) version() int32 { return int32(s.r.IntN(4)) - 1 }

func (s *script) data() []byte { return []byte(strings.Repeat("x", s.r.IntN(4))) }

func (s *script) flags() int32 { return []int32{0, 0, 0, 1, 1, 2, 3}[s.r.IntN(7)] }

func (s *script) step() {
	c := s.conns[s.r.IntN(2)]
	path := s.path()
	switch op := s.r.IntN(12); op {
	case 0, 1, 2:
		made, err := c.Create(path, s.data(), s.flags(), zk.WorldACL(zk.PermAll))
		s.say("create %q: %s %v", path, made, err)
	case 3:
		stat, err := c.Set(path, s.data(), s.version())
		s.say("set %s: %s %v", path, s.stat(stat, err), err)
	case 4:
		s.say("delete %s: %v", path, c.Delete(path, s.version()))
	case 5:
		data, stat, err := c.Get(path)
		s.say("get %s: %q %s %v", path, data, s.stat(stat, err), err)
	case 6:
		_, stat, w, err := c.GetW(path)
		s.watched("get", path, stat, w, err)
	case 7:
		found, stat, err := c.Exists(path)
		if !found {
			stat = nil
		}
		s.say("exists %s: %v %s %v", path, found, s.stat(stat, err), err)
	case 8:
		found, stat, w, err := c.ExistsW(path)
		if !found {
			stat = nil
		}
		s.watched("exists", path, stat, w, err)
	case 9:
		names, stat, w, err := c.ChildrenW(path)
		slices.Sort(names)
		s.watched(fmt.Sprintf("children %v", names), path, stat, w, err)
	default:
		s.multi(c)
	}
}

func (s *script) watched(what, path string, stat *zk.Stat, w <-chan zk.Event, err error) {
	if w != nil {
		s.watches = append(s.watches, w)
	}
	s.say("%s %s: %s %v %v", what, path, s.stat(stat, err), w != nil, err)
}

func (s *script) multi(c registry.Conn) {
	var ops []any
	for range 1 + s.r.IntN(4) {
		path := s.path()
		switch s.r.IntN(4) {
		case 0, 1:
			ops = append(ops, &zk.CreateRequest{Path: path, Data: s.data(), Acl: zk.WorldACL(zk.PermAll), Flags: s.flags()})
		case 2:
			ops = append(ops, &zk.SetDataRequest{Path: path, Data: s.data(), Version: s.version()})
		default:
			if s.r.IntN(2) == 0 {
				ops = append(ops, &zk.DeleteRequest{Path: path, Version: s.version()})
			} else {
				ops = append(ops, &zk.CheckVersionRequest{Path: path, Version: s.version()})
			}
		}
		if strings.ContainsFunc(path, func(r rune) bool { return r > 'z' || r < '-' }) || strings.Contains(path, "//") ||
			strings.Contains(path, "/.") || strings.HasSuffix(path, "/") {
			ops = ops[:len(ops)-1] // the client does not look at these, and the server's answers are not ours to copy
		}
	}
	responses, err := c.Multi(ops...)
	s.say("multi of %d: %v", len(ops), err)
	for i, r := range responses {
		s.say("  %d: %q %s %v", i, r.String, s.stat(r.Stat, r.Error), r.Error)
	}
}

// stat leaves out times, and numbers zxids in the order they are seen in.
func (s *script) stat(stat *zk.Stat, err error) string {
	if stat == nil || err != nil {
		return "-"
	}
	owner := -1
	for i, c := range s.conns {
		if stat.EphemeralOwner == c.SessionID() {
			owner = i
		}
	}
	if stat.EphemeralOwner != 0 && owner < 0 {
		owner = 99
	}
	return fmt.Sprintf("c%d m%d p%d v%d cv%d owner %d len %d children %d", s.zxid(stat.Czxid), s.zxid(stat.Mzxid), s.zxid(stat.Pzxid),
		stat.Version, stat.Cversion, owner, stat.DataLength, stat.NumChildren)
}

func (s *script) zxid(z int64) int {
	if _, seen := s.zxids[z]; !seen {
		s.zxids[z] = len(s.zxids)
	}
	return s.zxids[z]
}

func (s *script) walk(t *testing.T, c registry.Conn, path string) {
	data, stat, err := c.Get(path)
	must(t, err)
	s.say("at the end %s: %q %s", path, data, s.stat(stat, nil))
	names, _, err := c.Children(path)
	must(t, err)
	slices.Sort(names)
	for _, name := range names {
		s.walk(t, c, path+"/"+name)
	}
}
