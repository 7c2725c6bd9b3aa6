package consumer

import (
	"errors"
	"fmt"

	"logkit/lib/assign"
)

// Kind is what an Event tells of.
type Kind int8

// The kinds of events.
const (
	Claimed    Kind = iota // a partition, to be read from Offset on; -1 when its broker has still to be asked: see Begun
	Begun                  // a partition of which nothing was committed, to be read from Offset on
	Released               // a partition, with Offset committed
	Lost                   // a partition, without having committed what was delivered last; Err says why
	Reset                  // somebody has set the offset of a partition: reading goes on at Offset
	OutOfRange             // Err says how; reading goes on at Offset. Messages may have been deleted unread
	Trouble                // a partition can not be read: Err; it is tried again
	Away                   // ZooKeeper: Err. Nothing is delivered until it is back
	Back                   // ZooKeeper is back, and the member registered
	Retried                // Err came in the way of a step towards the target, which is taken again
)

// Event is something worth telling. Partition and Offset mean something where the kind says so.
type Event struct {
	Kind      Kind
	Topic     string
	Partition int32
	Offset    int64
	Err       error
}

// TopicError says that a topic that was being read is no more.
type TopicError struct {
	Topic string
	Again bool // there is another one of that name
}

func (e *TopicError) Error() string {
	if e.Again {
		return fmt.Sprintf("topic %q: was deleted and created again", e.Topic)
	}
	return fmt.Sprintf("topic %q: was deleted", e.Topic)
}

// StrategyError says that the group assigns partitions in another way than the member: they could not agree.
type StrategyError struct {
	Group, Member string          // Member is the one that was there first
	Mine          assign.Strategy // of the member that is refused
	Theirs        string          // of the group
}

func (e *StrategyError) Error() string {
	return fmt.Sprintf("group %q assigns partitions by %s, as member %q does, not by %s", e.Group, e.Theirs, e.Member, e.Mine)
}

// Hint is a next step.
func (e *StrategyError) Hint() string { return "--strategy " + e.Theirs + " joins the group" }

// ErrEvicted says that somebody has taken the member out of its group.
var ErrEvicted = errors.New("member was taken out of the group by somebody else")

// ErrRevoked says that a batch is not to be delivered any longer: its partition is another member's, or is to be read
// from another position.
var ErrRevoked = errors.New("partition is not to be read from there any longer")

// ErrUncommitted says that what was delivered last could not be committed, so that it will be delivered again.
var ErrUncommitted = errors.New("offsets of what was delivered last could not be committed")

// ErrClosed says that the member was closed.
var ErrClosed = errors.New("member of the group is closed")
