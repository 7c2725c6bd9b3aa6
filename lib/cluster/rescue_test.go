package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
)

func alone(o *Options) { o.Alone, o.Adopt = true, true }

// TestZooKeeperLosesEverything: brokers that run go on serving, say so, and come back one after the other, in any order,
// with the operator's word: each claims what it has, and nobody begins what another one has.
func TestZooKeeperLosesEverything(t *testing.T) {
	zoo := zkfake.New()
	brokers := []*broker{start(t, zoo, t.TempDir()), start(t, zoo, t.TempDir()), start(t, zoo, t.TempDir())}
	eventually(t, "the first knows all", func() bool { return len(brokers[0].Brokers()) == 3 })
	brokers[0].create("t", 7, nil)
	for _, b := range brokers {
		eventually(t, "each serves its part", func() bool { return len(b.served()) >= 2 })
	}
	for number := range int32(7) {
		brokers[number%3].write("t", number, "kept")
	}
	emptied := zkfake.New()
	for _, order := range [][]int{{1, 0, 2}} {
		for _, i := range order {
			brokers[i].stop()
			b := start(t, emptied, brokers[i].path, moving)
			if int(b.ID()) != i {
				t.Errorf("broker %d is back as %d", i, b.ID())
			}
			brokers[i] = b
		}
	}
	for i, b := range brokers {
		eventually(t, "all know who has what", func() bool {
			topic := b.Cluster().Topics["t"]
			return len(topic.Replicas) == 7 && !slices.ContainsFunc(topic.Replicas, func(r []int32) bool { return r[0] == registry.NoBroker })
		})
		for number := range int32(7) {
			want := int64(-1)
			if int(number)%3 == i {
				want = 1
			}
			if got := b.end("t", number); got != want {
				t.Errorf("broker %d: partition %d ends at %d, want %d", i, number, got, want)
			}
		}
	}
}

