package registry_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
)

// seeds are how many runs each property gets.
func seeds() uint64 {
	if os.Getenv("LOGKIT_SOAK") != "" {
		return 5000
	}
	return 150
}

// world is a twin with some clients, of which a call may fail in all ways, and while it is under way another client may
// do something: then runs in between, so that all of it follows from the seed.
type world struct {
	t       *testing.T
	r       *rand.Rand
	server  *zkfake.Server
	clients []client
	busy    []bool // clients that have a call under way
	acts    int    // begun so far
	act     func(i int)
}

func newWorld(t *testing.T, seed uint64, clients int) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 7)), server: zkfake.New(), busy: make([]bool, clients)}
	target := twin(w.server)
	target.planted(t).Close()
	for i := range clients {
		c := target.client(t)
		w.clients = append(w.clients, c)
		chaos := zkfake.Chaos(seed*100+uint64(i), 12)
		c.fake.SetFaults(func(call zkfake.Call) zkfake.Fault {
			other := w.r.IntN(clients)
			if w.act == nil || w.busy[other] || w.r.IntN(6) > 0 {
				return chaos(call)
			}
			if w.r.IntN(3) == 0 {
				c.fake.Expire() // and what is under way is carried out in the next session, after what the other one does
			}
			w.do(other)
			return zkfake.None
		})
	}
	return w
}

func (w *world) do(i int) {
	w.busy[i] = true
	w.acts++
	w.act(i)
	w.busy[i] = false
}

// calm ends all faults.
func (w *world) calm() {
	w.act = nil
	for _, c := range w.clients {
		c.fake.SetFaults(nil)
	}
}

func (w *world) run(steps int) {
	for range steps {
		w.do(w.r.IntN(len(w.clients)))
	}
}

func (w *world) close() {
	for _, c := range w.clients {
		c.Close()
	}
}

// allowed fails the test unless err is nil, or one of the errors.
func (w *world) allowed(what string, err error, list ...error) {
	w.t.Helper()
	if err == nil {
		return
	}
	for _, e := range list {
		if errors.Is(err, e) {
			return
		}
	}
	w.t.Fatalf("%s: %v", what, err)
}

func eachSeed(t *testing.T, f func(t *testing.T, seed uint64)) {
	for seed := range seeds() {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { f(t, seed) }) {
			return
		}
	}
}

// TestNoHalfMadeTopic creates, grows, sets and deletes topics of two names from three brokers. Whatever breaks, whoever
// looks at any time sees whole topics only, and what was reported is so.
func TestNoHalfMadeTopic(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed, 3)
		defer w.close()
		ctx := background(t)
		ids := map[string]string{} // names of topics by the ids they had
		w.act = func(i int) {
			c, name := w.clients[i], []string{"a", "b"}[w.r.IntN(2)]
			was, found, err := c.Topic(ctx, name)
			must(t, err)
			acts := w.acts
			switch {
			case !found:
				made, err := c.CreateTopic(ctx, name, [][]int32{{1}, {2}}, map[string]string{"k": "v"})
				w.allowed("create", err, registry.ErrTopicExists, registry.ErrTopicDeleted)
				if errors.Is(err, registry.ErrTopicExists) && acts == w.acts {
					t.Fatalf("topic %s exists, which nobody else has made: %v", name, err)
				}
				if err == nil {
					if ids[made.ID] != "" {
						t.Fatalf("id %s was given twice", made.ID)
					}
					ids[made.ID] = name
				}
			case w.r.IntN(3) == 0:
				must(t, ignore(c.DeleteTopic(ctx, was), registry.ErrNoTopic))
				if now, found, err := c.Topic(ctx, name); err == nil && found && now.ID == was.ID {
					t.Fatalf("topic %s is there after it was deleted", name)
				}
				if buried, err := c.Buried(ctx, was.ID, 1); err != nil || !buried {
					t.Fatalf("no tombstone of %s: %v", was.ID, err)
				}
			case w.r.IntN(2) == 0:
				_, err := c.AddPartitions(ctx, was, [][]int32{{1}, {3}})
				w.allowed("add", err, registry.ErrPartitions, registry.ErrNoTopic, registry.ErrTopicDeleted)
				if errors.Is(err, registry.ErrPartitions) && acts == w.acts {
					t.Fatalf("topic %s has other partitions, which nobody else has made: %v", name, err)
				}
			default:
				err := c.ChangeSettings(ctx, name, func(s map[string]string) error { s["n"] = fmt.Sprint(w.r.Int()); return nil })
				w.allowed("set", err, registry.ErrNoTopic, registry.ErrTopicDeleted)
			}
			checkTopics(t, w.server.Dump())
		}
		w.run(12)
		w.calm()
		must(t, w.clients[0].FinishDeletes(ctx))
		for path := range w.server.Dump() {
			if strings.HasPrefix(path, "/test/admin/delete_topics/") {
				t.Errorf("%s is left", path)
			}
		}
		view := w.clients[1].Follow()
		defer view.Close()
		get[registry.Changes](t)(view.Refresh(ctx))
		all := get[map[string]registry.Topic](t)(w.clients[0].Topics(ctx))
		if len(all) != len(view.Cluster().Topics) {
			t.Errorf("%+v, and in the view %+v", all, view.Cluster().Topics)
		}
	})
}

