package registry_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/registry"
)

// member is one of a registry group, with a session of its own.
type member struct {
	client
	*registry.Group
	name  string
	lease *registry.Lease
	a     registry.Arbiter
}

func join(t testing.TB, target target, group, name string) member {
	t.Helper()
	c := target.client(t)
	g := get[*registry.Group](t)(c.Group(group))
	m := member{c, g, name, lease(t, c.Session), get[registry.Arbiter](t)(g.Lead(background(t), registry.RegistryGroup, -1))}
	must(t, m.Join(background(t), m.lease, m.a, registry.Member{ID: name, Subscription: map[string]int32{"T": 1}, Pattern: registry.Static}))
	return m
}

func (m member) claim(ctx context.Context, t registry.Topic, p int32, w *registry.Watcher) (*registry.Owned, error) {
	return m.Claim(ctx, m.lease, m.a, t, p, m.name+"-0", w)
}

func (m member) commit(t testing.TB, o *registry.Owned, offset int64) error {
	t.Helper()
	c := &registry.Commit{Owned: o, Offset: offset}
	if err := m.Commit(background(t), m.lease, m.a, []*registry.Commit{c}); err != nil {
		return err
	}
	return c.Err
}

func TestOwnership(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		ctx, made := background(t), topic(t, target.planted(t), "T", 1, 2)
		one, two := join(t, target, "g", "one"), join(t, target, "g", "two")
		w := registry.NewWatcher()
		defer w.Close()
		o := get[*registry.Owned](t)(one.claim(ctx, made, 0, nil))
		if o.Offset != registry.NoOffset {
			t.Errorf("offset %d", o.Offset)
		}
		must(t, one.commit(t, o, 100))
		again := get[*registry.Owned](t)(one.claim(ctx, made, 0, nil)) // as after a reply that was lost
		must(t, one.commit(t, again, 200))
		o = again
		var owned *registry.OwnedError
		if _, err := two.claim(ctx, made, 0, w); !errors.As(err, &owned) || owned.Owner != "one-0" {
			t.Fatalf("claimed twice: %v", err)
		}
		select {
		case <-w.Dirty():
			t.Error("dirty before anything has changed")
		default:
		}
		must(t, one.Release(ctx, one.lease, o, 300))
		<-w.Dirty()
		second := get[*registry.Owned](t)(two.claim(ctx, made, 0, w))
		if second.Offset != 300 || second.Term <= o.Term {
			t.Errorf("%+v after %+v", second, o)
		}
		// The former owner's commits and its release fail, and change nothing (ZOOKEEPER.md F1, F2, row 6).
		if err := one.commit(t, o, 400); !errors.Is(err, registry.ErrNotOwner) {
			t.Errorf("commit of the former owner: %v", err)
		}
		if err := one.Release(ctx, one.lease, o, 400); !errors.Is(err, registry.ErrNotOwner) {
			t.Errorf("release by the former owner: %v", err)
		}
		if offsets := get[[]int64](t)(one.Offsets(ctx, made, []int32{0, 1})); !cmp.Equal(offsets, []int64{300, registry.NoOffset}) {
			t.Errorf("%v", offsets)
		}
		if owners := get[map[int32]string](t)(one.Owners(ctx, "T")); !cmp.Equal(owners, map[int32]string{0: "two-0"}) {
			t.Errorf("%v", owners)
		}
		must(t, two.Audit(ctx, two.lease, "T", func(int32) bool { return false }))
		if owners := get[map[int32]string](t)(one.Owners(ctx, "T")); len(owners) > 0 {
			t.Errorf("%v", owners)
		}
	})
}

// KAFKA-1387: a node of the same name and text, of an earlier session, is about to vanish.
func TestStaleOwnerIsNotTakenForOwn(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		ctx, made := background(t), topic(t, target.planted(t), "T", 1)
		before := join(t, target, "g", "one")
		get[*registry.Owned](t)(before.claim(ctx, made, 0, nil))
		must(t, before.Leave(ctx, before.lease, "one"))
		after := join(t, target, "g", "one")
		w := registry.NewWatcher()
		defer w.Close()
		var owned *registry.OwnedError
		if _, err := after.claim(ctx, made, 0, w); !errors.As(err, &owned) || owned.Owner != "one-0" {
			t.Fatalf("claimed what an earlier session holds: %v", err)
		}
		before.Session.Close()
		<-w.Dirty()
		get[*registry.Owned](t)(after.claim(ctx, made, 0, w))
	})
}

