package registry

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// Roster follows the members of a group. It lists them, and reads those that have come since the last time: a group of
// n members costs each of them two requests when one comes, and not n. It is for one goroutine.
type Roster struct {
	g       *Group
	watcher *Watcher
	members map[string]Member // by name
	ids     []string          // as listed, among them those that could not be read; sorted
	version int32             // cversion of the node above when they were
	created int64             // czxid of it
}

// Roster returns a roster that knows nobody yet. The watcher, unless it is nil, becomes dirty when members change.
func (g *Group) Roster(w *Watcher) *Roster { return &Roster{g: g, watcher: w} }

// Refresh returns the members that are there, sorted by name bytewise. Those that nobody can read are left out, and
// logged. After an error the roster is as it was.
func (r *Roster) Refresh(ctx context.Context) ([]Member, error) {
	s := r.g.s
	children, stat, err := s.childrenW(ctx, r.watcher, r.g.ids())
	if errors.Is(err, zk.ErrNoNode) {
		children, stat, err = nil, &zk.Stat{}, nil
	}
	if err != nil {
		return nil, err
	}
	names := s.names(r.g.ids(), children)
	came, went := missingFrom(r.ids, names), missingFrom(names, r.ids)
	members := maps.Clone(r.members)
	if r.created == 0 || r.created != stat.Czxid || int(stat.Cversion-r.version) != len(came)+len(went) {
		came, members = names, nil // one of them may have gone and come back
	}
	for _, name := range went {
		delete(members, name)
	}
	if members == nil {
		members = make(map[string]Member, len(names))
	}
	read := make([]Member, len(came))
	err = s.each(len(came), func(i int) (err error) {
		read[i], err = r.g.readMember(ctx, came[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, name := range came {
		if read[i].Order != 0 {
			members[name] = read[i]
		}
	}
	r.members, r.ids, r.version, r.created = members, names, stat.Cversion, stat.Czxid
	return slices.SortedFunc(maps.Values(members), func(a, b Member) int { return strings.Compare(a.ID, b.ID) }), nil
}

// readMember returns a member of Order 0 for one that is gone, or that nobody can read.
func (g *Group) readMember(ctx context.Context, name string) (Member, error) {
	data, stat, found, err := g.s.find(ctx, g.member(name))
	if err != nil || !found {
		return Member{}, err
	}
	m, err := decodeMember(name, data)
	if err != nil {
		g.s.options.Logger.Warn("member left out", "path", g.member(name), "error", err)
		return Member{}, nil
	}
	m.Order, m.Session = stat.Czxid, stat.EphemeralOwner
	return m, nil
}

// missingFrom returns what list has and known has not; both are sorted.
func missingFrom(known, list []string) (names []string) {
	for _, name := range list {
		if _, found := slices.BinarySearch(known, name); !found {
			names = append(names, name)
		}
	}
	return names
}
