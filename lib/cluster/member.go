package cluster

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"logkit/lib/commitlog"
	"logkit/lib/logdir"
	"logkit/lib/registry"
)

// Options of a Member. The zero value of a field is its default, where one is given.
type Options struct {
	// Session is the way to ZooKeeper. It must stay open until Run has returned; the Member does not close it.
	Session *registry.Session
	// Dir is the open data directory. It must stay open as long.
	Dir *logdir.Dir
	// ID is the broker id that the operator asks for; logdir.NoBrokerID: that of the directory, or one that is given out.
	ID int32
	// Alone says that there are no other brokers, and never will be: whatever is in the directory is this one's, and what
	// is missing of a topic is begun.
	Alone bool
	// Adopt makes topics of partitions that the tree does not know, and claims those of which it does not know who has them.
	Adopt bool
	// Move lets a directory that belongs to one cluster become a part of another, or begin its own anew in an empty tree.
	Move bool
	// Resync is how often the whole tree is read (10 minutes).
	Resync time.Duration
	// Retry is how long to wait before what failed is tried again (5 s).
	Retry time.Duration
	// Logger takes what an operator should know (none).
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Resync <= 0 {
		o.Resync = 10 * time.Minute
	}
	if o.Retry <= 0 {
		o.Retry = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Member is a broker in a cluster. Make one with Join. All methods may be called from several goroutines.
type Member struct {
	session *registry.Session
	dir     *logdir.Dir
	options Options
	logger  *slog.Logger
	view    *registry.View
	id      int32

	registered atomic.Bool // and not fenced

	self atomic.Pointer[registry.Broker] // as Run registers it; nil before SetAddress

	again chan struct{} // the registration has gone while the session has not

	applying chan struct{} // held by whoever changes the directory, also while ZooKeeper is asked what to change

	mu      sync.Mutex
	rounds  chan struct{}    // closed, and replaced, after each round of the follower
	failed  map[string]error // by topic: what could not be done here, and is tried again
	said    map[string]*said // by topic: what has been reported, and has not changed
	unready error            // why the last round did not end
}

// Join makes the directory a broker of the cluster that is in ZooKeeper, or begins one there, and brings it in line with
// the tree. It blocks until ZooKeeper answers, which it says once when that takes longer, and until all partitions have
// been begun or deleted. A directory belongs to one cluster and has one id there, for ever. Errors:
// *registry.ClusterError, *registry.BrokerIDError, *IDError, *EmptyError, what ZooKeeper or the file system said, or the
// context's.
func Join(ctx context.Context, options Options) (*Member, error) {
	options = options.withDefaults()
	m := &Member{
		session: options.Session, dir: options.Dir, options: options, logger: options.Logger,
		again: make(chan struct{}, 1), applying: make(chan struct{}, 1),
		rounds: make(chan struct{}), failed: make(map[string]error), said: make(map[string]*said),
	}
	if err := m.reach(ctx); err != nil {
		return nil, err
	}
	if err := m.identify(ctx); err != nil {
		return nil, err
	}
	m.view = m.session.Follow()
	if err := m.begin(ctx); err != nil {
		m.view.Close()
		return nil, err
	}
	return m, nil
}

// reach waits for a session with ZooKeeper.
func (m *Member) reach(ctx context.Context) error {
	waiting := time.AfterFunc(time.Second, func() {
		m.logger.Warn("waiting for zookeeper, nothing is served before it answers")
	})
	defer waiting.Stop()
	_, err := m.session.Lease(ctx)
	return err
}

// begin brings the directory in line for the first time.
func (m *Member) begin(ctx context.Context) error {
	if err := m.session.FinishDeletes(ctx); err != nil {
		return err
	}
	if _, err := m.view.Refresh(ctx); err != nil {
		return err
	}
	if m.options.Adopt {
		if err := m.adopt(ctx); err != nil {
			return err
		}
		m.view.Resync() // its watches may not have told it yet
		if _, err := m.view.Refresh(ctx); err != nil {
			return err
		}
	}
	if err := m.alignAll(ctx); err != nil {
		return err
	}
	m.dir.BeginRetention() // by the settings that hold
	return nil
}

// SetAddress says where clients find the broker: Brokers tells it from then on, and Run registers it.
func (m *Member) SetAddress(host string, port int32) {
	m.self.Store(&registry.Broker{ID: m.id, Host: host, Port: port, Incarnation: m.dir.Incarnation()})
}

// ID is the broker's.
func (m *Member) ID() int32 { return m.id }

// ClusterID is the cluster's.
func (m *Member) ClusterID() string { return m.dir.ClusterID() }

// Dir is the data directory.
func (m *Member) Dir() *logdir.Dir { return m.dir }

// Cluster is what was last learned of the cluster. It is never changed.
func (m *Member) Cluster() *registry.Cluster { return m.view.Cluster() }

// Log returns the log of a partition that is served here.
func (m *Member) Log(topic string, partition int32) (*commitlog.Log, bool) {
	return m.dir.Log(topic, partition)
}

// Leads tells whether a partition of a topic, as it was last learned, is this broker's.
func (m *Member) Leads(t registry.Topic, partition int32) bool {
	return partition >= 0 && int(partition) < len(t.Replicas) && t.Replicas[partition][0] == m.id
}

// Brokers are those that are there, this one always among them once it has an address, by id.
func (m *Member) Brokers() map[int32]registry.Broker {
	known := m.Cluster().Brokers
	self := m.self.Load()
	if self == nil {
		return known
	}
	if b, ok := known[m.id]; ok && b.Host == self.Host && b.Port == self.Port {
		return known
	}
	all := make(map[int32]registry.Broker, len(known)+1)
	for id, b := range known {
		all[id] = b
	}
	all[m.id] = *self
	return all
}
