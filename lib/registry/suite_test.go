package registry_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
	"logkit/lib/zkserver"
)

// What is expected here is expected on the twin, the server of this project, and ZooKeeper alike.

func TestCluster(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		c, ctx := target.planted(t), background(t)
		if id, err := c.ClusterID(ctx); err != nil || id != "" {
			t.Fatalf("%q, %v", id, err)
		}
		ours := get[string](t)(c.JoinCluster(ctx, ""))
		if again, err := c.JoinCluster(ctx, ours); err != nil || again != ours {
			t.Errorf("%q, %v", again, err)
		}
		var other *registry.ClusterError
		if found, err := c.JoinCluster(ctx, "stranger"); !errors.As(err, &other) || found != ours {
			t.Errorf("%q, %v", found, err)
		}
		must(t, c.Plant(ctx)) // again: nothing changes
	})
}

func TestBrokerIDs(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		c, ctx := target.planted(t), background(t)
		must(t, c.TakeBrokerID(ctx, 1, "by-hand"))
		must(t, c.TakeBrokerID(ctx, 1, "by-hand"))
		var ids []int32
		for _, incarnation := range []string{"a", "b", "c"} {
			ids = append(ids, get[int32](t)(c.AssignBrokerID(ctx, incarnation)))
		}
		if !slices.Equal(ids, []int32{0, 2, 3}) {
			t.Errorf("ids %v, of which 1 was taken", ids)
		}
		var taken *registry.BrokerIDError
		if err := c.TakeBrokerID(ctx, 2, "other"); !errors.As(err, &taken) || taken.Live {
			t.Error(err)
		}
		must(t, c.FreeBrokerID(ctx, 2))
		must(t, c.TakeBrokerID(ctx, 2, "other"))
	})
}

func TestRegistration(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		one, two, ctx := target.planted(t), target.client(t), background(t)
		b := registry.Broker{ID: 7, Host: "h", Port: 9092, Incarnation: "one", Registered: time.UnixMilli(5).UTC()}
		must(t, one.RegisterBroker(ctx, lease(t, one.Session), b))
		must(t, one.RegisterBroker(ctx, lease(t, one.Session), b)) // as after a reply that was lost
		if all := get[[]registry.Broker](t)(two.Brokers(ctx)); !cmp.Equal(all, []registry.Broker{b}) {
			t.Errorf("%+v", all)
		}
		stranger := b
		stranger.Incarnation = "two"
		var inUse *registry.BrokerIDError
		if err := two.RegisterBroker(ctx, lease(t, two.Session), stranger); !errors.As(err, &inUse) || !inUse.Live {
			t.Errorf("another data directory: %v", err)
		}
		// The same directory, of a process that was killed: wait for the end of its session.
		registered := make(chan error)
		second := lease(t, two.Session)
		looked := make(chan struct{})
		if two.fake == nil {
			close(looked)
		} else {
			two.fake.SetFaults(func(call zkfake.Call) zkfake.Fault {
				if call.Op == "get" {
					two.fake.SetFaults(nil)
					close(looked)
				}
				return zkfake.None
			})
		}
		go func() { registered <- two.RegisterBroker(ctx, second, b) }()
		<-looked
		one.Close()
		must(t, <-registered)
		if again, found, err := two.Broker(ctx, 7); err != nil || !found || again != b {
			t.Errorf("registered again: %+v, %v, %v", again, found, err)
		}
		three := target.client(t)
		two.Close()
		if all := get[[]registry.Broker](t)(three.Brokers(ctx)); len(all) > 0 {
			t.Errorf("%+v", all)
		}
	})
}

func TestSessionExpires(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		one, two, ctx := target.planted(t), target.client(t), background(t)
		first := lease(t, one.Session)
		b := registry.Broker{ID: 7, Host: "h", Port: 9092, Incarnation: "one"}
		must(t, one.RegisterBroker(ctx, first, b))
		view := two.Follow()
		defer view.Close()
		<-view.Watcher().Dirty()
		get[registry.Changes](t)(view.Refresh(ctx))
		one.cut(true)
		if one.fake != nil {
			one.fake.Expire()
		}
		<-view.Watcher().Dirty()
		changes := get[registry.Changes](t)(view.Refresh(ctx))
		if !cmp.Equal(changes.Brokers, []int32{7}) || len(view.Cluster().Brokers) > 0 {
			t.Errorf("%+v, %+v", changes, view.Cluster().Brokers)
		}
		one.cut(false)
		<-first.Done()
		next := lease(t, one.Session)
		if next.ID() == first.ID() {
			next = lease(t, one.Session)
		}
		must(t, one.RegisterBroker(ctx, next, b))
		<-view.Watcher().Dirty()
		get[registry.Changes](t)(view.Refresh(ctx))
		if view.Cluster().Brokers[7].Host != "h" {
			t.Error("not seen again")
		}
	})
}

