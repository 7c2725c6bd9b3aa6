package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// Offsets reads what the group has committed of partitions of a topic: NoOffset where nothing. Offsets of an earlier
// topic of the same name count as nothing: the node of the topic below offsets names the id that they belong to.
func (g *Group) Offsets(ctx context.Context, t Topic, partitions []int32) ([]int64, error) {
	offsets := make([]int64, len(partitions))
	for i := range offsets {
		offsets[i] = NoOffset
	}
	id, _, found, err := g.s.find(ctx, g.offsetsOf(t.Name))
	if err != nil || !found || len(id) > 0 && string(id) != t.ID {
		return offsets, err
	}
	err = g.s.each(len(partitions), func(i int) error {
		data, _, found, err := g.s.find(ctx, g.offset(t.Name, partitions[i]))
		if err == nil && found {
			offsets[i], err = decodeOffset(data)
		}
		return at(g.offset(t.Name, partitions[i]), err)
	})
	return offsets, err
}

// Metadata reads the text that a Kafka client has committed with an offset, "" for none.
func (g *Group) Metadata(ctx context.Context, topic string, partition int32, offset int64) (string, error) {
	path := g.note(topic, partition)
	data, _, found, err := g.s.find(ctx, path)
	if err != nil || !found {
		return "", err
	}
	text, err := decodeNote(data, offset)
	return text, at(path, err)
}

// CommittedTopics lists the topics that the group has offsets of, or had of earlier ones of that name, sorted.
func (g *Group) CommittedTopics(ctx context.Context) ([]string, error) {
	names, _, err := g.s.children(ctx, g.offsets())
	slices.Sort(names)
	return names, err
}

// CommittedPartitions lists the partitions of a topic that the group has offset nodes of, sorted.
func (g *Group) CommittedPartitions(ctx context.Context, topic string) ([]int32, error) {
	names, _, err := g.s.children(ctx, g.offsetsOf(topic))
	return numbers(names), err
}

// Added tells whether a partition was added to its topic after the group had begun with the topic, be it that the group
// had no members then: the node of the topic below offsets is written when a group begins, the node of a partition when
// there is one, and no other time.
func (g *Group) Added(ctx context.Context, t Topic, partition int32) (bool, error) {
	id, begun, found, err := g.s.find(ctx, g.offsetsOf(t.Name))
	if err != nil || !found || string(id) != t.ID {
		return false, err
	}
	_, made, found, err := g.s.find(ctx, partitionPath(t.Name, partition))
	return found && made.Czxid > begun.Mzxid, err
}

// adopt makes the offsets of a topic the group's of this very topic, and creates the nodes that hold them and their
// owners. Offsets of an earlier topic become -1: their nodes stay, for a node that is made again starts at version 0
// again, and would let the commit of an earlier owner through. It returns the version of the topic's node.
func (g *Group) adopt(ctx context.Context, t Topic) (int32, error) {
	path := g.offsetsOf(t.Name)
	p := g.s.pauses()
	for {
		id, stat, err := g.s.get(ctx, path)
		if errors.Is(err, zk.ErrNoNode) {
			if err := g.plantTopic(ctx, t); err != nil {
				return 0, err
			}
			continue
		}
		if err == nil && string(id) == t.ID {
			return stat.Version, nil
		}
		if err == nil {
			var ops []any
			if ops, err = g.planAdoption(ctx, t, len(id) > 0, stat.Version); err == nil {
				_, _, err = g.s.multi(ops)
			}
		}
		if err != nil && !again(err) && !isAny(err, []error{zk.ErrBadVersion, zk.ErrNoNode}) {
			return 0, err
		}
		if err := p.wait(ctx); err != nil {
			return 0, err
		}
	}
}

// plantTopic creates the nodes of a topic in a group. That of the offsets comes last, so that the others are there when
// it is. ErrTerm: the group itself is gone.
func (g *Group) plantTopic(ctx context.Context, t Topic) error {
	for _, path := range []string{g.owners(), g.ownersOf(t.Name), g.notes(), g.notesOf(t.Name), g.offsets()} {
		if err := g.s.plant(ctx, path, nil); err != nil {
			return gone(err)
		}
	}
	return gone(g.s.plant(ctx, g.offsetsOf(t.Name), []byte(t.ID)))
}

