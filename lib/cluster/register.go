package cluster

import (
	"context"
	"errors"

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
	for first := true; ; {
		lease, err := m.session.Lease(ctx)
		if err == nil {
			err = m.session.RegisterBroker(ctx, lease, self)
		}
		switch {
		case ctx.Err() != nil || errors.Is(err, registry.ErrClosed):
			return nil
		case errors.Is(err, registry.ErrExpired) || errors.Is(err, registry.ErrFenced):
			continue
		case err != nil:
			return err
		case first:
			first = false
			if err := registered(); err != nil {
				return err
			}
		default:
			m.logger.Info("zookeeper is back, the broker is registered", "id", m.id)
		}
		m.registered.Store(true)
		select {
		case <-lease.Done():
		case <-ctx.Done():
			return nil
		}
		if errors.Is(lease.Err(), registry.ErrClosed) {
			return nil
		}
		m.registered.Store(false)
		m.logger.Warn("zookeeper is lost: what is served goes on, changes of topics wait", "reason", lease.Err())
	}
}

// Registered tells whether the broker is registered, and ZooKeeper can be asked, as far as anybody knows.
func (m *Member) Registered() bool { return m.registered.Load() }
