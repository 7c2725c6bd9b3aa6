package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
)

// A reset under members that commit all the time is never overwritten: each of them learns of it by its next commit, and
// goes on from there. Idle ones learn of it by the watch.
func TestResetUnderLiveMembersIsNeverOverwritten(t *testing.T) {
	both(t, func(t *testing.T, c *cluster) {
		const partitions, rounds = 4, 25
		logs := make([][2]int64, partitions)
		for i := range logs {
			logs[i] = [2]int64{0, 1 << 40}
		}
		topic := c.topic("t", logs...)
		var members sync.WaitGroup
		stop := make(chan struct{})
		var mu sync.Mutex
		jumps := map[int64]int{} // how many partitions have gone on from a place
		for p := range int32(partitions) {
			m := c.join("g", string('a'+p), wants("t"))
			owned := m.claim(topic, p)
			members.Go(func() {
				next := int64(p) // positions that no reset names end in the partition's number
				for {
					select {
					case <-stop:
						return
					default:
					}
					next += 1000
					commit := &registry.Commit{Owned: owned, Offset: next}
					if err := m.Commit(c.ctx(), m.lease, m.a, []*registry.Commit{commit}); err != nil {
						t.Errorf("commit: %v", err)
						return
					}
					var reset *registry.ResetError
					switch {
					case errors.As(commit.Err, &reset):
						next = reset.Offset
						mu.Lock()
						jumps[reset.Offset]++
						mu.Unlock()
					case commit.Err != nil:
						t.Errorf("commit: %v", commit.Err)
						return
					}
				}
			})
		}
		for round := range rounds {
			to := int64(round)<<30 + 500 // no commit leads there
			r := c.run("-q", "reset", "g", "--topic", "t", "--to", itoa(to), "--live", "--execute")
			if r.code != 0 || r.out != "" || r.err != "" {
				t.Fatal(r)
			}
			deadline := time.Now().Add(time.Minute)
			for {
				mu.Lock()
				gone := jumps[to]
				mu.Unlock()
				if gone == partitions {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("round %d: %d of %d partitions have gone on from the new offset", round, gone, partitions)
				}
				time.Sleep(time.Millisecond)
			}
			for p, offset := range c.offsets("g", topic) {
				if offset < to {
					t.Fatalf("round %d: partition %d: a commit has undone the reset: %d, before %d", round, p, offset, to)
				}
			}
		}
		close(stop)
		members.Wait()
	})
}

// Whatever a step meets, each partition has its old offset or its new one, what is said is true, and the same again does
// the rest.
func TestResetThatFailsHalfWay(t *testing.T) {
	for at := 1; ; at++ {
		c := onTwin(t)
		const partitions = 12
		topic := c.topic("t", slices.Repeat([][2]int64{{0, 100}}, partitions)...)
		other := c.topic("u", [2]int64{0, 100})
		offsets := map[int32]int64{}
		for p := range int32(partitions) {
			offsets[p] = 50
		}
		c.commit("g", topic, offsets)
		c.commit("g", other, map[int32]int64{0: 50})
		undo := filepath.Join(t.TempDir(), "undo")
		calls, broken := 0, false
		c.tweak = func(s *session) {
			s.chunk = 5
			c.conn.SetFaults(func(call zkfake.Call) zkfake.Fault {
				if call.Op == "multi" && !broken {
					if calls++; calls == at {
						broken = true
						c.conn.SetFaults(nil)
						s.Close() // as when the process is told to end: nothing goes through any more
					}
				}
				return zkfake.None
			})
		}
		args := []string{"reset", "g", "--all-topics", "--to", "latest", "--execute", "--undo-file", undo}
		r := c.run(args...)
		if !broken {
			if at < 5 {
				t.Fatalf("only %d steps: %v", at-1, r)
			}
			return
		}
		c.tweak = nil
		got := append(c.offsets("g", topic), c.offsets("g", other)...)
		for p, offset := range got {
			if offset != 50 && offset != 100 {
				t.Fatalf("partition %d has %d, neither old nor new", p, offset)
			}
		}
		if r.code == 0 {
			t.Fatalf("broken at step %d: %v", at, r)
		}
		if again := c.run(args...); again.code != 0 {
			t.Fatal(again)
		}
		if got := append(c.offsets("g", topic), c.offsets("g", other)...); slices.ContainsFunc(got, func(o int64) bool { return o != 100 }) {
			t.Fatalf("after the second run: %v", got)
		}
		if back := c.run("import", "g", undo, "--execute"); back.code != 0 || strings.Contains(read(t, undo), "unfinished") {
			t.Fatal(back)
		}
		if got := append(c.offsets("g", topic), c.offsets("g", other)...); slices.ContainsFunc(got, func(o int64) bool { return o != 50 }) {
			t.Fatalf("broken at step %d, after the undo: %v", at, got)
		}
	}
}

