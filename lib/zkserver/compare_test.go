package zkserver

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// soaking makes the long forms of the tests run.
func soaking() bool { return os.Getenv("LOGKIT_SOAK") != "" }

// TestSameAsZooKeeper lets three clients do the same random things to this server and to ZooKeeper, and compares every
// answer and every event. Zxids, times and sessions differ, so they are compared by what they are equal to.
func TestSameAsZooKeeper(t *testing.T) {
	seeds, steps := []uint64{1, 2, 3, 4}, 400
	if soaking() {
		seeds, steps = nil, 2000
		for i := range 30 {
			seeds = append(seeds, uint64(time.Now().UnixNano())+uint64(i))
		}
	}
	theirs := peer(t)
	ours := start(t, Options{}).Addr().String()
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			c := newComparison(t, seed, [2]string{ours, theirs})
			for range steps {
				c.step()
			}
		})
	}
}

const (
	ourSide = iota
	theirSide
)

type comparison struct {
	t       *testing.T
	rng     *rand.Rand
	dir     string
	addrs   [2]string
	clients [][2]*raw
	zxids   [2]map[int64]int64 // of each side to the other's
	owners  map[int64]int64    // our sessions to theirs
	seen    [][2]int64         // zxids of replies, for setWatches
	trace   []string
}

func newComparison(t *testing.T, seed uint64, addrs [2]string) *comparison {
	c := &comparison{
		t: t, rng: rand.New(rand.NewPCG(seed, seed)), addrs: addrs, dir: fmt.Sprintf("/compare-%d", time.Now().UnixNano()),
		zxids: [2]map[int64]int64{{0: 0}, {0: 0}}, owners: map[int64]int64{0: 0}, seen: [][2]int64{{}},
		clients: make([][2]*raw, 3),
	}
	for i := range c.clients {
		c.renew(i)
	}
	c.both(0, opCreate, createBody(c.dir, nil, 0))
	c.both(0, opCreate, createBody(c.dir+"/w", nil, 0))
	return c
}

func (c *comparison) renew(i int) {
	for side := range c.addrs {
		c.clients[i][side] = newRaw(c.t, c.addrs[side])
	}
	c.owners[c.clients[i][ourSide].session] = c.clients[i][theirSide].session
}

func (c *comparison) fatal(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("%s\nafter:\n%s", fmt.Sprintf(format, args...), strings.Join(c.trace[max(0, len(c.trace)-25):], "\n"))
}

func (c *comparison) pick(options ...string) string { return options[c.rng.IntN(len(options))] }

// path is one of few, so that clients meet; sometimes it is no path at all.
func (c *comparison) path() string {
	if c.rng.IntN(40) == 0 {
		return c.dir + c.pick("/", "//a", "/.", "/a/..", "/a\x01")
	}
	path := c.dir
	for range []int{1, 1, 1, 2, 2, 3}[c.rng.IntN(6)] {
		path += c.pick("/a", "/b", "/c", "/s-0000000001")
	}
	if c.rng.IntN(8) == 0 {
		path = c.dir + "/w" + path[len(c.dir):]
	}
	return path
}

func (c *comparison) version() int32 { return int32(c.rng.IntN(4)) - 1 }

func (c *comparison) data() []byte {
	return [][]byte{nil, {}, []byte("x"), make([]byte, c.rng.IntN(2000))}[c.rng.IntN(4)]
}

func (c *comparison) acl() [3]string {
	return [][3]string{open, open, open, {"31", "ip", "127.0.0.1"}, {"15", "world", "anyone"}, {"31", "ip", "127.0.0.1/33"}}[c.rng.IntN(6)]
}

// change is the body of a random write.
func (c *comparison) change(inMulti bool) (int32, enc) {
	switch n := c.rng.IntN(10); {
	case n < 4:
		flags := int32(c.rng.IntN(4))
		path := c.path()
		if flags&flagSequence != 0 && c.rng.IntN(2) == 0 {
			path = c.dir + c.pick("/s-", "/a/s-", "/b/")
		}
		op := []int32{opCreate, opCreate2}[c.rng.IntN(2)]
		if inMulti {
			op = opCreate
		}
		return op, enc{}.str(path).buf(c.data()).acls(c.acl()).int(flags)
	case n < 6:
		return opDelete, enc{}.str(c.path()).int(c.version())
	case n < 9:
		return opSetData, enc{}.str(c.path()).buf(c.data()).int(c.version())
	case inMulti:
		return opCheck, enc{}.str(c.path()).int(c.version())
	}
	return opSetACL, enc{}.str(c.path()).acls(c.acl()).int(c.version())
}

