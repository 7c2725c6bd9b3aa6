package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/logdir"
	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
)

func adopting(o *Options) { o.Adopt = true }

func moving(o *Options) { o.Adopt, o.Move = true, true }

// lived returns a directory that has been a broker's, with topic t of two partitions and a record in each.
func lived(t *testing.T) (path string, topic registry.Topic) {
	t.Helper()
	b := start(t, zkfake.New(), t.TempDir())
	topic = b.create("t", 2, logdir.Settings{"retention.ms": "5000"})
	b.write("t", 0, "zero")
	b.write("t", 1, "one")
	b.stop()
	return b.path, topic
}

// TestWrongZooKeeper: a directory that meets another cluster's ZooKeeper, or an empty one, is refused and is as it was.
func TestWrongZooKeeper(t *testing.T) {
	path, _ := lived(t)
	_, err := tryStart(t, zkfake.New(), path)
	if empty := (*EmptyError)(nil); !errors.As(err, &empty) || !strings.Contains(err.Error(), path) {
		t.Errorf("an empty zookeeper: %v, want an EmptyError that names the directory", err)
	}
	other := start(t, zkfake.New(), t.TempDir())
	_, err = tryStart(t, other.zoo, path)
	if cluster := (*registry.ClusterError)(nil); !errors.As(err, &cluster) {
		t.Errorf("another cluster's: %v, want a ClusterError", err)
	}
	for _, name := range []string{"t-0", "t-1"} {
		if _, err := os.Stat(filepath.Join(path, name, "partition.metadata")); err != nil {
			t.Error(err)
		}
	}
}

// TestMoves: with the operator's word the directory becomes part of the other cluster, with its topics, their ids, their
// settings and all records.
func TestMoves(t *testing.T) {
	for _, test := range []struct {
		name string
		zoo  func(t *testing.T) *zkfake.Server
		id   int32
	}{
		{"into an empty zookeeper", func(*testing.T) *zkfake.Server { return zkfake.New() }, 0},
		{"into another cluster", func(t *testing.T) *zkfake.Server { return start(t, zkfake.New(), t.TempDir()).zoo }, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, topic := lived(t)
			b := start(t, test.zoo(t), path, moving)
			got := b.Cluster().Topics["t"]
			if b.ID() != test.id || got.ID != topic.ID || b.end("t", 0) != 1 || b.end("t", 1) != 1 {
				t.Errorf("broker %d, topic %s, ends %d and %d; want broker %d, topic %s and 1", b.ID(), got.ID, b.end("t", 0), b.end("t", 1), test.id, topic.ID)
			}
			set, err := b.session.Settings(t.Context(), "t")
			if err != nil || set["retention.ms"] != "5000" {
				t.Errorf("settings %v, %v", set, err)
			}
			b = b.again() // it is at home there now
			if b.end("t", 1) != 1 {
				t.Error("not served after another start")
			}
		})
	}
}

// TestUnknownPartitionIsKept: without adoption it is not served, reported once, and whole when it is adopted.
func TestUnknownPartitionIsKept(t *testing.T) {
	b := start(t, zkfake.New(), t.TempDir())
	b.stop()
	path, topic := lived(t)
	for _, name := range []string{"t-0", "t-1"} {
		if err := os.Rename(filepath.Join(path, name), filepath.Join(b.path, name)); err != nil {
			t.Fatal(err)
		}
	}
	b = start(t, b.zoo, b.path)
	b.view.Watcher().Signal()
	b.create("u", 1, nil)
	if diff := cmp.Diff([]string{"u-0"}, b.served()); diff != "" {
		t.Errorf("served (-want +got):\n%s", diff)
	}
	if n := b.log.count("zookeeper does not know the topic"); n != 2 {
		t.Errorf("%d lines report partitions, want one for each of the two", n)
	}
	b = b.again(adopting)
	if got := b.Cluster().Topics["t"]; got.ID != topic.ID || b.end("t", 0) != 1 || b.end("t", 1) != 1 {
		t.Errorf("adopted topic %s ends at %d and %d, want %s, and 1", got.ID, b.end("t", 0), b.end("t", 1), topic.ID)
	}
}

