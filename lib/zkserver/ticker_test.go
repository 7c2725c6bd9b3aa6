package zkserver

import (
	"slices"
	"testing"
	"time"
)

// Containers go when their last child has gone, with events like any other node; those that never had a child stay.
func TestContainers(t *testing.T) {
	s := start(t, Options{})
	r := newRaw(t, s.Addr().String())
	for _, path := range []string{"/used", "/unused", "/full"} {
		r.must(t, opCreateContainer, createBody(path, nil, modeContainer))
	}
	r.create(t, "/used/c", nil, 0)
	r.create(t, "/full/c", nil, flagEphemeral)
	r.must(t, opDelete, enc{}.str("/used/c").int(-1))
	r.must(t, opExists, enc{}.str("/used").bool(true))
	s.removeContainers()
	if events := r.settle(t); !slices.Equal(events, []wireEvent{{2, "/used"}}) {
		t.Error(events)
	}
	for path, err := range map[string]int32{"/used": -101, "/unused": 0, "/full": 0} {
		if reply := r.call(t, opExists, enc{}.str(path).bool(false)); reply.Err != err {
			t.Errorf("%s: error %d", path, reply.Err)
		}
	}
}

// A look at the sessions after a stop finds them all over time, and gives each its whole timeout again.
func TestTickAfterStop(t *testing.T) {
	s := start(t, Options{TickTime: time.Hour}) // the ticker itself stays out of it
	r := newRaw(t, s.Addr().String())
	r.create(t, "/e", nil, flagEphemeral)
	s.mu.Lock()
	sess := s.sessions[r.session]
	s.mu.Unlock()
	sess.deadline.Store(1)
	s.tick(bootTime() - 2*time.Hour)
	if left := time.Duration(sess.deadline.Load() - s.sinceStart()); left > sess.timeout || left < sess.timeout-time.Minute {
		t.Errorf("%v left of %v", left, sess.timeout)
	}
	s.tick(bootTime())
	r.getStat(t, "/e")
	sess.deadline.Store(1)
	s.tick(bootTime())
	r.wantClosed(t)
	if _, ok := s.Owner("/e"); ok {
		t.Error("the node outlives its session")
	}
}

// Younger clients remove a persistent watch by its own kind.
func TestRemoveWatchesByMode(t *testing.T) {
	s := start(t, Options{})
	r := newRaw(t, s.Addr().String())
	r.create(t, "/a", nil, 0)
	r.must(t, opAddWatch, enc{}.str("/a").int(0))
	r.must(t, opAddWatch, enc{}.str("/a").int(1))
	r.must(t, opGetData, enc{}.str("/a").bool(true))
	set := func() int { return len(r.call(t, opSetData, enc{}.str("/a").buf(nil).int(-1)).Events) }
	for _, kind := range []int32{kindPersistent, kindRecursive, kindData} {
		r.must(t, opCheckWatches, enc{}.str("/a").int(kind))
		r.must(t, opRemoveWatches, enc{}.str("/a").int(kind))
		if reply := r.call(t, opCheckWatches, enc{}.str("/a").int(kind)); reply.Err != -121 {
			t.Errorf("kind %d: error %d", kind, reply.Err)
		}
	}
	if n := set(); n != 0 {
		t.Errorf("%d events", n)
	}
	// However many watches a connection has on a path, a change is one event.
	r.must(t, opAddWatch, enc{}.str("/a").int(0))
	r.must(t, opAddWatch, enc{}.str("/").int(1))
	r.must(t, opGetData, enc{}.str("/a").bool(true))
	if n := set(); n != 1 {
		t.Errorf("%d events", n)
	}
}

// A server that has been kept from looking at its sessions does not end them, even when it is held up between reading
// the clock and looking.
func TestTickHeldUp(t *testing.T) {
	s := start(t, Options{TickTime: 20 * time.Millisecond})
	r := newRaw(t, s.Addr().String())
	s.mu.Lock()
	sess := s.sessions[r.session]
	sess.deadline.Store(1)
	for began := time.Now(); time.Since(began) < 100*time.Millisecond; {
		time.Sleep(time.Millisecond)
	}
	s.mu.Unlock()
	for deadline := time.Now().Add(rawPatience); sess.deadline.Load() == 1; time.Sleep(time.Millisecond) {
		s.mu.RLock()
		there := s.sessions[r.session] != nil
		s.mu.RUnlock()
		if !there || time.Now().After(deadline) {
			t.Fatalf("session there: %v, its timeout not extended", there)
		}
	}
}