func (c *comparison) step() {
	i := c.rng.IntN(len(c.clients))
	switch n := c.rng.IntN(100); {
	case n < 40:
		op, body := c.change(false)
		c.both(i, op, body)
	case n < 50:
		body := enc{}
		for range c.rng.IntN(5) {
			op, part := c.change(true)
			body = body.op(op, part)
		}
		c.both(i, opMulti, body.end())
	case n < 85:
		op := []int32{opExists, opGetData, opGetChildren, opGetChildren2}[c.rng.IntN(4)]
		path := c.path()
		if c.rng.IntN(4) == 0 {
			path = c.dir
		}
		c.both(i, op, enc{}.str(path).bool(c.rng.IntN(3) > 0))
	case n < 88:
		c.both(i, []int32{opGetACL, opCountChildren, opSync}[c.rng.IntN(3)], enc{}.str(c.path()))
	case n < 90:
		c.both(i, opGetEphemerals, enc{}.str(c.path()))
	case n < 92:
		// Always the same mode: in 3.8 a watch of another kind on the same path takes the place of the persistent one
		// (mended in later versions), which is also why nobody else watches /w.
		c.both(i, opAddWatch, enc{}.str(c.dir+"/w").int(int32(i%2)))
	case n < 93:
		c.both(i, opRemoveWatches, enc{}.str(c.dir+"/w").int(3))
	case n < 95:
		c.both(i, opRemoveWatches, enc{}.str(c.path()).int(int32(1+c.rng.IntN(3))))
	case n < 98:
		c.move(i)
	default:
		c.both(i, opCloseSession, nil)
		c.renew(i)
	}
	c.settle()
}

// move resumes a session on another connection, which asks for its watches again.
func (c *comparison) move(i int) {
	since := c.seen[c.rng.IntN(len(c.seen))]
	paths := func() []string { return []string{c.path(), c.path()} }
	lists := [][]string{paths(), paths(), paths()}
	c.trace = append(c.trace, fmt.Sprintf("client %d moves, setWatches since %x: %v", i, since, lists))
	var replies [2]wireReply
	for side, r := range c.clients[i] {
		next, err := r.resume(c.addrs[side])
		if err != nil {
			c.fatal("side %d: %v", side, err)
		}
		c.t.Cleanup(func() { next.nc.Close() })
		c.clients[i][side] = next
		replies[side] = next.call(c.t, opSetWatches, enc{}.long(since[side]).strs(lists[0]...).strs(lists[1]...).strs(lists[2]...))
	}
	c.compare(opSetWatches, replies, false)
}

// settle compares the events that others got.
func (c *comparison) settle() {
	sorted := strings.Contains(c.trace[len(c.trace)-1], fmt.Sprintf("op %d ", opCloseSession)) // of several nodes, in any order
	for i, sides := range c.clients {
		var events [2][]wireEvent
		for side, r := range sides {
			reply, err := r.try(opSync, enc{}.str("/"))
			if err != nil {
				c.fatal("side %d, client %d: %v", side, i, err)
			}
			events[side] = reply.Events
			if sorted {
				sortEvents(events[side])
			}
		}
		if diff := cmp.Diff(events[theirSide], events[ourSide]); diff != "" {
			c.fatal("events of client %d (- ZooKeeper, + ours): %s", i, diff)
		}
	}
}

func sortEvents(events []wireEvent) {
	slices.SortFunc(events, func(a, b wireEvent) int {
		return strings.Compare(fmt.Sprint(a.Path, a.Kind), fmt.Sprint(b.Path, b.Kind))
	})
}

// both sends one request to both sides and compares the answers.
func (c *comparison) both(i int, op int32, body enc) {
	c.trace = append(c.trace, fmt.Sprintf("client %d: op %d %.200q", i, op, []byte(body)))
	var replies [2]wireReply
	for side, r := range c.clients[i] {
		var err error
		if replies[side], err = r.try(op, body); err != nil {
			c.fatal("side %d: %v", side, err)
		}
	}
	c.compare(op, replies, op == opCloseSession)
}

