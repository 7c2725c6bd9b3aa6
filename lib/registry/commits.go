package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// ResetError says that somebody has set the offset meanwhile (logrebalance). The partition is still owned; its Offset is
// the one that was set, and the next commit counts from there.
type ResetError struct {
	Topic     string
	Partition int32
	Offset    int64
}

func (e *ResetError) Error() string {
	return fmt.Sprintf("offset of %s-%d was reset to %d", e.Topic, e.Partition, e.Offset)
}

// Commit is one offset to be committed, and what came of it.
type Commit struct {
	Owned  *Owned
	Offset int64
	Err    error // nil; *ResetError: jump there; ErrNotOwner: stop; set by Commit
}

// Commit writes offsets of partitions that are owned, as many at a time as fit, leaving out those that are committed
// already. Each compares the version of the offset node, so that only the owner's, and its last, get through: one that is
// refused does not keep the others from it, see Commit.Err. ErrTerm, ErrExpired, ErrFenced: stop, all of them.
func (g *Group) Commit(ctx context.Context, lease *Lease, a Arbiter, commits []*Commit) error {
	var open []*Commit
	for _, c := range commits {
		if c.Err = nil; c.Offset != c.Owned.Offset {
			open = append(open, c)
		}
	}
	p := g.s.pauses()
	for len(open) > 0 {
		rest, err := g.commitSome(ctx, lease, a, open)
		if err != nil {
			return err
		}
		if len(rest) == len(open) {
			if err := p.wait(ctx); err != nil {
				return err
			}
		}
		open = rest
	}
	return nil
}

// commitSome makes one multi, and returns those that are still to be committed.
func (g *Group) commitSome(ctx context.Context, lease *Lease, a Arbiter, open []*Commit) ([]*Commit, error) {
	ops := []any{g.s.opExists(g.term(a))}
	size, n := opsSize(ops), 0
	for ; n < len(open); n++ {
		o := open[n].Owned
		op := g.s.opSet(g.offset(o.Topic.Name, o.Partition), encodeOffset(open[n].Offset), o.version)
		if size += opSize(op); size > maxMulti {
			break
		}
		ops = append(ops, op)
	}
	var (
		responses []zk.MultiResponse
		bad       int
	)
	err := g.s.holds(lease, func() (err error) { responses, bad, err = g.s.multi(ops); return err })
	switch {
	case err == nil:
		for i, c := range open[:n] {
			c.Owned.Offset, c.Owned.version = c.Offset, responses[i+1].Stat.Version
		}
		return open[n:], nil
	case bad == 0 && errors.Is(err, zk.ErrNoNode):
		return nil, ErrTerm
	case bad > 0 && isAny(err, []error{zk.ErrBadVersion, zk.ErrNoNode}):
		done, err := g.explain(ctx, lease, open[bad-1])
		if err != nil || !done {
			return open, err
		}
		return append(append([]*Commit{}, open[:bad-1]...), open[bad:]...), nil
	case lost(err):
		return g.explainAll(ctx, lease, open, n)
	case again(err):
		return open, nil
	}
	return nil, err
}

// explainAll finds out which of the first n are committed after all.
func (g *Group) explainAll(ctx context.Context, lease *Lease, open []*Commit, n int) (rest []*Commit, err error) {
	if err := g.s.settle(ctx); err != nil {
		return nil, err
	}
	for _, c := range open[:n] {
		done, err := g.explain(ctx, lease, c)
		if err != nil {
			return nil, err
		}
		if !done {
			rest = append(rest, c)
		}
	}
	return append(rest, open[n:]...), nil
}

// explain finds out why a commit was refused, or what became of it. done: it is committed, or c.Err says why not;
// else the offset is as it was.
func (g *Group) explain(ctx context.Context, lease *Lease, c *Commit) (done bool, err error) {
	o := c.Owned
	data, stat, found, err := g.s.find(ctx, g.offset(o.Topic.Name, o.Partition))
	if err != nil {
		return false, err
	}
	mine, err := g.owns(ctx, lease, o)
	if err != nil {
		return false, err
	}
	if !mine || !found {
		c.Err = ErrNotOwner
		return true, nil
	}
	if stat.Version == o.version {
		return false, nil
	}
	offset, err := decodeOffset(data)
	if err != nil {
		return false, at(g.offset(o.Topic.Name, o.Partition), err)
	}
	o.version, o.Offset = stat.Version, offset
	if offset != c.Offset {
		c.Err = &ResetError{o.Topic.Name, o.Partition, offset}
	}
	return true, nil
}

// owns tells whether the owner node is the one that Claim has made.
func (g *Group) owns(ctx context.Context, lease *Lease, o *Owned) (bool, error) {
	_, stat, found, err := g.s.find(ctx, g.owner(o.Topic.Name, o.Partition))
	return err == nil && found && stat.EphemeralOwner == lease.session && stat.Czxid == o.Term, err
}

// Release commits a last offset and gives the partition up, in one step. When the offset was reset meanwhile, the reset
// stays. A partition that is not owned any longer is left to whoever has it: ErrNotOwner.
func (g *Group) Release(ctx context.Context, lease *Lease, o *Owned, offset int64) error {
	p := g.s.pauses()
	for {
		_, _, err := g.s.multi([]any{
			g.s.opSet(g.offset(o.Topic.Name, o.Partition), encodeOffset(offset), o.version),
			g.s.opDelete(g.owner(o.Topic.Name, o.Partition), anyVersion), // safe: the version before it is the owner's
		})
		if err == nil {
			return nil
		}
		if !isAny(err, []error{zk.ErrBadVersion, zk.ErrNoNode}) && !again(err) {
			return err
		}
		unknown := lost(err)
		if unknown {
			if err := g.s.settle(ctx); err != nil {
				return err
			}
		}
		c := &Commit{Owned: o, Offset: offset}
		if _, err := g.explain(ctx, lease, c); err != nil {
			return err
		}
		var reset *ResetError
		switch {
		case errors.Is(c.Err, ErrNotOwner) && unknown:
			data, _, _, err := g.s.find(ctx, g.offset(o.Topic.Name, o.Partition))
			if now, bad := decodeOffset(data); err == nil && bad == nil && now == offset {
				return nil // released, it was
			}
			return errors.Join(ErrNotOwner, err) // taken away before it was, as far as one can tell
		case errors.As(c.Err, &reset):
			offset = reset.Offset
		case c.Err != nil:
			return c.Err
		}
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
}
