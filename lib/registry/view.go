package registry

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// Cluster is what there was at one time. It is never changed, and may be read by anybody.
type Cluster struct {
	Brokers map[int32]Broker
	Topics  map[string]Topic // without those that are being deleted
}

// Leader is the broker that serves a partition: the first one of its replicas, while it is there. ok is false when
// there is no such partition, or it has no leader.
func (c *Cluster) Leader(topic string, partition int32) (b Broker, ok bool) {
	t, found := c.Topics[topic]
	if !found || partition < 0 || int(partition) >= len(t.Replicas) {
		return Broker{}, false
	}
	b, ok = c.Brokers[t.Replicas[partition][0]]
	return b, ok
}

// View follows brokers and topics with two watches, however many there are: one of the children of /brokers/ids, one of
// those of /config/changes. After an event it reads what has changed and nothing else; after a gap, everything.
//
// Refresh and Resync are for one goroutine, the one that acts on what they return; Cluster is for all.
type View struct {
	s       *Session
	watcher *Watcher
	cluster atomic.Pointer[Cluster]

	ids        []int32 // as listed, among them those that could not be read
	idsVersion int32   // cversion of /brokers/ids when they were
	idsCreated int64   // czxid of it
	seen       int64   // changes below this number are in cluster.Topics
	whole      bool    // the next Refresh reads everything
	behind     bool    // the last one failed: a watch that has not fired says nothing
}

// Follow returns a view that is empty, and dirty, until it is refreshed. The caller closes it.
func (s *Session) Follow() *View {
	v := &View{s: s, watcher: NewWatcher(), whole: true}
	v.cluster.Store(&Cluster{Brokers: map[int32]Broker{}, Topics: map[string]Topic{}})
	v.watcher.Signal()
	return v
}

// Cluster returns what the last Refresh has found.
func (v *View) Cluster() *Cluster { return v.cluster.Load() }

// Watcher tells when to refresh.
func (v *View) Watcher() *Watcher { return v.watcher }

// Close ends the view's watching.
func (v *View) Close() { v.watcher.Close() }

// Resync lets the next Refresh read everything: now and then, against what other tools have changed without a note.
func (v *View) Resync() { v.whole = true; v.watcher.Signal() }

// Changes is what a Refresh has found to differ.
type Changes struct {
	Brokers []int32  // came, went, or registered anew; sorted
	Topics  []string // created, changed (settings, too), deleted; sorted. After a gap: all that there are, and were
}

// Refresh reads what has changed by what the watches tell: to be called when the watcher is dirty. After an error, which
// leaves the cluster as it was, it has to be called again, after a pause: the watcher does not ask for it.
func (v *View) Refresh(ctx context.Context) (changes Changes, err error) {
	changes, err = v.refresh(ctx)
	v.behind = err != nil
	return changes, err
}

func (v *View) refresh(ctx context.Context) (changes Changes, err error) {
	next := *v.Cluster()
	whole := v.whole
	ids := listedIDs{v.ids, v.idsVersion, v.idsCreated}
	if v.due(idsPath) {
		if ids, next.Brokers, changes.Brokers, err = v.brokers(ctx, v.Cluster(), whole); err != nil {
			return Changes{}, err
		}
	}
	seen := v.seen
	if v.due(changesPath) {
		if seen, changes.Topics, err = v.topics(ctx, &next, whole); err != nil {
			return Changes{}, err
		}
	}
	v.ids, v.idsVersion, v.idsCreated = ids.ids, ids.version, ids.created
	v.seen, v.whole = seen, false
	v.cluster.Store(&next)
	return changes, nil
}

// due reports whether the children of a node may differ from what they were.
func (v *View) due(path string) bool {
	return v.whole || v.behind || !v.watcher.quiet(childrenWatch(path))
}

type listedIDs struct {
	ids     []int32
	version int32
	created int64
}

// brokers reads those that have come. A broker that went and came back between two readings is in both lists; then the
// parent counts more creations and deletions than the lists differ by, and all are read.
func (v *View) brokers(ctx context.Context, old *Cluster, whole bool) (now listedIDs, brokers map[int32]Broker, changed []int32, err error) {
	names, stat, err := v.list(ctx, idsPath)
	if err != nil {
		return now, nil, nil, err
	}
	now = listedIDs{numbers(names), stat.Cversion, stat.Czxid}
	came := without(now.ids, v.ids)
	went := without(v.ids, now.ids)
	unread := came
	if whole || now.created != v.idsCreated || int(now.version-v.idsVersion) != len(came)+len(went) {
		unread = now.ids
	}
	if len(unread) == 0 && len(went) == 0 {
		return now, old.Brokers, nil, nil
	}
	read, err := v.s.brokersNamed(ctx, unread)
	if err != nil {
		return now, nil, nil, err
	}
	brokers = maps.Clone(old.Brokers)
	for _, id := range slices.Concat(unread, went) {
		delete(brokers, id)
	}
	for _, b := range read {
		brokers[b.ID] = b
	}
	for _, id := range slices.Concat(unread, went) {
		if brokers[id] != old.Brokers[id] {
			changed = append(changed, id)
		}
	}
	slices.Sort(changed)
	return now, brokers, slices.Compact(changed), nil
}

