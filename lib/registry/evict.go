package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// ErrNoMember says that a group has no member of that name.
var ErrNoMember = errors.New("registry: no such member")

// Exists tells whether there is anything of the group.
func (g *Group) Exists(ctx context.Context) (bool, error) { return g.s.exists(ctx, g.dir) }

// Holder is what the owner node of a partition says.
type Holder struct {
	Thread  string
	Session int64 // that the node goes with; 0: none, which is nobody's work of ours
}

// Holders reads what the owner nodes of a topic say, by partition: the owner is there as long as his session, and a member
// while it is registered.
func (g *Group) Holders(ctx context.Context, topic string) (map[int32]Holder, error) {
	names, _, err := g.s.children(ctx, g.ownersOf(topic))
	if err != nil {
		return nil, err
	}
	owned := numbers(names)
	held, found := make([]Holder, len(owned)), make([]bool, len(owned))
	err = g.s.each(len(owned), func(i int) error {
		data, stat, ok, err := g.s.find(ctx, g.owner(topic, owned[i]))
		if err == nil && ok {
			held[i], found[i] = Holder{string(data), stat.EphemeralOwner}, true
		}
		return err
	})
	all := make(map[int32]Holder, len(owned))
	for i, n := range owned {
		if found[i] {
			all[n] = held[i]
		}
	}
	return all, err
}

// OwnedTopics lists the topics that members of the group own partitions of, or have owned, sorted.
func (g *Group) OwnedTopics(ctx context.Context) ([]string, error) {
	names, _, err := g.s.children(ctx, g.owners())
	slices.Sort(names)
	return names, err
}

// Rebalance lets all members look at the group again, as if one of them had come and gone: their watch on its members
// fires, and nothing is changed. ErrNoGroup: it is not there.
func (g *Group) Rebalance(ctx context.Context) error {
	path := g.member("rebalance-" + NewID())
	p := g.s.pauses()
	for {
		_, _, err := g.s.multi([]any{g.s.opCreate(path, nil, 0), g.s.opDelete(path, anyVersion)})
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return fmt.Errorf("group %q: %w", g.name, ErrNoGroup)
		case !again(err):
			return err
		}
		if err := p.wait(ctx); err != nil { // once too often does no harm
			return err
		}
	}
}

// Evict takes the registration of a member away, with the partitions that its session owns: in one step, or where that is
// too much for one request, first partitions in steps of some 2,500, and the rest with the registration at last. Between
// the steps the member has fewer partitions, and who ends there has only to do it again. Offsets are rewritten as they
// are, so that the member's commits fail from then on: it learns that it is not the owner any longer, and may join again.
// It returns the number of partitions. ErrNoMember: it is not there. *KindError: it is of a KafkaGroup, whose coordinator
// alone evicts.
func (g *Group) Evict(ctx context.Context, id string) (partitions int, err error) {
	if a, found, err := g.Arbiter(ctx, nil); err != nil {
		return 0, err
	} else if found && a.Kind == KafkaGroup {
		return 0, &KindError{Group: g.name, Kind: KafkaGroup}
	}
	p := g.s.pauses()
	taken := map[string]bool{}
	for tried := false; ; tried = true {
		e, err := g.planEviction(ctx, id)
		if tried && errors.Is(err, ErrNoMember) {
			return len(taken), nil // the reply was lost, or it went by itself
		}
		if err != nil {
			return 0, err
		}
		for _, o := range e.owned {
			taken[o.path] = true
		}
		err = e.run(ctx, g.s)
		switch {
		case err == nil:
			return len(taken), nil
		case lost(err):
			if err := g.s.settle(ctx); err != nil {
				return 0, err
			}
		case !isAny(err, []error{zk.ErrBadVersion, zk.ErrNoNode, zk.ErrNodeExists}) && !again(err):
			return 0, err
		}
		if err := p.wait(ctx); err != nil {
			return 0, err
		}
	}
}

// eviction is what is to be done to evict a member. The fence is the version of ids, which every Join raises, and those of
// the offsets, which every claim does: what is removed is what was read.
type eviction struct {
	fence, member any // operations
	owned         []evictedPartition
}

type evictedPartition struct {
	path string
	ops  []any
}

// run takes as few steps as it can; the registration goes with the last. Each holds only while nobody has joined and the
// partitions of it are as they were read.
func (e *eviction) run(ctx context.Context, s *Session) error {
	for rest := e.owned; ; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		ops := []any{e.fence}
		size, n := opsSize(ops)+opSize(e.member), 0
		for ; n < len(rest); n++ {
			for _, op := range rest[n].ops {
				size += opSize(op)
			}
			if size > maxMulti {
				break
			}
			ops = append(ops, rest[n].ops...)
		}
		rest = rest[n:]
		if len(rest) == 0 {
			ops = append(ops, e.member)
		}
		if _, _, err := s.multi(ops); err != nil || len(rest) == 0 {
			return err
		}
	}
}

func (g *Group) planEviction(ctx context.Context, id string) (*eviction, error) {
	_, fence, found, err := g.s.find(ctx, g.ids())
	if err != nil {
		return nil, err
	}
	var member *zk.Stat
	if found {
		if _, member, found, err = g.s.find(ctx, g.member(id)); err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, fmt.Errorf("group %q: member %q: %w", g.name, id, ErrNoMember)
	}
	e := &eviction{fence: g.s.opCheck(g.ids(), fence.Version), member: g.s.opDelete(g.member(id), anyVersion)}
	if member.EphemeralOwner == 0 {
		return e, nil // made by hand: what it owns cannot be told
	}
	topics, err := g.OwnedTopics(ctx)
	if err != nil {
		return nil, err
	}
	for _, topic := range topics {
		if err := g.planTopic(ctx, e, topic, member.EphemeralOwner); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// planTopic adds the partitions of a topic that a session owns.
func (g *Group) planTopic(ctx context.Context, e *eviction, topic string, session int64) error {
	held, err := g.Holders(ctx, topic)
	if err != nil {
		return err
	}
	var numbers []int32
	for partition, h := range held {
		if h.Session == session {
			numbers = append(numbers, partition)
		}
	}
	slices.Sort(numbers)
	owned := make([]evictedPartition, len(numbers))
	err = g.s.each(len(numbers), func(i int) error {
		bump, err := g.planBump(ctx, g.offset(topic, numbers[i]))
		path := g.owner(topic, numbers[i])
		owned[i] = evictedPartition{path, []any{bump, g.s.opDelete(path, anyVersion)}}
		return err
	})
	e.owned = append(e.owned, owned...)
	return err
}

// planBump changes the version of an offset, and nothing else.
func (g *Group) planBump(ctx context.Context, path string) (any, error) {
	data, stat, found, err := g.s.find(ctx, path)
	if err != nil || found {
		return g.s.opSet(path, data, stat.Version), err
	}
	return g.s.opCreate(path, encodeOffset(NoOffset), 0), nil
}
