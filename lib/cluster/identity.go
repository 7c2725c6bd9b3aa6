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

// identify settles which cluster the directory is of, and its id there.
func (m *Member) identify(ctx context.Context) error {
	kept := m.dir.BrokerID()
	if kept != logdir.NoBrokerID && !m.options.Move {
		if found, err := m.session.ClusterID(ctx); err != nil {
			return err
		} else if found == "" {
			return &EmptyError{Dir: m.dir.Path(), Cluster: m.dir.ClusterID()}
		}
	}
	cluster, err := m.session.JoinCluster(ctx, m.dir.ClusterID())
	if other := (*registry.ClusterError)(nil); errors.As(err, &other) && m.options.Move {
		m.logger.Warn("the data directory changes clusters", "from", other.Want, "to", other.Found)
		cluster, kept, err = other.Found, logdir.NoBrokerID, nil
	}
	if err != nil {
		return err
	}
	desired := m.options.ID
	switch {
	case desired != logdir.NoBrokerID && kept != logdir.NoBrokerID && desired != kept:
		return &IDError{Dir: m.dir.Path(), Kept: kept, Desired: desired}
	case desired == logdir.NoBrokerID:
		desired = kept
	}
	if desired == logdir.NoBrokerID {
		desired, err = m.session.AssignBrokerID(ctx, m.dir.Incarnation())
	} else {
		err = m.session.TakeBrokerID(ctx, desired, m.dir.Incarnation())
	}
	if err != nil {
		return err
	}
	m.id = desired
	return m.dir.Join(cluster, desired)
}
