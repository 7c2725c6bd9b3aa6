package consumer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/registry"
	"logkit/lib/zkserver"
	"logkit/lib/zkserver/zkpeer"
)

// A member whose connection is lost delivers nothing from a while before its session may end; when the session is the
// same afterwards, it goes on with what it has, and reads nothing again.
func TestConnectionIsLostForAWhile(t *testing.T) {
	w := newWorld(t, twin(), 1)
	one := w.join("one", nil)
	w.settled(shares{one: {0}})
	w.produce(2, 0)
	w.committed(end)
	one.s.cut(true)
	w.await("the end of the lease", func() bool { return one.saw(Away) == 1 }, nil)
	w.produce(2, 0)
	w.await("the batch that waits", func() bool { return len(w.log.topics) > 0 && one.waits() }, nil)
	one.s.cut(false)
	w.committed(end)
	w.once()
	if one.saw(Claimed) != 1 || one.saw(Back) != 1 {
		t.Errorf("%+v", one.events)
	}
}

// waits reports whether everything that there is was handed over, and not delivered.
func (r *runner) waits() bool {
	r.Member.mu.Lock()
	defer r.Member.mu.Unlock()
	for _, c := range r.claims {
		if c.handed > c.delivered {
			return true
		}
	}
	return false
}

// A member that is stopped in a write past its session, and goes on after another one has taken over, delivers that one
// write and commits nothing. What it had in hand it forgets, and it takes its place anew.
func TestStoppedMember(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		w := newWorld(t, target, 1)
		one := w.join("one", nil)
		w.settled(shares{one: {0}})
		one.shut()
		w.produce(2, 0)
		w.await("a write", one.blocked, nil)
		one.s.cut(true)
		if one.s.fake != nil {
			one.s.fake.Expire()
		}
		two := w.join("two", nil)
		w.produce(2, 0)
		w.await("takeover", func() bool { owned, _ := two.Assignment(); return len(owned["t"]) == 1 }, nil)
		w.committed(end)
		one.s.cut(false)
		one.open()
		w.settled(shares{one: {0}, two: nil})
		w.produce(2, 0)
		w.committed(end)
		w.mu.Lock()
		defer w.mu.Unlock()
		// By two: 4 records; by one: those 2 that it was writing, and the last 2.
		if w.by["one"] != 4 || w.by["two"] != 4 || one.saw(Away) == 0 {
			t.Errorf("%v: %v of %v; %+v", w.by, w.delivered, w.produced, one.events)
		}
	})
}

// The same in the moment that the process goes on: nothing has told it yet that its session has ended.
func TestStoppedMemberThatKnowsNothing(t *testing.T) {
	w := newWorld(t, twin(), 1)
	one := w.join("one", nil)
	w.settled(shares{one: {0}})
	for _, moment := range []struct {
		what  string
		since time.Duration
		alive bool
	}{
		{"a moment ago", 0, true},
		{"just short of it", sessionTimeout/4 - time.Millisecond, true},
		{"long enough to be stopped in between", sessionTimeout / 4, false},
		{"long ago", time.Hour, false},
		{"never, by the clock", -time.Second, true}, // set back
	} {
		p := one.pulse
		p.wrote = time.Time{}
		now := p.asked.Add(moment.since)
		if p.alive(now, sessionTimeout) != moment.alive {
			t.Errorf("asked %s: alive %v", moment.what, !moment.alive)
		}
	}
	// Who writes all the time has not been stopped, however slow ZooKeeper is; but there has to be an answer now and then.
	p := one.pulse
	for since, alive := range map[time.Duration]bool{sessionTimeout*3/4 - time.Millisecond: true, sessionTimeout * 3 / 4: false} {
		now := p.asked.Add(since)
		p.wrote = now.Add(time.Millisecond - sessionTimeout/4)
		if p.alive(now, sessionTimeout) != alive {
			t.Errorf("writing, asked %v ago: alive %v", since, !alive)
		}
	}
	// A suspended machine: the monotonic clock has stood still, the other one has not.
	p = one.pulse
	p.asked = p.asked.Round(0).Add(-time.Hour)
	if p.alive(time.Now(), sessionTimeout) {
		t.Error("alive after an hour's sleep")
	}
}

// A member that is stopped within its session, and evicted meanwhile, delivers nothing any more when it goes on, although
// it has read it and nothing has told it yet.
func TestStoppedMemberIsEvicted(t *testing.T) {
	w := newWorld(t, twin(), 1)
	one := w.join("one", nil)
	w.settled(shares{one: {0}})
	w.produce(2, 0)
	w.committed(end)
	one.Member.mu.Lock() // nothing of it goes on: it neither delivers nor takes notice
	_, err := w.group.Evict(deadline(t), "one")
	must(t, err)
	two := w.join("two", nil)
	w.settled(shares{two: {0}})
	w.produce(2, 0)
	w.committed(end)
	one.Member.pulse.asked = one.Member.pulse.asked.Add(-sessionTimeout / 2) // as if it had taken so long
	one.Member.pulse.wrote = one.Member.pulse.wrote.Add(-sessionTimeout / 2)
	one.Member.mu.Unlock()
	if err := one.ended(); !errors.Is(err, ErrEvicted) {
		t.Errorf("%v", err)
	}
	w.once()
}