// What became of each partition is said when the step after it is refused.
func TestResetSaysWhatIsDone(t *testing.T) {
	c := onTwin(t)
	topic := c.topic("t", slices.Repeat([][2]int64{{0, 100}}, 12)...)
	offsets := map[int32]int64{}
	for p := range int32(12) {
		offsets[p] = 50
	}
	c.commit("g", topic, offsets)
	undo := filepath.Join(t.TempDir(), "undo")
	var late *member
	c.tweak = func(s *session) {
		s.chunk = 5
		resets := 0
		c.conn.SetFaults(func(call zkfake.Call) zkfake.Fault {
			if call.Op != "multi" {
				return zkfake.None
			}
			// The lock, for which there is no place yet, and again; the first five; and before the next five a member comes.
			if resets++; resets == 4 {
				late = c.join("g", "late", wants("t"))
			}
			return zkfake.None
		})
	}
	r := c.run("reset", "g", "--topic", "t", "--to", "latest", "--execute", "--json", "--undo-file", undo)
	want := "logrebalance: group \"g\" has 1 live member: \"late\"\n" +
		"logrebalance: group \"g\": topic \"t\": partition 0-4: moved\n" +
		"logrebalance: group \"g\": topic \"t\": partition 5-11: as before\n" +
		"logrebalance: hint: the same command again does the rest\n"
	if r.code != 1 || r.err != want || strings.Count(r.out, `"executed":true`) != 5 || strings.Count(r.out, `"executed":false`) != 7 {
		t.Errorf("%v\nwant on stderr:\n%s", r, want)
	}
	if got := c.offsets("g", topic); !slices.Equal(got, []int64{100, 100, 100, 100, 100, 50, 50, 50, 50, 50, 50, 50}) {
		t.Errorf("moved to %v", got)
	}
	must(t, late.Leave(c.ctx(), late.lease, "late"))
	c.tweak = nil
	// The rest, and all of it back again.
	if r := c.run("-q", "reset", "g", "--topic", "t", "--to", "latest", "--execute", "--undo-file", undo); r.code != 0 {
		t.Fatal(r)
	}
	if r := c.run("-q", "import", "g", undo, "--execute"); r.code != 0 {
		t.Fatal(r)
	}
	if got := c.offsets("g", topic); slices.ContainsFunc(got, func(o int64) bool { return o != 50 }) {
		t.Errorf("back at %v", got)
	}
}

// More partitions than one step takes, with the limit of the registry itself.
func TestResetOfManyPartitions(t *testing.T) {
	c := onTwin(t)
	const partitions = 6000
	name := strings.Repeat("long", 50)
	replicas := slices.Repeat([][]int32{{1}}, 400)
	topic, err := c.reg.CreateTopic(c.ctx(), name, replicas, nil)
	must(t, err)
	for n := len(replicas); n < partitions; n = len(topic.Replicas) {
		topic, err = c.reg.AddPartitions(c.ctx(), topic, slices.Repeat([][]int32{{1}}, min(400, partitions-n)))
		must(t, err)
	}
	c.logs.logs[name] = slices.Repeat([][2]int64{{0, 100}}, partitions)
	must(t, c.group("g").Reset(c.ctx(), topic, map[int32]int64{0: 50}, false))
	r := c.run("reset", "g", "--topic", name, "--to", "latest", "--execute")
	if r.code != 0 || strings.Count(r.out, "\n") != 2 || !strings.Contains(r.out, "6000") {
		t.Fatal(r)
	}
	if got := c.offsets("g", topic); len(got) != partitions || slices.ContainsFunc(got, func(o int64) bool { return o != 100 }) {
		t.Error("not all are moved")
	}
}

// A second run is kept out, and told who is there. What is left of a process that is no more keeps nobody out.
func TestResetIsLocked(t *testing.T) {
	both(t, func(t *testing.T, c *cluster) {
		topic := c.topic("t", [2]int64{0, 100})
		c.commit("g", topic, map[int32]int64{0: 50})
		var others []result
		c.logs.before = func() { // in the midst of the first run
			for _, args := range []string{"reset g --topic t --to earliest --execute", "evict g m --execute", "delete g --execute", "reset g --topic t --to earliest"} {
				others = append(others, c.run(strings.Fields(args)...))
			}
		}
		if r := c.run("-q", "reset", "g", "--topic", "t:0", "--to", "@5", "--execute"); r.code != 0 {
			t.Fatal(r)
		}
		host, _ := os.Hostname()
		for _, r := range []result{others[0], others[2]} {
			if r.code != 1 || !strings.Contains(r.err, `group "g": locked since 2`) || !strings.Contains(r.err, "\nlogrebalance: hint: the lock of a process that was killed goes by itself") ||
				!strings.Contains(r.err, "by logrebalance reset, ") || !strings.Contains(r.err, "@"+host+", process "+itoa(int64(os.Getpid()))+"\n") {
				t.Error(r)
			}
		}
		if r := others[1]; r.code != 1 || !strings.Contains(r.err, `member "m": no such member`) {
			t.Error(r)
		}
		if r := others[3]; r.code != 0 {
			t.Errorf("a dry run needs no lock: %v", r)
		}
		c.run("-q", "reset", "g", "--topic", "t", "--to", "earliest", "--execute").want(t, 0, "", "")
	})
}
