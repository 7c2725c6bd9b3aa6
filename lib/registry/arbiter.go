package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Kind is who decides in a group.
type Kind string

// The kinds of groups.
const (
	RegistryGroup Kind = "registry" // its members themselves, by the nodes they own
	KafkaGroup    Kind = "kafka"    // a broker, the coordinator, in Kafka's protocol
)

// Arbiter is a term of a group: nobody acts for it who cannot name it. A term never comes back: its epoch rises, and
// the nonce is another one when the group is deleted and made again.
type Arbiter struct {
	Kind        Kind
	Epoch       int32
	Nonce       string
	Coordinator int32 // broker of a KafkaGroup; -1 else
}

// KindError says that a group is of the other kind, and has members.
type KindError struct {
	Group string
	Kind  Kind
}

func (e *KindError) Error() string {
	return fmt.Sprintf("group %q has members of kind %s", e.Group, e.Kind)
}

func (e *KindError) Is(target error) bool { return target == ErrGroupInUse }

// Arbiter reads the term of the group; found is false for one that has none. The watcher, unless it is nil, becomes
// dirty when it changes.
func (g *Group) Arbiter(ctx context.Context, w *Watcher) (a Arbiter, found bool, err error) {
	var data []byte
	if w == nil {
		data, _, found, err = g.s.find(ctx, g.arbiter())
	} else {
		data, found, err = g.s.dataW(ctx, w, g.arbiter())
	}
	if err != nil || !found {
		return Arbiter{}, false, err
	}
	a, err = decodeArbiter(data)
	return a, err == nil, at(g.arbiter(), err)
}

// Lead makes the group one of the kind, led by the coordinator (-1 for a RegistryGroup), and creates what is missing of
// it. A group that is led so already stays as it is; else a term begins, and all commits and claims of the one before
// fail. *KindError: the group is of the other kind and has members. A coordinator of a KafkaGroup lists its members with
// Join, so that this holds both ways.
func (g *Group) Lead(ctx context.Context, kind Kind, coordinator int32) (Arbiter, error) {
	if kind == RegistryGroup {
		coordinator = -1
	}
	p := g.s.pauses()
	for {
		data, stat, found, err := g.s.find(ctx, g.arbiter())
		if err != nil {
			return Arbiter{}, err
		}
		var old Arbiter
		if found {
			if old, err = decodeArbiter(data); err != nil {
				return Arbiter{}, at(g.arbiter(), err)
			}
			if old.Kind == kind && old.Coordinator == coordinator {
				return old, nil
			}
		}
		next := Arbiter{Kind: kind, Epoch: old.Epoch + 1, Nonce: old.Nonce, Coordinator: coordinator}
		var ops []any
		if found {
			if old.Kind != kind {
				ops = g.opsEmpty()
			}
			ops = append(ops, g.s.opSet(g.arbiter(), next.encode(), stat.Version),
				g.s.opDelete(g.term(old), anyVersion), g.s.opCreate(g.term(next), nil, 0))
		} else {
			next.Nonce = NewID()
			if ops, err = g.opsFound(ctx, next); err != nil {
				return Arbiter{}, err
			}
		}
		_, _, err = g.s.multi(ops)
		switch {
		case err == nil:
			return next, nil
		case errors.Is(err, zk.ErrNotEmpty):
			if !found {
				old.Kind = RegistryGroup // members of Kafka 0.8, which knows no other
			}
			return Arbiter{}, &KindError{Group: g.name, Kind: old.Kind}
		case lost(err): // the next round finds out
			if err := g.s.settle(ctx); err != nil {
				return Arbiter{}, err
			}
		case !isAny(err, []error{zk.ErrBadVersion, zk.ErrNodeExists, zk.ErrNoNode}) && !again(err):
			return Arbiter{}, err
		}
		if err := p.wait(ctx); err != nil {
			return Arbiter{}, err
		}
	}
}

// opsFound create what is missing of a group that has no arbiter: all of it, or what a consumer of Kafka 0.8 left out.
func (g *Group) opsFound(ctx context.Context, a Arbiter) (ops []any, err error) {
	for _, path := range []string{g.dir, g.ids(), g.owners(), g.offsets(), g.notes(), g.reset()} {
		found, err := g.s.exists(ctx, path)
		if err != nil {
			return nil, err
		}
		if !found {
			ops = append(ops, g.s.opCreate(path, nil, 0))
		}
	}
	ops = append(ops, g.s.opCreate(g.arbiter(), a.encode(), 0), g.s.opCreate(g.term(a), nil, 0))
	if a.Kind == KafkaGroup { // members of Kafka 0.8 are there without an arbiter
		ops = append(ops, g.opsEmpty()...)
	}
	return ops, nil
}
