package zkserver

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// child is this test binary as a server of its own, to be killed or stopped: it serves ZKSERVER_CHILD, the directory,
// says where, and goes on until its standard input is closed. ZKSERVER_LISTEN is the address, a free one by default.
func child() {
	if os.Getenv("ZKSERVER_CHILD_MEASURE") != "" {
		childMeasure()
		return
	}
	s, err := Open(Options{Dir: os.Getenv("ZKSERVER_CHILD"), Listen: cmp.Or(os.Getenv("ZKSERVER_LISTEN"), "127.0.0.1:0"), TickTime: testTick, MaxSessionTimeout: 40 * testTick, MaxConns: 5000})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Addr())
	io.Copy(io.Discard, os.Stdin)
	if err := s.Close(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addr  string
}

func startProcess(t *testing.T, dir, listen string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ZKSERVER_CHILD="+dir, "ZKSERVER_LISTEN="+listen)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd, in, strings.TrimSpace(line)}
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	}
}

// journal is what one writer has been told, over all lives of the server.
type journal struct {
	path     string
	acked    int   // last value that was acknowledged
	sent     int   // last value that was sent
	children int   // sequential children acknowledged
	zxid     int64 // highest in any reply
}

// TestKill kills the server while clients write, again and again. Whatever was acknowledged has to be there afterwards,
// in order, and zxids and sequence numbers go on where they were.
func TestKill(t *testing.T) {
	rounds, writers := 6, 4
	if soaking() {
		rounds = 150
	}
	dir := t.TempDir()
	journals := make([]*journal, writers)
	for i := range journals {
		journals[i] = &journal{path: fmt.Sprintf("/w%d", i)}
	}
	for round := range rounds {
		p := startProcess(t, dir, "")
		check := newRaw(t, p.addr)
		for _, j := range journals {
			j.check(t, check, round)
		}
		check.nc.Close()
		var wg sync.WaitGroup
		for _, j := range journals {
			wg.Go(func() { j.write(p.addr) })
		}
		time.Sleep(time.Duration(20+rand.IntN(200)) * time.Millisecond)
		p.kill()
		wg.Wait()
		verify(t, dir)
	}
	total := 0
	for _, j := range journals {
		total += j.acked + j.children
	}
	t.Logf("%d rounds, %d acknowledged writes", rounds, total)
	if total < rounds*writers {
		t.Errorf("%d acknowledged writes in %d rounds", total, rounds)
	}
}

// check compares the tree with what was acknowledged.
func (j *journal) check(t *testing.T, r *raw, round int) {
	t.Helper()
	if round == 0 {
		r.create(t, j.path, []byte("0"), 0)
		return
	}
	reply := r.call(t, opGetData, enc{}.str(j.path).bool(false))
	d := dec{reply.Body}
	var value int
	fmt.Sscan(string(d.buf()), &value)
	s := d.stat()
	// Each value is one write, and so is each child; one of each may have been applied without the answer getting out.
	if value < j.acked || value > j.sent || int(s.Version) != value {
		t.Errorf("round %d: %s is %d at version %d; %d acknowledged, %d sent", round, j.path, value, s.Version, j.acked, j.sent)
	}
	if n := int(s.NumChildren); n < j.children || n > j.children+1 {
		t.Errorf("round %d: %d children of %s, %d acknowledged", round, n, j.path, j.children)
	}
	if reply.Zxid < j.zxid || s.Mzxid > reply.Zxid {
		t.Errorf("round %d: zxid %x, node at %x, after %x had been told", round, reply.Zxid, s.Mzxid, j.zxid)
	}
	j.acked, j.sent, j.children = value, value, int(s.NumChildren)
}

