package broker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/cluster"
	"logkit/lib/logdir"
	"logkit/lib/registry"
	"logkit/lib/vfs"
)

// adminSeed is a request of an admin key that says something, or nil for another key. The version is the caller's.
func adminSeed(key kmsg.Key) kmsg.Request {
	switch key {
	case kmsg.CreateTopics:
		return createRequest(0, false, newTopic("u", 2, 1, "retention.ms", "1"), assignedTopic("v", -1, -1, []int32{1}))
	case kmsg.DeleteTopics:
		return deleteRequest(0, "t", "u")
	case kmsg.DeleteRecords:
		return deleteRecordsRequest(0, fetched{"t", 0, -1}, fetched{"u", 1, 5})
	case kmsg.AlterConfigs:
		return alterRequest(0, false, topicResource("t", "retention.ms", "5"))
	case kmsg.IncrementalAlterConfigs:
		return incrementalRequest(0, false, "t", change{"retention.ms", kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr("5")})
	case kmsg.DescribeLogDirs:
		return logDirsRequest(0, map[string][]int32{"t": {0, 1}})
	case kmsg.CreatePartitions:
		return growRequest(0, false, growth{topic: "t", count: 3})
	}
	return nil
}

// outcome is how one item of an admin request was answered.
type outcome struct {
	code    int16
	message string // part of it
}

func checkOutcome(t *testing.T, what string, want outcome, code int16, message *string) {
	t.Helper()
	said := ""
	if message != nil {
		said = *message
	}
	if code != want.code || !strings.Contains(said, want.message) || (code == 0) != (message == nil) {
		t.Errorf("%s: error %v %q, want %v with %q", what, kerr.ErrorForCode(code), said, kerr.ErrorForCode(want.code), want.message)
	}
}

// TestAdminDiskErrors: what the disk refuses is KAFKA_STORAGE_ERROR with its words, in the broker's log too. A topic that
// could not be made is not there; what ZooKeeper has taken otherwise holds when the disk takes it again.
func TestAdminDiskErrors(t *testing.T) {
	fsys := &fullFS{FS: vfs.OS}
	s := serve(t, setup{fs: fsys, retry: time.Millisecond})
	s.topic("t", 1)
	c := s.dial()
	c.produce("t", 0, batch(t, 0, "a", "b"))
	retention := func() string { return s.dir.Settings("t")["retention.ms"] }
	for _, test := range []struct {
		key    kmsg.Key
		ask    func() (int16, *string)
		before func() bool // holds while the disk is full
		after  func() bool // comes to hold when it has room
	}{
		{kmsg.CreateTopics, func() (int16, *string) {
			got := c.ask(createRequest(6, false, newTopic("u", 2, 1))).(*kmsg.CreateTopicsResponse).Topics[0]
			return got.ErrorCode, got.ErrorMessage
		}, func() bool { _, known := s.member.Cluster().Topics["u"]; return !known && len(s.dir.Topics()) == 1 }, nil},
		{kmsg.CreatePartitions, func() (int16, *string) {
			got := c.ask(growRequest(3, false, growth{topic: "t", count: 2})).(*kmsg.CreatePartitionsResponse).Topics[0]
			return got.ErrorCode, got.ErrorMessage
		}, nil, func() bool { _, ok := s.dir.Log("t", 1); return ok }},
		{kmsg.IncrementalAlterConfigs, func() (int16, *string) {
			change := change{"retention.ms", kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr("5")}
			got := c.ask(incrementalRequest(1, false, "t", change)).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
			return got.ErrorCode, got.ErrorMessage
		}, func() bool { return retention() == "" }, func() bool { return retention() == "5" }},
		{kmsg.DeleteRecords, func() (int16, *string) {
			got := c.ask(deleteRecordsRequest(2, fetched{"t", 0, 1})).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
			return got.ErrorCode, nil
		}, func() bool { return c.fetch("t", 0, 0).ErrorCode == 0 }, nil},
		{kmsg.DeleteTopics, func() (int16, *string) {
			got := c.ask(deleteRequest(5, "t")).(*kmsg.DeleteTopicsResponse).Topics[0]
			return got.ErrorCode, got.ErrorMessage
		}, func() bool { return c.fetch("t", 0, 0).ErrorCode == kerr.UnknownTopicOrPartition.Code },
			func() bool { return len(s.dir.Partitions()) == 0 }},
	} {
		fsys.full.Store(true)
		code, message := test.ask()
		if code != kerr.KafkaStorageError.Code || message != nil && !strings.Contains(*message, "no space left") {
			t.Errorf("%s on a full disk: error %v, message %v", test.key.Name(), kerr.ErrorForCode(code), message)
		}
		if test.before != nil && !test.before() {
			t.Errorf("%s on a full disk: topics %v, settings %v", test.key.Name(), s.dir.Topics(), s.dir.Settings("t"))
		}
		fsys.full.Store(false)
		if test.after != nil {
			s.eventually(test.key.Name()+" with room again", test.after)
		}
	}
	if n := len(s.log.lines("disk error")); n != 5 {
		t.Errorf("%d lines in the log, want 5: %v", n, s.log.lines("disk error"))
	}
}

// fullFS is the operating system's, except that it can be full: nothing can be made or renamed then.
type fullFS struct {
	vfs.FS
	full atomic.Bool
}

func (f *fullFS) refuse(op, name string) error {
	if f.full.Load() {
		return &pathError{op, filepath.Base(name)}
	}
	return nil
}

type pathError struct{ op, name string }

func (e *pathError) Error() string { return e.op + " " + e.name + ": " + syscall.ENOSPC.Error() }
func (e *pathError) Unwrap() error { return syscall.ENOSPC }

func (f *fullFS) Create(name string) (vfs.File, error) {
	if err := f.refuse("create", name); err != nil {
		return nil, err
	}
	return f.FS.Create(name)
}

func (f *fullFS) MkdirAll(dir string) error {
	return errors.Join(f.refuse("mkdir", dir), f.FS.MkdirAll(dir))
}

func (f *fullFS) Rename(from, to string) error {
	if err := f.refuse("rename", from); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

// TestVerdict: every error that an admin request can meet has its code.
func TestVerdict(t *testing.T) {
	s := serve(t, setup{})
	for _, test := range []struct {
		err  error
		want *kerr.Error
	}{
		{registry.ErrNoTopic, kerr.UnknownTopicOrPartition},
		{registry.ErrTopicExists, kerr.TopicAlreadyExists},
		{registry.ErrPartitions, kerr.InvalidPartitions},
		{logdir.ValidTopic(""), kerr.InvalidTopicException},
		{logdir.CheckSettingName("x"), kerr.InvalidConfig},
		{errRepeated, kerr.InvalidRequest},
		{&cluster.DiskError{Err: syscall.EIO}, kerr.KafkaStorageError},
		{context.DeadlineExceeded, kerr.RequestTimedOut},
		{registry.ErrClosed, kerr.NotController},
		{fmt.Errorf("topic %q: %w", "t", registry.ErrRefused), kerr.KafkaStorageError},
		{errors.New("whatever"), kerr.UnknownServerError},
	} {
		if code, message := s.verdict("test", "t", test.err); code != test.want.Code || message == nil {
			t.Errorf("%v: error %d, message %v; want %d", test.err, code, message, test.want.Code)
		}
	}
}
