package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"logkit/lib/cli"
	"logkit/lib/client"
	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
)

func TestList(t *testing.T) {
	both(t, func(t *testing.T, c *cluster) {
		c.run("list").want(t, 0, "", "")
		topic := c.topic("t", [2]int64{0, 100})
		c.commit("a b", topic, map[int32]int64{0: 1})
		c.commit("\xff", topic, map[int32]int64{0: 1})
		c.join("z/", "m", wants("t", "later"))
		_, err := c.group("kafkas").Lead(c.ctx(), registry.KafkaGroup, 1)
		must(t, err)
		c.run("list").want(t, 0, ""+
			"GROUP   KIND      MEMBERS  TOPICS\n"+
			"\"a b\"   registry        0       1\n"+
			"kafkas  kafka           0       0\n"+
			"z/      registry        1       2\n"+
			"\"\\xff\"  registry        0       1\n", "")
		c.run("list", "-q").want(t, 0, "a b\nkafkas\nz/\n\xff\n", "")
		c.run("list", "--json").want(t, 0, ""+
			`{"group":"a b","kind":"registry","members":0,"topics":["t"]}`+"\n"+
			`{"group":"kafkas","kind":"kafka","members":0,"topics":[]}`+"\n"+
			`{"group":"z/","kind":"registry","members":1,"topics":["later","t"]}`+"\n"+
			`{"group":null,"group_base64":"/w==","kind":"registry","members":0,"topics":["t"]}`+"\n", "")
	})
}

func TestStatus(t *testing.T) {
	both(t, func(t *testing.T, c *cluster) {
		topic, gone := c.topic("t", [2]int64{10, 100}, [2]int64{0, 50}, [2]int64{7, 10}, [2]int64{60, 70}, [2]int64{0, 0}), c.topic("gone", [2]int64{0, 9})
		c.commit("g", topic, map[int32]int64{0: 90, 2: 120, 3: 20})
		c.commit("g", gone, map[int32]int64{0: 3})
		const name = "g_web-1.example-1445518677618-0badcafe"
		m := c.join("g", name, registry.Member{Subscription: map[string]int32{"t": 1}, Joined: time.Now().Add(-26 * time.Hour)})
		m.claim(topic, 0)
		other := c.join("g", "other", wants("t"))
		other.claim(topic, 2)
		must(t, other.Leave(c.ctx(), other.lease, "other")) // and keeps the partition
		must(t, c.reg.DeleteTopic(c.ctx(), gone))           // one of two: the other one is still told of (KAFKA-9243)
		c.logs.dead = map[string]bool{"t-4": true}
		r := c.run("status", "g")
		r.want(t, 0, ""+
			"GROUP  KIND      MEMBERS  TOPICS  PARTITIONS  OWNED   LAG\n"+
			"g      registry        1       1           5      1  >=70\n"+
			"\n"+
			"MEMBER                                  HOST           JOINED  STRATEGY  OWNS  LAG\n"+
			"g_web-1.example-1445518677618-0badcafe  web-1.example    1d2h  range        1   10\n"+
			"\n"+
			"TOPIC  PARTITION  OWNER                                   COMMITTED  LOG-START  LOG-END  LAG  NOTE\n"+
			"t              0  g_web-1.example-1445518677618-0badcafe         90         10      100   10\n"+
			"t              1  -                                               -          0       50   50  never committed, no owner\n"+
			"t              2  other                                         120          7       10    0  ahead of the end, owner is no member\n"+
			"t              3  -                                              20         60       70   10  unread records deleted, no owner\n"+
			"t              4  -                                               -          -        -    -  never committed, no owner, no leader\n",
			"logrebalance: group \"g\": topic \"gone\": no such topic, its offsets are left out\n")
		r = c.run("-q", "status", "g", "--json", "--topic", "t:0,4")
		r.want(t, 0, ""+
			`{"group":"g","kind":"registry","topic":"t","partition":0,"owner":"`+name+`","member_host":"web-1.example","committed":90,"log_start":10,"log_end":100,"lag":10,"notes":[]}`+"\n"+
			`{"group":"g","kind":"registry","topic":"t","partition":4,"owner":null,"member_host":null,"committed":null,"log_start":null,"log_end":null,"lag":null,"notes":["never committed","no owner","no leader"]}`+"\n", "")
		for _, line := range strings.Split(strings.TrimSpace(r.out), "\n") {
			if !json.Valid([]byte(line)) {
				t.Errorf("not JSON: %s", line)
			}
		}
	})
}

// A group that has nothing, and one that is not there (kaf#303); looking makes neither.
func TestStatusOfNothing(t *testing.T) {
	c := onTwin(t)
	before := len(c.twin.Dump())
	c.run("status", "g").want(t, 1, "", "logrebalance: group \"g\": no such group\nlogrebalance: hint: 'logrebalance list' shows those that there are\n")
	for _, command := range []string{"check g", "plan g", "verify g", "trigger g", "export g", "evict g m", "delete g --execute", "reset g --all-topics --to latest"} {
		if r := c.run(strings.Fields(command)...); r.code == 0 {
			t.Error(r)
		}
	}
	if after := len(c.twin.Dump()); after != before {
		t.Errorf("%d nodes more than before", after-before)
	}
	_, err := c.group("g").Lead(c.ctx(), registry.RegistryGroup, -1)
	must(t, err)
	c.run("status", "g").want(t, 0, ""+
		"GROUP  KIND      MEMBERS  TOPICS  PARTITIONS  OWNED  LAG\n"+
		"g      registry        0       0           0      0    0\n", "")
	c.run("status", "g", "--json").want(t, 0, "", "")
	if r := c.run("status", "g", "--topic", "t"); r.code != 1 || !strings.Contains(r.err, `group "g": topic "t": nothing of it in the group`) {
		t.Error(r)
	}
}

