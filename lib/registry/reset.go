package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-zookeeper/zk"
)

// Reset sets offsets of a topic for the group. Members that own the partitions notice with their next commit, which
// fails, and at once by the reset node, which changes in the same step; see WatchReset. ErrGroupInUse: live is false, and
// the group has members; or it is a KafkaGroup that has. All partitions are set in one step, up to ErrTooLarge: 5,000.
func (g *Group) Reset(ctx context.Context, t Topic, offsets map[int32]int64, live bool) error {
	if _, found, err := g.Arbiter(ctx, nil); err != nil {
		return err
	} else if !found {
		if _, err := g.Lead(ctx, RegistryGroup, -1); err != nil { // to have all nodes
			return err
		}
	}
	token := NewID()
	p := g.s.pauses()
	for {
		ops, err := g.planReset(ctx, t, offsets, live, token)
		if errors.Is(err, errDone) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("group %q: %w", g.name, err)
		}
		_, _, err = g.s.multi(ops)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNotEmpty):
			return fmt.Errorf("group %q: %w", g.name, ErrGroupInUse)
		case lost(err):
			if err := g.s.settle(ctx); err != nil {
				return err
			}
		case !isAny(err, []error{zk.ErrBadVersion, zk.ErrNoNode, zk.ErrNodeExists}) && !again(err):
			return fmt.Errorf("group %q: %w", g.name, err)
		}
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
}

func (g *Group) planReset(ctx context.Context, t Topic, offsets map[int32]int64, live bool, token string) ([]any, error) {
	last, _, err := g.s.get(ctx, g.reset())
	if err != nil {
		return nil, err
	}
	if string(last) == token {
		return nil, errDone
	}
	a, found, err := g.Arbiter(ctx, nil)
	if err != nil || !found {
		return nil, cmp.Or(err, ErrNoGroup)
	}
	version, err := g.adopt(ctx, t)
	if err != nil {
		return nil, err
	}
	ops := []any{g.s.opExists(g.term(a)), g.s.opCheck(g.offsetsOf(t.Name), version), g.s.opSet(g.reset(), []byte(token), anyVersion)}
	if !live || a.Kind == KafkaGroup {
		ops = append(ops, g.opsEmpty()...)
	}
	for _, partition := range slices.Sorted(maps.Keys(offsets)) {
		data := encodeOffset(max(offsets[partition], NoOffset))
		if ops, err = g.s.planPut(ctx, ops, g.offset(t.Name, partition), data, true); err != nil {
			return nil, err
		}
	}
	return ops, nil
}

// WatchReset lets the watcher become dirty with every Reset of the group. mark is another one after each; who sees it
// change reads the offsets of its partitions again, by committing.
func (g *Group) WatchReset(ctx context.Context, w *Watcher) (mark string, err error) {
	data, _, err := g.s.dataW(ctx, w, g.reset())
	return string(data), err
}

// Recheck tells whether a partition is still owned, with the offset that its owner has committed last: nil, *ResetError,
// or ErrNotOwner, as in Commit.Err.
func (g *Group) Recheck(ctx context.Context, lease *Lease, o *Owned) error {
	c := &Commit{Owned: o, Offset: o.Offset}
	if _, err := g.explain(ctx, lease, c); err != nil {
		return err
	}
	return c.Err
}
