package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// LockedError says that somebody else changes the group by hand.
type LockedError struct {
	Group, Holder string
	Since         time.Time // by the holder's clock, in ms
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("group %q: locked since %s by %s", e.Group, e.Since.Local().Format("2006-01-02 15:04:05"), e.Holder)
}

type lockJSON struct {
	Version   int32  `json:"version"`
	Holder    string `json:"holder"`
	Timestamp string `json:"timestamp"`
}

// Lock keeps other tools from changing the group, as long as the session of the lease lasts: members take no notice of
// it. holder says who has it, in words. The group need not be there. *LockedError: somebody else has it, or did until a
// moment ago: what a process leaves that was killed goes with its session.
func (g *Group) Lock(ctx context.Context, lease *Lease, holder string) error {
	path := groupLock(g.name)
	data := encode(lockJSON{1, holder, timestamp(time.Now())})
	p := g.s.pauses()
	for {
		err := g.s.holds(lease, func() error {
			_, _, err := g.s.multi([]any{g.s.opCreate(path, data, zk.FlagEphemeral)})
			return err
		})
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoNode):
			if err := g.s.plant(ctx, groupLocks, nil); err != nil {
				return err
			}
			continue
		case errors.Is(err, zk.ErrNodeExists):
			found, stat, ok, err := g.s.find(ctx, path)
			if err != nil {
				return err
			}
			if ok && stat.EphemeralOwner == lease.session {
				return g.s.held(lease)
			}
			if ok {
				return lockedBy(g.name, found)
			}
		case !again(err):
			return err
		}
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
}

func lockedBy(group string, data []byte) error {
	var j lockJSON
	if err := decode("lock", data, &j); err != nil {
		return at(groupLock(group), err)
	}
	e := &LockedError{Group: group, Holder: j.Holder}
	if since, err := parseTimestamp(j.Timestamp); err == nil {
		e.Since = since
	}
	return e
}
