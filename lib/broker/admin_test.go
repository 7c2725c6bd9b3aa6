package broker

import (
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/logdir"
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

// TestAdminDiskErrors: what the disk refuses is KAFKA_STORAGE_ERROR with its words, in the broker's log too, and nothing
// has changed. When the disk takes it again, so does the broker.
func TestAdminDiskErrors(t *testing.T) {
	fsys := &fullFS{FS: vfs.OS}
	s := serve(t, setup{fs: fsys})
	s.topic("t", 1)
	c := s.dial()
	c.produce("t", 0, batch(t, 0, "a", "b"))
	ask := func(key kmsg.Key) (code int16, message *string) {
		t.Helper()
		switch key {
		case kmsg.CreateTopics:
			got := c.ask(createRequest(6, false, newTopic("u", 2, 1))).(*kmsg.CreateTopicsResponse).Topics[0]
			return got.ErrorCode, got.ErrorMessage
		case kmsg.CreatePartitions:
			got := c.ask(growRequest(3, false, growth{topic: "t", count: 2})).(*kmsg.CreatePartitionsResponse).Topics[0]
			return got.ErrorCode, got.ErrorMessage
		case kmsg.IncrementalAlterConfigs:
			got := c.ask(incrementalRequest(1, false, "t", change{"retention.ms", kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr("5")})).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
			return got.ErrorCode, got.ErrorMessage
		case kmsg.DeleteRecords:
			got := c.ask(deleteRecordsRequest(2, fetched{"t", 0, 1})).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
			return got.ErrorCode, nil
		}
		got := c.ask(deleteRequest(5, "t")).(*kmsg.DeleteTopicsResponse).Topics[0]
		return got.ErrorCode, got.ErrorMessage
	}
	for _, key := range []kmsg.Key{kmsg.CreateTopics, kmsg.CreatePartitions, kmsg.IncrementalAlterConfigs, kmsg.DeleteRecords, kmsg.DeleteTopics} {
		fsys.full.Store(true)
		code, message := ask(key)
		if code != kerr.KafkaStorageError.Code || message != nil && !strings.Contains(*message, "no space left") {
			t.Errorf("%s on a full disk: error %v, message %v", key.Name(), kerr.ErrorForCode(code), message)
		}
		fsys.full.Store(false)
		if topic, _ := s.dir.Topic("t"); len(s.dir.Topics()) != 1 || topic.Partitions != 1 || len(s.dir.Settings("t")) != 0 {
			t.Errorf("%s on a full disk has changed something: %+v, %v", key.Name(), s.dir.Topics(), s.dir.Settings("t"))
		}
	}
	if got := c.fetch("t", 0, 0); got.ErrorCode != 0 || len(got.RecordBatches) == 0 {
		t.Errorf("fetch after the disk was full: error %d, %d bytes", got.ErrorCode, len(got.RecordBatches))
	}
	for _, key := range []kmsg.Key{kmsg.CreateTopics, kmsg.CreatePartitions, kmsg.IncrementalAlterConfigs, kmsg.DeleteRecords, kmsg.DeleteTopics} {
		if code, _ := ask(key); code != 0 {
			t.Errorf("%s with room again: error %v", key.Name(), kerr.ErrorForCode(code))
		}
	}
	if n := len(s.log.lines("disk error")); n != 5 {
		t.Errorf("%d lines in the log, want 5", n)
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
		{logdir.ErrNoTopic, kerr.UnknownTopicOrPartition},
		{logdir.ErrExists, kerr.TopicAlreadyExists},
		{logdir.ErrFewer, kerr.InvalidPartitions},
		{logdir.ValidTopic(""), kerr.InvalidTopicException},
		{logdir.CheckSettingName("x"), kerr.InvalidConfig},
		{errRepeated, kerr.InvalidRequest},
		{syscall.EIO, kerr.KafkaStorageError},
	} {
		if code, message := s.verdict("test", "t", test.err); code != test.want.Code || message == nil {
			t.Errorf("%v: error %d, message %v; want %d", test.err, code, message, test.want.Code)
		}
	}
}