func ignore(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}

// checkTopics holds the tree to its rules. A topic that is being deleted may have fewer partitions than its node says.
func checkTopics(t *testing.T, tree map[string]string) {
	t.Helper()
	for path, data := range tree {
		name, found := strings.CutPrefix(path, "/test/brokers/topics/")
		if !found || strings.Contains(name, "/") {
			continue
		}
		deleting := strings.Contains(data, `"deleting":true`)
		if _, found := tree["/test/config/topics/"+name]; !found {
			t.Fatalf("topic %s has no settings", name)
		}
		if _, marked := tree["/test/admin/delete_topics/"+name]; marked != deleting {
			t.Fatalf("topic %s: marked %v, and its node %s", name, marked, data)
		}
		if deleting {
			continue
		}
		n := strings.Count(data, ":[")
		for p := range n {
			partition := fmt.Sprintf("%s/partitions/%d", path, p)
			if _, found := tree[partition]; !found || tree[partition+"/state"] == "" {
				t.Fatalf("topic %s of %d partitions has no partition %d", name, n, p)
			}
		}
		if _, found := tree[fmt.Sprintf("%s/partitions/%d", path, n)]; found {
			t.Fatalf("topic %s of %d partitions has one more", name, n)
		}
	}
	for path := range tree {
		if name, found := strings.CutPrefix(path, "/test/config/topics/"); found && tree["/test/brokers/topics/"+name] == "" {
			t.Fatalf("settings without a topic: %s", name)
		}
	}
}

// TestNoTwoOwnersOfAnID hands out ids to, and registers, brokers whose connections break.
func TestNoTwoOwnersOfAnID(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed, 3)
		defer w.close()
		ctx := background(t)
		owner := map[int32]string{}
		live := map[int32]int{} // client that was told last that it is registered
		var leases [3]*registry.Lease
		w.act = func(i int) {
			c := w.clients[i]
			incarnation := fmt.Sprintf("client-%d", i)
			if w.r.IntN(2) == 0 {
				mine := fmt.Sprintf("%s-%d", incarnation, w.r.Int64())
				id, err := c.AssignBrokerID(ctx, mine)
				must(t, err)
				if owner[id] != "" {
					t.Fatalf("id %d was handed out to %s and %s", id, owner[id], mine)
				}
				owner[id] = mine
				return
			}
			l, err := c.Lease(ctx)
			must(t, err)
			b := registry.Broker{ID: int32(w.r.IntN(2)), Host: incarnation, Port: 1, Incarnation: incarnation}
			err = c.RegisterBroker(ctx, l, b)
			var taken *registry.BrokerIDError
			if errors.As(err, &taken) || errors.Is(err, registry.ErrExpired) || errors.Is(err, registry.ErrFenced) {
				return
			}
			must(t, err)
			other, registered := live[b.ID]
			if registered && other != i && leases[other].Err() == nil && w.clients[other].fake.SessionID() == leases[other].ID() &&
				strings.Contains(w.server.Dump()[fmt.Sprintf("/test/brokers/ids/%d", b.ID)], fmt.Sprintf("client-%d", other)) {
				t.Fatalf("id %d is registered by clients %d and %d", b.ID, other, i)
			}
			live[b.ID], leases[i] = i, l
			if l.Err() == nil && c.fake.SessionID() == l.ID() && !strings.Contains(w.server.Dump()[fmt.Sprintf("/test/brokers/ids/%d", b.ID)], incarnation) {
				t.Fatalf("client %d is told that it has id %d, which it has not", i, b.ID)
			}
		}
		w.run(15)
	})
}

// TestNoTwoOwnersOfAPartition lets members of a group claim, commit and release two partitions, and somebody reset their
// offsets, while their sessions come and go. A commit gets through only when nobody else has claimed since.
func TestNoTwoOwnersOfAPartition(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed, 3)
		defer w.close()
		calm := twin(w.server).client(t)
		made := topic(t, calm, "T", 1, 2)
		g := &groupWorld{world: w, topic: made, last: map[int32]*registry.Owned{}, value: map[int32]int64{}, writes: map[int32]int{}, state: make([]groupMember, 3)}
		for i, c := range w.clients {
			g.state[i].group = get[*registry.Group](t)(c.Group("g"))
			g.state[i].owned = map[int32]*registry.Owned{}
		}
		w.act = func(i int) { g.act(background(t), i) }
		w.run(25)
		w.calm()
		// Nobody is left in the way of those who come after.
		for i := range w.clients {
			w.clients[i].fake.Expire()
		}
		last := join(t, twin(w.server), "g", "last")
		for p := range int32(2) {
			get[*registry.Owned](t)(last.claim(background(t), made, p, nil))
		}
		calm.Close()
	})
}

