package zkserver

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"logkit/lib/zkserver/zkpeer"
)

// TestBesideZooKeeper measures this server and ZooKeeper in one run: LOGKIT_BENCH=1 go test -run BesideZooKeeper -v
func TestBesideZooKeeper(t *testing.T) {
	if os.Getenv("LOGKIT_BENCH") == "" {
		t.Skip("only with LOGKIT_BENCH=1")
	}
	var report [2]map[string]string
	for i, launch := range []func(t *testing.T, dir string) (addr string, pid int, stop func()){launchOurs, launchTheirs} {
		report[i] = measure(t, launch)
		t.Log(report[i])
	}
	for _, row := range measurements {
		t.Logf("%-34s %14s %14s", row, report[0][row], report[1][row])
	}
}

var measurements = []string{
	"resident at start", "100,000 nodes made", "1,000 sessions, 10,000 watches", "resident with all that",
	"reads/s, 1 client", "reads/s, 16 clients", "reads/s, 16 clients, 32 deep",
	"writes/s, 1 client", "writes/s, 16 clients", "writes/s, 256 clients", "writes/s, 16 clients, 32 deep",
	"10,000 events", "start with 100,000 nodes",
}

func launchOurs(t *testing.T, dir string) (string, int, func()) {
	p := startProcess(t, dir, "")
	return p.addr, p.cmd.Process.Pid, func() { p.stdin.Close(); p.cmd.Wait() }
}

func launchTheirs(t *testing.T, dir string) (string, int, func()) {
	p := zkpeer.StartIn(t, dir, zkpeer.Tick)
	return p.Addr(), p.Pid(), p.Stop
}

func resident(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			var kb int
			fmt.Sscan(rest, &kb)
			return fmt.Sprintf("%.1f MiB", float64(kb)/1024)
		}
	}
	return "?"
}

