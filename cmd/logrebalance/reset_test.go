package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logkit/lib/registry"
)

// Without a list of partitions all of them are moved (kaf: only partition 0 was), and a dry run shows what then happens
// (redpanda group seek): the same lines, and nothing the second time.
func TestResetMovesAllPartitions(t *testing.T) {
	both(t, func(t *testing.T, c *cluster) {
		topic := c.topic("t", [2]int64{0, 100}, [2]int64{10, 100}, [2]int64{0, 0}, [2]int64{0, 50})
		c.commit("g", topic, map[int32]int64{0: 100, 1: 100, 3: 7})
		const table = "" +
			"TOPIC  PARTITION  FROM  TO  NOTE\n" +
			"t              0   100   0\n" +
			"t              1   100  10\n" +
			"t              2     -   0\n" +
			"t              3     7   0\n"
		c.run("reset", "g", "--topic", "t", "--to", "earliest").want(t, 0, table,
			"logrebalance: group \"g\": 4 offsets, 4 of them would be moved\nlogrebalance: hint: --execute moves them\n")
		if got := c.offsets("g", topic); !slices.Equal(got, []int64{100, 100, -1, 7}) {
			t.Fatalf("a dry run has moved: %v", got)
		}
		c.run("reset", "g", "--topic", "t", "--to", "earliest", "--execute").want(t, 0, table, "")
		if got := c.offsets("g", topic); !slices.Equal(got, []int64{0, 10, 0, 0}) {
			t.Fatalf("moved to %v", got)
		}
		undo := filepath.Join(t.TempDir(), "undo")
		r := c.run("reset", "g", "--topic", "t", "--to", "earliest", "--execute", "--undo-file", undo)
		if r.code != 0 || !strings.Contains(r.err, `group "g": 4 offsets, all where they shall be`) {
			t.Error(r)
		}
		if _, err := filepath.Glob(undo); err != nil {
			t.Error(err)
		}
		c.run("-q", "reset", "g", "--topic", "t", "--to", "latest", "--execute").want(t, 0, "", "")
		if got := c.offsets("g", topic); !slices.Equal(got, []int64{100, 100, 0, 50}) {
			t.Fatalf("moved to %v", got)
		}
	})
}

func TestResetPlaces(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{10, 100}, [2]int64{0, 50}, [2]int64{0, 9})
	c.logs.times = map[int64]int64{1_000_000: 30}
	for _, test := range []struct {
		from []int64
		args string
		want []int64
	}{
		{[]int64{20, 20, 5}, "--topic t --to 40", []int64{40, 40, 9}}, // beyond the end means the end
		{[]int64{20, 20, 5}, "--topic t:0 --to 40", []int64{40, 20, 5}},
		{[]int64{20, 20, 5}, "--topic t:0-1 --to latest", []int64{100, 50, 5}},
		{[]int64{20, 20, 5}, "--topic t:0,2 --to end", []int64{100, 20, 9}},
		{[]int64{20, 20, 5}, "--topic t:0 --topic t:1 --to beginning", []int64{10, 0, 5}},
		{[]int64{20, 20, 5}, "--all-topics --to @1000", []int64{30, 30, 9}},
		{[]int64{20, 20, 5}, "--all-topics --to @2100-01-01", []int64{100, 50, 9}},
		{[]int64{20, 20, 5}, "--all-topics --to -3d", []int64{100, 50, 9}},
		{[]int64{20, 20, 5}, "--all-topics --shift +7", []int64{27, 27, 9}},
		{[]int64{20, 20, 5}, "--all-topics --shift 7", []int64{27, 27, 9}},
		{[]int64{20, 20, 5}, "--all-topics --shift -15", []int64{10, 5, 0}},
		{[]int64{20, 20, 5}, "--all-topics --shift 9223372036854775807", []int64{100, 50, 9}},
		{[]int64{20, 20, 5}, "--all-topics --shift -9223372036854775808", []int64{10, 0, 0}},
		{[]int64{-1, 120, 5}, "--all-topics --shift 0", []int64{10, 50, 5}}, // never committed counts from the start
		{[]int64{-1, 120, 5}, "--all-topics --shift -2", []int64{10, 50, 3}},
	} {
		c.commit("g", topic, map[int32]int64{0: test.from[0], 1: test.from[1], 2: test.from[2]})
		r := c.run(append([]string{"reset", "g", "--execute"}, strings.Fields(test.args)...)...)
		if got := c.offsets("g", topic); r.code != 0 || !slices.Equal(got, test.want) {
			t.Errorf("%v, %v, want %v", r, got, test.want)
		}
	}
}

