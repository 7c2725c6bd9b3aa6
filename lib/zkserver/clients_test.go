package zkserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"logkit/lib/zkserver/zkpeer"
)

// The clients that people have. Each does the same things to this server and to ZooKeeper.

func connectGo(t *testing.T, addr string) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect([]string{addr}, 5*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for ev := range events {
		if ev.State == zk.StateHasSession {
			return c
		}
	}
	t.Fatal("no session")
	return nil
}

func TestGoClient(t *testing.T) {
	everybody := zk.WorldACL(zk.PermAll)
	both(t, func(t *testing.T, target target) {
		c := connectGo(t, target.addr)
		dir, err := c.Create(fmt.Sprintf("/go-%d", time.Now().UnixNano()), nil, 0, everybody)
		if err != nil {
			t.Fatal(err)
		}
		t.Run("basics", func(t *testing.T) {
			if _, err := c.Create(dir+"/a", []byte("1"), 0, everybody); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Create(dir+"/a", nil, 0, everybody); err != zk.ErrNodeExists {
				t.Error(err)
			}
			data, stat, changed, err := c.GetW(dir + "/a")
			if err != nil || string(data) != "1" || stat.Version != 0 {
				t.Error(data, stat, err)
			}
			if stat, err = c.Set(dir+"/a", []byte("2"), 0); err != nil || stat.Version != 1 {
				t.Error(stat, err)
			}
			if ev := <-changed; ev.Type != zk.EventNodeDataChanged || ev.Path != dir+"/a" {
				t.Error(ev)
			}
			if _, err := c.Set(dir+"/a", nil, 0); err != zk.ErrBadVersion {
				t.Error(err)
			}
			if _, err := c.Sync(dir); err != nil {
				t.Error(err)
			}
			if _, err := c.CreateContainer(dir+"/c", nil, zk.FlagContainer, everybody); err != nil {
				t.Error(err)
			}
			results, err := c.Multi(&zk.CheckVersionRequest{Path: dir + "/a", Version: 1},
				&zk.CreateRequest{Path: dir + "/m", Acl: everybody}, &zk.SetDataRequest{Path: dir + "/a", Version: 1},
				&zk.DeleteRequest{Path: dir + "/m", Version: -1})
			if err != nil || len(results) != 4 || results[1].String != dir+"/m" || results[2].Stat.Version != 2 {
				t.Error(results, err)
			}
			_, err = c.Multi(&zk.CreateRequest{Path: dir + "/m", Acl: everybody}, &zk.DeleteRequest{Path: dir + "/none", Version: -1})
			if err != zk.ErrNoNode {
				t.Error(err)
			}
		})
		t.Run("auth", func(t *testing.T) {
			if err := c.AddAuth("digest", []byte("user:password")); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Create(dir+"/private", nil, 0, zk.DigestACL(zk.PermAll, "user", "password")); err != nil {
				t.Error(err)
			}
			if _, _, err := connectGo(t, target.addr).Get(dir + "/private"); err != zk.ErrNoAuth {
				t.Error(err)
			}
			if _, _, err := c.Get(dir + "/private"); err != nil {
				t.Error(err)
			}
		})
		t.Run("lock", func(t *testing.T) {
			var holders, wg = make(chan int, 1), sync.WaitGroup{}
			for i := range 3 {
				wg.Go(func() {
					lock := zk.NewLock(connectGo(t, target.addr), dir+"/lock", everybody)
					for range 5 {
						if err := lock.Lock(); err != nil {
							t.Error(err)
							return
						}
						select {
						case holders <- i:
						default:
							t.Error("two holders")
						}
						<-holders
						if err := lock.Unlock(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
		})
		t.Run("four letters", func(t *testing.T) {
			if ok := zk.FLWRuok([]string{target.addr}, time.Second); !ok[0] {
				t.Error("not ok")
			}
			stats, ok := zk.FLWSrvr([]string{target.addr}, time.Second)
			if target.ours != nil && (!ok || stats[0].Mode != zk.ModeStandalone) { // a real 3.8 fails its pattern
				t.Errorf("%+v", stats[0])
			}
			clients, _ := zk.FLWCons([]string{target.addr}, time.Second)
			if len(clients[0].Clients) == 0 { // ok says that the line of this very connection, without a session, was no match
				t.Error(clients[0].Error)
			}
		})
	})
}

// run gives a program a minute, and skips the test where it is not installed.
func run(t *testing.T, stdin string, name string, args ...string) string {
	t.Helper()
	if _, err := os.Stat(name); err != nil {
		t.Skipf("NOT TRIED WITH %s (Debian packages %s)", name, packages)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "JVMFLAGS="+strings.Join(zkpeer.JavaFlags(cmd.Dir), " ")+" -Xmx128m")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out)
}

// wantInOrder fails unless the lines appear in out, one after the other.
func wantInOrder(t *testing.T, out string, lines ...string) {
	t.Helper()
	rest := out
	for _, line := range lines {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("%q missing, or out of order, in:\n%s", line, out)
		}
		rest = after
	}
}

func TestCClient(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		dir := fmt.Sprintf("/c-%d", time.Now().UnixNano())
		script := strings.ReplaceAll("create DIR\nls DIR\ncreate +es DIR/e-\nset DIR hello\nget DIR\nls2 DIR\ncreate2 DIR/two\nstat DIR/two\n"+
			"sync DIR\naddauth digest user:password\nmyid\ndelete DIR/two\nexists DIR/two\nquit\n", "DIR", dir)
		out := run(t, script, realCliMT, target.addr)
		// The client prints from two threads: its lines come in any order, also those of one answer, and after the value,
		// which it prints without a newline, the other thread may go on.
		lines := strings.Split(strings.ReplaceAll(out, "hello", "\nhello\n"), "\n")
		for _, want := range []string{
			"[" + dir + "]: rc = 0", "\tname = " + dir, "[" + dir + "/e-]: rc = 0", "\tname = " + dir + "/e-0000000000",
			dir + ": rc = 0", " value_len = 5", "hello", "\te-0000000000", "[" + dir + "/two]: rc = 0",
		} {
			if !slices.Contains(lines, want) {
				t.Errorf("line %q missing in:\n%s", want, out)
			}
		}
		for _, want := range []string{
			"Got a new session id", "CHILD_EVENT state = CONNECTED_STATE for path " + dir, "version=1", "Error -101 for " + dir + "/two",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%q missing in:\n%s", want, out)
			}
		}
	})
}

