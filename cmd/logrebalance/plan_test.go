package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/assign"
	"logkit/lib/client"
	"logkit/lib/consumer"
	"logkit/lib/registry"
)

// silence is a source of messages that never come: members share partitions all the same.
type silence struct{ *fakeLogs }

func (silence) NewReader(client.ReaderOptions) consumer.Reader { return mute{} }

type mute struct{}

func (mute) C() <-chan []client.Chunk { return nil }
func (mute) Add(...client.Span)       {}
func (mute) Remove(string, int32)     {}
func (mute) Close()                   {}

// consume starts a real member. It ends when the test does, or end is called.
func (c *cluster) consume(group, name string, strategy assign.Strategy, topics ...string) (end func()) {
	c.t.Helper()
	s := c.session()
	m, err := consumer.Join(c.ctx(), consumer.Options{Session: s, Source: silence{c.logs}, Group: group, Member: name, Topics: topics,
		Strategy: strategy, Follow: true, Debounce: time.Millisecond})
	must(c.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Next(ctx)
	}()
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		<-done
		if err := m.Close(c.ctx()); err != nil {
			c.t.Errorf("member %q: %v", name, err)
		}
		s.Close()
	}
	c.t.Cleanup(end)
	return end
}

// owners are the owners that a command shows, by topic and partition.
func owners(t *testing.T, r result, key string) map[string]string {
	t.Helper()
	if r.code != 0 {
		t.Fatal(r)
	}
	all := map[string]string{}
	for line := range strings.Lines(r.out) {
		var j map[string]any
		must(t, json.Unmarshal([]byte(line), &j))
		all[fmt.Sprint(j["topic"], " ", j["partition"])] = fmt.Sprint(j[key])
	}
	return all
}

// What is planned is what the members then do, when one comes and when one goes, by either strategy.
func TestPlanAgreesWithWhatHappens(t *testing.T) {
	for _, strategy := range []assign.Strategy{assign.Range, assign.Sticky} {
		t.Run(string(strategy), func(t *testing.T) {
			c := onServer(t)
			c.topic("t", slices.Repeat([][2]int64{{0, 100}}, 7)...)
			c.topic("u", slices.Repeat([][2]int64{{0, 100}}, 3)...)
			ends := map[string]func(){}
			for _, members := range []string{"m", "m,b", "m,b,z", "b,z", "b,z,a", "b,z,a,k", "b,a,k", "a,k"} {
				names := strings.Split(members, ",")
				var plan map[string]string
				if len(ends) > 0 {
					plan = owners(t, c.run("plan", "g", "--json", "--members", members), "member")
				}
				for name, end := range ends {
					if !slices.Contains(names, name) {
						end()
						delete(ends, name)
					}
				}
				for _, name := range names {
					if ends[name] == nil {
						ends[name] = c.consume("g", name, strategy, "t", "u")
					}
				}
				settled := func() result { return c.run("verify", "g", "--wait", "40s") }
				if r := settled(); r.code != 0 {
					t.Fatal(r)
				}
				// That each has an owner does not mean that it is the last one: the plan of those that are there tells.
				var now map[string]string
				deadline := time.Now().Add(time.Minute)
				for time.Now().Before(deadline) {
					now = owners(t, c.run("status", "g", "--json"), "owner")
					if maps.Equal(now, owners(t, c.run("plan", "g", "--json"), "member")) {
						break
					}
					time.Sleep(2 * time.Millisecond)
				}
				if diff := cmp.Diff(plan, now); plan != nil && diff != "" {
					t.Fatalf("members %s (-planned +happened):\n%s", members, diff)
				}
				if n := strings.Count(c.run("plan", "g", "--json").out, `"moves":true`); n > 0 {
					t.Errorf("members %s: %d partitions would move when all is settled", members, n)
				}
			}
		})
	}
}

