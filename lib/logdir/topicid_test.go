package logdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPartitionsRememberTheirTopic: the id outlives a restart; a directory without one has none, and one with a damaged
// one has none that a topic could have.
func TestPartitionsRememberTheirTopic(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if err := create(d, "t", 3, nil); err != nil {
		t.Fatal(err)
	}
	file := func(number string) string { return filepath.Join(path, "t-"+number, topicIDFile) }
	text, err := os.ReadFile(file("0"))
	if want := "version: 0\ntopic_id: " + topicID + "\n"; err != nil || string(text) != want {
		t.Errorf("%s: %q, %v; want %q, as Kafka writes it", topicIDFile, text, err, want)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(file("1")), os.WriteFile(file("2"), []byte("version: 0\ntopic_id: x\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	want := []Partition{{"t", 0, topicID, false, nil}, {"t", 1, "", false, nil}, {"t", 2, damagedTopicID, false, nil}}
	if diff := cmp.Diff(want, d.Partitions()); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
}

// TestHide: a hidden partition is not served and does not expire, its name is taken, and it is back when it is adopted.
func TestHide(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if err := create(d, "t", 1, Settings{"retention.ms": "1", "segment.bytes": "1024"}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		appendOne(t, d, "t", 0, strings.Repeat("x", 600))
	}
	log, _ := d.Log("t", 0)
	before := log.Positions()
	d.Hide("t", 0)
	if _, ok := d.Log("t", 0); ok {
		t.Error("a hidden log is found")
	}
	if topics := d.Topics(); len(topics) != 0 {
		t.Errorf("topics %v, want none", topics)
	}
	d.Retain(time.Now().Add(time.Hour))
	if err := d.Create("t", topicID, []int32{0}, nil); !errors.Is(err, ErrExists) {
		t.Errorf("a partition in place of a hidden one: %v, want ErrExists", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	log, _ = d.Log("t", 0)
	if now := log.Positions(); now != before {
		t.Errorf("positions %+v, before it was hidden %+v", now, before)
	}
	const other = "AAAAAAAAAAAAAAAAAAAAAA"
	d.Hide("t", 0)
	if err := d.Adopt("t", 0, other); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Partition{{"t", 0, other, false, nil}}, d.Partitions()); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
	if _, ok := d.Log("t", 0); !ok {
		t.Error("an adopted log is not found")
	}
	if err := d.Adopt("t", 1, other); !errors.Is(err, ErrNoTopic) {
		t.Errorf("Adopt of what is not there: %v, want ErrNoTopic", err)
	}
}

// TestSetAside: the name is free for a log of no records, and all files of the old one are still there, for ever.
func TestSetAside(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if err := create(d, "t", 2, nil); err != nil {
		t.Fatal(err)
	}
	appendOne(t, d, "t", 0, "kept")
	log, _ := d.Log("t", 0)
	if _, err := log.DeleteBefore(1); err != nil { // a mark that must not be the other log's
		t.Fatal(err)
	}
	name, err := d.SetAside("t", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Create("t", topicID, []int32{0}, nil); err != nil {
		t.Fatal(err)
	}
	if log, _ := d.Log("t", 0); log.Positions().End != 0 || log.Positions().Start != 0 {
		t.Errorf("positions %+v of a log that was begun, want zeros", log.Positions())
	}
	if _, err := d.SetAside("t", 2); !errors.Is(err, ErrNoTopic) {
		t.Errorf("SetAside of what is not there: %v, want ErrNoTopic", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	data, err := os.ReadFile(filepath.Join(name, "00000000000000000000.log"))
	if err != nil || !strings.Contains(string(data), "kept") {
		t.Errorf("what was set aside: %q, %v", data, err)
	}
	if got, _ := d.Topic("t"); len(got.Partitions) != 2 {
		t.Errorf("partitions %d, want 0 and 1", got.Partitions)
	}
}

// TestJoin: the identity of the directory in a cluster outlives a restart.
func TestJoin(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if id := d.BrokerID(); id != NoBrokerID || d.ClusterID() != "" {
		t.Errorf("broker %d of cluster %q, want none yet", id, d.ClusterID())
	}
	if err := d.Join(clusterID, 0); err != nil {
		t.Fatal(err)
	}
	incarnation := d.Incarnation()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	if d.ClusterID() != clusterID || d.BrokerID() != 0 || d.Incarnation() != incarnation {
		t.Errorf("broker %d, %q, of cluster %q", d.BrokerID(), d.Incarnation(), d.ClusterID())
	}
	if _, err := parseMeta("incarnation=x\nbroker.id=-1\n"); err == nil || !strings.Contains(err.Error(), "allowed are 0 to 2147483647") {
		t.Errorf("broker.id -1: %v", err)
	}
}

func FuzzTopicID(f *testing.F) {
	f.Add(string(encodeTopicID(topicID)))
	f.Add("version: 0\ntopic_id:")
	f.Fuzz(func(t *testing.T, text string) {
		// What is accepted is one id, which is written as it was read.
		id, err := parseTopicID(text)
		if err != nil {
			return
		}
		if again, err := parseTopicID(string(encodeTopicID(id))); err != nil || again != id {
			t.Errorf("%q: %q, %v", id, again, err)
		}
	})
}