func topic(t testing.TB, c client, name string, brokers ...int32) registry.Topic {
	t.Helper()
	replicas := get[[][]int32](t)(registry.Spread(brokers, nil, len(brokers)))
	return get[registry.Topic](t)(c.CreateTopic(background(t), name, replicas, nil))
}

func TestTopics(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		c, ctx := target.planted(t), background(t)
		made := get[registry.Topic](t)(c.CreateTopic(ctx, "T", [][]int32{{1}, {2}}, map[string]string{"retention.ms": "1000"}))
		if _, err := c.CreateTopic(ctx, "T", [][]int32{{1}}, nil); !errors.Is(err, registry.ErrTopicExists) {
			t.Error(err)
		}
		for _, name := range []string{"", "a/b", "..", strings.Repeat("x", 250)} {
			if _, err := c.CreateTopic(ctx, name, [][]int32{{1}}, nil); err == nil {
				t.Errorf("topic %q was created", name)
			}
		}
		if state, err := c.State(ctx, "T", 1); err != nil || state.Leader != 2 {
			t.Errorf("%+v, %v", state, err)
		}
		more := get[registry.Topic](t)(c.AddPartitions(ctx, made, [][]int32{{1}}))
		if _, err := c.AddPartitions(ctx, made, [][]int32{{1}}); !errors.Is(err, registry.ErrPartitions) {
			t.Errorf("added to what it was before: %v", err)
		}
		all := get[map[string]registry.Topic](t)(c.Topics(ctx))
		if !cmp.Equal(all, map[string]registry.Topic{"T": more}) || len(more.Replicas) != 3 {
			t.Errorf("%+v", all)
		}
		must(t, c.ChangeSettings(ctx, "T", func(s map[string]string) error { s["a"] = s["retention.ms"]; delete(s, "retention.ms"); return nil }))
		if s, err := c.Settings(ctx, "T"); err != nil || !cmp.Equal(s, map[string]string{"a": "1000"}) {
			t.Errorf("%v, %v", s, err)
		}
		if err := c.ChangeSettings(ctx, "U", func(map[string]string) error { return nil }); !errors.Is(err, registry.ErrNoTopic) {
			t.Error(err)
		}
		must(t, c.DeleteTopic(ctx, more))
		if err := c.DeleteTopic(ctx, more); !errors.Is(err, registry.ErrNoTopic) {
			t.Error(err)
		}
		for broker, want := range map[int32]bool{1: true, 2: true, 3: false} {
			if buried, err := c.Buried(ctx, made.ID, broker); err != nil || buried != want {
				t.Errorf("broker %d: buried %v, %v", broker, buried, err)
			}
		}
		must(t, c.Unbury(ctx, made.ID, 1))
		if buried, err := c.Buried(ctx, made.ID, 1); err != nil || buried {
			t.Errorf("buried %v, %v", buried, err)
		}
		if again := topic(t, c, "T", 1); again.ID == made.ID {
			t.Error("created again with the id it had")
		}
		if s, err := c.Settings(ctx, "T"); err != nil || len(s) > 0 {
			t.Errorf("settings of the earlier topic: %v, %v", s, err)
		}
	})
}

func TestTopicThatIsTooLargeForOneRequest(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		c, ctx := target.planted(t), background(t)
		many := get[[][]int32](t)(registry.Spread([]int32{1, 2, 3}, nil, 5000))
		if _, err := c.CreateTopic(ctx, "T", many, nil); !errors.Is(err, registry.ErrTooLarge) {
			t.Fatal(err)
		}
		if all, err := c.Topics(ctx); err != nil || len(all) > 0 {
			t.Errorf("a part of it is there: %v, %v", all, err)
		}
		made := get[registry.Topic](t)(c.CreateTopic(ctx, "T", many[:1000], nil))
		made = get[registry.Topic](t)(c.AddPartitions(ctx, made, many[1000:]))
		if now, _, err := c.Topic(ctx, "T"); err != nil || len(now.Replicas) != 5000 {
			t.Fatalf("%d partitions, %v", len(now.Replicas), err)
		}
		must(t, c.DeleteTopic(ctx, made)) // in more than one request
		if all, err := c.Topics(ctx); err != nil || len(all) > 0 {
			t.Errorf("%v, %v", all, err)
		}
		topic(t, c, "T", 1)
	})
}

