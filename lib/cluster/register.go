package cluster

import (
	"context"
	"errors"
	"time"

	"logkit/lib/registry"
)

// Run keeps the broker registered under its address, which must have been set, and the directory in line with the tree.
// It blocks until the context ends, and returns nil then. registered is called once, after the first registration; its
// error ends Run. An error means that the broker must not go on: *registry.BrokerIDError, another one has its id.
func (m *Member) Run(ctx context.Context, registered func() error) error {
	defer m.view.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		m.follow(ctx)
	}()
	err := m.register(ctx, *m.self.Load(), registered)
	cancel()
	<-followed
	return err
}

func (m *Member) register(ctx context.Context, self registry.Broker, registered func() error) error {
	said := ""
	for first := true; ; {
		lease, err := m.session.Lease(ctx)
		if err == nil {
			err = m.enroll(ctx, lease, self)
		}
		var taken *registry.BrokerIDError
		switch {
		case ctx.Err() != nil || errors.Is(err, registry.ErrClosed):
			return nil
		case errors.Is(err, registry.ErrExpired) || errors.Is(err, registry.ErrFenced):
			continue
		case err != nil && (first || errors.As(err, &taken)):
			return err
		case err != nil:
			if text := err.Error(); text != said {
				said = text
				m.logger.Error("the broker cannot be registered, it goes on serving and tries again", "reason", err)
			}
			if !pause(ctx, m.options.Retry) {
				return nil
			}
			continue
		case first:
			first = false
			m.twin(self)
			if err := registered(); err != nil {
				return err
			}
		default:
			m.logger.Info("zookeeper is back, the broker is registered", "id", m.id)
		}
		said = ""
		m.registered.Store(true)
		if removed := m.stay(ctx, lease); ctx.Err() != nil {
			return nil
		} else if removed {
			m.logger.Warn("somebody has removed the registration of this broker", "id", m.id)
			continue
		}
		if errors.Is(lease.Err(), registry.ErrClosed) {
			return nil
		}
		m.registered.Store(false)
		m.logger.Warn("zookeeper is lost: what is served goes on, changes of topics wait", "reason", lease.Err())
	}
}

// stay waits until the lease or the context ends, or somebody has removed the registration. The follower may think so by
// a list that was read just before it was made.
func (m *Member) stay(ctx context.Context, lease *registry.Lease) (removed bool) {
	for {
		select {
		case <-m.again:
			if _, there, err := m.session.Broker(ctx, m.id); err == nil && !there {
				return lease.Err() == nil
			}
		case <-lease.Done():
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// enroll registers the broker, in the tree of its own cluster only.
func (m *Member) enroll(ctx context.Context, lease *registry.Lease, self registry.Broker) error {
	if err := m.home(ctx); err != nil {
		return err
	}
	return m.session.RegisterBroker(ctx, lease, self)
}

// twin says that another broker is registered under the same address: clients of the two will meet the wrong one.
func (m *Member) twin(self registry.Broker) {
	for id, other := range m.Cluster().Brokers {
		if id != self.ID && other.Host == self.Host && other.Port == self.Port {
			m.logger.Error("another broker is registered under the same address", "id", id, "host", other.Host, "port", other.Port)
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Registered tells whether the broker is registered, and ZooKeeper can be asked, as far as anybody knows.
func (m *Member) Registered() bool { return m.registered.Load() }
