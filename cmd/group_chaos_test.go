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

// chaosMember is a logtail.
type chaosMember struct {
	cmd     *exec.Cmd
	out     string // file of what it printed, PARTITION ID a line
	said    string // file of its stderr
	name    string // in the group, "" while it has not said it
	ended   chan error
	crashed bool
	stops   [][2]int64 // parts of out that were printed between going on after a stop and being a member again
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

func (c *chaos) startMember() {
	dir := c.t.TempDir()
	m := &chaosMember{out: filepath.Join(dir, "out"), said: filepath.Join(dir, "said"), ended: make(chan error, 1)}
	run := c.tool("logtail", "-f", "-g", "g", "--session-timeout", chaosSession.String(), "--timeout", "60s", "--verbose", "--format", `%p %o\n`, "t")
	out, err := os.Create(m.out)
	if err != nil {
		c.t.Fatal(err)
	}
	defer out.Close()
	said, err := os.Create(m.said)
	if err != nil {
		c.t.Fatal(err)
	}
	defer said.Close()
	run.Stdout, run.Stderr = out, said
	if err := run.Start(); err != nil {
		c.t.Fatal(err)
	}
	m.cmd = run.Cmd
	go func() { m.ended <- run.Wait() }()
	c.t.Cleanup(func() { m.cmd.Process.Kill() })
	c.live, c.members = append(c.live, m), append(c.members, m)
}

func (c *chaos) remove(i int) *chaosMember {
	m := c.live[i]
	c.live = slices.Delete(c.live, i, i+1)
	return m
}

// end ends a member in order.
func (c *chaos) end(i int) {
	m := c.remove(i)
	m.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-m.ended:
	case <-time.After(patience):
		c.t.Errorf("member %d does not end: %s", m.cmd.Process.Pid, m.text(m.said))
		m.cmd.Process.Kill()
		<-m.ended
	}
	// Without ZooKeeper it can not commit, and says so.
	if code := m.cmd.ProcessState.ExitCode(); code != 143 {
		m.crashed = true
		if !strings.Contains(m.text(m.said), "could not be committed") {
			c.t.Errorf("a member has ended with status %d: %s", code, m.text(m.said))
		}
	}
}

func (m *chaosMember) text(name string) string {
	text, _ := os.ReadFile(name)
	return string(text)
}

func (c *chaos) kill(i int) {
	m := c.remove(i)
	m.crashed = true
	m.cmd.Process.Kill()
	<-m.ended
}

// stop stops a member, waits until its session has ended and the others have its partitions, and lets it go on.
func (c *chaos) stop(i int) {
	m := c.remove(i)
	m.crashed = true
	m.cmd.Process.Signal(syscall.SIGSTOP)
	size, back := m.size(), m.returns()
	c.balanced("stop")
	time.Sleep(time.Duration(c.dice.IntN(1000)) * time.Millisecond)
	m.cmd.Process.Signal(syscall.SIGCONT)
	for end := time.Now().Add(patience); m.returns() == back; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("a member that was stopped does not come back: %s", m.text(m.said))
		}
	}
	m.stops = append(m.stops, [2]int64{size, m.size()})
	c.live = append(c.live, m)
}

func (m *chaosMember) size() int64 { return int64(len(m.text(m.out))) }

// returns counts how often the member has said that it is one again.
func (m *chaosMember) returns() int {
	return strings.Count(m.text(m.said), "zookeeper reachable again")
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

// printing is one time that a message was printed.
type printing struct {
	member *chaosMember
	at     int64 // in its output
}

func (c *chaos) check(sent int) {
	stored := map[string]bool{}
	for line := range strings.Lines(c.tool("logtail", "-o", "earliest", "--format", `%p %o\n`, "t").must()) {
		stored[line] = true
	}
	printed := map[string][]printing{}
	total, excused := 0, 0
	for _, m := range c.members {
		if !m.crashed && strings.Contains(m.text(m.said), ": lost at offset") { // a busy machine is enough to lose a session
			excused++
			m.crashed = true
		}
		at := int64(0)
		for line := range strings.Lines(m.text(m.out)) {
			if strings.HasSuffix(line, "\n") { // one that was killed in a write may leave half a line
				printed[line] = append(printed[line], printing{m, at})
				total++
			}
			at += int64(len(line))
		}
	}
	skipped, foreign := 0, 0
	for line := range stored {
		if printed[line] == nil {
			skipped++
		}
	}
	zombies := map[*chaosMember]map[string]bool{}
	for line, list := range printed {
		if !stored[line] {
			foreign++
		}
		c.judge(line, list, zombies)
	}
	for m, lines := range zombies {
		c.t.Logf("a member that was stopped %d times has ended the write that it was in: %d messages", len(m.stops), len(lines))
		if writes := partitionsOf(lines); writes > len(m.stops) {
			c.t.Errorf("a member that was stopped %d times has printed of %d partitions what was no longer its own", len(m.stops), writes)
		}
	}
	if skipped > 0 || foreign > 0 || len(stored) != sent {
		c.t.Errorf("%d sent, %d stored, %d not printed, %d printed that are not stored", sent, len(stored), skipped, foreign)
	}
	c.t.Logf("%d messages, %d printed again; %d members, %d of them lost a session unprovoked; events %v", len(stored), total-len(printed), len(c.members), excused, c.counts)
	for _, what := range slices.Sorted(maps.Keys(c.balance)) {
		list := c.balance[what]
		slices.Sort(list)
		c.t.Logf("balanced after %s: median %v, longest %v of %d", what, list[len(list)/2].Round(time.Millisecond), list[len(list)-1].Round(time.Millisecond), len(list))
	}
	if len(stored) < 1000 {
		c.t.Errorf("%d messages prove little", len(stored))
	}
}

// judge looks at who has printed a message: of those who have not crashed one, once. What a member has printed after it
// was stopped, and others who have not crashed, too, it may have printed in one write.
func (c *chaos) judge(line string, list []printing, zombies map[*chaosMember]map[string]bool) {
	clean := 0
	for _, p := range list {
		if !p.member.crashed {
			clean++
		}
	}
	if clean > 1 {
		c.t.Errorf("message %q was printed %d times by members that did not crash", strings.TrimSpace(line), clean)
	}
	if clean != 1 || len(list) < 2 {
		return
	}
	for _, p := range list {
		if slices.ContainsFunc(p.member.stops, func(s [2]int64) bool { return s[0] <= p.at && p.at < s[1] }) {
			if zombies[p.member] == nil {
				zombies[p.member] = map[string]bool{}
			}
			zombies[p.member][line] = true
		}
	}
}

func partitionsOf(lines map[string]bool) int {
	partitions := map[string]bool{}
	for line := range lines {
		p, _, _ := strings.Cut(line, " ")
		partitions[p] = true
	}
	return len(partitions)
}