func TestViewReadsWhatChanged(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		c, other, ctx := target.planted(t), target.client(t), background(t)
		kept, gone := topic(t, c, "kept", 1), topic(t, c, "gone", 1)
		view := other.Follow()
		defer view.Close()
		refresh := func() registry.Changes {
			t.Helper()
			<-view.Watcher().Dirty()
			return get[registry.Changes](t)(view.Refresh(ctx))
		}
		if changes := refresh(); !cmp.Equal(changes.Topics, []string{"gone", "kept"}) {
			t.Errorf("%+v", changes)
		}
		must(t, c.ChangeSettings(ctx, "kept", func(s map[string]string) error { s["a"] = "b"; return nil }))
		if changes := refresh(); !cmp.Equal(changes, registry.Changes{Topics: []string{"kept"}}) {
			t.Errorf("%+v", changes)
		}
		must(t, c.DeleteTopic(ctx, gone))
		made := topic(t, c, "made", 2, 1)
		seen := map[string]bool{}
		for !seen["made"] {
			for _, name := range refresh().Topics {
				seen[name] = true
			}
		}
		if want := map[string]registry.Topic{"kept": kept, "made": made}; !cmp.Equal(view.Cluster().Topics, want) || seen["kept"] {
			t.Errorf("%v, of %+v", seen, view.Cluster().Topics)
		}
		// More changes than are listed: everything is read again.
		for i := range 80 {
			must(t, c.ChangeSettings(ctx, "made", func(s map[string]string) error { s["n"] = fmt.Sprint(i); return nil }))
		}
		if changes := refresh(); !cmp.Equal(changes.Topics, []string{"kept", "made"}) {
			t.Errorf("after a gap: %+v", changes)
		}
	})
}

// A broker that went and came back between two readings is in both lists.
func TestViewSeesABrokerThatWasAwayForAMoment(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		one, two, ctx := target.planted(t), target.client(t), background(t)
		b := registry.Broker{ID: 7, Host: "h", Port: 1, Incarnation: "one"}
		must(t, one.RegisterBroker(ctx, lease(t, one.Session), b))
		view := two.Follow()
		defer view.Close()
		<-view.Watcher().Dirty()
		get[registry.Changes](t)(view.Refresh(ctx))
		one.Close()
		b.Port = 2
		again := target.client(t)
		must(t, again.RegisterBroker(ctx, lease(t, again.Session), b))
		<-view.Watcher().Dirty()
		changes := get[registry.Changes](t)(view.Refresh(ctx))
		if !cmp.Equal(changes.Brokers, []int32{7}) || view.Cluster().Brokers[7].Port != 2 {
			t.Errorf("%+v, %+v", changes, view.Cluster().Brokers)
		}
	})
}

