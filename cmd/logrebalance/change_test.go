package main

import (
	"strings"
	"syscall"
	"testing"

	"logkit/lib/registry"
)

const interrupt = syscall.SIGINT

// A stuck member goes, with what it owns, when that is asked for (KIP-670).
func TestEvict(t *testing.T) {
	both(t, func(t *testing.T, c *cluster) {
		topic := c.topic("t", [2]int64{0, 100}, [2]int64{0, 100})
		stuck, other := c.join("g", "stuck", wants("t")), c.join("g", "other", wants("t"))
		owned := stuck.claim(topic, 0)
		other.claim(topic, 1)
		c.run("evict", "g", "stuck").want(t, 0, "", "logrebalance: group \"g\": member \"stuck\": would be evicted, with 1 partition\n"+
			"logrebalance: hint: --execute evicts it; if it is alive after all, it ends\n")
		c.run("verify", "g").want(t, 0, "", "")
		c.run("--json", "evict", "g", "stuck").want(t, 0, `{"group":"g","member":"stuck","partitions":1,"executed":false}`+"\n", "")
		c.run("-v", "evict", "g", "stuck", "--execute").want(t, 0, "", "logrebalance: group \"g\": member \"stuck\": evicted, with 1 partition\n")
		commit := &registry.Commit{Owned: owned, Offset: 5}
		if err := stuck.Commit(c.ctx(), stuck.lease, stuck.a, []*registry.Commit{commit}); err != nil || commit.Err == nil {
			t.Errorf("commit of the evicted member: %v, %v", err, commit.Err)
		}
		c.run("evict", "g", "stuck", "--execute").want(t, 1, "", "logrebalance: group \"g\": member \"stuck\": no such member\nlogrebalance: hint: there are \"other\"\n")
		other.claim(topic, 0)
		c.run("verify", "g").want(t, 0, "", "")
	})
}

func TestDelete(t *testing.T) {
	both(t, func(t *testing.T, c *cluster) {
		topic := c.topic("t", [2]int64{0, 100}, [2]int64{0, 100})
		c.commit("g", topic, map[int32]int64{0: 1, 1: 2})
		m := c.join("g", "m", wants("t"))
		c.run("delete", "g", "--execute").want(t, 1, "", "logrebalance: group \"g\" has 1 live member: \"m\"\nlogrebalance: hint: it can be deleted when they have left\n")
		must(t, m.Leave(c.ctx(), m.lease, "m"))
		c.run("delete", "g").want(t, 0, "", "logrebalance: group \"g\": would be deleted, with 2 offsets\n"+
			"logrebalance: hint: --execute deletes it for good; 'logrebalance export' keeps the offsets\n")
		c.run("--json", "delete", "g").want(t, 0, `{"group":"g","offsets":2,"executed":false}`+"\n", "")
		c.run("-v", "delete", "g", "--execute").want(t, 0, "", "logrebalance: group \"g\": deleted, with 2 offsets\n")
		c.run("list").want(t, 0, "", "")
		if r := c.run("delete", "g", "--execute"); r.code != 1 || !strings.Contains(r.err, "no such group") {
			t.Error(r)
		}
	})
}

func TestTrigger(t *testing.T) {
	both(t, func(t *testing.T, c *cluster) {
		c.topic("t", [2]int64{0, 100})
		m := c.join("g", "m", wants("t"))
		w := registry.NewWatcher()
		defer w.Close()
		_, err := m.Members(c.ctx(), w)
		must(t, err)
		c.run("trigger", "g").want(t, 0, "", "")
		c.run("trigger", "g", "--json").want(t, 0, `{"group":"g","members":1,"executed":true}`+"\n", "")
		<-w.Dirty()
		c.run("-v", "trigger", "g").want(t, 0, "", "logrebalance: group \"g\": 1 member told\n")
	})
}

func TestVerify(t *testing.T) {
	both(t, func(t *testing.T, c *cluster) {
		topic := c.topic("t", [2]int64{0, 100}, [2]int64{0, 100}, [2]int64{0, 100}, [2]int64{0, 100})
		m := c.join("g", "m", wants("t"))
		m.claim(topic, 1)
		c.run("verify", "g").want(t, 1, "", "logrebalance: group \"g\": topic \"t\": partition 0,2-3: no owner\n"+
			"logrebalance: hint: the members are sharing them out, perhaps: --wait 10s gives them time\n")
		done := make(chan result)
		go func() { done <- c.run("-v", "verify", "g", "--wait", "1m") }()
		for _, p := range []int32{0, 2, 3} {
			m.claim(topic, p)
		}
		(<-done).want(t, 0, "", "logrebalance: group \"g\": 4 partitions, each with one live owner\n")
		must(t, m.Leave(c.ctx(), m.lease, "m"))
		r := c.run("verify", "g", "--json")
		if r.code != 1 || strings.Count(r.out, `"owner":"m"`) != 4 || !strings.Contains(r.err, `partition 0-3: owner "m" is no member`) ||
			!strings.Contains(r.err, "hint: the group has no members") {
			t.Error(r)
		}
	})
}