func TestSessionExpiresUnderAMember(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		w := newWorld(t, target, 2)
		one := w.join("one", nil)
		two := w.join("two", nil)
		w.settled(shares{one: {0}, two: {1}})
		w.produce(3, 0, 1)
		w.committed(end, end)
		one.s.cut(true)
		w.await("the end of the lease", func() bool { return one.saw(Away) == 1 }, nil)
		if one.s.fake != nil { // its sessions end when they are told to: not before they could
			one.s.fake.Expire()
		}
		w.settled(shares{two: {0, 1}})
		w.produce(3, 0, 1)
		w.committed(end, end)
		one.s.cut(false)
		w.settled(shares{one: {0}, two: {1}})
		w.produce(3, 0, 1)
		w.committed(end, end)
		w.once()
	})
}

// Close while a write hangs: all else is released at once, and the rest goes with the session.
func TestCloseWhileAWriteHangs(t *testing.T) {
	w := newWorld(t, twin(), 2)
	two := w.join("two", nil)
	w.settled(shares{two: {0, 1}})
	two.shut()
	w.produce(1, 1)
	w.await("a write", two.blocked, nil)
	closed := make(chan error)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { closed <- two.Close(ctx) }()
	w.await("release of the other one", func() bool { return cmp.Equal(w.seats(), map[int32]string{1: "two-0"}) }, nil)
	cancel()
	if err := <-closed; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	two.s.Close()
	one := w.join("one", nil)
	w.settled(shares{one: {0, 1}})
	w.committed(registry.NoOffset+1, end)
}

// With Confirm nothing is committed but what is confirmed; a partition that is to go is kept for it.
func TestConfirm(t *testing.T) {
	all(t, func(t *testing.T, target target) {
		w := newWorld(t, target, 2)
		two := w.join("two", func(o *Options) { o.Confirm = true })
		w.settled(shares{two: {0, 1}})
		w.produce(3, 0, 1)
		w.read()
		w.committed(0, 0)
		two.Confirm("t", 1, w.produced[1][1]+1)
		two.Confirm("t", 1, w.produced[1][0]+1) // goes back: nothing
		two.Confirm("t", 0, 1<<40)              // was never delivered
		two.Confirm("u", 0, 1)
		w.committed(0, w.produced[1][1]+1)
		one := w.join("one", nil)
		w.await("waiting for it", func() bool { owned, _ := two.Assignment(); return len(owned["t"]) == 2 && two.closing() == 1 }, nil)
		two.Confirm("t", 0, w.produced[0][2]+1)
		w.settled(shares{one: {0}, two: {1}})
		limited, cancel := context.WithCancel(context.Background())
		cancel()
		if err := two.Confirmed(limited); !errors.Is(err, context.Canceled) {
			t.Errorf("confirmed: %v", err)
		}
		two.Confirm("t", 1, w.produced[1][2]+1)
		must(t, two.Confirmed(deadline(t)))
		two.leave()
		w.settled(shares{one: {0, 1}})
		w.committed(end, end)
		w.once()
	})
}

func (r *runner) closing() (n int) {
	r.Member.mu.Lock()
	defer r.Member.mu.Unlock()
	for _, c := range r.claims {
		if c.closing {
			n++
		}
	}
	return n
}

// A server may grant sessions that are shorter than what a member asks for. By the time that another one has taken over,
// the member delivers nothing any more, although nobody could tell it.
func TestServerGrantsLess(t *testing.T) {
	if zkpeer.Race {
		t.Skip("go-zookeeper races with itself when a connection is lost")
	}
	server, err := zkserver.Open(zkserver.Options{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", TickTime: 100 * time.Millisecond, MaxSessionTimeout: sessionTimeout,
	})
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	w := newWorld(t, target{name: "zkserver", addr: server.Addr().String(), root: "/test", timeout: time.Hour}, 1)
	one := w.join("one", nil)
	w.settled(shares{one: {0}})
	w.produce(2, 0)
	w.committed(end)
	one.s.cut(true)
	two := w.join("two", nil)
	w.await("takeover", func() bool { owned, _ := two.Assignment(); return len(owned["t"]) == 1 }, nil)
	one.Member.mu.Lock()
	alive := one.Member.alive()
	one.Member.mu.Unlock()
	if alive {
		t.Error("the member delivers what another one owns")
	}
	w.produce(2, 0)
	w.committed(end)
	w.once()
}
