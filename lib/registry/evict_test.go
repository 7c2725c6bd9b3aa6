package registry_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
)

// A stuck member is taken out of the group with what it owns, and can do nothing with it any longer (KIP-670).
func TestEviction(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		ctx, made := background(t), topic(t, target.planted(t), "T", 1, 3)
		stuck, other := join(t, target, "g", "stuck"), join(t, target, "g", "other")
		first := get[*registry.Owned](t)(stuck.claim(ctx, made, 0, nil))
		must(t, stuck.commit(t, first, 100))
		second := get[*registry.Owned](t)(stuck.claim(ctx, made, 1, nil))
		kept := get[*registry.Owned](t)(other.claim(ctx, made, 2, nil))

		held := get[map[int32]registry.Holder](t)(other.Holders(ctx, "T"))
		if len(held) != 3 || held[0] != (registry.Holder{Thread: "stuck-0", Session: stuck.lease.ID()}) {
			t.Errorf("held: %v", held)
		}
		members := get[[]registry.Member](t)(other.Members(ctx, nil))
		if len(members) != 2 || members[1].Session != stuck.lease.ID() {
			t.Errorf("members: %+v", members)
		}
		w := registry.NewWatcher()
		defer w.Close()
		get[[]registry.Member](t)(other.Members(ctx, w))
		if n, err := other.Evict(ctx, "stuck"); n != 2 || err != nil {
			t.Fatalf("evicted with %d partitions, %v", n, err)
		}
		<-w.Dirty()
		if members := get[[]registry.Member](t)(other.Members(ctx, nil)); len(members) != 1 {
			t.Errorf("members: %+v", members)
		}
		for _, o := range []*registry.Owned{first, second} {
			if err := stuck.commit(t, o, 500); !errors.Is(err, registry.ErrNotOwner) {
				t.Errorf("partition %d: commit of the evicted member: %v", o.Partition, err)
			}
			if err := stuck.Release(ctx, stuck.lease, o, 500); !errors.Is(err, registry.ErrNotOwner) {
				t.Errorf("partition %d: release by the evicted member: %v", o.Partition, err)
			}
		}
		must(t, other.commit(t, kept, 7))
		if o := get[*registry.Owned](t)(other.claim(ctx, made, 0, nil)); o.Offset != 100 {
			t.Errorf("taken over at %d", o.Offset)
		}
		if _, err := other.Evict(ctx, "stuck"); !errors.Is(err, registry.ErrNoMember) {
			t.Errorf("evicted twice: %v", err)
		}
		// It may come back.
		must(t, stuck.Join(ctx, stuck.lease, stuck.a, registry.Member{ID: "stuck", Pattern: registry.Static}))
	})
}

// What is too much for one request goes in several, of which the last takes the registration.
func TestEvictionOfManyPartitions(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		const partitions = 300
		name := strings.Repeat("g", 1000) // makes long paths: two steps
		ctx, made := background(t), topic(t, target.planted(t), "T", 1, partitions)
		stuck, other := join(t, target, name, "stuck"), join(t, target, name, "other")
		owned, errs := make([]*registry.Owned, partitions), make([]error, partitions)
		var claims sync.WaitGroup
		for from := range 20 {
			claims.Go(func() {
				for i := from; i < partitions; i += 20 {
					owned[i], errs[i] = stuck.claim(ctx, made, int32(i), nil)
				}
			})
		}
		claims.Wait()
		must(t, errors.Join(errs...))
		if n, err := other.Evict(ctx, "stuck"); n != partitions || err != nil {
			t.Fatalf("evicted with %d partitions, %v", n, err)
		}
		if held := get[map[int32]registry.Holder](t)(other.Holders(ctx, "T")); len(held) != 0 {
			t.Errorf("%d partitions are held still", len(held))
		}
		if members := get[[]registry.Member](t)(other.Members(ctx, nil)); len(members) != 1 {
			t.Errorf("members: %+v", members)
		}
		for _, i := range []int{0, partitions / 2, partitions - 1} {
			if err := stuck.commit(t, owned[i], 500); !errors.Is(err, registry.ErrNotOwner) {
				t.Errorf("partition %d: commit of the evicted member: %v", i, err)
			}
			get[*registry.Owned](t)(other.claim(ctx, made, int32(i), nil))
		}
	})
}

// A tool that ends between two of the steps leaves a member that can be evicted still, and what it has lost is free.
func TestEvictionEndedHalfWay(t *testing.T) {
	const partitions = 600 // three steps
	for step := 1; step <= 3; step++ {
		for _, fault := range []zkfake.Fault{zkfake.Lose, zkfake.LoseReply} {
			target := twin(zkfake.New())
			name := strings.Repeat("g", 1000)
			ctx, made := background(t), topic(t, target.planted(t), "T", 1, partitions)
			stuck, tool, second := join(t, target, name, "stuck"), target.client(t), target.client(t)
			owned := make([]*registry.Owned, partitions)
			for i := range owned {
				owned[i] = get[*registry.Owned](t)(stuck.claim(ctx, made, int32(i), nil))
			}
			ended, end := context.WithCancel(ctx)
			steps := 0
			tool.fake.SetFaults(func(c zkfake.Call) zkfake.Fault {
				if c.Op != "multi" {
					return zkfake.None
				}
				if steps++; steps == step {
					end()
					return fault
				}
				return zkfake.None
			})
			g := get[*registry.Group](t)(tool.Group(name))
			_, err := g.Evict(ended, "stuck")
			if finished := step == 3 && fault == zkfake.LoseReply; steps != step || err == nil && !finished {
				t.Fatalf("step %d: ended after %d steps: %v", step, steps, err)
			}
			g = get[*registry.Group](t)(second.Group(name))
			left := len(get[map[int32]registry.Holder](t)(g.Holders(ctx, "T")))
			members := len(get[[]registry.Member](t)(g.Members(ctx, nil)))
			if (members == 0) != (left == 0) || step > 1 && left == partitions {
				t.Errorf("step %d: %d members with %d partitions", step, members, left)
			}
			n, err := g.Evict(ctx, "stuck")
			if members > 0 && (n != left || err != nil) || members == 0 && !errors.Is(err, registry.ErrNoMember) {
				t.Errorf("step %d: evicted with %d of %d partitions, %v", step, n, left, err)
			}
			for _, o := range owned {
				if err := stuck.commit(t, o, 5); !errors.Is(err, registry.ErrNotOwner) {
					t.Fatalf("step %d: commit of the evicted member: %v", step, err)
				}
			}
		}
	}
}

