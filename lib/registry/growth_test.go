package registry_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
)

// TestGrowth counts what a cluster asks of ZooKeeper: small always, and 1,000 brokers with 100,000 partitions under
// LOGKIT_SOAK=1 (with -v it prints the table). It fails where an event costs a broker more than it may.
func TestGrowth(t *testing.T) {
	brokers, topics, partitions, views := 10, 20, 50, 5
	if os.Getenv("LOGKIT_SOAK") != "" {
		brokers, topics, partitions, views = 1000, 1000, 100, 50
	}
	g := &growth{t: t, server: zkfake.New(), brokers: brokers}
	g.w = tabwriter.NewWriter(&g.table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(g.w, "%d brokers, %d topics of %d partitions\trequests\tbytes out\tbytes in\tlargest request\tlargest reply\t\n", brokers, topics, partitions)
	admin := twin(g.server).planted(t)
	g.start(admin, topics, partitions)
	g.follow(views)
	g.events(admin, partitions)
	g.group(admin, partitions)
	g.limits(admin)
	nodes, bytes := g.server.Nodes()
	fmt.Fprintf(g.w, "\t\t\t\t\t\t\n")
	g.w.Flush()
	t.Logf("\n%s%d nodes with %d bytes of data, %d watches of %d views", g.table.String(), nodes, bytes, g.server.Watches(), views)
}

type growth struct {
	t       *testing.T
	server  *zkfake.Server
	brokers int
	table   strings.Builder
	w       *tabwriter.Writer
	members []client
	views   []*registry.View
}

// line takes the counts of a client, divided by n, and fails when the requests are more than allowed.
func (g *growth) line(what string, c client, n, allowed int) {
	g.t.Helper()
	s := c.fake.Stats()
	fmt.Fprintf(g.w, "%s\t%d\t%d\t%d\t%d\t%d\t\n", what, s.Requests/n, s.BytesOut/n, s.BytesIn/n, s.LargestRequest, s.LargestReply)
	if s.Requests > allowed*n {
		g.t.Errorf("%s: %d requests, allowed are %d", what, s.Requests/n, allowed)
	}
}

func (g *growth) start(admin client, topics, partitions int) {
	ctx := background(g.t)
	for i := range g.brokers {
		c := twin(g.server).client(g.t)
		id := get[int32](g.t)(c.AssignBrokerID(ctx, fmt.Sprint("incarnation-", i)))
		b := registry.Broker{ID: id, Host: fmt.Sprintf("broker-%04d.example.org", i), Port: 9092, Incarnation: registry.NewID(), Registered: time.Now()}
		must(g.t, c.RegisterBroker(ctx, lease(g.t, c.Session), b))
		g.members = append(g.members, c)
	}
	g.line("broker: id and registration, once", g.members[0], 1, 4)
	admin.fake.Stats()
	ids := make([]int32, g.brokers)
	for i := range ids {
		ids[i] = int32(i)
	}
	load := map[int32]int{}
	for i := range topics {
		replicas := get[[][]int32](g.t)(registry.Spread(ids, load, partitions))
		for _, r := range replicas {
			load[r[0]]++
		}
		get[registry.Topic](g.t)(admin.CreateTopic(ctx, fmt.Sprintf("topic-%014d", i), replicas, nil))
	}
	g.line("admin: a topic is created", admin, topics, 7)
	for id, n := range load {
		if n > topics*partitions/g.brokers+1 {
			g.t.Errorf("broker %d has %d partitions", id, n)
		}
	}
}

func (g *growth) follow(views int) {
	ctx := background(g.t)
	for i := range views {
		v := g.members[i].Follow()
		g.t.Cleanup(v.Close)
		g.members[i].fake.Stats()
		get[registry.Changes](g.t)(v.Refresh(ctx))
		g.views = append(g.views, v)
	}
	c := g.views[0].Cluster()
	g.line("broker: start, everything is read", g.members[0], 1, 3+len(c.Brokers)+len(c.Topics))
}

// settle lets all views take what was signalled, and returns.
func (g *growth) settle(what string, allowed int) {
	g.t.Helper()
	for _, v := range g.views {
		<-v.Watcher().Dirty()
		get[registry.Changes](g.t)(v.Refresh(background(g.t)))
	}
	g.line(what, g.members[0], 1, allowed)
	for _, v := range g.views { // watches that fired while it was read
		select {
		case <-v.Watcher().Dirty():
			get[registry.Changes](g.t)(v.Refresh(background(g.t)))
		default:
		}
	}
	for i := range g.views {
		g.members[i].fake.Stats()
	}
}

func (g *growth) events(admin client, partitions int) {
	ctx := background(g.t)
	g.members[0].fake.Stats()
	made := topic(g.t, admin, "event", 1, 2, 3)
	g.settle("broker: a topic was created", 4)
	must(g.t, admin.ChangeSettings(ctx, "event", func(s map[string]string) error { s["a"] = "b"; return nil }))
	g.settle("broker: settings were changed", 4)
	more := get[registry.Topic](g.t)(admin.AddPartitions(ctx, made, [][]int32{{1}}))
	g.settle("broker: partitions were added", 4)
	last := g.members[len(g.members)-1]
	last.Close()
	g.settle("broker: another one has gone", 2)
	last = twin(g.server).client(g.t)
	must(g.t, last.RegisterBroker(ctx, lease(g.t, last.Session), registry.Broker{ID: int32(g.brokers - 1), Host: "h", Port: 1, Incarnation: "x"}))
	g.settle("broker: another one has come", 3)
	admin.fake.Stats()
	must(g.t, admin.DeleteTopic(ctx, more))
	g.line("admin: a topic is deleted", admin, 1, 100)
	g.settle("broker: a topic was deleted", 6)
}

func (g *growth) group(admin client, partitions int) {
	ctx := background(g.t)
	t, _, err := admin.Topic(ctx, fmt.Sprintf("topic-%014d", 0))
	must(g.t, err)
	m := join(g.t, twin(g.server), "group", "member")
	m.fake.Stats()
	var commits []*registry.Commit
	for p := range int32(partitions) {
		commits = append(commits, &registry.Commit{Owned: get[*registry.Owned](g.t)(m.claim(ctx, t, p, nil)), Offset: 1 << 40})
	}
	g.line("member: a partition is claimed", m.client, partitions, 8)
	must(g.t, m.Commit(ctx, m.lease, m.a, commits))
	g.line(fmt.Sprintf("member: %d offsets are committed", partitions), m.client, 1, 1)
	for _, c := range commits {
		must(g.t, m.Release(ctx, m.lease, c.Owned, c.Offset+1))
	}
	g.line("member: a partition is released", m.client, partitions, 1)
}

// limits finds how many partitions one request creates.
func (g *growth) limits(admin client) {
	ctx := background(g.t)
	low, high := 1, 10000
	for low < high {
		n := (low + high + 1) / 2
		replicas := get[[][]int32](g.t)(registry.Spread([]int32{1, 20, 300}, nil, n))
		admin.fake.Stats()
		t, err := admin.CreateTopic(ctx, "topic-of-20-bytes-xx", replicas, nil)
		if err != nil {
			high = n - 1
			continue
		}
		low = n
		g.line(fmt.Sprintf("admin: a topic of %d partitions is created", n), admin, 1, 8)
		must(g.t, admin.DeleteTopic(ctx, t))
		admin.fake.Stats()
	}
	if low < 1500 || low > 2500 {
		g.t.Errorf("one request creates %d partitions, documented are 1,700", low)
	}
}
