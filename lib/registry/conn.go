package registry

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Conn is what the registry needs of a ZooKeeper client: a part of *zk.Conn, which works as described there. zkfake has
// a twin in memory.
type Conn interface {
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	Delete(path string, version int32) error
	Get(path string) ([]byte, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	Set(path string, data []byte, version int32) (*zk.Stat, error)
	Exists(path string) (bool, *zk.Stat, error)
	ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error)
	Children(path string) ([]string, *zk.Stat, error)
	ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error)
	Multi(ops ...interface{}) ([]zk.MultiResponse, error)
	Sync(path string) (string, error)
	SessionID() int64
	Close()
}

var _ Conn = (*zk.Conn)(nil)

// maxMulti is the most bytes a multi may take on the wire: half of what a server accepts as one request (1 MiB), which
// an operator may have lowered.
const maxMulti = 512 << 10

// Errors. What else may come back are errors of package zk, with the path in front of them.
var (
	ErrClosed         = errors.New("registry: closed")
	ErrExpired        = errors.New("registry: session expired")
	ErrFenced         = errors.New("registry: no connection to zookeeper for a quarter of the session timeout")
	ErrTooLarge       = errors.New("registry: change too large for one request to zookeeper")
	ErrUnknownOutcome = errors.New("registry: connection lost, outcome unknown")
	ErrRefused        = errors.New("registry: refused by zookeeper")
)

// answered are the errors that a server gives, or that the client gives before it has sent anything: nothing was changed.
var answered = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrNoChildrenForEphemerals, zk.ErrNoAuth,
	zk.ErrInvalidACL, zk.ErrInvalidFlags, zk.ErrInvalidPath, zk.ErrBadArguments, zk.ErrAPIError, zk.ErrAuthFailed,
}

// unsent are the errors after which a call may be made again: the server has not carried it out.
var unsent = []error{zk.ErrNoServer, zk.ErrSessionMoved}

func isAny(err error, list []error) bool {
	for _, e := range list {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// lost reports whether nobody knows what became of a call: its connection broke.
func lost(err error) bool { return errors.Is(err, ErrUnknownOutcome) }

// again reports whether a call that failed this way may succeed when it is made again.
func again(err error) bool { return lost(err) || isAny(err, unsent) }

// at puts the path in front of an error.
func at(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}

// The operations of a multi. Paths are those of this package, without the chroot.

func (s *Session) opCreate(path string, data []byte, flags int32) any {
	if data == nil {
		data = []byte{}
	}
	return &zk.CreateRequest{Path: s.root + path, Data: data, Acl: openACL, Flags: flags}
}

func (s *Session) opSet(path string, data []byte, version int32) any {
	return &zk.SetDataRequest{Path: s.root + path, Data: data, Version: version}
}

func (s *Session) opDelete(path string, version int32) any {
	return &zk.DeleteRequest{Path: s.root + path, Version: version}
}

// opExists lets a multi fail unless there is a node at path.
func (s *Session) opExists(path string) any { return s.opCheck(path, anyVersion) }

func (s *Session) opCheck(path string, version int32) any {
	return &zk.CheckVersionRequest{Path: s.root + path, Version: version}
}

const anyVersion = -1

// openACL is the access list of everything: all rights to all, as Kafka 0.8 has it.
var openACL = zk.WorldACL(zk.PermAll)

// opSize is what an operation takes in a multi, in bytes on the wire.
func opSize(op any) int {
	switch op := op.(type) {
	case *zk.CreateRequest: // header 9, lengths 4+4, flags 4, and 27 of one access list entry
		return 48 + len(op.Path) + len(op.Data)
	case *zk.SetDataRequest:
		return 21 + len(op.Path) + len(op.Data)
	case *zk.DeleteRequest:
		return 17 + len(op.Path)
	case *zk.CheckVersionRequest:
		return 17 + len(op.Path)
	}
	return 0
}

func opsSize(ops []any) int {
	size := 8 + 9 // header of the request, end of the multi
	for _, op := range ops {
		size += opSize(op)
	}
	return size
}

// culprit is the operation a multi failed for, or -1.
func culprit(responses []zk.MultiResponse) int {
	for i := range responses {
		if responses[i].Error != nil {
			return i
		}
	}
	return -1
}
