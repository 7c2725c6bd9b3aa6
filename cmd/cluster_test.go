package cmd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/zkserver/zkpeer"
)

// cluster is three logd on a ZooKeeper of its own.
type cluster struct {
	t        *testing.T
	bin      string
	zoo      *zkpeer.Server
	machines []*mortal
	addrs    []string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	bin, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, bin: bin, zoo: zkpeer.Start(t, zkpeer.Tick)}
	for range 3 {
		m := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0", flags: []string{"--zookeeper", c.zoo.Addr() + "/logkit", "--zookeeper-session", "2s"}}
		m.listen = m.start()
		t.Cleanup(m.kill)
		c.machines, c.addrs = append(c.machines, m), append(c.addrs, m.listen)
	}
	return c
}

// run runs a tool against a broker, by its number, and returns what it has written.
func (c *cluster) run(broker int, stdin string, args ...string) string {
	c.t.Helper()
	out, err := c.try(broker, stdin, args...)
	if err != nil {
		c.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return out
}

func (c *cluster) try(broker int, stdin string, args ...string) (string, error) {
	cmd := exec.Command(args[0], args[1:]...)
	if own := filepath.Join(c.bin, args[0]); fileExists(own) {
		cmd = exec.Command(own, args[1:]...)
	}
	cmd.Env = append(os.Environ(), "LOGKIT_BROKERS="+c.addrs[broker])
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return stdout.String(), err
}

func fileExists(name string) bool { _, err := os.Stat(name); return err == nil }

// leaders asks a broker who leads the partitions of a topic; -1 for nobody.
func (c *cluster) leaders(broker int, topic string) []int {
	c.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	want := kmsg.NewMetadataRequestTopic()
	want.Topic = &topic
	req.Topics = append(req.Topics, want)
	found := c.ask(broker, req).(*kmsg.MetadataResponse).Topics[0].Partitions
	leaders := make([]int, len(found))
	for _, p := range found {
		leaders[p.Partition] = int(p.Leader)
	}
	return leaders
}

// led counts the partitions of a topic that each broker leads, and, at -1, those that nobody does.
func (c *cluster) led(broker int, topic string) map[int]int {
	counts := map[int]int{}
	for _, leader := range c.leaders(broker, topic) {
		counts[leader]++
	}
	return counts
}

func (c *cluster) eventually(what string, f func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			for i, m := range c.machines {
				said, _ := os.ReadFile(filepath.Join(m.dir, "log"))
				c.t.Logf("broker at place %d said:\n%s", i, said)
			}
			c.t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// keyed is a line for each number, with a key, so that they spread over the partitions.
func keyed(from, to int) string {
	var b strings.Builder
	for n := from; n < to; n++ {
		fmt.Fprintf(&b, "k%d:%d\n", n, n)
	}
	return b.String()
}

// values reads all there is of a topic, through one broker, in order.
func (c *cluster) values(broker int, topic string) []string {
	c.t.Helper()
	lines := strings.Fields(c.run(broker, "", "logtail", "-o", "earliest", topic))
	slices.Sort(lines)
	return lines
}

func numbers(from, to int) (list []string) {
	for n := from; n < to; n++ {
		list = append(list, fmt.Sprint(n))
	}
	slices.Sort(list)
	return list
}

// TestCluster: three brokers on a real ZooKeeper. What one of them takes all of them serve; one is killed, ZooKeeper is
// killed, topics change meanwhile, and every message that was acknowledged is there when all are back.
func TestCluster(t *testing.T) {
	c := newCluster(t)
	c.eventually("all brokers know all", func() bool {
		return !slices.ContainsFunc([]int{0, 1, 2}, func(i int) bool { return c.known(i) != 3 })
	})
	c.run(0, "", "logtopic", "create", "t", "--partitions", "12")
	c.run(1, "", "logtopic", "create", "doomed", "--partitions", "3")
	c.run(2, "", "logtopic", "create", "again", "--partitions", "3")
	for i := range c.machines {
		c.eventually("twelve partitions lie on three brokers", func() bool {
			counts := c.led(i, "t")
			return counts[0] == 4 && counts[1] == 4 && counts[2] == 4
		})
	}
	c.run(0, keyed(0, 600), "logcat", "-K", ":", "t")
	if _, err := exec.LookPath("kcat"); err == nil {
		c.run(1, keyed(600, 1200), "kcat", "-b", c.addrs[1], "-P", "-t", "t", "-K", ":", "-X", "acks=all")
	} else {
		fmt.Fprintln(os.Stderr, "SKIPPED: kcat is not installed")
		c.run(1, keyed(600, 1200), "logcat", "-K", ":", "t")
	}
	c.run(1, "old\n", "logcat", "-p", "1", "again")
	if got := c.values(2, "t"); !slices.Equal(got, numbers(0, 1200)) {
		t.Fatalf("%d messages, want 1200", len(got))
	}

	// A broker dies: its partitions have no leader within the session timeout, the others go on.
	dead := 1
	id := c.id(dead)
	c.machines[dead].kill()
	c.eventually("four partitions have no leader", func() bool { return c.led(0, "t")[-1] == 4 && c.led(2, "t")[-1] == 4 })
	alive := slices.IndexFunc(c.leaders(0, "t"), func(leader int) bool { return leader >= 0 })
	lost := slices.Index(c.leaders(0, "t"), -1)
	c.run(0, "while it is dead\n", "logcat", "-p", fmt.Sprint(alive), "t")
	if _, err := c.try(0, "", "logtail", "--timeout", "100ms", "-p", fmt.Sprint(lost), "t"); err == nil ||
		!strings.HasPrefix(err.Error(), "exit status 75: ") || !strings.Contains(err.Error(), fmt.Sprintf("partition %d: no leader", lost)) {
		t.Errorf("a partition of the dead broker: %v, want exit status 75, and it named", err)
	}
	if rows := strings.Split(c.run(0, "", "logtopic", "describe", "t"), "\n"); len(rows) != 14 || len(slices.DeleteFunc(rows, func(row string) bool {
		return !strings.Contains(row, " -          -        -     - ")
	})) != 4 {
		t.Errorf("described: %q, want 12 partitions, 4 of them without leader, ids and size", rows)
	}
	// Topics change without it.
	c.run(2, "", "logtopic", "delete", "doomed", "--execute")
	c.run(0, "", "logtopic", "delete", "again", "--execute")
	c.run(0, "", "logtopic", "create", "again", "--partitions", "2")

	// ZooKeeper dies, too, and comes back: what is served goes on meanwhile.
	c.zoo.Kill()
	c.run(2, "without zookeeper\n", "logcat", "-p", fmt.Sprint(alive), "t")
	if out := c.run(0, "", "logtail", "-n", "1", "-p", fmt.Sprint(alive), "t"); out != "without zookeeper\n" {
		t.Errorf("read without zookeeper: %q", out)
	}
	if err := c.zoo.Resume(); err != nil {
		t.Fatal(err)
	}

	c.machines[dead].start()
	if got := c.id(dead); got != id {
		t.Errorf("the broker is back as %d, it was %d", got, id)
	}
	for i := range c.machines {
		c.eventually("all partitions have leaders", func() bool {
			counts := c.led(i, "t")
			return counts[0] == 4 && counts[1] == 4 && counts[2] == 4 && c.known(i) == 3
		})
	}
	want := append(numbers(0, 1200), "dead", "is", "it", "while", "without", "zookeeper")
	if got := c.values(1, "t"); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("%d messages, want the %d that were acknowledged", len(got), len(want))
	}
	if _, err := c.try(dead, "", "logtopic", "describe", "doomed"); err == nil {
		t.Error("the deleted topic is back with the broker")
	}
	if got := c.values(dead, "again"); len(got) != 0 {
		t.Errorf("the topic that was made again has records of the old one: %v", got)
	}
	for i, m := range c.machines {
		c.eventually("nothing is left of the deleted topic", func() bool {
			left, _ := filepath.Glob(filepath.Join(m.dir, "data", "doomed-*"))
			return len(left) == 0
		})
		if left, _ := filepath.Glob(filepath.Join(m.dir, "data", "*-stray")); len(left) > 0 {
			t.Errorf("broker at place %d has set aside %v", i, left)
		}
	}
}

// id is the number that a broker has.
func (c *cluster) id(broker int) int {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.machines[broker].dir, "data", "meta.properties"))
	if err != nil {
		c.t.Fatal(err)
	}
	var id int
	for line := range strings.Lines(string(text)) {
		fmt.Sscanf(line, "broker.id=%d", &id)
	}
	return id
}