func TestJavaClient(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		dir := fmt.Sprintf("/java-%d", time.Now().UnixNano())
		script := strings.ReplaceAll(`create DIR one
get -s DIR
set -v 0 DIR two
create -s -e DIR/e-
create -c DIR/c
ls -R DIR
ls -s DIR
addWatch -m PERSISTENT_RECURSIVE DIR
create DIR/watched
create DIR/watched/deep
deleteall DIR/watched
removewatches DIR
getEphemerals DIR
getAllChildrenNumber DIR
whoami
addauth digest user:password
whoami
setAcl DIR auth::cdrwa
getAcl DIR
config
sync DIR
delete DIR/none
close
quit
`, "DIR", dir)
		out := run(t, script, realCli, "-server", target.addr)
		wantInOrder(t, out, "Created "+dir, "one", "dataVersion = 0", "Created "+dir+"/e-0000000000", "Created "+dir+"/c",
			dir+"\n", dir+"/c", dir+"/e-0000000000", "[c, e-0000000000]", "numChildren = 2",
			"Created "+dir+"/watched", "Created "+dir+"/watched/deep",
			dir+"/e-0000000000", "2", "ip: 127.0.0.1", "user", "'digest,'"+userDigest, "Sync is OK", "Node does not exist: "+dir+"/none")
		for _, event := range []string{"NodeCreated", "NodeDeleted"} {
			for _, path := range []string{"/watched", "/watched/deep"} {
				want := fmt.Sprintf("WatchedEvent state:SyncConnected type:%s path:%s", event, dir+path)
				if strings.Count(out, want) == 0 {
					t.Errorf("%q missing in:\n%s", want, out)
				}
			}
		}
	})
}

func TestPythonClient(t *testing.T) {
	both(t, func(t *testing.T, target target) {
		out := run(t, "", realPython, kazooScript(t), target.addr)
		if strings.Contains(out, "No module named 'kazoo'") {
			t.Skipf("NOT TRIED WITH kazoo (Debian packages %s)", packages)
		}
		got := strings.Split(strings.TrimSpace(out), "\n")
		want := []string{"basics ok", "transaction ok", "lock ok", "election ok", "barrier ok", "queue ok", "counter ok", "party ok", "semaphore ok", "watchers ok", "partitioner ok", "done"}
		if !slices.Equal(got, want) {
			t.Error(out)
		}
	})
}

func kazooScript(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/recipes.py")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
