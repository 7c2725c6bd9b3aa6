package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// Group is a consumer group by its name. It need not be there.
type Group struct {
	s    *Session
	name string
	dir  string
}

// Errors of groups.
var (
	ErrGroupInUse   = errors.New("registry: group has members")
	ErrNoGroup      = errors.New("registry: no such group")
	ErrTerm         = errors.New("registry: the group is led otherwise by now")
	ErrMemberExists = errors.New("registry: a member of that name is there")
)

// Group returns a group by its name, of at most MaxName bytes of any value.
func (s *Session) Group(name string) (*Group, error) {
	if err := checkName("group", name); err != nil {
		return nil, err
	}
	return &Group{s: s, name: name, dir: consumersPath + "/" + EscapeName(name)}, nil
}

// Name is the group's.
func (g *Group) Name() string { return g.name }

// Groups lists the names of all groups, sorted. Nodes that are no group's name are left out, and logged.
func (s *Session) Groups(ctx context.Context) ([]string, error) {
	children, _, err := s.children(ctx, consumersPath)
	if err != nil {
		return nil, err
	}
	return s.names(consumersPath, children), nil
}

func (s *Session) names(path string, children []string) []string {
	names := make([]string, 0, len(children))
	for _, child := range children {
		name, err := UnescapeName(child)
		if err != nil {
			s.options.Logger.Warn("name left out", "path", path, "error", err)
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Pattern is how a member subscribes to topics.
type Pattern string

// The patterns of Kafka 0.8. With a list, Subscription has one key, a regular expression.
const (
	Static    Pattern = "static"
	WhiteList Pattern = "white_list"
	BlackList Pattern = "black_list"
)

// Member is what a member of a group says of itself.
type Member struct {
	ID           string
	Subscription map[string]int32 // number of streams by topic
	Pattern      Pattern
	Joined       time.Time // by the member's clock, in ms; Join fills it in
	Strategy     string    // how it assigns partitions; "" is range, as in Kafka 0.8
	Order        int64     // rises from one registration to the next; Members fills it in
	Session      int64     // that the registration goes with; Members fills it in
}

// Thread is the name of a member's n-th stream, from 0, as it stands in the nodes of owners.
func Thread(member string, n int) string { return EscapeName(member) + "-" + strconv.Itoa(n) }

// ThreadMember is the member that a thread belongs to. ok is false for a text that is no thread's.
func ThreadMember(thread string) (member string, ok bool) {
	i := strings.LastIndexByte(thread, '-')
	if i < 0 {
		return "", false
	}
	if _, err := atoi(thread[i+1:]); err != nil {
		return "", false
	}
	member, err := UnescapeName(thread[:i])
	return member, err == nil
}

// Join says that a member is there, for as long as the session of the lease lasts. ErrTerm: the group is of another
// kind by now. ErrMemberExists: somebody else has that name, or an earlier session of the same member, which will end.
func (g *Group) Join(ctx context.Context, lease *Lease, a Arbiter, m Member) error {
	if err := checkName("member", m.ID); err != nil {
		return err
	}
	if m.Joined.IsZero() {
		m.Joined = time.Now()
	}
	path := g.member(m.ID)
	ops := []any{g.s.opExists(g.term(a)), g.s.opSet(g.ids(), []byte{}, anyVersion), g.s.opCreate(path, m.encode(), zk.FlagEphemeral)}
	p := g.s.pauses()
	for {
		var bad int
		err := g.s.holds(lease, func() (err error) { _, bad, err = g.s.multi(ops); return err })
		switch {
		case err == nil:
			return nil
		case bad == 0 && errors.Is(err, zk.ErrNoNode):
			return ErrTerm
		case errors.Is(err, zk.ErrNodeExists):
			_, stat, found, err := g.s.find(ctx, path)
			switch {
			case err != nil:
				return err
			case found && stat.EphemeralOwner == lease.session:
				return g.s.held(lease)
			case found:
				return fmt.Errorf("member %q: %w", m.ID, ErrMemberExists)
			}
		case !again(err):
			return err
		}
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
}

// Leave takes away what Join of this session has made. Every Join raises the version of the node above, so that nothing
// is taken away that somebody of the same name has made after this session.
func (g *Group) Leave(ctx context.Context, lease *Lease, id string) error {
	p := g.s.pauses()
	for {
		_, fence, found, err := g.s.find(ctx, g.ids())
		if err != nil || !found {
			return err
		}
		_, stat, found, err := g.s.find(ctx, g.member(id))
		if err != nil || !found || stat.EphemeralOwner != lease.session {
			return err
		}
		_, _, err = g.s.multi([]any{g.s.opCheck(g.ids(), fence.Version), g.s.opDelete(g.member(id), anyVersion)})
		if err == nil || !isAny(err, []error{zk.ErrBadVersion, zk.ErrNoNode}) && !again(err) {
			return err
		}
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
}

// Registered tells whether the session of the lease has a member registered by that name.
func (g *Group) Registered(ctx context.Context, lease *Lease, id string) (bool, error) {
	_, stat, found, err := g.s.find(ctx, g.member(id))
	return found && stat.EphemeralOwner == lease.session, err
}

// Members reads the members that are there, sorted by name bytewise. With a watcher it becomes dirty when they change;
// nil watches nothing. Members that nobody can read are left out, and logged.
func (g *Group) Members(ctx context.Context, w *Watcher) ([]Member, error) {
	return g.Roster(w).Refresh(ctx)
}

// opsEmpty let a multi fail with zk.ErrNotEmpty while the group has members, and leave everything as it was.
func (g *Group) opsEmpty() []any {
	return []any{g.s.opDelete(g.ids(), anyVersion), g.s.opCreate(g.ids(), nil, 0)}
}

// Delete removes a group with all its offsets. ErrGroupInUse: it has members. ErrNoGroup: it is not there.
func (g *Group) Delete(ctx context.Context) error {
	if found, err := g.s.exists(ctx, g.dir); err != nil || !found {
		return cmp.Or(err, ErrNoGroup)
	}
	if members, _, err := g.s.children(ctx, g.ids()); err != nil || len(members) > 0 {
		return cmp.Or(err, ErrGroupInUse)
	}
	// Owners first: they may outlive their members for a moment. Nobody can join, claim or commit without the next two;
	// the rest may then go in pieces.
	for _, path := range []string{g.owners(), g.arbiter(), g.ids(), g.dir} {
		err := g.s.removeTree(ctx, path)
		if errors.Is(err, zk.ErrNotEmpty) {
			return ErrGroupInUse
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes a node and all below it, which need not be there, in multis of what fits. Ephemeral nodes stay, and
// are the error zk.ErrNotEmpty.
func (s *Session) removeTree(ctx context.Context, path string) error {
	p := s.pauses()
	for {
		ops, err := s.planTree(ctx, path, nil)
		if err != nil || len(ops) == 0 {
			return err
		}
		for start, size := 0, 0; start < len(ops); start, size = start+size, 0 {
			for bytes := 64; start+size < len(ops); size++ {
				if bytes += opSize(ops[start+size]); bytes > maxMulti {
					break
				}
			}
			_, _, err = s.multi(ops[start : start+size])
			if err != nil {
				break
			}
		}
		switch {
		case err == nil:
			return nil
		case !again(err) && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNotEmpty):
			return err
		}
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
}

// planTree lists the removals, children first.
func (s *Session) planTree(ctx context.Context, path string, ops []any) ([]any, error) {
	_, stat, found, err := s.find(ctx, path)
	if err != nil || !found {
		return ops, err
	}
	if stat.EphemeralOwner != 0 {
		return ops, at(path, zk.ErrNotEmpty)
	}
	if stat.NumChildren > 0 {
		names, _, err := s.children(ctx, path)
		if err != nil {
			return ops, err
		}
		slices.Sort(names)
		for _, name := range names {
			if ops, err = s.planTree(ctx, path+"/"+name, ops); err != nil {
				return ops, err
			}
		}
	}
	return append(ops, s.opDelete(path, anyVersion)), nil
}

// forgetOffsets removes the offsets that groups without members have of a topic. Those of the others go stale by the
// topic's id, see Offsets.
func (s *Session) forgetOffsets(ctx context.Context, topic string) error {
	groups, err := s.Groups(ctx)
	if err != nil {
		return err
	}
	return s.each(len(groups), func(i int) error {
		g, err := s.Group(groups[i])
		if err != nil {
			return nil // a name longer than ours may be
		}
		found, err := s.exists(ctx, g.offsetsOf(topic))
		if err != nil || !found {
			return err
		}
		members, _, err := s.children(ctx, g.ids())
		if err != nil || len(members) > 0 {
			return err
		}
		for _, path := range []string{g.notesOf(topic), g.ownersOf(topic), g.offsetsOf(topic)} {
			if err := s.removeTree(ctx, path); err != nil && !errors.Is(err, zk.ErrNotEmpty) {
				return err
			}
		}
		return nil
	})
}