// Whatever happens to the connection, a member that was there is gone once, with all that it owned.
func TestEvictionOverBreakingConnections(t *testing.T) {
	for at := 1; at <= 20; at++ {
		for _, fault := range []zkfake.Fault{zkfake.Lose, zkfake.LoseReply, zkfake.ExpireAfter} {
			target := twin(zkfake.New())
			ctx, made := background(t), topic(t, target.planted(t), "T", 1, 1)
			stuck, tool := join(t, target, "g", "stuck"), target.client(t)
			o := get[*registry.Owned](t)(stuck.claim(ctx, made, 0, nil))
			g := get[*registry.Group](t)(tool.Group("g"))
			calls := 0
			tool.fake.SetFaults(func(zkfake.Call) zkfake.Fault {
				if calls++; calls == at {
					return fault
				}
				if calls > at {
					tool.fake.Reconnect()
				}
				return zkfake.None
			})
			n, err := g.Evict(ctx, "stuck")
			if n != 1 || err != nil {
				t.Fatalf("%v: %d partitions, %v", fault, n, err)
			}
			if err := stuck.commit(t, o, 5); !errors.Is(err, registry.ErrNotOwner) {
				t.Errorf("%v: commit of the evicted member: %v", fault, err)
			}
		}
	}
}

func TestEvictionOfWhoIsNotThere(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		ctx, c := background(t), target.planted(t)
		g := get[*registry.Group](t)(c.Group("g"))
		if _, err := g.Evict(ctx, "m"); !errors.Is(err, registry.ErrNoMember) {
			t.Errorf("no group: %v", err)
		}
		if there := get[bool](t)(g.Exists(ctx)); there {
			t.Error("looking has made the group")
		}
		a := get[registry.Arbiter](t)(g.Lead(ctx, registry.KafkaGroup, 1))
		must(t, g.Join(ctx, lease(t, c.Session), a, registry.Member{ID: "m", Pattern: registry.Static}))
		var kind *registry.KindError
		if _, err := g.Evict(ctx, "m"); !errors.As(err, &kind) || kind.Kind != registry.KafkaGroup {
			t.Errorf("of a coordinator: %v", err)
		}
		if there := get[bool](t)(g.Exists(ctx)); !there {
			t.Error("the group is not there")
		}
	})
}

// All members are woken, and nothing is changed.
func TestRebalance(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		ctx, c := background(t), target.planted(t)
		one, two := join(t, target, "g", "one"), join(t, target, "g", "two")
		var watchers []*registry.Watcher
		for _, m := range []member{one, two} {
			w := registry.NewWatcher()
			defer w.Close()
			get[[]registry.Member](t)(m.Members(ctx, w))
			watchers = append(watchers, w)
		}
		g := get[*registry.Group](t)(c.Group("g"))
		must(t, g.Rebalance(ctx))
		for _, w := range watchers {
			<-w.Dirty()
		}
		if members := get[[]registry.Member](t)(g.Members(ctx, nil)); len(members) != 2 {
			t.Errorf("members: %+v", members)
		}
		nobody := get[*registry.Group](t)(c.Group("nobody"))
		if err := nobody.Rebalance(ctx); !errors.Is(err, registry.ErrNoGroup) {
			t.Errorf("no group: %v", err)
		}
		if there := get[bool](t)(nobody.Exists(ctx)); there {
			t.Error("the group was made")
		}
	})
}

// One tool at a time changes a group, whose members do not care; a tool that dies leaves no lock.
func TestLock(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		ctx, c := background(t), target.planted(t)
		one, two := target.client(t), target.client(t)
		lock := func(c client, holder string) error {
			return get[*registry.Group](t)(c.Group("a/b")).Lock(ctx, lease(t, c.Session), holder)
		}
		must(t, lock(one, "one \"here\""))
		must(t, lock(one, "one")) // as after a reply that was lost
		var locked *registry.LockedError
		if err := lock(two, "two"); !errors.As(err, &locked) || locked.Holder != `one "here"` || time.Since(locked.Since) > time.Hour {
			t.Fatalf("locked twice: %v", err)
		}
		if !strings.Contains(locked.Error(), `group "a/b": locked since 20`) {
			t.Error(locked)
		}
		if there := get[bool](t)(get[*registry.Group](t)(c.Group("a/b")).Exists(ctx)); there {
			t.Error("the lock has made the group")
		}
		one.Close()
		must(t, lock(two, "two"))
	})
}
