package cmd

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"logkit/lib/assign"
	"logkit/lib/registry"
	"logkit/lib/zkserver/zkpeer"
)

// TestGroupChaos lets members of a group come and go while messages are sent: they are started, ended, killed, stopped
// past their session and continued; brokers and ZooKeeper are bounced, and partitions are added. In the end every message
// was printed; what was printed twice was printed by one who crashed; and no commit has ever gone back. It takes about
// half a minute, under LOGKIT_SOAK=1 twenty, and as long as a duration in LOGKIT_SOAK_FOR says.
func TestGroupChaos(t *testing.T) {
	length := 12 * time.Second
	if os.Getenv("LOGKIT_SOAK") != "" {
		length = 10 * time.Minute
	}
	if d, err := time.ParseDuration(os.Getenv("LOGKIT_SOAK_FOR")); err == nil {
		length = d
	}
	t.Run("embedded", func(t *testing.T) { newChaos(t, nil).run(length) })
	t.Run("zookeeper", func(t *testing.T) {
		newChaos(t, zkpeer.Start(t, time.Second)).run(length)
	})
}

// chaosSession is the members' session timeout.
const chaosSession = 4 * time.Second

type chaos struct {
	t       *testing.T
	zk      *zkpeer.Server // nil: the broker's own
	brokers []*mortal
	env     []string
	dice    *rand.Rand
	session *registry.Session
	group   *registry.Group

	partitions int
	live       []*chaosMember
	members    []*chaosMember
	counts     map[string]int
	balance    map[string][]time.Duration // how long it took after an event
}

func newChaos(t *testing.T, zk *zkpeer.Server) *chaos {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := &chaos{t: t, zk: zk, dice: rand.New(rand.NewPCG(seed, 0)), partitions: 8, counts: map[string]int{}, balance: map[string][]time.Duration{}}
	n, addr := 1, ""
	if zk != nil {
		n, addr = 2, zk.Addr()
	}
	var brokers []string
	for range n {
		b := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
		if zk != nil {
			b.zk = []string{"--zookeeper", addr}
		}
		b.listen = b.start()
		t.Cleanup(b.kill)
		brokers = append(brokers, b.listen)
		c.brokers = append(c.brokers, b)
	}
	if zk == nil {
		addr = c.embedded()
		c.brokers[0].zk = []string{"--zookeeper-listen", addr}
	}
	c.env = append(os.Environ(), "LOGKIT_BROKERS="+strings.Join(brokers, ","), "LOGKIT_ZOOKEEPER="+addr)
	c.tool("logtopic", "create", "t", "--partitions", fmt.Sprint(c.partitions)).must()
	var err error
	if c.session, err = registry.Connect(registry.Options{Servers: []string{addr}, SessionTimeout: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.session.Close)
	if c.group, err = c.session.Group("g"); err != nil {
		t.Fatal(err)
	}
	return c
}

// embedded is where the broker serves ZooKeeper.
func (c *chaos) embedded() string {
	lines, _ := os.ReadFile(filepath.Join(c.brokers[0].dir, "addr"))
	for line := range strings.Lines(string(lines)) {
		if at, ok := strings.CutPrefix(strings.TrimSpace(line), "zookeeper "); ok {
			return at
		}
	}
	c.t.Fatalf("no zookeeper in %q", lines)
	return ""
}

// toolRun is a tool that is run to its end.
type toolRun struct {
	*exec.Cmd
	t *testing.T
}

func (c *chaos) tool(name string, args ...string) toolRun {
	dir, err := tools()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, name), args...)
	cmd.Env = c.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return toolRun{cmd, c.t}
}

func (r toolRun) must() string {
	r.t.Helper()
	var said strings.Builder
	r.Stderr = &said
	out, err := r.Output()
	if err != nil {
		r.t.Fatalf("%s: %v: %s", r.Args, err, said.String())
	}
	return string(out)
}

func (c *chaos) run(length time.Duration) {
	sender, stopped := c.send()
	watched, unwatch := context.WithCancel(c.t.Context())
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		c.watchCommits(watched)
	}()
	c.startMember()
	c.balanced("start")
	for end := time.Now().Add(length); time.Now().Before(end) && !c.t.Failed(); {
		what := c.event()
		c.counts[what]++
		if c.dice.IntN(3) > 0 {
			c.balanced(what)
		} else {
			time.Sleep(time.Duration(c.dice.IntN(200)) * time.Millisecond)
		}
	}
	c.balanced("the last event")
	close(sender)
	sent := <-stopped
	c.caughtUp()
	for len(c.live) > 0 {
		c.end(len(c.live) - 1)
	}
	unwatch()
	<-watching
	c.check(sent)
}

