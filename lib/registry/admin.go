package registry

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"
)

// keptChanges is how many of the last changes stay listed. Who has missed more reads everything anew.
const keptChanges = 64

// errDone ends a change that finds its effect already there.
var errDone = errors.New("done")

// change carries out one change of topics, by itself. Everything that changes topics goes through here: the multi begins
// with a compare-and-set of the lock node, so that what plan has read still holds. The version of that node fences
// because it is never deleted.
//
// plan is called again when somebody else was first, or when nobody can tell whether the multi was carried out; it has
// to return errDone when it finds its effect. topic is what the change is announced for.
func (s *Session) change(ctx context.Context, topic string, plan func(ctx context.Context) ([]any, error)) error {
	p := s.pauses()
	for {
		_, lock, err := s.get(ctx, lockPath)
		if err != nil {
			return err
		}
		ops, err := plan(ctx)
		if errors.Is(err, errDone) {
			return nil
		}
		if err != nil {
			return err
		}
		outdated, err := s.outdatedChanges(ctx)
		if err != nil {
			return err
		}
		token := NewID()
		ops = slices.Concat([]any{s.opSet(lockPath, []byte(token), lock.Version)}, ops,
			[]any{s.opCreate(changesPath+"/"+changePrefix, encodeChange(topic), zk.FlagSequence)}, outdated)
		_, bad, err := s.multi(ops)
		switch {
		case err == nil:
			return nil
		case lost(err):
			if done, err := s.carriedOut(ctx, token); done || err != nil {
				return err
			}
		case bad == 0 && errors.Is(err, zk.ErrBadVersion):
		case bad > len(ops)-1-len(outdated): // somebody has tidied up by hand
		case !again(err):
			return err
		}
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
}

// carriedOut tells whether the last change has this token. When it has not, the multi was not carried out, or others
// have followed: then plan tells.
func (s *Session) carriedOut(ctx context.Context, token string) (bool, error) {
	if err := s.settle(ctx); err != nil {
		return false, err
	}
	data, _, err := s.get(ctx, lockPath)
	return string(data) == token, err
}

// outdatedChanges are the operations that remove the changes which need not be listed any longer.
func (s *Session) outdatedChanges(ctx context.Context) ([]any, error) {
	names, stat, err := s.children(ctx, changesPath)
	if err != nil {
		return nil, err
	}
	var ops []any
	for _, name := range names {
		if n, ok := changeNumber(name); ok && n < created(stat)-keptChanges {
			ops = append(ops, s.opDelete(changesPath+"/"+name, anyVersion))
		}
	}
	slices.SortFunc(ops, func(a, b any) int { // which ones matters to nobody, but chance to a test
		if opPath(a) < opPath(b) {
			return -1
		}
		return 1
	})
	return ops[:min(len(ops), 2*keptChanges)], nil
}

// created is how many children a node has ever had: the number that the next sequential one gets. What clients see as
// cversion counts creations and deletions.
func created(stat *zk.Stat) int64 { return (int64(stat.Cversion) + int64(stat.NumChildren)) / 2 }

func changeNumber(name string) (n int64, ok bool) {
	if len(name) != len(changePrefix)+10 || name[:len(changePrefix)] != changePrefix {
		return 0, false
	}
	n, err := strconv.ParseInt(name[len(changePrefix):], 10, 64)
	return n, err == nil
}
