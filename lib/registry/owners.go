package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Owned is a partition that a member of a RegistryGroup owns: what Claim returns, and Commit and Release take. It is for
// one goroutine.
type Owned struct {
	Topic     Topic
	Partition int32
	Offset    int64 // committed last; NoOffset for none
	Term      int64 // rises from owner to owner of the partition: for logs
	version   int32 // of the offset node, the fence
}

// OwnedError says that a partition is somebody else's, or still an earlier session's of the same member.
type OwnedError struct {
	Topic     string
	Partition int32
	Owner     string // what its node says: the member's thread
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("partition %s-%d is owned by %q", e.Topic, e.Partition, e.Owner)
}

// ErrNotOwner says that the partition has another owner by now, or none.
var ErrNotOwner = errors.New("registry: partition is not owned any longer")

// Owners reads who owns the partitions of a topic, by partition: the member's thread.
func (g *Group) Owners(ctx context.Context, topic string) (map[int32]string, error) {
	held, err := g.Holders(ctx, topic)
	owners := make(map[int32]string, len(held))
	for partition, h := range held {
		if h.Thread != "" {
			owners[partition] = h.Thread
		}
	}
	return owners, err
}

// Claim makes thread, a member's, the owner of a partition for as long as the session of the lease lasts. In the same
// step it rewrites the offset, so that an earlier owner's commits fail from then on, and the offset returned is the last
// one that got through.
//
// *OwnedError: somebody else owns it; the watcher, unless it is nil, becomes dirty when that ends. ErrTerm: the group is
// of another kind by now. ErrExpired: claim again with another lease, after joining again.
func (g *Group) Claim(ctx context.Context, lease *Lease, a Arbiter, t Topic, partition int32, thread string, w *Watcher) (*Owned, error) {
	if a.Kind != RegistryGroup {
		return nil, fmt.Errorf("group %q is of kind %s: %w", g.name, a.Kind, ErrTerm)
	}
	version, err := g.adopt(ctx, t)
	if err != nil {
		return nil, err
	}
	p := g.s.pauses()
	for {
		c := claim{g: g, lease: lease, arbiter: a, thread: thread, adopted: version, owned: &Owned{Topic: t, Partition: partition}}
		err := c.try(ctx, w)
		switch {
		case err == nil:
			return c.owned, nil
		case errors.Is(err, errAdopt):
			if version, err = g.adopt(ctx, t); err != nil {
				return nil, err
			}
		case errors.Is(err, ErrExpired):
			g.disown(ctx, t.Name, partition)
			return nil, err
		case errors.Is(err, zk.ErrNoNode): // a deletion of the topic that went half way
			if err := g.plantTopic(ctx, t); err != nil {
				return nil, err
			}
		case !isAny(err, []error{zk.ErrNodeExists, zk.ErrBadVersion}) && !again(err):
			return nil, err
		}
		if err := p.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// errAdopt says that the offsets became another topic's meanwhile.
var errAdopt = errors.New("offsets of another topic")

type claim struct {
	g       *Group
	lease   *Lease
	arbiter Arbiter
	thread  string
	adopted int32 // version of the topic's node below offsets
	owned   *Owned
}

func (c *claim) try(ctx context.Context, w *Watcher) error {
	g, s, o := c.g, c.g.s, c.owned
	ownerPath, offsetPath := g.owner(o.Topic.Name, o.Partition), g.offset(o.Topic.Name, o.Partition)
	data, stat, found, err := s.find(ctx, offsetPath)
	if err != nil {
		return err
	}
	if !found {
		if err := s.plant(ctx, offsetPath, encodeOffset(NoOffset)); err != nil {
			return err
		}
		return zk.ErrBadVersion // and again
	}
	if o.Offset, err = decodeOffset(data); err != nil {
		return at(offsetPath, err)
	}
	owner, held, found, err := c.owner(ctx, w, ownerPath)
	if err != nil {
		return err
	}
	take := s.opCreate(ownerPath, []byte(c.thread), zk.FlagEphemeral)
	if found {
		if held.EphemeralOwner != c.lease.session || owner != c.thread {
			return &OwnedError{o.Topic.Name, o.Partition, owner}
		}
		// This session's already: the reply to the claim was lost.
		take = s.opSet(ownerPath, []byte(c.thread), held.Version)
	}
	var (
		responses []zk.MultiResponse
		bad       int
	)
	err = s.holds(c.lease, func() (err error) {
		responses, bad, err = s.multi([]any{
			s.opExists(g.term(c.arbiter)), s.opCheck(g.offsetsOf(o.Topic.Name), c.adopted),
			take, s.opSet(offsetPath, encodeOffset(o.Offset), stat.Version),
		})
		return err
	})
	switch {
	case err == nil && len(responses) == 4 && responses[3].Stat != nil:
		o.version = responses[3].Stat.Version
		return c.term(ctx, ownerPath)
	case bad == 0 && errors.Is(err, zk.ErrNoNode):
		return ErrTerm
	case bad == 1 && isAny(err, []error{zk.ErrNoNode, zk.ErrBadVersion}):
		return errAdopt
	}
	return err
}

func (c *claim) owner(ctx context.Context, w *Watcher, path string) (owner string, stat *zk.Stat, found bool, err error) {
	data, stat, found, err := c.g.s.find(ctx, path)
	if err != nil || !found || w == nil || stat.EphemeralOwner == c.lease.session {
		return string(data), stat, found, err
	}
	// Somebody is there: hear of the end of it. It may have come before the watch.
	_, found, err = c.g.s.dataW(ctx, w, path)
	if err == nil && !found {
		w.Signal()
	}
	return string(data), stat, true, err
}

func (c *claim) term(ctx context.Context, path string) error {
	_, stat, found, err := c.g.s.find(ctx, path)
	if err == nil && (!found || stat.EphemeralOwner != c.lease.session) {
		return ErrExpired
	}
	if err == nil {
		c.owned.Term = stat.Czxid
	}
	return err
}

// disown removes an owner node that was made in a later session than the one it was meant for: that session's member
// does not know of it, and nobody else could claim the partition. What remains is found by Audit.
func (g *Group) disown(ctx context.Context, topic string, partition int32) {
	if session := g.s.conn.SessionID(); session != 0 {
		g.abandon(ctx, session, topic, partition)
	}
}

// Audit releases the partitions of a topic that the session of the lease owns and the member does not know to be its own.
// A request that was made just before a session ended may have been carried out in the next one.
func (g *Group) Audit(ctx context.Context, lease *Lease, topic string, known func(partition int32) bool) error {
	names, _, err := g.s.children(ctx, g.ownersOf(topic))
	if err != nil {
		return err
	}
	var unknown []int32
	for _, partition := range numbers(names) {
		if !known(partition) {
			unknown = append(unknown, partition)
		}
	}
	return g.s.each(len(unknown), func(i int) error {
		_, stat, found, err := g.s.find(ctx, g.owner(topic, unknown[i]))
		if err != nil || !found || stat.EphemeralOwner != lease.session {
			return err
		}
		return g.abandon(ctx, lease.session, topic, unknown[i])
	})
}

// abandon removes an owner node of the session without committing. The session may end, and somebody else claim, before
// the removal is carried out; his node has the same version, but the offset's version, read before, is another one then.
func (g *Group) abandon(ctx context.Context, session int64, topic string, partition int32) error {
	path := g.offset(topic, partition)
	p := g.s.pauses()
	for {
		offset, fence, found, err := g.s.find(ctx, path)
		if err != nil || !found {
			return err
		}
		_, stat, found, err := g.s.find(ctx, g.owner(topic, partition))
		if err != nil || !found || stat.EphemeralOwner != session {
			return err
		}
		_, _, err = g.s.multi([]any{g.s.opSet(path, offset, fence.Version), g.s.opDelete(g.owner(topic, partition), anyVersion)})
		if err == nil || !isAny(err, []error{zk.ErrBadVersion, zk.ErrNoNode}) && !again(err) {
			return err
		}
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
}
