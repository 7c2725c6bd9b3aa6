package zkserver

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

func TestSmoke(t *testing.T) {
	t0 := time.Now()
	s, err := Open(Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("open", time.Since(t0))
	defer func() { t.Log(s.Close()) }()
	c, ev, err := zk.Connect([]string{s.Addr().String()}, 5*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for e := range ev {
		t.Log(e)
		if e.State == zk.StateHasSession {
			break
		}
	}
	p, err := c.Create("/a", []byte("x"), 0, zk.WorldACL(31))
	t.Log(p, err)
	d, st, w, err := c.GetW("/a")
	t.Log(string(d), st, err)
	st, err = c.Set("/a", []byte("y"), -1)
	t.Log(st, err)
	t.Log(<-w)
	kids, st, err := c.Children("/")
	t.Log(kids, st, err)
	t0 = time.Now()
	for i := 0; i < 500; i++ {
		if _, err := c.Create("/a/s-", nil, 3, zk.WorldACL(31)); err != nil {
			t.Fatal(err)
		}
	}
	t.Log("500 creates", time.Since(t0))
	t0 = time.Now()
	for i := 0; i < 5000; i++ {
		if _, _, err := c.Get("/a"); err != nil {
			t.Fatal(err)
		}
	}
	t.Log("5000 gets", time.Since(t0))
}