// TestTree shows the whole tree, byte for byte, and which nodes are ephemeral.
func TestTree(t *testing.T) {
	server := zkfake.New()
	c, ctx := twin(server).planted(t), background(t)
	get[string](t)(c.JoinCluster(ctx, "clusterclusterclustercl"))
	must(t, c.TakeBrokerID(ctx, 3, "q8Zj"))
	l := lease(t, c.Session)
	must(t, c.RegisterBroker(ctx, l, registry.Broker{ID: 3, Host: "h", Port: 9092, Incarnation: "q8Zj", Registered: time.UnixMilli(1445518677618)}))
	made := get[registry.Topic](t)(c.CreateTopic(ctx, "T", [][]int32{{3}}, map[string]string{"retention.ms": "1000"}))
	g := get[*registry.Group](t)(c.Group("a/b"))
	a := get[registry.Arbiter](t)(g.Lead(ctx, registry.RegistryGroup, -1))
	must(t, g.Join(ctx, l, a, registry.Member{ID: "c", Subscription: map[string]int32{"T": 1}, Pattern: registry.Static, Joined: time.UnixMilli(1445518677618)}))
	o := get[*registry.Owned](t)(g.Claim(ctx, l, a, made, 0, "c-0", nil))
	must(t, g.Commit(ctx, l, a, []*registry.Commit{{Owned: o, Offset: 1 << 40}}))
	k := get[*registry.Group](t)(c.Group("k"))
	ka := get[registry.Arbiter](t)(k.Lead(ctx, registry.KafkaGroup, 3))
	must(t, k.CommitKafka(ctx, ka, made, []registry.KafkaOffset{{Partition: 0, Offset: 5, Metadata: "hi"}}))

	want := `/admin
/admin/delete_topics
/admin/deleted_topics
/admin/lock TOKEN
/brokers
/brokers/assigned
/brokers/assigned/3 {"version":1,"incarnation":"q8Zj"}
/brokers/ids
/brokers/ids/3 {"jmx_port":-1,"timestamp":"1445518677618","host":"h","version":1,"port":9092,"incarnation":"q8Zj"} (ephemeral)
/brokers/seqid 0
/brokers/topics
/brokers/topics/T {"version":1,"partitions":{"0":[3]},"topic_id":"TOPIC"}
/brokers/topics/T/partitions
/brokers/topics/T/partitions/0
/brokers/topics/T/partitions/0/state {"controller_epoch":0,"leader":3,"version":1,"leader_epoch":0,"isr":[3]}
/cluster
/cluster/id clusterclusterclustercl
/config
/config/changes
/config/changes/config_change_0000000000 "T"
/config/topics
/config/topics/T {"version":1,"config":{"retention.ms":"1000"}}
/consumers
/consumers/a%2Fb
/consumers/a%2Fb/arbiter {"version":1,"kind":"registry","epoch":1,"nonce":"NONCE","coordinator":-1}
/consumers/a%2Fb/arbiter/registry-1-NONCE
/consumers/a%2Fb/ids
/consumers/a%2Fb/ids/c {"version":1,"subscription":{"T":1},"pattern":"static","timestamp":"1445518677618"} (ephemeral)
/consumers/a%2Fb/metadata
/consumers/a%2Fb/metadata/T
/consumers/a%2Fb/offsets
/consumers/a%2Fb/offsets/T TOPIC
/consumers/a%2Fb/offsets/T/0 1099511627776
/consumers/a%2Fb/owners
/consumers/a%2Fb/owners/T
/consumers/a%2Fb/owners/T/0 c-0 (ephemeral)
/consumers/a%2Fb/reset
/consumers/k
/consumers/k/arbiter {"version":1,"kind":"kafka","epoch":1,"nonce":"NONCE","coordinator":3}
/consumers/k/arbiter/kafka-1-NONCE
/consumers/k/ids
/consumers/k/metadata
/consumers/k/metadata/T
/consumers/k/metadata/T/0 {"version":1,"offset":"5","metadata":"aGk="}
/consumers/k/offsets
/consumers/k/offsets/T TOPIC
/consumers/k/offsets/T/0 5
/consumers/k/owners
/consumers/k/owners/T
/consumers/k/reset
`
	before := server.Dump()
	c.fake.Expire()
	after := server.Dump()
	var got strings.Builder
	for _, path := range slices.Sorted(maps.Keys(before)) {
		short, found := strings.CutPrefix(path, "/test/")
		if !found {
			continue
		}
		data := before[path]
		if short == "admin/lock" {
			data = "TOKEN"
		}
		line := "/" + short
		if data != "" {
			line += " " + data
		}
		if _, there := after[path]; !there {
			line += " (ephemeral)"
		}
		got.WriteString(line + "\n")
	}
	text := strings.NewReplacer(made.ID, "TOPIC", a.Nonce, "NONCE", ka.Nonce, "NONCE").Replace(got.String())
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
}

// Deletions that were only marked, as Kafka's own tools do, are carried out; a mark of what is not there goes; and what
// nobody can read keeps nobody from the rest.
func TestFinishDeletes(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		c, conn, ctx := target.planted(t), target.conn(t), background(t)
		topic(t, c, "kept", 1)
		topic(t, c, "marked", 1)
		for path, data := range map[string]string{
			"/brokers/topics/foreign":      "not ours",
			"/admin/delete_topics/foreign": "", "/admin/delete_topics/marked": "", "/admin/delete_topics/none": "",
		} {
			_, err := conn.Create(target.root+path, []byte(data), 0, zk.WorldACL(zk.PermAll))
			must(t, err)
		}
		must(t, c.FinishDeletes(ctx))
		if topics := get[map[string]registry.Topic](t)(c.Topics(ctx)); len(topics) != 1 || topics["kept"].ID == "" {
			t.Errorf("topics %v, want the one that is not marked", topics)
		}
		marks, _, err := conn.Children(target.root + "/admin/delete_topics")
		must(t, err)
		if !cmp.Equal(marks, []string{"foreign"}) {
			t.Errorf("marks %v, want that of the one that is left alone", marks)
		}
	})
}

// A ZooKeeper that has no room says so, in words, and what it has stays.
func TestZooKeeperIsFull(t *testing.T) {
	server, err := zkserver.Open(zkserver.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", MaxTreeBytes: 100_000})
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	c, ctx := tcpTarget("zkserver", server.Addr().String()).planted(t), background(t)
	made := topic(t, c, "small", 1)
	large := map[string]string{"a": strings.Repeat("x", 100_000)}
	if _, err := c.CreateTopic(ctx, "large", [][]int32{{1}}, large); !errors.Is(err, registry.ErrRefused) {
		t.Errorf("a topic that finds no room: %v", err)
	}
	if topics := get[map[string]registry.Topic](t)(c.Topics(ctx)); !cmp.Equal(topics, map[string]registry.Topic{"small": made}) {
		t.Errorf("topics %v", topics)
	}
}
