package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// Broker is what /brokers/ids says of a broker that is there.
type Broker struct {
	ID          int32
	Host        string
	Port        int32
	Incarnation string    // of the broker's data directory; "" for brokers that are not ours
	Registered  time.Time // by the broker's clock, in ms; RegisterBroker fills it in
}

// BrokerIDError says that an id is another broker's.
type BrokerIDError struct {
	ID    int32
	Owner Broker // what is registered; only the incarnation when that broker is not there
	Live  bool   // whether it is there
}

func (e *BrokerIDError) Error() string {
	if e.Live {
		return fmt.Sprintf("broker id %d is in use by %s:%d, of incarnation %q", e.ID, e.Owner.Host, e.Owner.Port, e.Owner.Incarnation)
	}
	return fmt.Sprintf("broker id %d belongs to another data directory, of incarnation %s", e.ID, e.Owner.Incarnation)
}

// AssignBrokerID hands out the lowest id that was never handed out, for ever, to the data directory of that incarnation.
// The caller keeps it there. Asked again for the same incarnation because the answer was lost, it may hand out another.
func (s *Session) AssignBrokerID(ctx context.Context, incarnation string) (int32, error) {
	if err := checkID(incarnation); err != nil {
		return 0, err
	}
	p := s.pauses()
	for {
		data, stat, err := s.get(ctx, nextIDPath)
		if err != nil {
			return 0, err
		}
		id, err := atoi(string(data))
		if err != nil {
			return 0, at(nextIDPath, err)
		}
		_, bad, err := s.multi([]any{
			s.opSet(nextIDPath, []byte(itoa(id+1)), stat.Version),
			s.opCreate(assignedTo(id), encode(assignedJSON{1, incarnation}), 0),
		})
		switch {
		case err == nil:
			return id, nil
		case bad == 1 && errors.Is(err, zk.ErrNodeExists): // assigned by hand: step over it
			_, err = s.conn.Set(s.root+nextIDPath, []byte(itoa(id+1)), stat.Version)
			if err != nil && !errors.Is(err, zk.ErrBadVersion) && !again(err) {
				return 0, at(nextIDPath, err)
			}
			continue
		case lost(err):
			if err := s.settle(ctx); err != nil {
				return 0, err
			}
			owner, err := s.assignedTo(ctx, id)
			if err != nil {
				return 0, err
			}
			if owner == incarnation {
				return id, nil
			}
		case !errors.Is(err, zk.ErrBadVersion) && !again(err):
			return 0, err
		}
		if err := p.wait(ctx); err != nil {
			return 0, err
		}
	}
}

// TakeBrokerID assigns an id that the operator has chosen to the data directory of that incarnation. *BrokerIDError: it
// is another directory's.
func (s *Session) TakeBrokerID(ctx context.Context, id int32, incarnation string) error {
	if err := checkID(incarnation); err != nil {
		return err
	}
	if id < 0 {
		return fmt.Errorf("broker id %d, allowed are 0 to 2147483647", id)
	}
	if err := s.plant(ctx, assignedTo(id), encode(assignedJSON{1, incarnation})); err != nil {
		return err
	}
	owner, err := s.assignedTo(ctx, id)
	if err == nil && owner != incarnation {
		err = &BrokerIDError{ID: id, Owner: Broker{ID: id, Incarnation: owner}}
	}
	return err
}

// BrokerIDOf finds an id that was handed out to the data directory of that incarnation, the lowest.
func (s *Session) BrokerIDOf(ctx context.Context, incarnation string) (id int32, found bool, err error) {
	names, _, err := s.children(ctx, assignedPath)
	if err != nil {
		return 0, false, err
	}
	ids := numbers(names)
	owners := make([]string, len(ids))
	err = s.each(len(ids), func(i int) (err error) {
		owners[i], err = s.assignedTo(ctx, ids[i])
		return err
	})
	if i := slices.Index(owners, incarnation); err == nil && i >= 0 {
		return ids[i], true, nil
	}
	return 0, false, err
}

// FreeBrokerID forgets whose an id is: for a broker whose disk is gone, and that another directory shall stand in for.
func (s *Session) FreeBrokerID(ctx context.Context, id int32) error {
	return s.remove(ctx, assignedTo(id))
}

// remove deletes a node, if it is there.
func (s *Session) remove(ctx context.Context, path string) error {
	return s.read(ctx, path, func(path string) error {
		err := s.conn.Delete(path, anyVersion)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		return err
	})
}