// What is wrong is said of each partition, and nothing is moved.
func TestResetRefuses(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{10, 100}, [2]int64{0, 50}, [2]int64{20, 30})
	c.commit("g", topic, map[int32]int64{0: 50, 1: 50, 2: 25})
	c.logs.dead = map[string]bool{}
	for _, test := range []struct {
		args string
		code int
		err  []string
	}{
		{"reset g --topic t --to 5", 1, []string{`topic "t": partition 0: offset 5 is out of range [10, 100]`, `topic "t": partition 2: offset 5 is out of range [20, 30]`}},
		{"reset g --topic t:3 --to latest", 1, []string{`topic "t": no partition 3, it has 0 to 2`}},
		{"reset g --topic u --to latest", 1, []string{`topic "u": no such topic`}},
		{"reset h --topic t --to latest", 1, []string{`group "h": no such group`, "hint: 'logrebalance list'"}},
		{"reset g --topic t", 64, []string{"one of --to, --shift and --from-file"}},
		{"reset g --topic t --to latest --shift 1", 64, []string{"one of --to, --shift and --from-file"}},
		{"reset g --to latest", 64, []string{"either --topic or --all-topics"}},
		{"reset g --to latest --topic t --all-topics", 64, []string{"either --topic or --all-topics"}},
		{"reset g --to latest --topic t --live --wait-empty 1s", 64, []string{"--live and --wait-empty"}},
		{"reset g --topic t: --to latest", 64, []string{"not a topic"}},
		{"reset g --topic t:2-1 --to latest", 64, []string{"not a topic"}},
		{"reset g --topic t:1,1 --to latest", 64, []string{"named twice"}},
		{"reset g --topic t:0-99999999 --to latest", 64, []string{"out of range"}},
		{"reset g --topic t --shift x", 64, []string{"not a number"}},
		{"reset g --topic t --shift 1.5", 64, []string{"not a number"}},
		{"reset g --topic t --to 12x", 64, []string{"not an offset"}},
		{"reset g --topic t --to -10", 64, []string{"not an offset"}},
		{"reset g --from-file /nowhere/f", 1, []string{"/nowhere/f: no such file"}},
	} {
		r := c.run(append(strings.Fields(test.args), "--execute")...)
		if r.code != test.code || r.out != "" || slices.ContainsFunc(test.err, func(s string) bool { return !strings.Contains(r.err, s) }) {
			t.Errorf("%v\nwant status %d, %q", r, test.code, test.err)
		}
		if got := c.offsets("g", topic); !slices.Equal(got, []int64{50, 50, 25}) {
			t.Fatalf("%v, and moved to %v", r, got)
		}
	}
	if there, _ := c.group("h").Exists(c.ctx()); there {
		t.Error("looking has made a group")
	}
	c.logs.dead["t-1"] = true
	r := c.run("reset", "g", "--topic", "t", "--to", "latest", "--execute")
	if r.code != 75 || !strings.Contains(r.err, `topic "t": partition 1: no leader, its broker is not there`) || !slices.Equal(c.offsets("g", topic), []int64{50, 50, 25}) {
		t.Errorf("%v, moved to %v", r, c.offsets("g", topic))
	}
	// "Try again" is said only where nothing else is wrong.
	r = c.run("reset", "g", "--topic", "t", "--to", "5", "--execute")
	if r.code != 1 || !strings.Contains(r.err, `partition 1: no leader`) || !strings.Contains(r.err, `partition 0: offset 5 is out of range`) {
		t.Error(r)
	}
}

// What is where it shall be counts as executed, also where nothing is executed: --json says where the offsets are.
func TestResetTellsWhatIsThereAlready(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{0, 100}, [2]int64{0, 50})
	c.commit("g", topic, map[int32]int64{0: 100, 1: 7})
	c.run("reset", "g", "--topic", "t", "--to", "latest", "--json").want(t, 0,
		`{"group":"g","topic":"t","partition":0,"from":100,"to":100,"executed":true}`+"\n"+
			`{"group":"g","topic":"t","partition":1,"from":7,"to":50,"executed":false}`+"\n",
		"")
}

