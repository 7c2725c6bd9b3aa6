package cluster

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/logdir"
	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
)

// TestTopicIsSpread: whichever broker is asked, each gets its share, serves it, and knows of all.
func TestTopicIsSpread(t *testing.T) {
	zoo := zkfake.New()
	a, b, c := start(t, zoo, t.TempDir()), start(t, zoo, t.TempDir()), start(t, zoo, t.TempDir())
	if got := []int32{a.ID(), b.ID(), c.ID()}; !cmp.Equal(got, []int32{0, 1, 2}) {
		t.Fatalf("ids %v, want 0, 1 and 2", got)
	}
	eventually(t, "b knows all brokers", func() bool { return len(b.Brokers()) == 3 })
	b.create("t", 12, logdir.Settings{"retention.ms": "77"})
	for _, m := range []*broker{a, b, c} {
		eventually(t, "each serves four", func() bool { return len(m.served()) == 4 })
		for number := range int32(12) {
			leader, ok := m.Cluster().Leader("t", number)
			if _, here := m.Log("t", number); !ok || here != (leader.ID == m.ID()) {
				t.Errorf("broker %d: partition %d has leader %d, %v; it is here: %v", m.ID(), number, leader.ID, ok, here)
			}
		}
		if got := m.dir.Settings("t")["retention.ms"]; got != "77" {
			t.Errorf("broker %d: retention %q, want 77", m.ID(), got)
		}
	}
	// More partitions, other settings, and the end of it, asked of another.
	eventually(t, "a knows all brokers", func() bool { return len(a.Brokers()) == 3 })
	more, err := a.Spread(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.AddPartitions(t.Context(), a.Cluster().Topics["t"], more); err != nil {
		t.Fatal(err)
	}
	err = a.ChangeSettings(t.Context(), "t", func(s logdir.Settings) error { s["retention.ms"] = "88"; return nil })
	if err != nil || a.dir.Settings("t")["retention.ms"] != "88" {
		t.Errorf("retention %q, %v; want 88 at once where it was asked for", a.dir.Settings("t")["retention.ms"], err)
	}
	for _, m := range []*broker{a, b, c} {
		eventually(t, "each serves five", func() bool { return len(m.served()) == 5 && m.dir.Settings("t")["retention.ms"] == "88" })
	}
	c.remove("t")
	for _, m := range []*broker{a, b, c} {
		eventually(t, "nobody serves any", func() bool { return len(m.dir.Partitions()) == 0 && len(m.tombstones()) == 0 })
	}
	if _, found, err := a.Find(t.Context(), "t"); found || err != nil {
		t.Errorf("the deleted topic is found: %v, %v", found, err)
	}
}

// TestBrokerGoesAndReturns: its partitions have no leader meanwhile, and are whole when it is back.
func TestBrokerGoesAndReturns(t *testing.T) {
	zoo := zkfake.New()
	a, b := start(t, zoo, t.TempDir()), start(t, zoo, t.TempDir())
	eventually(t, "a knows b", func() bool { return len(a.Brokers()) == 2 })
	a.create("t", 2, nil)
	eventually(t, "b serves its part", func() bool { return len(b.served()) == 1 })
	b.write("t", 1, "kept")
	b.stop()
	eventually(t, "partition 1 has no leader", func() bool { _, ok := a.Cluster().Leader("t", 1); return !ok })
	if n := a.log.count("broker is gone"); n != 1 {
		t.Errorf("%d lines say that the broker is gone, want 1", n)
	}
	b = start(t, zoo, b.path)
	if b.ID() != 1 || b.end("t", 1) != 1 {
		t.Errorf("broker %d is back, partition 1 ends at %d; want broker 1, and 1", b.ID(), b.end("t", 1))
	}
	eventually(t, "partition 1 has its leader", func() bool { leader, ok := a.Cluster().Leader("t", 1); return ok && leader.ID == 1 })
}

// TestChangesWhileDown: what was deleted, made again, and given more partitions while a broker was down.
func TestChangesWhileDown(t *testing.T) {
	zoo := zkfake.New()
	a, b := start(t, zoo, t.TempDir()), start(t, zoo, t.TempDir())
	eventually(t, "a knows b", func() bool { return len(a.Brokers()) == 2 })
	for _, name := range []string{"gone", "again", "more", "same"} {
		a.create(name, 2, nil)
	}
	eventually(t, "b serves its part", func() bool { return len(b.served()) == 4 })
	for _, name := range []string{"gone", "again", "more", "same"} {
		b.write(name, 1, "of the first life")
	}
	b.stop()
	a.remove("gone")
	a.remove("again")
	if _, err := a.CreateTopic(t.Context(), "again", [][]int32{{1}, {1}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := a.AddPartitions(t.Context(), a.Cluster().Topics["more"], [][]int32{{1}}); err != nil {
		t.Fatal(err)
	}
	b = start(t, zoo, b.path)
	if diff := cmp.Diff([]string{"again-0", "again-1", "more-1", "more-2", "same-1"}, b.served()); diff != "" {
		t.Errorf("served when it is back (-want +got):\n%s", diff)
	}
	for topic, want := range map[string]int64{"again": 0, "more": 1, "same": 1} {
		if got := b.end(topic, 1); got != want {
			t.Errorf("%s-1 ends at %d, want %d", topic, got, want)
		}
	}
	if left := b.tombstones(); len(left) > 0 {
		t.Errorf("tombstones left: %v", left)
	}
}

// TestTakenName: of two that create a topic one is refused, and nobody is left with half of one.
func TestTakenName(t *testing.T) {
	zoo := zkfake.New()
	a, b := start(t, zoo, t.TempDir()), start(t, zoo, t.TempDir())
	a.create("t", 1, nil)
	if _, err := b.CreateTopic(t.Context(), "t", [][]int32{{1}}, nil); !errors.Is(err, registry.ErrTopicExists) {
		t.Errorf("second topic of the name: %v, want ErrTopicExists", err)
	}
	if found, ok, err := b.Find(t.Context(), "t"); !ok || err != nil || found.Replicas[0][0] != 0 {
		t.Errorf("found %v %v, %v; want the first one", found, ok, err)
	}
	if got := b.served(); len(got) != 0 {
		t.Errorf("b serves %v", got)
	}
}

// TestForeignSettings: what another tool has set in the tree and nobody here understands is left out, and said once: when it
// comes back after it was gone, once more.
func TestForeignSettings(t *testing.T) {
	a := start(t, zkfake.New(), t.TempDir())
	a.create("t", 1, nil)
	set := func(age string, foreign bool) {
		t.Helper()
		err := a.session.ChangeSettings(t.Context(), "t", func(s map[string]string) error {
			s["retention.ms"] = age
			if delete(s, "cleanup.policy"); foreign {
				s["cleanup.policy"] = "compact"
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the other setting holds", func() bool { return a.dir.Settings("t")["retention.ms"] == age })
		if got := a.dir.Settings("t"); len(got) != 1 {
			t.Errorf("settings %v, want the one that can be", got)
		}
	}
	for i, step := range []struct {
		foreign bool
		lines   int
	}{{true, 1}, {true, 1}, {false, 1}, {true, 2}} {
		set(fmt.Sprint(100+i), step.foreign)
		if n := a.log.count("setting is not used"); n != step.lines {
			t.Errorf("step %d: %d lines say so, want %d", i, n, step.lines)
		}
	}
	a.remove("t")
	eventually(t, "nothing of it is kept", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.said) == 0
	})
}