// TestSessionExpires: a broker that is stopped for longer than its session is gone for the others, and registered again
// when it goes on.
func TestSessionExpires(t *testing.T) {
	c := newCluster(t)
	c.eventually("the first knows all", func() bool { return c.known(0) == 3 })
	c.machines[2].cmd.Process.Signal(syscall.SIGSTOP)
	c.eventually("the first sees it gone", func() bool { return c.known(0) == 2 })
	c.machines[2].cmd.Process.Signal(syscall.SIGCONT)
	c.eventually("the first sees it again", func() bool { return c.known(0) == 3 && c.known(2) == 3 })
	said, err := os.ReadFile(filepath.Join(c.machines[2].dir, "log"))
	if lost, back := strings.Count(string(said), "zookeeper is lost"), strings.Count(string(said), "zookeeper is back"); err != nil || lost != 1 || back != 1 {
		t.Errorf("it has said %d times that zookeeper is lost, %d times that it is back, want once each:\n%s", lost, back, said)
	}
}

// known is how many brokers a broker tells of.
func (c *cluster) known(broker int) int {
	c.t.Helper()
	return len(c.ask(broker, kmsg.NewPtrDescribeClusterRequest()).(*kmsg.DescribeClusterResponse).Brokers)
}

// ask sends a request to a broker itself.
func (c *cluster) ask(broker int, req kmsg.Request) kmsg.Response {
	c.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.addrs[broker]))
	if err != nil {
		c.t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	resp, err := client.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}