// The next step is one of this tool: -n is logtail's.
func TestResetHintsAtItsOwnOptions(t *testing.T) {
	r := onTwin(t).run("reset", "g", "--topic", "t", "--to", "-10")
	if r.code != 64 || !strings.Contains(r.err, "hint: --shift -10 goes back by that many ids") || strings.Contains(r.err, "-n 10") {
		t.Error(r)
	}
}

// The names of the members, status 1, nothing changed (kafkactl#43, kaf#156).
func TestResetRefusesLiveMembers(t *testing.T) {
	both(t, func(t *testing.T, c *cluster) {
		topic := c.topic("t", [2]int64{0, 100})
		c.commit("g", topic, map[int32]int64{0: 50})
		c.join("g", "g_web-1-1445518677618-0badcafe", wants("t"))
		const live = "logrebalance: group \"g\" has 1 live member: \"g_web-1-1445518677618-0badcafe\" on web-1\n" +
			"logrebalance: hint: --wait-empty 60s waits for them to leave, --live moves them while they run\n"
		c.run("reset", "g", "--topic", "t", "--to", "earliest", "--execute").want(t, 1, "", live)
		// A dry run shows what would be moved if they were not there.
		c.run("reset", "g", "--topic", "t", "--to", "earliest").want(t, 1,
			"TOPIC  PARTITION  FROM  TO  NOTE\nt              0    50   0\n",
			"logrebalance: group \"g\": 1 offset, 1 of them would be moved\nlogrebalance: hint: --execute moves them\n"+live)
		c.run("-q", "reset", "g", "--topic", "t", "--to", "earliest", "--execute", "--wait-empty", "10ms").want(t, 1, "", live)
		if got := c.offsets("g", topic); got[0] != 50 {
			t.Errorf("moved to %v", got)
		}
	})
}

func TestResetWaitsForMembersToLeave(t *testing.T) {
	both(t, func(t *testing.T, c *cluster) {
		topic := c.topic("t", [2]int64{0, 100})
		c.commit("g", topic, map[int32]int64{0: 50})
		one, two := c.join("g", "one", wants("t")), c.join("g", "two", wants("t"))
		done := make(chan result)
		go func() {
			done <- c.run("reset", "g", "--topic", "t", "--to", "earliest", "--execute", "--wait-empty", "1m")
		}()
		must(t, one.Leave(c.ctx(), one.lease, "one"))
		select {
		case r := <-done:
			t.Fatalf("did not wait: %v", r)
		default:
		}
		two.s.Close() // as when it is killed
		if r := <-done; r.code != 0 || !strings.Contains(r.out, "t              0    50   0\n") {
			t.Error(r)
		}
		if got := c.offsets("g", topic); got[0] != 0 {
			t.Errorf("moved to %v", got)
		}
	})
}

// A coordinator keeps the offsets of its members, who would write theirs over ours.
func TestResetOfACoordinatedGroup(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{0, 100})
	g := c.group("k")
	a, err := g.Lead(c.ctx(), registry.KafkaGroup, 7)
	must(t, err)
	must(t, g.CommitKafka(c.ctx(), a, topic, []registry.KafkaOffset{{Partition: 0, Offset: 50}}))
	coordinator := c.session()
	kg, err := coordinator.Group("k")
	must(t, err)
	lease, err := coordinator.Lease(c.ctx())
	must(t, err)
	must(t, kg.Join(c.ctx(), lease, a, registry.Member{ID: "m", Pattern: registry.Static, Subscription: map[string]int32{"t": 1}}))
	for _, args := range [][]string{{"--live"}, {}, {"--wait-empty", "1ms"}} {
		r := c.run(append([]string{"reset", "k", "--topic", "t", "--to", "earliest", "--execute"}, args...)...)
		if r.code != 1 || !strings.Contains(r.err, `group "k" has 1 live member: "m"`) || c.offsets("k", topic)[0] != 50 {
			t.Errorf("%v: moved to %v", r, c.offsets("k", topic))
		}
	}
	for _, command := range []string{"trigger k", "verify k", "plan k", "evict k m --execute"} {
		r := c.run(strings.Fields(command)...)
		if r.code != 1 || !strings.Contains(r.err, `group "k" is of kind kafka: its members are broker 7's`) {
			t.Error(r)
		}
	}
	coordinator.Close()
	c.run("-q", "reset", "k", "--topic", "t", "--to", "earliest", "--execute").want(t, 0, "", "")
	if got := c.offsets("k", topic); got[0] != 0 {
		t.Errorf("moved to %v", got)
	}
}