func measure(t *testing.T, launch func(t *testing.T, dir string) (string, int, func())) map[string]string {
	report := map[string]string{}
	dir := t.TempDir()
	addr, pid, stop := launch(t, dir)
	report["resident at start"] = resident(pid)

	clients := func(n int) []*raw {
		list := make([]*raw, n)
		for i := range list {
			list[i] = newRaw(t, addr)
		}
		return list
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
	makers := clients(16)
	for i := range 100 {
		makers[0].create(t, fmt.Sprintf("/d%02d", i), nil, 0)
	}
	began := time.Now()
	each(t, makers, 100_000/16, 64, func(i, n int) (int32, enc) {
		return opCreate, createBody(fmt.Sprintf("/d%02d/node-%02d-%06d", n%100, i, n), []byte("about thirty bytes of some data"), 0)
	})
	report["100,000 nodes made"] = seconds(time.Since(began))

	began = time.Now()
	members := clients(1000)
	each(t, members, 10, 10, func(i, n int) (int32, enc) {
		return opGetData, enc{}.str(fmt.Sprintf("/d%02d/node-%02d-%06d", n%100, i%16, n)).bool(true)
	})
	report["1,000 sessions, 10,000 watches"] = seconds(time.Since(began))
	report["resident with all that"] = resident(pid)

	// The members are kept alive while the rest goes on.
	done := make(chan struct{})
	var pinger sync.WaitGroup
	pinger.Go(func() {
		for {
			for _, r := range members {
				r.nc.Write(enc{}.int(8).int(-2).int(opPing))
			}
			select {
			case <-done:
				return
			case <-time.After(2 * time.Second):
			}
		}
	})
	rate := func(row string, list []*raw, depth int, request func(i, n int) (int32, enc)) {
		const lasting = 2 * time.Second
		count := eachFor(t, list, lasting, depth, request)
		report[row] = fmt.Sprintf("%.0f", float64(count)/lasting.Seconds())
	}
	read := func(i, n int) (int32, enc) {
		return opGetData, enc{}.str(fmt.Sprintf("/d%02d/node-%02d-%06d", n%100, i%16, n%6000)).bool(false)
	}
	write := func(i, n int) (int32, enc) {
		return opSetData, enc{}.str(fmt.Sprintf("/d%02d/node-%02d-%06d", n%100, i%16, 1000+n%5000)).buf([]byte("other thirty bytes of some data")).int(-1)
	}
	rate("reads/s, 1 client", makers[:1], 1, read)
	rate("reads/s, 16 clients", makers, 1, read)
	rate("reads/s, 16 clients, 32 deep", makers, 32, read)
	rate("writes/s, 1 client", makers[:1], 1, write)
	rate("writes/s, 16 clients", makers, 1, write)
	rate("writes/s, 256 clients", clients(256), 1, write)
	rate("writes/s, 16 clients, 32 deep", makers, 32, write)

	began = time.Now()
	var wg sync.WaitGroup
	for _, r := range members {
		wg.Go(func() {
			for events := 0; events < 10; {
				frame, err := r.frame()
				if err != nil {
					t.Error(err)
					return
				}
				if (&dec{frame}).int() == -1 {
					events++
				}
			}
		})
	}
	each(t, makers[:1], 160, 32, func(_, n int) (int32, enc) {
		return opSetData, enc{}.str(fmt.Sprintf("/d%02d/node-%02d-%06d", n%10, n/10, n%10)).buf(nil).int(-1)
	})
	wg.Wait()
	report["10,000 events"] = seconds(time.Since(began))
	close(done)
	pinger.Wait()
	for _, r := range append(makers, members...) {
		r.nc.Close()
	}
	stop()
	began = time.Now()
	_, _, stop = launch(t, dir)
	report["start with 100,000 nodes"] = seconds(time.Since(began))
	stop()
	return report
}

// each lets every client make n requests, so many of them under way at a time.
func each(t testing.TB, clients []*raw, n, depth int, request func(i, n int) (int32, enc)) {
	drive(t, clients, depth, request, func(sent int) bool { return sent < n })
}

func eachFor(t testing.TB, clients []*raw, d time.Duration, depth int, request func(i, n int) (int32, enc)) int {
	deadline := time.Now().Add(d)
	return drive(t, clients, depth, request, func(int) bool { return time.Now().Before(deadline) })
}

func drive(t testing.TB, clients []*raw, depth int, request func(i, n int) (int32, enc), more func(sent int) bool) int {
	t.Helper()
	var wg sync.WaitGroup
	total := make([]int, len(clients))
	for i, r := range clients {
		r.nc.SetDeadline(time.Now().Add(2 * time.Minute))
		wg.Go(func() {
			for sent := 0; more(sent); {
				for range depth {
					op, body := request(i, sent)
					r.request(op, body)
					sent++
				}
				for range depth {
					if reply, err := r.read(); err != nil || reply.Err != 0 {
						t.Errorf("client %d: error %d, %v", i, reply.Err, err)
						return
					}
				}
				total[i] = sent
			}
		})
	}
	wg.Wait()
	count := 0
	for _, n := range total {
		count += n
	}
	return count
}

// TestOpenIsCheap: what a daemon pays for having a ZooKeeper in it.
func TestOpenIsCheap(t *testing.T) {
	best := time.Hour
	dir := t.TempDir()
	for range 10 {
		began := time.Now()
		s, err := Open(Options{Dir: dir, Listen: "127.0.0.1:0"})
		best = min(best, time.Since(began))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if best > 20*time.Millisecond {
		t.Errorf("opened in %v", best)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ZKSERVER_CHILD="+t.TempDir(), "ZKSERVER_CHILD_MEASURE=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var before, after int
	fmt.Sscan(string(out), &before, &after)
	t.Logf("opened in %v at best; resident %d KiB before, %d KiB after", best, before, after)
	if grown := after - before; before == 0 || grown > 6<<10 {
		t.Errorf("%d KiB before, %d KiB after", before, after)
	}
}

// childMeasure prints what is resident before and after an Open, in KiB.
func childMeasure() {
	kib := func() (n int) {
		text, _ := os.ReadFile("/proc/self/status")
		_, rest, _ := strings.Cut(string(text), "VmRSS:")
		fmt.Sscan(rest, &n)
		return n
	}
	before := kib()
	s, err := Open(Options{Dir: os.Getenv("ZKSERVER_CHILD"), Listen: "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(before, kib())
	s.Close()
}