// without returns what is in a and not in b; both are sorted.
func without(a, b []int32) (rest []int32) {
	for _, x := range a {
		if _, found := slices.BinarySearch(b, x); !found {
			rest = append(rest, x)
		}
	}
	return rest
}

// topics reads the topics that the changes since the last one name.
func (v *View) topics(ctx context.Context, c *Cluster, whole bool) (seen int64, changed []string, err error) {
	names, stat, err := v.list(ctx, changesPath)
	if err != nil {
		return 0, nil, err
	}
	seen = created(stat)
	if !whole && seen == v.seen {
		return seen, nil, nil
	}
	var unread []string
	if !whole {
		if unread, whole, err = v.changedTopics(ctx, names, seen); err != nil {
			return 0, nil, err
		}
	}
	if whole {
		if unread, _, err = v.s.children(ctx, topicsPath); err != nil {
			return 0, nil, err
		}
	}
	read, err := v.s.topicsNamed(ctx, unread)
	if err != nil {
		return 0, nil, err
	}
	old := c.Topics
	if whole {
		c.Topics = make(map[string]Topic, len(read))
		unread = slices.Concat(unread, slices.Collect(maps.Keys(old)))
	} else {
		c.Topics = maps.Clone(old)
	}
	for _, name := range unread {
		t, found := read[name]
		if found && !t.Deleting {
			c.Topics[name] = t
		} else {
			delete(c.Topics, name)
		}
	}
	slices.Sort(unread)
	return seen, slices.Compact(unread), nil
}

// changedTopics reads the changes that were not seen yet. whole: some of them are not listed any longer.
func (v *View) changedTopics(ctx context.Context, names []string, upTo int64) (topics []string, whole bool, err error) {
	var unread []string
	for _, name := range names {
		if n, ok := changeNumber(name); ok && n >= v.seen && n < upTo {
			unread = append(unread, name)
		}
	}
	if int64(len(unread)) != upTo-v.seen {
		return nil, true, nil
	}
	slices.Sort(unread)
	topics = make([]string, len(unread))
	err = v.s.each(len(unread), func(i int) error {
		path := changesPath + "/" + unread[i]
		data, _, err := v.s.get(ctx, path)
		if err == nil {
			if topics[i], err = decodeChange(data); err != nil {
				err = errUnreadable
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, errUnreadable) {
		return nil, false, err
	}
	// A change that is gone by now, or that nobody can read, may have been about any topic.
	slices.Sort(topics)
	return slices.Compact(topics), err != nil, nil
}

// errUnreadable stands for a change that is not a topic's name.
var errUnreadable = errors.New("unreadable change")

// list reads the children of a node, with a watch.
func (v *View) list(ctx context.Context, path string) (names []string, stat *zk.Stat, err error) {
	names, stat, err = v.s.childrenW(ctx, v.watcher, path)
	if errors.Is(err, zk.ErrNoNode) {
		err = errors.Join(errors.New("registry: the tree is not there"), err)
	}
	return names, stat, err
}

// childrenW is children with a watch of w, which reports zk.ErrNoNode.
func (s *Session) childrenW(ctx context.Context, w *Watcher, path string) (names []string, stat *zk.Stat, err error) {
	watch := childrenWatch(path)
	err = s.read(ctx, path, func(path string) error {
		return w.watched(watch, func() (fires <-chan zk.Event, err error) {
			names, stat, fires, err = s.conn.ChildrenW(path)
			return fires, err
		}, func() (err error) {
			names, stat, err = s.conn.Children(path)
			return err
		})
	})
	return names, stat, err
}

func childrenWatch(path string) string { return "children " + path }

// dataW reads a node with a watch of w, also of one that is not there.
func (s *Session) dataW(ctx context.Context, w *Watcher, path string) (data []byte, found bool, err error) {
	err = s.read(ctx, path, func(path string) error {
		return w.watched("data "+path, func() (fires <-chan zk.Event, err error) {
			found, _, fires, err = s.conn.ExistsW(path)
			return fires, err
		}, func() error { return nil })
	})
	if err != nil {
		return nil, false, err
	}
	data, _, found, err = s.find(ctx, path)
	return data, found, err
}
