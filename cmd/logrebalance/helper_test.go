package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"logkit/lib/cli"
	"logkit/lib/client"
	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
	"logkit/lib/zkserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeLogs are the logs of a cluster: ids of each partition, [start, end).
type fakeLogs struct {
	mu     sync.Mutex
	logs   map[string][][2]int64
	times  map[int64]int64 // id at a time, of all partitions
	dead   map[string]bool // TOPIC-PARTITION without a leader
	away   error
	asked  int
	before func() // the next answer, once
}

func (f *fakeLogs) Topic(_ context.Context, name string, create bool) (client.Topic, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if create {
		panic("a tool that looks makes no topics")
	}
	if f.away != nil {
		return client.Topic{}, f.away
	}
	t := client.Topic{Name: name}
	for p := range f.logs[name] {
		leader := int32(1)
		if f.dead[fmt.Sprintf("%s-%d", name, p)] {
			leader = -1
		}
		t.Partitions = append(t.Partitions, client.Partition{ID: int32(p), Leader: leader})
	}
	if len(t.Partitions) == 0 {
		return t, &client.UnknownTopicError{Topic: name}
	}
	return t, nil
}

func (f *fakeLogs) Offsets(_ context.Context, topic string, partitions []int32, at int64) (map[int32]int64, error) {
	f.mu.Lock()
	before := f.before
	f.before = nil
	f.mu.Unlock()
	if before != nil {
		before()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.away != nil {
		return nil, f.away
	}
	found := map[int32]int64{}
	for _, p := range partitions {
		log := f.logs[topic][p]
		switch id, known := f.times[at]; {
		case f.dead[fmt.Sprintf("%s-%d", topic, p)]:
			return nil, errors.New("asked for a partition without a leader")
		case at == client.AtStart:
			found[p] = log[0]
		case at == client.AtEnd:
			found[p] = log[1]
		case known:
			found[p] = id
		default:
			found[p] = log[1]
		}
	}
	return found, nil
}

// cluster is a ZooKeeper, with logs beside it.
type cluster struct {
	t    testing.TB
	dial func(registry.Options, func(zk.Event)) (registry.Conn, error)
	twin *zkfake.Server
	logs *fakeLogs
	reg  *registry.Session // of the test itself

	timeout time.Duration // of sessions; 0 = 4 s

	conn  *zkfake.Conn // of the last run
	tweak func(*session)
}

// onTwin and onServer are a cluster on the twin, and one on the ZooKeeper of this project.
func onTwin(t testing.TB) *cluster {
	c := &cluster{t: t, twin: zkfake.New(), logs: &fakeLogs{logs: map[string][][2]int64{}}}
	c.dial = func(_ registry.Options, events func(zk.Event)) (registry.Conn, error) {
		c.conn = c.twin.Connect(events)
		return c.conn, nil
	}
	return c.planted()
}

func onServer(t testing.TB) *cluster {
	server, err := zkserver.Open(zkserver.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	c := &cluster{t: t, logs: &fakeLogs{logs: map[string][][2]int64{}}}
	c.dial = func(o registry.Options, events func(zk.Event)) (registry.Conn, error) {
		conn, _, err := zk.Connect([]string{server.Addr().String()}, o.SessionTimeout, zk.WithEventCallback(events), zk.WithLogInfo(false))
		return conn, err
	}
	return c.planted()
}

// both runs a test on either.
func both(t *testing.T, f func(t *testing.T, c *cluster)) {
	t.Run("twin", func(t *testing.T) { f(t, onTwin(t)) })
	t.Run("zkserver", func(t *testing.T) { f(t, onServer(t)) })
}

func (c *cluster) planted() *cluster {
	c.t.Helper()
	c.reg = c.session()
	must(c.t, c.reg.Plant(c.ctx()))
	return c
}

func (c *cluster) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	c.t.Cleanup(cancel)
	return ctx
}

func (c *cluster) connect(ctx context.Context) (*registry.Session, error) {
	o := registry.Options{SessionTimeout: cmp.Or(c.timeout, 4*time.Second), Backoff: time.Millisecond}
	s, err := registry.NewSession(o, func(events func(zk.Event)) (registry.Conn, error) { return c.dial(o, events) })
	if err == nil {
		_, err = s.Lease(ctx)
	}
	return s, err
}

func (c *cluster) session() *registry.Session {
	c.t.Helper()
	s, err := c.connect(c.ctx())
	must(c.t, err)
	c.t.Cleanup(s.Close)
	return s
}

// topic makes a topic whose partitions have these ids.
func (c *cluster) topic(name string, logs ...[2]int64) registry.Topic {
	c.t.Helper()
	replicas := make([][]int32, len(logs))
	for i := range replicas {
		replicas[i] = []int32{1}
	}
	t, err := c.reg.CreateTopic(c.ctx(), name, replicas, nil)
	must(c.t, err)
	c.logs.mu.Lock()
	defer c.logs.mu.Unlock()
	c.logs.logs[name] = logs
	return t
}

func (c *cluster) group(name string) *registry.Group {
	c.t.Helper()
	g, err := c.reg.Group(name)
	must(c.t, err)
	return g
}

// commit is what a group without members has read.
func (c *cluster) commit(group string, t registry.Topic, offsets map[int32]int64) {
	c.t.Helper()
	must(c.t, c.group(group).Reset(c.ctx(), t, offsets, false))
}

func (c *cluster) offsets(group string, t registry.Topic) []int64 {
	c.t.Helper()
	var all []int32
	for p := range t.Replicas {
		all = append(all, int32(p))
	}
	offsets, err := c.group(group).Offsets(c.ctx(), t, all)
	must(c.t, err)
	return offsets
}

// member is one that is there, and owns what it claims.
type member struct {
	*registry.Group
	c     *cluster
	s     *registry.Session
	id    string
	lease *registry.Lease
	a     registry.Arbiter
}

func (c *cluster) join(group, id string, m registry.Member) *member {
	c.t.Helper()
	s := c.session()
	g, err := s.Group(group)
	must(c.t, err)
	lease, err := s.Lease(c.ctx())
	must(c.t, err)
	a, err := g.Lead(c.ctx(), registry.RegistryGroup, -1)
	must(c.t, err)
	m.ID, m.Pattern = id, registry.Static
	must(c.t, g.Join(c.ctx(), lease, a, m))
	return &member{g, c, s, id, lease, a}
}

func (m *member) claim(t registry.Topic, partition int32) *registry.Owned {
	m.c.t.Helper()
	o, err := m.Claim(m.c.ctx(), m.lease, m.a, t, partition, registry.Thread(m.id, 0), nil)
	must(m.c.t, err)
	return o
}

func wants(topics ...string) registry.Member {
	m := registry.Member{Subscription: map[string]int32{}}
	for _, t := range topics {
		m.Subscription[t] = 1
	}
	return m
}

// result is what a run has said.
type result struct {
	code        int
	out, err    string
	description string
}

func (r result) String() string {
	return fmt.Sprintf("%s: exit status %d\nstdout:\n%sstderr:\n%s", r.description, r.code, r.out, r.err)
}

// run runs the tool.
func (c *cluster) run(args ...string) result { return c.runIn(c.ctx(), "", args...) }

func (c *cluster) runIn(ctx context.Context, stdin string, args ...string) result {
	c.t.Helper()
	o := &options{open: func(ctx context.Context, o *options, env *cli.Env, n need) (*session, error) {
		reg, err := c.connect(ctx)
		if err != nil {
			return nil, err
		}
		s := &session{Session: reg, logs: c.logs, env: env, o: o, now: time.Now, chunk: resetChunk, address: "twin"}
		if c.tweak != nil {
			c.tweak(s)
		}
		return s, nil
	}}
	var out, stderr bytes.Buffer
	code := o.tool().Execute(ctx, args, cli.Stdio{Stdin: bytes.NewReader([]byte(stdin)), Stdout: &out, Stderr: &stderr,
		Getenv: func(string) string { return "" }})
	return result{code, out.String(), stderr.String(), fmt.Sprint(args)}
}

// want checks all that a run has said.
func (r result) want(t testing.TB, code int, out, stderr string) {
	t.Helper()
	if r.code != code || r.out != out || r.err != stderr {
		t.Errorf("%v\nwant exit status %d\nstdout:\n%sstderr:\n%s", r, code, out, stderr)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