// wipe deletes the whole tree, as if ZooKeeper had lost its disk.
func wipe(t *testing.T, zoo *zkfake.Server) {
	t.Helper()
	conn := zoo.Connect(nil)
	defer conn.Close()
	paths := slices.Sorted(func(yield func(string) bool) {
		for path := range zoo.Dump() {
			if !yield(path) {
				return
			}
		}
	})
	for _, path := range slices.Backward(paths) {
		if path == "/" {
			continue
		}
		if err := conn.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

// TestTreeIsLostUnderBroker: it goes on serving, says what is wrong once, and is registered again when the tree is back.
func TestTreeIsLostUnderBroker(t *testing.T) {
	for _, stranger := range []bool{false, true} {
		t.Run(fmt.Sprintf("stranger %v", stranger), func(t *testing.T) {
			zoo := zkfake.New()
			a := start(t, zoo, t.TempDir())
			a.create("t", 1, nil)
			a.write("t", 0, "before")
			wipe(t, zoo)
			if stranger {
				start(t, zoo, t.TempDir()).create("t", 1, nil)
			}
			a.conn.Expire()
			eventually(t, "it says that it cannot be registered", func() bool { return a.log.count("cannot be registered") > 0 })
			eventually(t, "it says that it cannot follow", func() bool { return a.log.count("cannot be followed") > 0 })
			time.Sleep(20 * time.Millisecond) // many tries
			a.write("t", 0, "after")
			if _, known := a.Cluster().Topics["t"]; !known {
				t.Error("it has forgotten its topic")
			}
			// With a stranger's tree there may be a moment without any, which is said, too.
			if n := a.log.count("ERROR"); n > 4 || !stranger && n != 2 {
				t.Errorf("%d lines, want one for each trouble", n)
			}
		})
	}
}

// TestRegistrationIsRemoved by somebody: it is made again.
func TestRegistrationIsRemoved(t *testing.T) {
	zoo := zkfake.New()
	a, b := start(t, zoo, t.TempDir()), start(t, zoo, t.TempDir())
	eventually(t, "b knows a", func() bool { return len(b.Cluster().Brokers) == 2 })
	if err := a.conn.Delete("/brokers/ids/0", -1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is said", func() bool { return a.log.count("somebody has removed the registration") == 1 })
	eventually(t, "b knows a again", func() bool { return len(b.Cluster().Brokers) == 2 })
}

// TestAlone: one broker that is all there is serves whatever is in its directory, also when that has lost its identity or
// comes from elsewhere; what is missing of a topic is begun.
func TestAlone(t *testing.T) {
	path, topic := lived(t)
	zoo := zkfake.New()
	b := start(t, zoo, path, alone, moving)
	b.stop()
	if err := os.Remove(filepath.Join(path, "meta.properties")); err != nil {
		t.Fatal(err)
	}
	b = start(t, zoo, path, alone)
	if b.end("t", 0) != 1 || b.end("t", 1) != 1 || b.Cluster().Topics["t"].ID != topic.ID {
		t.Errorf("ends %d and %d without meta.properties, want 1", b.end("t", 0), b.end("t", 1))
	}
	b.stop()
	if err := os.RemoveAll(filepath.Join(path, "t-0")); err != nil {
		t.Fatal(err)
	}
	b = start(t, zkfake.New(), path, alone, moving)
	if b.end("t", 0) != 0 || b.end("t", 1) != 1 {
		t.Errorf("ends %d and %d, want 0 for what is missing, and 1", b.end("t", 0), b.end("t", 1))
	}
	if n := b.log.count("partition is missing, with its records"); n != 1 {
		t.Errorf("%d lines about the missing one, want 1", n)
	}
}

// TestMovesThereAndBack: a directory that comes back to a cluster has the id there that it had.
func TestMovesThereAndBack(t *testing.T) {
	home := zkfake.New()
	b := start(t, home, t.TempDir(), alone)
	b.create("t", 1, nil)
	b.write("t", 0, "kept")
	b.stop()
	away := start(t, zkfake.New(), t.TempDir())
	b = start(t, away.zoo, b.path, moving)
	if b.ID() != 1 || b.end("t", 0) != 1 {
		t.Errorf("away: broker %d, end %d; want 1 and 1", b.ID(), b.end("t", 0))
	}
	b.stop()
	b = start(t, home, b.path, alone, moving)
	if b.ID() != 0 || b.end("t", 0) != 1 {
		t.Errorf("back: broker %d, end %d; want 0 and 1", b.ID(), b.end("t", 0))
	}
}

// TestSuccessor: a directory without identity takes the place of one that is gone, with the operator's word, and never
// that of one that is there.
func TestSuccessor(t *testing.T) {
	zoo := zkfake.New()
	a, b := start(t, zoo, t.TempDir()), start(t, zoo, t.TempDir())
	eventually(t, "a knows b", func() bool { return len(a.Brokers()) == 2 })
	a.create("t", 2, nil)
	eventually(t, "b serves its part", func() bool { return len(b.served()) == 1 })
	b.write("t", 1, "kept")
	second := func(o *Options) { o.ID, o.Adopt, o.Move = 1, true, true }
	_, err := tryStart(t, zoo, t.TempDir(), second)
	if taken := (*registry.BrokerIDError)(nil); !errors.As(err, &taken) || !taken.Live {
		t.Errorf("the place of one that is there: %v, want a BrokerIDError", err)
	}
	b.stop()
	if err := os.Remove(filepath.Join(b.path, "meta.properties")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "b is gone", func() bool { return len(a.Cluster().Brokers) == 1 })
	lost := start(t, zoo, b.path)
	if lost.ID() == 1 || lost.end("t", 1) != -1 || lost.log.count("--id 1 --adopt") != 1 {
		t.Errorf("without its identity it is broker %d and serves to %d, want a hint", lost.ID(), lost.end("t", 1))
	}
	lost.stop()
	if err := os.Remove(filepath.Join(b.path, "meta.properties")); err != nil {
		t.Fatal(err)
	}
	if b = start(t, zoo, b.path, second); b.ID() != 1 || b.end("t", 1) != 1 {
		t.Errorf("broker %d, end %d; want 1 and 1", b.ID(), b.end("t", 1))
	}
}
