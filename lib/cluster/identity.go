package cluster

import (
	"context"
	"errors"
	"fmt"

	"logkit/lib/logdir"
	"logkit/lib/registry"
)

// IDError says that the operator asks for another broker id than the data directory has.
type IDError struct {
	Dir           string
	Kept, Desired int32
}

func (e *IDError) Error() string {
	return fmt.Sprintf("broker id %d: data directory %s has id %d, for ever", e.Desired, e.Dir, e.Kept)
}

// EmptyError says that a directory which belongs to a cluster has met a ZooKeeper that knows of none: not its own, or one
// that has lost everything.
type EmptyError struct {
	Dir     string
	Cluster string
}

func (e *EmptyError) Error() string {
	return fmt.Sprintf("data directory %s belongs to cluster %s, and zookeeper is empty", e.Dir, e.Cluster)
}

// identify settles which cluster the directory is of, and its id there. Nothing is written to a ZooKeeper that is refused.
func (m *Member) identify(ctx context.Context) error {
	ours, kept := m.dir.ClusterID(), m.dir.BrokerID()
	found, err := m.session.ClusterID(ctx)
	switch {
	case err != nil:
		return err
	case m.options.Move:
	case found == "" && kept != logdir.NoBrokerID:
		return &EmptyError{Dir: m.dir.Path(), Cluster: ours}
	case found != "" && ours != "" && found != ours:
		return &registry.ClusterError{Want: ours, Found: found}
	}
	if found != "" && ours != "" && found != ours {
		m.logger.Warn("the data directory changes clusters", "from", ours, "to", found)
		ours, kept = found, logdir.NoBrokerID
	}
	if err := m.session.Plant(ctx); err != nil {
		return err
	}
	if ours, err = m.session.JoinCluster(ctx, ours); err != nil {
		return err
	}
	if m.id, err = m.settleID(ctx, kept); err != nil {
		return err
	}
	return m.dir.Join(ours, m.id)
}

// settleID is the id that the operator asks for, the one that the directory has, or had in this cluster before, or another.
func (m *Member) settleID(ctx context.Context, kept int32) (int32, error) {
	incarnation := m.dir.Incarnation()
	desired := m.options.ID
	if desired != logdir.NoBrokerID && kept != logdir.NoBrokerID && desired != kept {
		return 0, &IDError{Dir: m.dir.Path(), Kept: kept, Desired: desired}
	}
	if desired == logdir.NoBrokerID {
		desired = kept
	}
	if desired == logdir.NoBrokerID {
		id, found, err := m.session.BrokerIDOf(ctx, incarnation)
		if err != nil || found {
			return id, err
		}
		return m.session.AssignBrokerID(ctx, incarnation)
	}
	err := m.session.TakeBrokerID(ctx, desired, incarnation)
	if taken := (*registry.BrokerIDError)(nil); errors.As(err, &taken) && m.options.Move && m.options.ID == desired {
		return desired, m.succeed(ctx, desired, taken)
	}
	return desired, err
}

// succeed takes the id of another directory, as the operator says who knows that it is gone. One that is there keeps it.
func (m *Member) succeed(ctx context.Context, id int32, taken *registry.BrokerIDError) error {
	owner, there, err := m.session.Broker(ctx, id)
	switch {
	case err != nil:
		return err
	case there:
		return &registry.BrokerIDError{ID: id, Owner: owner, Live: true}
	}
	m.logger.Warn("the data directory takes the place of another", "id", id, "incarnation_before", taken.Owner.Incarnation)
	if err := m.session.FreeBrokerID(ctx, id); err != nil {
		return err
	}
	return m.session.TakeBrokerID(ctx, id, m.dir.Incarnation())
}

// home returns an error unless the tree is still that of the cluster: ZooKeeper may come back without it, or as another.
func (m *Member) home(ctx context.Context) error {
	found, err := m.session.ClusterID(ctx)
	switch ours := m.dir.ClusterID(); {
	case err != nil:
		return err
	case found == "":
		return &EmptyError{Dir: m.dir.Path(), Cluster: ours}
	case found != ours:
		return &registry.ClusterError{Want: ours, Found: found}
	}
	return nil
}