// write counts up in the node's data, and adds a child now and then, until the server is gone.
func (j *journal) write(addr string) {
	r, err := dialRaw(addr)
	if err != nil {
		return
	}
	defer r.nc.Close()
	if r.connect(j.zxid, 5000, 0, make([]byte, 16)) != nil || r.session == 0 {
		return
	}
	for i := 0; ; i++ {
		if i%5 == 4 {
			reply, err := r.try(opCreate, createBody(j.path+"/c-", nil, flagSequence))
			if err != nil || reply.Err != 0 {
				return
			}
			j.children++
			j.zxid = max(j.zxid, reply.Zxid)
			continue
		}
		j.sent++
		reply, err := r.try(opSetData, enc{}.str(j.path).buf(fmt.Append(nil, j.sent)).int(-1))
		if err != nil || reply.Err != 0 {
			return
		}
		j.acked = j.sent
		j.zxid = max(j.zxid, reply.Zxid)
	}
}

// A server that was stopped for longer than its sessions last finds them all silent, and ends none of them: it was its
// own silence.
func TestStopped(t *testing.T) {
	p := startProcess(t, t.TempDir(), "")
	r, err := dialRaw(p.addr)
	if err == nil {
		err = r.connect(0, 1200, 0, make([]byte, 16))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.nc.Close()
	r.create(t, "/e", nil, flagEphemeral)
	p.cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(2 * time.Second)
	p.cmd.Process.Signal(syscall.SIGCONT)
	time.Sleep(300 * time.Millisecond) // several looks at the sessions, by a server that does not hear from this one
	if owner := r.getStat(t, "/e").Owner; owner != r.session {
		t.Errorf("owner %x", owner)
	}
	// It still ends those that are silent while it runs.
	r.must(t, opExists, enc{}.str("/e").bool(false))
	r.wantClosed(t)
	other := newRaw(t, p.addr)
	if reply := other.call(t, opExists, enc{}.str("/e").bool(false)); reply.Err != -101 {
		t.Errorf("error %d", reply.Err)
	}
}

// A client of go-zookeeper lives through a crash of the server: same session, same nodes, and its watches work. The
// watches are tried without the race detector only, which finds fault with the client; make test runs it both ways.
func TestClientLivesThroughCrash(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, dir, "")
	everybody := zk.WorldACL(zk.PermAll)
	states := make(chan zk.State, 100)
	c, _, err := zk.Connect([]string{p.addr}, 6*time.Second, zk.WithLogInfo(false), zk.WithLogger(quiet{}), zk.WithEventCallback(func(ev zk.Event) {
		if ev.Type == zk.EventSession {
			states <- ev.State
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Create("/e", nil, zk.FlagEphemeral, everybody); err != nil {
		t.Fatal(err)
	}
	session := c.SessionID()
	watches := map[string]<-chan zk.Event{}
	if !underRace { // go-zookeeper reads lastZxid without a lock when it sets its watches again
		if _, _, watches["changed"], err = c.GetW("/e"); err != nil {
			t.Fatal(err)
		}
		if _, _, watches["created"], err = c.ExistsW("/later"); err != nil {
			t.Fatal(err)
		}
	}
	for len(states) > 0 {
		<-states
	}
	p.kill()
	p = startProcess(t, dir, p.addr)
	for deadline := time.After(rawPatience); ; {
		select {
		case state := <-states:
			if state == zk.StateExpired {
				t.Fatal("session expired")
			}
			if state != zk.StateHasSession {
				continue
			}
		case <-deadline:
			t.Fatal("no session again")
		}
		break
	}
	_, stat, err := c.Get("/e")
	if err != nil || c.SessionID() != session || stat.EphemeralOwner != session {
		t.Errorf("session %x, then %x; %+v, %v", session, c.SessionID(), stat, err)
	}
	other := newRaw(t, p.addr)
	other.must(t, opSetData, enc{}.str("/e").buf(nil).int(-1))
	other.create(t, "/later", nil, 0)
	for what, events := range watches {
		select {
		case ev := <-events:
			if ev.Err != nil {
				t.Errorf("%s: %v", what, ev.Err)
			}
		case <-time.After(rawPatience):
			t.Errorf("%s: no event", what)
		}
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