// assignedTo returns "" for an id that is nobody's.
func (s *Session) assignedTo(ctx context.Context, id int32) (incarnation string, err error) {
	data, _, found, err := s.find(ctx, assignedTo(id))
	if err != nil || !found {
		return "", err
	}
	incarnation, err = decodeAssigned(data)
	return incarnation, at(assignedTo(id), err)
}

// RegisterBroker says that the broker is there, for as long as the session of the lease lasts; Close ends it at once.
// When the same data directory is still registered by an earlier session, it waits for that one to end, at most two
// session timeouts. *BrokerIDError: another directory is registered, or that wait was in vain. ErrExpired: register again
// with another lease.
func (s *Session) RegisterBroker(ctx context.Context, lease *Lease, b Broker) error {
	if err := checkID(b.Incarnation); err != nil {
		return err
	}
	if b.Registered.IsZero() {
		b.Registered = time.Now()
	}
	patience := time.NewTimer(2 * s.Timeout())
	defer patience.Stop()
	p := s.pauses()
	said := false
	for {
		err := s.holds(lease, func() error {
			_, err := s.conn.Create(s.root+brokerPath(b.ID), b.encode(), zk.FlagEphemeral, openACL)
			return err
		})
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNodeExists):
			done, gone, err := s.registered(ctx, lease, b)
			if err != nil || done {
				return err
			}
			if !said {
				said = true
				s.options.Logger.Warn("waiting for an earlier registration of this broker to end", "id", b.ID, "at_most", 2*s.Timeout())
			}
			select {
			case <-gone:
			case <-patience.C:
				owner, found, err := s.Broker(ctx, b.ID)
				if err == nil && found {
					err = &BrokerIDError{ID: b.ID, Owner: owner, Live: true}
				}
				return err
			case <-lease.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		case !again(err):
			return at(brokerPath(b.ID), err)
		}
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
}

// registered finds out whose the node is. done: this session's, by a reply that was lost; gone: an earlier session's of
// the same directory, and tells when that may have changed.
func (s *Session) registered(ctx context.Context, lease *Lease, b Broker) (done bool, gone <-chan zk.Event, err error) {
	path := brokerPath(b.ID)
	var (
		data []byte
		stat *zk.Stat
	)
	err = s.read(ctx, path, func(path string) (err error) {
		data, stat, gone, err = s.conn.GetW(path)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return false, fired, nil
	}
	if err != nil {
		return false, nil, err
	}
	owner, err := decodeBroker(b.ID, data)
	if err != nil || owner.Incarnation != b.Incarnation {
		return false, nil, &BrokerIDError{ID: b.ID, Owner: owner, Live: true}
	}
	if stat.EphemeralOwner != lease.session {
		return false, gone, nil
	}
	if owner.Host != b.Host || owner.Port != b.Port { // of this very process
		return false, nil, &BrokerIDError{ID: b.ID, Owner: owner, Live: true}
	}
	return true, nil, s.held(lease)
}

// fired is a watch that has fired.
var fired = func() <-chan zk.Event { c := make(chan zk.Event); close(c); return c }()

// Broker reads one registration.
func (s *Session) Broker(ctx context.Context, id int32) (b Broker, found bool, err error) {
	data, _, found, err := s.find(ctx, brokerPath(id))
	if err != nil || !found {
		return Broker{}, false, err
	}
	b, err = decodeBroker(id, data)
	return b, err == nil, at(brokerPath(id), err)
}

// Brokers reads all registrations, sorted by id. Those that nobody can read are left out, and logged.
func (s *Session) Brokers(ctx context.Context) ([]Broker, error) {
	names, _, err := s.children(ctx, idsPath)
	if err != nil {
		return nil, err
	}
	return s.brokersNamed(ctx, numbers(names))
}

func (s *Session) brokersNamed(ctx context.Context, ids []int32) ([]Broker, error) {
	read := make([]Broker, len(ids))
	err := s.each(len(ids), func(i int) error {
		data, _, found, err := s.find(ctx, brokerPath(ids[i]))
		if err != nil || !found {
			return err
		}
		if read[i], err = decodeBroker(ids[i], data); err != nil {
			s.options.Logger.Warn("broker left out", "path", brokerPath(ids[i]), "error", err)
		}
		return nil
	})
	return slices.DeleteFunc(read, func(b Broker) bool { return b.Host == "" }), err
}