func gone(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return ErrTerm
	}
	return err
}

// planAdoption does as many offsets as fit; the topic's id follows with the last of them.
func (g *Group) planAdoption(ctx context.Context, t Topic, stale bool, version int32) ([]any, error) {
	path := g.offsetsOf(t.Name)
	done := []any{g.s.opSet(path, []byte(t.ID), version)}
	if !stale {
		return done, nil
	}
	partitions, err := g.CommittedPartitions(ctx, t.Name)
	if err != nil {
		return nil, err
	}
	check := []any{g.s.opCheck(path, version)}
	size := 0
	var ops []any
	for _, p := range partitions {
		data, stat, found, err := g.s.find(ctx, g.offset(t.Name, p))
		if err != nil {
			return nil, err
		}
		if offset, err := decodeOffset(data); !found || err == nil && offset == NoOffset {
			continue
		}
		op := g.s.opSet(g.offset(t.Name, p), encodeOffset(NoOffset), stat.Version)
		if size += opSize(op); size > maxMulti/2 {
			return append(check, ops...), nil
		}
		ops = append(ops, op)
	}
	return append(done, ops...), nil
}

// KafkaOffset is one offset that a client commits to the coordinator of its group.
type KafkaOffset struct {
	Partition int32
	Offset    int64 // negative: none
	Metadata  string
}

// CommitKafka commits offsets of a topic for a KafkaGroup, all at once or, where they are too many, some at once. The
// term fences coordinators that have been followed by another: ErrTerm. Nothing else does: the coordinator knows its
// members.
func (g *Group) CommitKafka(ctx context.Context, a Arbiter, t Topic, offsets []KafkaOffset) error {
	if a.Kind != KafkaGroup {
		return fmt.Errorf("group %q is of kind %s: %w", g.name, a.Kind, ErrTerm)
	}
	version, err := g.adopt(ctx, t)
	if err != nil {
		return err
	}
	p := g.s.pauses()
	for len(offsets) > 0 {
		ops := []any{g.s.opExists(g.term(a)), g.s.opCheck(g.offsetsOf(t.Name), version)}
		n := 0
		for size := opsSize(ops); n < len(offsets); n++ {
			more, err := g.planKafkaOffset(ctx, t.Name, offsets[n])
			if err != nil {
				return err
			}
			if size += opsSize(more); size > maxMulti && n > 0 {
				break
			}
			ops = append(ops, more...)
		}
		_, bad, err := g.s.multi(ops)
		switch {
		case err == nil:
			offsets = offsets[n:]
			continue
		case bad == 0 && errors.Is(err, zk.ErrNoNode):
			return ErrTerm
		case bad == 1:
			if version, err = g.adopt(ctx, t); err != nil {
				return err
			}
		case errors.Is(err, zk.ErrNoNode): // a deletion of the topic that went half way
			if err := g.plantTopic(ctx, t); err != nil {
				return err
			}
		case !errors.Is(err, zk.ErrNodeExists) && !again(err):
			return err
		}
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// planKafkaOffset writes an offset, and its text where there is one or was one: the same again does no harm.
func (g *Group) planKafkaOffset(ctx context.Context, topic string, o KafkaOffset) (ops []any, err error) {
	offset, note := g.offset(topic, o.Partition), g.note(topic, o.Partition)
	ops, err = g.s.planPut(ctx, ops, offset, encodeOffset(max(o.Offset, NoOffset)), true)
	if err == nil {
		ops, err = g.s.planPut(ctx, ops, note, encodeNote(o.Offset, o.Metadata), o.Metadata != "")
	}
	return ops, err
}

// planPut sets a node, or creates it where it is not there and create says so.
func (s *Session) planPut(ctx context.Context, ops []any, path string, data []byte, create bool) ([]any, error) {
	found, err := s.exists(ctx, path)
	switch {
	case err != nil:
		return ops, err
	case found:
		return append(ops, s.opSet(path, data, anyVersion)), nil
	case create:
		return append(ops, s.opCreate(path, data, 0)), nil
	}
	return ops, nil
}