// TestPutThereByHand: a partition without an id belongs to the topic of its name, and without adoption to none.
func TestPutThereByHand(t *testing.T) {
	b := start(t, zkfake.New(), t.TempDir())
	topic := b.create("t", 2, nil)
	b.stop()
	path, _ := lived(t)
	for _, name := range []string{"t-0", "t-1"} {
		restored := filepath.Join(b.path, name)
		err := errors.Join(os.RemoveAll(restored), os.CopyFS(restored, os.DirFS(filepath.Join(path, name))),
			os.Remove(filepath.Join(restored, "partition.metadata")))
		if err != nil {
			t.Fatal(err)
		}
	}
	alone := filepath.Join(b.path, "v-0")
	if err := os.Mkdir(alone, 0o755); err != nil {
		t.Fatal(err)
	}
	b = start(t, b.zoo, b.path)
	if b.end("t", 0) != 1 || b.end("t", 1) != 1 || b.end("v", 0) != -1 {
		t.Errorf("ends %d, %d and %d, want 1, 1, and -1 for what is no topic's", b.end("t", 0), b.end("t", 1), b.end("v", 0))
	}
	for _, p := range b.dir.PartitionsOf("t") {
		if p.TopicID != topic.ID {
			t.Errorf("partition %d has topic id %q, want %q", p.Number, p.TopicID, topic.ID)
		}
	}
}

// TestAnotherTopicOfThatName: a partition in the place of one that was made for another topic, of which nobody knows that
// it was deleted, is kept under another name; one whose id is damaged is kept where it is.
func TestAnotherTopicOfThatName(t *testing.T) {
	b := start(t, zkfake.New(), t.TempDir())
	b.create("t", 2, nil)
	b.stop()
	path, _ := lived(t)
	for _, name := range []string{"t-0", "t-1"} {
		place := filepath.Join(b.path, name)
		if err := errors.Join(os.RemoveAll(place), os.CopyFS(place, os.DirFS(filepath.Join(path, name)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(b.path, "t-1", "partition.metadata"), []byte("?"), 0o644); err != nil {
		t.Fatal(err)
	}
	b = start(t, b.zoo, b.path)
	if b.end("t", 0) != 0 || b.end("t", 1) != -1 {
		t.Errorf("ends %d and %d, want 0 for what was begun and -1 for what is not served", b.end("t", 0), b.end("t", 1))
	}
	kept, err := filepath.Glob(filepath.Join(b.path, "t-0.*-stray", "*.log"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %v, %v", kept, err)
	}
	for _, file := range []string{kept[0], filepath.Join(b.path, "t-1", "00000000000000000000.log")} {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v; want the records that were in it", file, info, err)
		}
	}
	if n := b.log.count("the id of its topic is damaged"); n != 1 {
		t.Errorf("%d lines about the damaged id, want 1", n)
	}
}

// TestSameAddress: of two brokers under one address clients meet the wrong one, and that is said.
func TestSameAddress(t *testing.T) {
	zoo := zkfake.New()
	start(t, zoo, t.TempDir())
	b, err := joined(t, zoo, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b.run(9000) // the other's
	if n := b.log.count("another broker is registered under the same address"); n != 1 {
		t.Errorf("said %d times, want once", n)
	}
}

// TestIDs: a directory keeps its id; another one never gets it.
func TestIDs(t *testing.T) {
	zoo := zkfake.New()
	a := start(t, zoo, t.TempDir(), func(o *Options) { o.ID = 5 })
	if a.ID() != 5 {
		t.Fatalf("id %d, want 5", a.ID())
	}
	_, err := tryStart(t, zoo, t.TempDir(), func(o *Options) { o.ID = 5 })
	if taken := (*registry.BrokerIDError)(nil); !errors.As(err, &taken) {
		t.Errorf("another directory with that id: %v, want a BrokerIDError", err)
	}
	a.stop()
	_, err = tryStart(t, zoo, a.path, func(o *Options) { o.ID = 6 })
	if kept := (*IDError)(nil); !errors.As(err, &kept) {
		t.Errorf("the directory with another id: %v, want an IDError", err)
	}
	if a = start(t, zoo, a.path); a.ID() != 5 {
		t.Errorf("id %d after another start, want 5", a.ID())
	}
	if b := start(t, zoo, t.TempDir()); b.ID() == 5 {
		t.Error("the id was given out twice")
	}
}