type groupMember struct {
	group *registry.Group
	lease *registry.Lease
	a     registry.Arbiter
	owned map[int32]*registry.Owned
}

type groupWorld struct {
	*world
	topic  registry.Topic
	last   map[int32]*registry.Owned // claimed last, as far as anybody was told
	value  map[int32]int64           // offsets, where it is certain what they are
	writes map[int32]int             // that are under way
	next   int64
	resets int
	state  []groupMember
}

var over = []error{registry.ErrExpired, registry.ErrFenced, registry.ErrTerm}

func (g *groupWorld) act(ctx context.Context, i int) {
	m := &g.state[i]
	if m.lease == nil || m.lease.Err() != nil {
		g.join(ctx, i)
		return
	}
	p := int32(g.r.IntN(2))
	o := m.owned[p]
	g.next++
	acts, resets := g.acts, g.resets
	write := func(call func() error) error { // of the last one to write, if nobody else was at work meanwhile
		g.writes[p]++
		err := call()
		g.writes[p]--
		delete(g.value, p)
		if err == nil && acts == g.acts && g.writes[p] == 0 {
			g.value[p] = g.next
		}
		return err
	}
	switch {
	case o == nil:
		claimed, err := m.group.Claim(ctx, m.lease, m.a, g.topic, p, fmt.Sprintf("m%d-0", i), nil)
		var owned *registry.OwnedError
		if errors.As(err, &owned) {
			return
		}
		g.allowed("claim", err, over...)
		if err == nil {
			m.owned[p], g.last[p] = claimed, claimed
			// A commit that came while it was claimed is not missed (ZOOKEEPER.md, row 9).
			if offset, certain := g.value[p]; certain && claimed.Offset != offset && resets == g.resets && g.writes[p] == 0 {
				g.t.Fatalf("client %d has claimed partition %d at %d, committed is %d", i, p, claimed.Offset, offset)
			}
		}
	case g.r.IntN(4) == 0:
		delete(m.owned, p)
		session := g.clients[i].fake.SessionID()
		err := write(func() error { return m.group.Release(ctx, m.lease, o, g.next) })
		if g.resets > 0 {
			delete(g.value, p) // the reset may have stayed
		}
		g.allowed("release", err, registry.ErrNotOwner)
		if err != nil && g.last[p] == o && acts == g.acts && session == m.lease.ID() && session == g.clients[i].fake.SessionID() {
			g.t.Fatalf("client %d is not the owner of what nobody else has claimed: %v", i, err)
		}
	case g.r.IntN(6) == 0:
		g.resets++
		err := write(func() error { return m.group.Reset(ctx, g.topic, map[int32]int64{p: g.next}, true) })
		g.allowed("reset", err, registry.ErrTerm)
	default:
		commit := &registry.Commit{Owned: o, Offset: g.next}
		before := g.last[p]
		var err error
		write(func() error {
			err = m.group.Commit(ctx, m.lease, m.a, []*registry.Commit{commit})
			return errors.Join(err, commit.Err)
		})
		g.allowed("commit", err, over...)
		var reset *registry.ResetError
		switch {
		case err != nil:
		case errors.As(commit.Err, &reset) && g.resets == 0:
			g.t.Fatalf("client %d: %v, by nobody", i, commit.Err)
		case errors.Is(commit.Err, registry.ErrNotOwner):
			delete(m.owned, p)
		case commit.Err == nil && before != o && g.last[p] != o:
			g.t.Fatalf("client %d has committed %d to partition %d, which another has claimed since", i, g.next, p)
		}
	}
}

func (g *groupWorld) join(ctx context.Context, i int) {
	m := &g.state[i]
	clear(m.owned)
	m.lease = nil
	lease, err := g.clients[i].Lease(ctx)
	must(g.t, err)
	a, err := m.group.Lead(ctx, registry.RegistryGroup, -1)
	must(g.t, err)
	err = m.group.Join(ctx, lease, a, registry.Member{ID: fmt.Sprintf("m%d", i), Pattern: registry.Static})
	g.allowed("join", err, append(slices.Clone(over), registry.ErrMemberExists)...)
	if err != nil {
		return
	}
	if err := m.group.Audit(ctx, lease, "T", func(int32) bool { return false }); err != nil {
		g.t.Fatal(err)
	}
	m.lease, m.a = lease, a
}