func TestMembers(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		ctx := background(t)
		target.planted(t)
		one := join(t, target, "a/b", "one")
		w := registry.NewWatcher()
		defer w.Close()
		if all, err := one.Members(ctx, w); err != nil || len(all) != 1 || all[0].Subscription["T"] != 1 {
			t.Errorf("%+v, %v", all, err)
		}
		two := join(t, target, "a/b", "../two")
		<-w.Dirty()
		if all, err := one.Members(ctx, w); err != nil || len(all) != 2 || all[0].ID != "../two" {
			t.Errorf("%+v, %v", all, err)
		}
		if err := one.Group.Delete(ctx); !errors.Is(err, registry.ErrGroupInUse) {
			t.Errorf("deleted with members: %v", err)
		}
		if groups, err := one.Groups(ctx); err != nil || !cmp.Equal(groups, []string{"a/b"}) {
			t.Errorf("%q, %v", groups, err)
		}
		two.Session.Close()
		<-w.Dirty()
		must(t, one.Leave(ctx, one.lease, "one"))
		must(t, one.Group.Delete(ctx))
		if groups, err := one.Groups(ctx); err != nil || len(groups) > 0 {
			t.Errorf("%q, %v", groups, err)
		}
		if err := one.Group.Delete(ctx); !errors.Is(err, registry.ErrNoGroup) {
			t.Error(err)
		}
	})
}

// A roster reads those that have come, and everybody when it can not know who has.
func TestRoster(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		ctx := background(t)
		target.planted(t)
		names := func(members []registry.Member) (names []string) {
			for _, m := range members {
				names = append(names, m.ID)
			}
			return names
		}
		one := join(t, target, "g", "one")
		w := registry.NewWatcher()
		defer w.Close()
		r := one.Roster(w)
		first := get[[]registry.Member](t)(r.Refresh(ctx))
		two := join(t, target, "g", "two")
		<-w.Dirty()
		if one.fake != nil {
			one.fake.Stats()
		}
		both := get[[]registry.Member](t)(r.Refresh(ctx))
		if !cmp.Equal(names(both), []string{"one", "two"}) || both[0].Order != first[0].Order || both[1].Order <= both[0].Order {
			t.Errorf("%+v after %+v", both, first)
		}
		if one.fake != nil {
			if n := one.fake.Stats().Requests; n != 2 {
				t.Errorf("%d requests for one that has come, want 2", n)
			}
		}
		must(t, two.Leave(ctx, two.lease, "two"))
		again := registry.Member{ID: "two", Pattern: registry.Static, Strategy: "sticky"}
		must(t, two.Join(ctx, two.lease, two.a, again)) // went and came between two readings
		if all := get[[]registry.Member](t)(r.Refresh(ctx)); len(all) != 2 || all[1].Strategy != "sticky" || all[1].Order <= both[1].Order {
			t.Errorf("%+v after %+v", all, both)
		}
		two.Session.Close()
		<-w.Dirty()
		for len(both) > 1 { // the watch may have told of the return
			both = get[[]registry.Member](t)(r.Refresh(ctx))
		}
		if !cmp.Equal(names(both), []string{"one"}) {
			t.Errorf("%+v", both)
		}
		nobody := get[*registry.Group](t)(one.Session.Group("nobody"))
		if all, err := nobody.Members(ctx, nil); err != nil || len(all) > 0 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestThreads(t *testing.T) {
	for _, member := range []string{"g_host-1445518677618-0a1b2c3d", "", "a/b", "-"} {
		thread := registry.Thread(member, 3)
		if got, ok := registry.ThreadMember(thread); !ok || got != member {
			t.Errorf("%q: %q is %q, %v", member, thread, got, ok)
		}
	}
	for _, thread := range []string{"", "x", "x-", "x-a", "x-01", "%-x", "/-0"} {
		if got, ok := registry.ThreadMember(thread); ok {
			t.Errorf("%q is a thread of %q", thread, got)
		}
	}
}

// A watch of a topic tells that it has come, has changed, and has gone.
func TestWatchTopic(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		c, ctx := target.planted(t), background(t)
		w := registry.NewWatcher()
		defer w.Close()
		watch := func() (registry.Topic, bool) {
			t.Helper()
			got, found, err := c.WatchTopic(ctx, "T", w)
			must(t, err)
			return got, found
		}
		if got, found := watch(); found {
			t.Errorf("%+v", got)
		}
		made := topic(t, c, "T", 1)
		<-w.Dirty()
		if got, found := watch(); !found || !cmp.Equal(got, made) {
			t.Errorf("%+v, %v", got, found)
		}
		more := get[registry.Topic](t)(c.AddPartitions(ctx, made, [][]int32{{1}}))
		<-w.Dirty()
		if got, found := watch(); !found || !cmp.Equal(got, more) {
			t.Errorf("%+v, %v", got, found)
		}
		must(t, c.DeleteTopic(ctx, more))
		<-w.Dirty()
		if got, found := watch(); found {
			t.Errorf("%+v", got)
		}
		if _, _, err := c.WatchTopic(ctx, "a/b", w); err == nil {
			t.Error("a path is watched")
		}
	})
}