func TestPlan(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", slices.Repeat([][2]int64{{0, 100}}, 4)...)
	c.topic("u", [2]int64{0, 1})
	m := c.join("g", "b", wants("t", "u"))
	m.claim(topic, 0)
	m.claim(topic, 3)
	c.run("plan", "g", "--members", "b,a b").want(t, 0, ""+
		"TOPIC  PARTITION  OWNER  MEMBER  NOTE\n"+
		"t              0  b      \"a b\"   moves\n"+
		"t              1  -      \"a b\"   moves\n"+
		"t              2  -      b       moves\n"+
		"t              3  b      b\n"+
		"u              0  -      \"a b\"   moves\n",
		"logrebalance: group \"g\": 5 partitions, 4 of them for another member than now\n")
	r := c.run("-q", "plan", "g", "--members", "b,c", "--strategy", "sticky", "--topic", "t:1-3", "--json")
	want := `{"group":"g","topic":"t","partition":1,"owner":null,"member":"c","moves":true}` + "\n" +
		`{"group":"g","topic":"t","partition":2,"owner":null,"member":"c","moves":true}` + "\n" +
		`{"group":"g","topic":"t","partition":3,"owner":"b","member":"b","moves":false}` + "\n"
	r.want(t, 0, want, "")

	c.commit("h", topic, map[int32]int64{0: 1})
	if r := c.run("plan", "h"); r.code != 1 || !strings.Contains(r.err, `group "h": no members`) {
		t.Error(r)
	}
	if r := c.run("plan", "nobody"); r.code != 1 || !strings.Contains(r.err, `no such group`) {
		t.Error(r)
	}
	if r := c.run("plan", "g", "--members", "a,,b"); r.code != 64 {
		t.Error(r)
	}
	if r := c.run("plan", "g", "--strategy", "best"); r.code != 64 || !strings.Contains(r.err, "range, sticky") {
		t.Error(r)
	}
}

// Of thousands of partitions a plan shows what each member gets.
func TestPlanFitsOnAScreen(t *testing.T) {
	c := onTwin(t)
	c.topic("t", slices.Repeat([][2]int64{{0, 100}}, 300)...)
	c.join("g", "b", wants("t"))
	c.run("plan", "g", "--members", "a,b").want(t, 0, ""+
		"TOPIC  MEMBER  PARTITIONS  MOVE  WHICH\n"+
		"t      a              150   150  0-149\n"+
		"t      b              150   150  150-299\n",
		"logrebalance: group \"g\": 300 partitions, 300 of them for another member than now\n")
	if r := c.run("plan", "g", "--all"); strings.Count(r.out, "\n") != 301 {
		t.Error(r)
	}
	members := make([]string, 200)
	for i := range members {
		members[i] = fmt.Sprintf("m%03d", i)
	}
	if r := c.run("plan", "g", "--members", strings.Join(members, ",")); strings.Count(r.out, "\n") > screenLines {
		t.Errorf("%d lines", strings.Count(r.out, "\n"))
	}
}

// Members of Kafka 0.8 subscribe by expression, too.
func TestSubscribes(t *testing.T) {
	for _, test := range []struct {
		pattern      registry.Pattern
		subscription string
		topic        string
		want         bool
	}{
		{registry.Static, "t", "t", true},
		{registry.Static, "t.*", "tt", false},
		{registry.WhiteList, "t.*", "tt", true},
		{registry.WhiteList, "t.*", "at", false},
		{registry.WhiteList, "a,b", "b", true},
		{registry.WhiteList, "(", "b", false},
		{registry.BlackList, "a|b", "b", false},
		{registry.BlackList, "a|b", "c", true},
	} {
		m := registry.Member{Pattern: test.pattern, Subscription: map[string]int32{test.subscription: 1}}
		if got := subscribes(&m, test.topic); got != test.want {
			t.Errorf("%s %q, topic %q: %v", test.pattern, test.subscription, test.topic, got)
		}
	}
}