func (c *comparison) compare(op int32, replies [2]wireReply, anyOrder bool) {
	ours, theirs := replies[ourSide], replies[theirSide]
	if anyOrder {
		sortEvents(ours.Events)
		sortEvents(theirs.Events)
	}
	if diff := cmp.Diff(theirs.Events, ours.Events); diff != "" || ours.Err != theirs.Err {
		c.fatal("error %d, ZooKeeper's %d; events before the reply (- ZooKeeper, + ours): %s", ours.Err, theirs.Err, diff)
	}
	if ours.Err != 0 {
		return
	}
	if writes(op) || op == opMulti && changed(ours.Body) {
		c.sameZxid(ours.Zxid, theirs.Zxid)
		c.seen = append(c.seen, [2]int64{ours.Zxid, theirs.Zxid})
	}
	a, b := c.describe(op, &dec{ours.Body}, ourSide), c.describe(op, &dec{theirs.Body}, theirSide)
	if diff := cmp.Diff(b, a); diff != "" {
		c.fatal("op %d (- ZooKeeper, + ours): %s", op, diff)
	}
}

func writes(op int32) bool {
	switch op {
	case opCreate, opCreate2, opDelete, opSetData, opSetACL:
		return true
	}
	return false
}

// changed reports whether a multi did something.
func changed(body []byte) bool {
	results := multiResults(&dec{body}, "")
	return len(results) > 0 && !strings.Contains(results[0], "code")
}

// sameZxid notes that two zxids stand for the same change, or fails when one of them stood for another.
func (c *comparison) sameZxid(ours, theirs int64) {
	if known, ok := c.zxids[ourSide][ours]; ok && known != theirs {
		c.fatal("zxid %x was ZooKeeper's %x, is %x", ours, known, theirs)
	}
	if known, ok := c.zxids[theirSide][theirs]; ok && known != ours {
		c.fatal("ZooKeeper's zxid %x was %x, is %x", theirs, known, ours)
	}
	c.zxids[ourSide][ours], c.zxids[theirSide][theirs] = theirs, ours
}

// describe takes a reply apart, with everything in it that should be the same on both sides.
func (c *comparison) describe(op int32, d *dec, side int) (fields []any) {
	defer func() {
		if p := recover(); p != nil {
			c.fatal("side %d: reply of op %d cut short: %v", side, op, p)
		}
	}()
	switch op {
	case opCreate:
		fields = append(fields, d.str())
	case opCreate2:
		fields = append(fields, d.str(), c.stat(d, side))
	case opSetData, opSetACL, opExists:
		fields = append(fields, c.stat(d, side))
	case opGetData:
		fields = append(fields, d.buf(), c.stat(d, side))
	case opGetChildren, opGetEphemerals:
		fields = append(fields, sortedStrings(d))
	case opGetChildren2:
		fields = append(fields, sortedStrings(d), c.stat(d, side))
	case opGetACL:
		fields = append(fields, d.acls(), c.stat(d, side))
	case opCountChildren, opAddWatch:
		fields = append(fields, d.int())
	case opSync:
		fields = append(fields, d.str())
	case opMulti:
		fields = append(fields, multiResults(d, ""))
	}
	if len(d.b) != 0 {
		c.fatal("side %d: %d bytes behind the reply of op %d", side, len(d.b), op)
	}
	return fields
}

func sortedStrings(d *dec) []string {
	v := d.strs()
	slices.Sort(v)
	return v
}

// stat replaces what differs between the sides: ours becomes theirs, by what was learnt; a zxid that has not been seen
// yet is one that only ever shows in stats, such as that of an expired session, and is left out.
func (c *comparison) stat(d *dec, side int) wireStat {
	s := d.stat()
	s.Ctime, s.Mtime = 0, 0
	for _, z := range []*int64{&s.Czxid, &s.Mzxid, &s.Pzxid} {
		theirs, known := *z, false
		if side == ourSide {
			theirs, known = c.zxids[ourSide][*z]
		} else {
			_, known = c.zxids[theirSide][*z]
		}
		if *z = theirs; !known {
			*z = -1
		}
	}
	if side == ourSide {
		s.Owner = c.owners[s.Owner]
	}
	return s
}
