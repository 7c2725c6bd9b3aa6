package registry

import (
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// outcomeConn is a connection whose errors tell what is known from what is not: every error that is not known to be an
// answer becomes ErrUnknownOutcome. Besides zk.ErrConnectionClosed the client passes errors of the network through.
type outcomeConn struct{ Conn }

func outcome(err error) error {
	if err == nil || isAny(err, answered) || isAny(err, unsent) {
		return err
	}
	code, unnamed := strings.CutPrefix(err.Error(), "unknown error: ") // an answer that go-zookeeper has no name for
	switch {
	case !unnamed:
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	case code == systemError:
		return fmt.Errorf("%w: its disk may be full", ErrRefused)
	case code == quotaExceeded:
		return fmt.Errorf("%w: all the room that it gives is taken", ErrRefused)
	}
	return err
}

// Codes of answers (KeeperException.Code of ZooKeeper) that say something to an operator.
const (
	systemError   = "-1"
	quotaExceeded = "-125"
)

func (c outcomeConn) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	made, err := c.Conn.Create(path, data, flags, acl)
	return made, outcome(err)
}

func (c outcomeConn) Delete(path string, version int32) error {
	return outcome(c.Conn.Delete(path, version))
}

func (c outcomeConn) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, err := c.Conn.Get(path)
	return data, stat, outcome(err)
}

func (c outcomeConn) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, fires, err := c.Conn.GetW(path)
	return data, stat, fires, outcome(err)
}

func (c outcomeConn) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	stat, err := c.Conn.Set(path, data, version)
	return stat, outcome(err)
}

func (c outcomeConn) Exists(path string) (bool, *zk.Stat, error) {
	found, stat, err := c.Conn.Exists(path)
	return found, stat, outcome(err)
}

func (c outcomeConn) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	found, stat, fires, err := c.Conn.ExistsW(path)
	return found, stat, fires, outcome(err)
}

func (c outcomeConn) Children(path string) ([]string, *zk.Stat, error) {
	names, stat, err := c.Conn.Children(path)
	return names, stat, outcome(err)
}

func (c outcomeConn) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, fires, err := c.Conn.ChildrenW(path)
	return names, stat, fires, outcome(err)
}

func (c outcomeConn) Multi(ops ...interface{}) ([]zk.MultiResponse, error) {
	responses, err := c.Conn.Multi(ops...)
	return responses, outcome(err)
}

func (c outcomeConn) Sync(path string) (string, error) {
	path, err := c.Conn.Sync(path)
	return path, outcome(err)
}