func TestKindOfGroupChangesOnlyWithoutMembers(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		ctx, made := background(t), topic(t, target.planted(t), "T", 1)
		one := join(t, target, "g", "one")
		o := get[*registry.Owned](t)(one.claim(ctx, made, 0, nil))
		var kind *registry.KindError
		if _, err := one.Lead(ctx, registry.KafkaGroup, 5); !errors.As(err, &kind) || kind.Kind != registry.RegistryGroup {
			t.Fatalf("with members: %v", err)
		}
		must(t, one.Leave(ctx, one.lease, "one"))
		a := get[registry.Arbiter](t)(one.Lead(ctx, registry.KafkaGroup, 5))
		if a.Kind != registry.KafkaGroup || a.Coordinator != 5 || a.Epoch != one.a.Epoch+1 {
			t.Errorf("%+v after %+v", a, one.a)
		}
		if err := one.commit(t, o, 7); !errors.Is(err, registry.ErrTerm) {
			t.Errorf("commit of the earlier term: %v", err)
		}
		if _, err := one.claim(ctx, made, 0, nil); !errors.Is(err, registry.ErrTerm) {
			t.Errorf("claim of the earlier term: %v", err)
		}
		if err := one.Join(ctx, one.lease, one.a, registry.Member{ID: "x", Pattern: registry.Static}); !errors.Is(err, registry.ErrTerm) {
			t.Errorf("join of the earlier term: %v", err)
		}
		must(t, one.CommitKafka(ctx, a, made, []registry.KafkaOffset{{Partition: 0, Offset: 9, Metadata: "m\xff"}}))
		if text, err := one.Metadata(ctx, "T", 0, 9); err != nil || text != "m\xff" {
			t.Errorf("%q, %v", text, err)
		}
		next := get[registry.Arbiter](t)(one.Lead(ctx, registry.KafkaGroup, 6)) // the coordinator moves
		if err := one.CommitKafka(ctx, a, made, []registry.KafkaOffset{{Offset: 10}}); !errors.Is(err, registry.ErrTerm) {
			t.Errorf("commit of the coordinator before: %v", err)
		}
		must(t, one.CommitKafka(ctx, next, made, []registry.KafkaOffset{{Offset: -5}})) // kafkajs
		if offsets := get[[]int64](t)(one.Offsets(ctx, made, []int32{0})); offsets[0] != registry.NoOffset {
			t.Errorf("%v", offsets)
		}
		// Made again, a group has another nonce: a term never comes back.
		if err := one.Group.Delete(ctx); !errors.Is(err, registry.ErrGroupInUse) {
			t.Errorf("deleted with an owner: %v", err)
		}
		must(t, one.Audit(ctx, one.lease, "T", func(int32) bool { return false }))
		must(t, one.Group.Delete(ctx))
		again := get[registry.Arbiter](t)(one.Lead(ctx, registry.KafkaGroup, 6))
		if err := one.CommitKafka(ctx, next, made, []registry.KafkaOffset{{Offset: 10}}); !errors.Is(err, registry.ErrTerm) || again.Nonce == next.Nonce {
			t.Errorf("commit of the group before: %v", err)
		}
	})
}

