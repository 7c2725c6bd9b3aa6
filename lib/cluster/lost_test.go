package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
)

// TestZooKeeperIsLost: what is served goes on, registrations return, and each is said once.
func TestZooKeeperIsLost(t *testing.T) {
	zoo := zkfake.New()
	a, b := start(t, zoo, t.TempDir()), start(t, zoo, t.TempDir())
	eventually(t, "a knows b", func() bool { return len(a.Brokers()) == 2 })
	a.create("t", 2, nil)
	for round, expired := range []bool{false, true} {
		a.conn.Disconnect()
		if expired {
			a.conn.Expire()
		}
		eventually(t, "a notices", func() bool { return !a.Registered() })
		a.write("t", 0, "meanwhile")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if _, err := a.CreateTopic(ctx, "u", [][]int32{{0}}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a topic is created: %v", err)
		}
		cancel()
		if expired {
			eventually(t, "b sees it gone", func() bool { return len(b.Cluster().Brokers) == 1 })
		}
		if _, ok := a.Brokers()[0]; !ok {
			t.Error("a does not know itself")
		}
		a.conn.Reconnect()
		eventually(t, "a is registered again", func() bool { return a.Registered() && len(b.Cluster().Brokers) == 2 })
		if lost, back := a.log.count("zookeeper is lost"), a.log.count("zookeeper is back"); lost != round+1 || back != round+1 {
			t.Errorf("said %d times that it is lost, %d times that it is back, want %d", lost, back, round+1)
		}
	}
	if end := a.end("t", 0); end < 2 {
		t.Errorf("end %d, want both records", end)
	}
}

// TestChaos: connections break and sessions end between any two calls while topics come and go. In the end every broker
// serves exactly what is its own, and nobody has kept anything of a topic that was deleted.
func TestChaos(t *testing.T) {
	seeds := uint64(6)
	if os.Getenv("LOGKIT_SOAK") != "" {
		seeds = 500
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { chaos(t, seed) })
	}
}

func chaos(t *testing.T, seed uint64) {
	zoo := zkfake.New()
	var brokers []*broker
	for range 3 {
		brokers = append(brokers, start(t, zoo, t.TempDir()))
	}
	eventually(t, "all know all", func() bool {
		return !slices.ContainsFunc(brokers, func(b *broker) bool { return len(b.Cluster().Brokers) != 3 })
	})
	for i, b := range brokers {
		b.conn.SetFaults(troubled(seed*10+uint64(i), b))
	}
	var work sync.WaitGroup
	for i, b := range brokers {
		work.Go(func() { live(t, b, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	work.Wait()
	for _, b := range brokers {
		b.conn.SetFaults(nil)
		b.conn.Reconnect()
	}
	topics, err := brokers[0].session.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range brokers {
		eventually(t, "everything is in line", func() bool { return inLine(b, topics) })
		if n := b.log.count("kept"); n > 0 {
			t.Errorf("broker %d: %d partitions of unknown topics", b.ID(), n)
		}
	}
}

// troubled lets calls fail, and brings the connection back a moment later.
func troubled(seed uint64, b *broker) zkfake.Faults {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 2))
	return func(zkfake.Call) zkfake.Fault {
		mu.Lock()
		defer mu.Unlock()
		b.conn.Reconnect()
		if r.IntN(30) > 0 {
			return zkfake.None
		}
		return zkfake.Fault(1 + r.IntN(5))
	}
}

// live makes and deletes topics, whatever comes of it.
func live(t *testing.T, b *broker, r *rand.Rand) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 15 {
		name := string(rune('a' + r.IntN(4)))
		known, there, err := b.session.Topic(ctx, name)
		switch {
		case err != nil:
		case there && r.IntN(2) == 0:
			err = b.session.DeleteTopic(ctx, known)
		case there:
			_, err = b.session.AddPartitions(ctx, known, [][]int32{{int32(r.IntN(3))}})
		default:
			var replicas [][]int32
			if replicas, err = b.Spread(1 + r.IntN(5)); err == nil {
				_, err = b.session.CreateTopic(ctx, name, replicas, nil)
			}
		}
		for _, expected := range []error{nil, registry.ErrTopicExists, registry.ErrTopicDeleted, registry.ErrNoTopic, registry.ErrPartitions, registry.ErrUnknownOutcome} {
			if errors.Is(err, expected) {
				err = nil
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
	if err := b.session.FinishDeletes(ctx); err != nil {
		t.Error(err)
	}
}

// inLine tells whether a broker has exactly the partitions that are its own.
func inLine(b *broker, topics map[string]registry.Topic) bool {
	want := map[string]string{}
	for name, topic := range topics {
		for number := range topic.Replicas {
			if b.Leads(topic, int32(number)) {
				want[fmt.Sprintf("%s-%d", name, number)] = topic.ID
			}
		}
	}
	got := b.dir.Partitions()
	for _, p := range got {
		if want[fmt.Sprintf("%s-%d", p.Topic, p.Number)] != p.TopicID || p.Hidden {
			return false
		}
	}
	return len(got) == len(want)
}

// TestTreeIsBroken: what cannot be read because somebody has removed a part of the tree is tried again after a pause, not
// at once for ever.
func TestTreeIsBroken(t *testing.T) {
	zoo := zkfake.New()
	a := start(t, zoo, t.TempDir(), func(o *Options) { o.Retry = time.Hour })
	a.create("t", 1, nil)
	other := zoo.Connect(nil)
	t.Cleanup(other.Close)
	const broken = "/config/changes"
	names, _, err := other.Children(broken)
	if err != nil {
		t.Fatal(err)
	}
	var looks atomic.Int64
	a.conn.SetFaults(func(c zkfake.Call) zkfake.Fault {
		if c.Op == "children" && c.Path == broken {
			looks.Add(1)
		}
		return zkfake.None
	})
	for _, name := range names {
		if err := other.Delete(broken+"/"+name, -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Delete(broken, -1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is said", func() bool { return a.log.count("the cluster cannot be followed") == 1 })
	before := looks.Load()
	for range 200_000 {
		if _, _, err := other.Get("/cluster/id"); err != nil {
			t.Fatal(err)
		}
	}
	if more := looks.Load() - before; more > 0 {
		t.Errorf("looked %d times more at what is not there, in the time of many other calls", more)
	}
	a.write("t", 0, "meanwhile")
}
