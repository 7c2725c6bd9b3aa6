package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DeleteTopic deletes a topic. From the first step on it is gone for all, and cannot be created again until the last one
// is done; whoever finds steps missing goes on with FinishDeletes.
//
//  1. the topic's node says that it is deleted, the mark is set, and every broker that has a partition gets a tombstone
//  2. offsets of groups without members go
//  3. the nodes of the partitions go, from the last one on, as many at a time as fit
//  4. with the rest of them, the topic's node, its settings and the mark
//
// ErrNoTopic: there is no topic of that name and id.
func (s *Session) DeleteTopic(ctx context.Context, t Topic) error {
	err := s.change(ctx, t.Name, func(ctx context.Context) ([]any, error) {
		now, stat, err := s.same(ctx, t)
		if errors.Is(err, ErrTopicDeleted) {
			return nil, errDone
		}
		if err != nil {
			return nil, err
		}
		now.Deleting = true
		ops := []any{s.opSet(topicPath(t.Name), now.encode(), stat.Version)}
		marked, err := s.exists(ctx, deleteMark(t.Name)) // as Kafka's tools do
		if err != nil {
			return nil, err
		}
		if !marked {
			ops = append(ops, s.opCreate(deleteMark(t.Name), nil, 0))
		}
		return append(ops, s.opTombstones(now)...), nil
	})
	if err == nil {
		err = s.finishDelete(ctx, t)
	}
	if err != nil {
		return fmt.Errorf("topic %q: %w", t.Name, err)
	}
	return nil
}

type tombstoneJSON struct {
	Version int32  `json:"version"`
	Topic   string `json:"topic"`
}

func (s *Session) opTombstones(t Topic) (ops []any) {
	if t.ID == "" {
		return nil
	}
	brokers := map[int32]bool{}
	for _, replicas := range t.Replicas {
		for _, b := range replicas {
			if b != NoBroker {
				brokers[b] = true
			}
		}
	}
	data := encode(tombstoneJSON{1, t.Name})
	for _, b := range slices.Sorted(maps.Keys(brokers)) {
		ops = append(ops, s.opCreate(tombstone(t.ID, b), data, 0))
	}
	return ops
}

// FinishDeletes goes on with deletions that were begun and not ended, also those that only Kafka's own tools have marked.
// Topics that nobody can read are left alone, and logged.
func (s *Session) FinishDeletes(ctx context.Context) error {
	marked, _, err := s.children(ctx, deletePath)
	if err != nil {
		return err
	}
	slices.Sort(marked)
	for _, name := range marked {
		data, _, found, err := s.find(ctx, topicPath(name))
		if err != nil {
			return err
		}
		if !found {
			if err := s.remove(ctx, deleteMark(name)); err != nil {
				return err
			}
			continue
		}
		t, err := decodeTopic(name, data)
		if err != nil {
			s.options.Logger.Warn("topic is not deleted, although it is marked so", "path", topicPath(name), "error", err)
			continue
		}
		if err := s.DeleteTopic(ctx, t); err != nil && !errors.Is(err, ErrNoTopic) {
			return err
		}
	}
	return nil
}

func (s *Session) finishDelete(ctx context.Context, t Topic) error {
	if err := s.forgetOffsets(ctx, t.Name); err != nil {
		return err
	}
	for more := true; more; {
		err := s.change(ctx, t.Name, func(ctx context.Context) (ops []any, err error) {
			ops, more, err = s.planRemoval(ctx, t)
			return ops, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// planRemoval removes as many partitions as fit, and the topic with the last of them.
func (s *Session) planRemoval(ctx context.Context, t Topic) (ops []any, more bool, err error) {
	if _, _, err := s.same(ctx, t); errors.Is(err, ErrNoTopic) {
		return nil, false, errDone
	} else if err == nil {
		return nil, false, fmt.Errorf("not marked as deleted: %w", ErrTopicExists)
	} else if !errors.Is(err, ErrTopicDeleted) {
		return nil, false, err
	}
	names, _, err := s.children(ctx, partitions(t.Name))
	if err != nil {
		return nil, false, err
	}
	slices.SortFunc(names, func(a, b string) int { // numbers downwards
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		if a > b {
			return -1
		}
		return 1
	})
	size := 0
	for _, name := range names {
		path := partitions(t.Name) + "/" + name
		part, _, err := s.children(ctx, path)
		if err != nil {
			return nil, false, err
		}
		for _, below := range part {
			ops = append(ops, s.opDelete(path+"/"+below, anyVersion))
			size += opSize(ops[len(ops)-1])
		}
		ops = append(ops, s.opDelete(path, anyVersion))
		if size += opSize(ops[len(ops)-1]); size > maxMulti*3/4 {
			return ops, true, nil
		}
	}
	for _, path := range []string{partitions(t.Name), topicPath(t.Name), configOf(t.Name), deleteMark(t.Name)} {
		found, err := s.exists(ctx, path)
		if err != nil {
			return nil, false, err
		}
		if found {
			ops = append(ops, s.opDelete(path, anyVersion))
		}
	}
	return ops, false, nil
}

// Buried tells whether a topic, of which the broker has partitions, was deleted. Without a tombstone nobody knows where
// the partitions come from, and they have to stay.
func (s *Session) Buried(ctx context.Context, topicID string, broker int32) (bool, error) {
	if err := checkID(topicID); err != nil {
		return false, err
	}
	return s.exists(ctx, tombstone(topicID, broker))
}

// Tombstones lists the ids of deleted topics that the broker has, or may have, partitions of.
func (s *Session) Tombstones(ctx context.Context, broker int32) (topicIDs []string, err error) {
	names, _, err := s.children(ctx, deletedPath)
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, "-"+itoa(broker)); ok && checkID(id) == nil {
			topicIDs = append(topicIDs, id)
		}
	}
	return topicIDs, err
}

// Unbury says that the broker has removed what it had of a deleted topic.
func (s *Session) Unbury(ctx context.Context, topicID string, broker int32) error {
	if err := checkID(topicID); err != nil {
		return err
	}
	return s.remove(ctx, tombstone(topicID, broker))
}