func TestReset(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		c, ctx := target.planted(t), background(t)
		made := topic(t, c, "T", 1, 2)
		one := join(t, target, "g", "one")
		o := get[*registry.Owned](t)(one.claim(ctx, made, 0, nil))
		must(t, one.commit(t, o, 100))
		w := registry.NewWatcher()
		defer w.Close()
		before := get[string](t)(one.WatchReset(ctx, w))
		must(t, one.Recheck(ctx, one.lease, o))

		g := get[*registry.Group](t)(c.Group("g"))
		if err := g.Reset(ctx, made, map[int32]int64{0: 5}, false); !errors.Is(err, registry.ErrGroupInUse) {
			t.Errorf("not live, with members: %v", err)
		}
		must(t, g.Reset(ctx, made, map[int32]int64{0: 5, 1: 6}, true))
		<-w.Dirty()
		if after := get[string](t)(one.WatchReset(ctx, w)); after == before {
			t.Error("the mark is what it was")
		}
		var reset *registry.ResetError
		if err := one.commit(t, o, 200); !errors.As(err, &reset) || reset.Offset != 5 {
			t.Fatalf("commit over a reset: %v", err)
		}
		must(t, one.commit(t, o, 7)) // from where it was set to
		must(t, g.Reset(ctx, made, map[int32]int64{0: 1}, true))
		if err := one.Recheck(ctx, one.lease, o); !errors.As(err, &reset) || reset.Offset != 1 {
			t.Errorf("idle member: %v", err)
		}
		must(t, g.Reset(ctx, made, map[int32]int64{0: 2}, true))
		must(t, one.Release(ctx, one.lease, o, 900)) // a reset stays
		if offsets := get[[]int64](t)(g.Offsets(ctx, made, []int32{0, 1})); !cmp.Equal(offsets, []int64{2, 6}) {
			t.Errorf("%v", offsets)
		}
		// With members of the Kafka protocol nobody but their coordinator may.
		must(t, one.Leave(ctx, one.lease, "one"))
		a := get[registry.Arbiter](t)(g.Lead(ctx, registry.KafkaGroup, 1))
		must(t, one.Join(ctx, one.lease, a, registry.Member{ID: "k", Pattern: registry.Static}))
		if err := g.Reset(ctx, made, map[int32]int64{0: 5}, true); !errors.Is(err, registry.ErrGroupInUse) {
			t.Errorf("live, of the Kafka protocol: %v", err)
		}
	})
}

// A topic that is created again never meets the offsets of the one before.
func TestOffsetsBelongToTheTopicTheyWereCommittedFor(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		c, ctx := target.planted(t), background(t)
		first := topic(t, c, "T", 1, 2)
		idle := get[*registry.Group](t)(c.Group("idle"))
		a := get[registry.Arbiter](t)(idle.Lead(ctx, registry.KafkaGroup, 1))
		must(t, idle.CommitKafka(ctx, a, first, []registry.KafkaOffset{{Partition: 0, Offset: 50}}))
		one := join(t, target, "live", "one")
		o := get[*registry.Owned](t)(one.claim(ctx, first, 0, nil))
		must(t, one.commit(t, o, 60))
		must(t, c.DeleteTopic(ctx, first))
		if topics, err := idle.CommittedTopics(ctx); err != nil || len(topics) > 0 {
			t.Errorf("offsets of a group without members: %v, %v", topics, err)
		}
		second := topic(t, c, "T", 1, 2)
		for _, g := range []*registry.Group{idle, one.Group} {
			if offsets := get[[]int64](t)(g.Offsets(ctx, second, []int32{0})); offsets[0] != registry.NoOffset {
				t.Errorf("group %s: %v", g.Name(), offsets)
			}
		}
		anew := get[*registry.Owned](t)(one.claim(ctx, second, 0, nil))
		if anew.Offset != registry.NoOffset {
			t.Errorf("claimed at %d", anew.Offset)
		}
		if err := one.commit(t, o, 70); err == nil {
			t.Error("committed for the topic before")
		}
	})
}