// Without a broker there is what ZooKeeper knows, and the exit status says that it is not all.
func TestStatusWithoutABroker(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{0, 100})
	c.commit("g", topic, map[int32]int64{0: 90})
	c.tweak = func(s *session) {
		s.logs, s.away = nil, &client.UnavailableError{Addr: "127.0.0.1:1", Err: context.DeadlineExceeded}
	}
	r := c.run("status", "g", "--json")
	if r.code != 75 || !strings.Contains(r.out, `"committed":90,"log_start":null,"log_end":null,"lag":null`) || !strings.Contains(r.err, "broker 127.0.0.1:1: ") {
		t.Error(r)
	}
}

// A group of 50 members and 1,000 partitions fits on a screen, and costs a request for each node and no more.
func TestStatusOfALargeGroup(t *testing.T) {
	c := onTwin(t)
	const partitions, members = 1000, 50
	topic := c.topic("t", slices.Repeat([][2]int64{{0, 100}}, partitions)...)
	offsets := map[int32]int64{}
	for p := range int32(partitions) {
		offsets[p] = 40
	}
	c.commit("g", topic, offsets)
	for i := range members {
		m := c.join("g", fmt.Sprintf("m%02d", i), wants("t"))
		for p := i * partitions / members; p < (i+1)*partitions/members; p++ {
			m.claim(topic, int32(p))
		}
	}
	c.tweak = func(s *session) { c.conn.Stats() }
	began := time.Now()
	r := c.run("status", "g")
	stats, asked := c.conn.Stats(), c.logs.asked
	if lines := strings.Count(r.out, "\n"); r.code != 0 || lines > screenLines || !strings.Contains(r.out, "... and 8 more members: --all shows all\n") ||
		!regexp.MustCompile(`(?m)^m00 +- +[0-9ms]+ +range +20 +1200$`).MatchString(r.out) ||
		!strings.Contains(r.out, "g      registry       50       1        1000   1000  60000") {
		t.Error(r)
	}
	t.Logf("%d requests to ZooKeeper, %d to brokers, %v", stats.Requests, asked, time.Since(began))
	if most := 2*partitions + members + 20; stats.Requests > most || asked != 3 {
		t.Errorf("%d requests to ZooKeeper, want at most %d; %d to brokers, want 3", stats.Requests, most, asked)
	}
	if r := c.run("status", "g", "--all"); strings.Count(r.out, "\n") != 2+1+1+members+1+1+partitions {
		t.Errorf("--all: %d lines", strings.Count(r.out, "\n"))
	}
	if r := c.run("status", "g", "--json"); strings.Count(r.out, "\n") != partitions {
		t.Errorf("--json: %d lines", strings.Count(r.out, "\n"))
	}
}

// It is shown until somebody ends it. In a pipe there are no escapes between.
func TestStatusWatch(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{0, 100})
	c.commit("g", topic, map[int32]int64{0: 90})
	ctx, cancel := context.WithCancelCause(c.ctx())
	shown := 0
	c.tweak = func(s *session) {
		c.conn.SetFaults(func(call zkfake.Call) zkfake.Fault {
			if strings.HasSuffix(call.Path, "/offsets/t/0") {
				if shown++; shown == 3 {
					cancel(cli.SignalError{Signal: interrupt})
				}
			}
			return zkfake.None
		})
	}
	r := c.runIn(ctx, "", "status", "g", "--watch", "--interval", "100ms")
	if r.code != 130 || strings.Count(r.out, "GROUP") < 2 || strings.Contains(r.out, "\x1b") || r.err != "" {
		t.Error(r)
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		columns, lines int
		want           string
	}{
		{0, 0, "grüße\n\nbar\n"}, {4, 0, "grüß\n\nbar\n"}, {3, 2, "grü\n\n"}, {80, 24, "grüße\n\nbar\n"},
	} {
		if got := string(cut([]byte("grüße\n\nbar\n"), test.columns, test.lines)); got != test.want {
			t.Errorf("%d columns, %d lines: %q, want %q", test.columns, test.lines, got, test.want)
		}
	}
}

// When ZooKeeper goes away in the midst of a command, the command ends, and says that another try may do.
func TestZooKeeperGoesAway(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", [2]int64{0, 100})
	c.commit("g", topic, map[int32]int64{0: 90})
	c.timeout = 100 * time.Millisecond
	for _, command := range []string{"status g", "list", "export g", "reset g --all-topics --to latest --execute", "delete g --execute"} {
		c.tweak = func(s *session) {
			s.o.timeout = 20 * time.Millisecond
			var calls atomic.Int32
			c.conn.SetFaults(func(zkfake.Call) zkfake.Fault {
				if calls.Add(1) == 3 {
					c.conn.Disconnect()
				}
				return zkfake.None
			})
		}
		r := c.run(strings.Fields(command)...)
		if r.code != 75 || !strings.Contains(r.err, "zookeeper twin: connection lost, and not back within 20ms") {
			t.Error(r)
		}
	}
	if got := c.offsets("g", topic); got[0] != 90 {
		t.Errorf("moved to %v", got)
	}
}