// send lets logcat send numbers until the channel is closed, and then tells how many.
func (c *chaos) send() (stop chan struct{}, sent chan int) {
	cat := c.tool("logcat", "--timeout", "120s", "--quiet", "t")
	said, err := os.Create(filepath.Join(c.t.TempDir(), "logcat"))
	if err != nil {
		c.t.Fatal(err)
	}
	cat.Stderr = said
	in, err := cat.StdinPipe()
	if err == nil {
		err = cat.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	stop, sent = make(chan struct{}), make(chan int, 1)
	finished := make(chan struct{})
	c.t.Cleanup(func() {
		cat.Process.Kill()
		<-finished
	})
	go func() {
		defer close(finished)
		defer said.Close()
		n := 0
		for going := true; going; n++ {
			if _, err := fmt.Fprintln(in, n); err != nil {
				break
			}
			select {
			case <-stop:
				going = false
			case <-time.After(time.Millisecond):
			}
		}
		in.Close()
		if err := cat.Wait(); err != nil {
			text, _ := os.ReadFile(said.Name())
			c.t.Errorf("logcat: %v: %s", err, text)
		}
		sent <- n
	}()
	return stop, sent
}

// watchCommits looks at the offsets: they rise.
func (c *chaos) watchCommits(ctx context.Context) {
	last := map[int32]int64{}
	for ctx.Err() == nil {
		topic, found, err := c.session.Topic(ctx, "t")
		if err != nil || !found {
			continue
		}
		ids := numbersTo(len(topic.Replicas))
		offsets, err := c.group.Offsets(ctx, topic, ids)
		if err != nil {
			continue
		}
		for i, offset := range offsets {
			if before, seen := last[ids[i]]; seen && offset < before {
				c.t.Errorf("partition %d: committed %d, then %d", ids[i], before, offset)
			}
			last[ids[i]] = offset
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func numbersTo(n int) (ids []int32) {
	for i := range n {
		ids = append(ids, int32(i))
	}
	return ids
}

// event does something to somebody, and returns what.
func (c *chaos) event() string {
	for {
		i := c.dice.IntN(len(c.live))
		switch c.dice.IntN(14) {
		case 0, 1, 2, 3:
			if len(c.live) < 6 {
				c.startMember()
				return "start"
			}
		case 4, 5:
			if len(c.live) > 1 {
				c.end(i)
				return "end"
			}
		case 6, 7:
			if len(c.live) > 1 {
				c.kill(i)
				return "kill"
			}
		case 8, 9:
			if len(c.live) > 1 {
				c.stop(i)
				return "stop and continue"
			}
		case 10:
			b := c.brokers[c.dice.IntN(len(c.brokers))]
			b.stop()
			b.start()
			return "broker stopped and started"
		case 11:
			b := c.brokers[c.dice.IntN(len(c.brokers))]
			b.kill()
			b.start()
			return "broker killed and started"
		case 12:
			if c.zk != nil {
				c.zk.Kill()
				if err := c.zk.Resume(); err != nil {
					c.t.Fatal(err)
				}
				return "zookeeper killed and started"
			}
		case 13:
			if c.partitions < 12 {
				c.partitions++
				c.tool("logtopic", "alter", "t", "--partitions", fmt.Sprint(c.partitions), "--timeout", "60s").must()
				return "partition added"
			}
		}
	}
}

// balanced waits until the members that live own what they shall own.
func (c *chaos) balanced(after string) {
	c.t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	var state string
	for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		members, err := c.group.Members(ctx, nil)
		if err != nil {
			continue
		}
		owners, err := c.group.Owners(ctx, "t")
		if err != nil {
			continue
		}
		want, ids := map[int32]string{}, []string{}
		for _, m := range members {
			ids = append(ids, m.ID)
		}
		for m, list := range assign.Range.Assign(ids, numbersTo(c.partitions), nil) {
			for _, p := range list {
				want[p] = registry.Thread(m, 0)
			}
		}
		state = fmt.Sprintf("%d live, registered %q, owners %v", len(c.live), ids, owners)
		if slices.Equal(ids, c.names()) && maps.Equal(owners, want) {
			c.balance[after] = append(c.balance[after], time.Since(began))
			return
		}
	}
	for _, m := range c.live {
		state += fmt.Sprintf("\nmember %d: %s", m.cmd.Process.Pid, m.text(m.said))
	}
	c.t.Fatalf("not balanced after %s: %s", after, state)
}

// names are those of the members that live, in order.
func (c *chaos) names() (names []string) {
	for _, m := range c.live {
		if m.name == "" {
			if _, rest, said := strings.Cut(m.text(m.said), `logtail: group "g": member "`); said {
				m.name, _, _ = strings.Cut(rest, `"`)
			}
		}
		names = append(names, m.name)
	}
	slices.Sort(names)
	return names
}

// caughtUp waits until the group has committed all there is.
func (c *chaos) caughtUp() {
	var state string
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		check := c.tool("logrebalance", "check", "g", "-w", "0", "-c", "0")
		out, err := check.CombinedOutput()
		if state = string(out); err == nil {
			return
		}
	}
	c.t.Fatalf("the group does not come to the end: %s", state)
}
