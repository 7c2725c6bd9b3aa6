package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	"logkit/lib/registry"
)

// follow looks at the tree whenever something in it has changed, now and then at all of it, and once more at what failed.
func (m *Member) follow(ctx context.Context) {
	resync := time.NewTicker(m.options.Resync)
	defer resync.Stop()
	for {
		var retry <-chan time.Time
		if m.failing() {
			retry = time.After(m.options.Retry)
		}
		whole := false
		select {
		case <-ctx.Done():
			return
		case <-m.view.Watcher().Dirty():
		case <-retry:
		case <-resync.C:
			whole = true
		}
		if err := m.round(ctx, whole); ctx.Err() == nil {
			m.ended(err)
		}
	}
}

// round looks once.
func (m *Member) round(ctx context.Context, whole bool) error {
	if err := m.apply(ctx); err != nil {
		return err
	}
	defer m.applied()
	if err := m.home(ctx); err != nil {
		return err // what is served goes on: nobody has said anything about it
	}
	if whole {
		m.view.Resync()
		if err := m.session.FinishDeletes(ctx); err != nil {
			return err
		}
	}
	changes, err := m.view.Refresh(ctx)
	if err != nil {
		return err
	}
	m.say(changes)
	if whole {
		return m.alignAll(ctx)
	}
	names := slices.Concat(changes.Topics, m.failedTopics())
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := m.try(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// apply waits until nobody else changes the directory.
func (m *Member) apply(ctx context.Context) error {
	select {
	case m.applying <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Member) applied() { <-m.applying }

// say tells of other brokers that came and went.
func (m *Member) say(changes registry.Changes) {
	for _, id := range changes.Brokers {
		if id == m.id {
			if _, there := m.Cluster().Brokers[id]; !there && m.Registered() {
				select {
				case m.again <- struct{}{}:
				default:
				}
			}
			continue
		}
		if b, there := m.Cluster().Brokers[id]; there {
			m.logger.Info("broker is there", "id", id, "host", b.Host, "port", b.Port)
		} else {
			m.logger.Info("broker is gone, its partitions have no leader", "id", id)
		}
	}
}

// try aligns one topic. What the disk refuses is noted, reported once, and not an error: the other topics go on.
func (m *Member) try(ctx context.Context, name string) error {
	err := m.align(ctx, name)
	var disk *DiskError
	if err != nil && !errors.As(err, &disk) {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch before := m.failed[name]; {
	case err == nil:
		delete(m.failed, name)
	case before == nil || before.Error() != err.Error():
		m.logger.Error("topic is not served here as it should be, it is tried again", "topic", name, "reason", err)
		fallthrough
	default:
		m.failed[name] = err
	}
	return nil
}

func (m *Member) failing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.failed) > 0 || m.unready != nil
}

func (m *Member) failedTopics() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.failed {
		names = append(names, name)
	}
	return names
}

// ended wakes those who wait for what a round may have brought. That it did not end is said once.
func (m *Member) ended(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil && (m.unready == nil || m.unready.Error() != err.Error()) && !errors.Is(err, registry.ErrClosed) {
		m.logger.Error("the cluster cannot be followed, it is tried again", "reason", err)
	}
	m.unready = err
	close(m.rounds)
	m.rounds = make(chan struct{})
}
