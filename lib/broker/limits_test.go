package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/record"
)

func TestMaxConnections(t *testing.T) {
	s := serve(t, setup{options: func(o *Options) { o.MaxConnections = 2 }})
	versions := kmsg.NewPtrApiVersionsRequest()
	one, two := s.dial(), s.dial()
	one.ask(versions)
	two.ask(versions)
	s.dial().closed()
	if lines := s.log.lines("too many"); len(lines) != 1 {
		t.Errorf("log %q, want one line", lines)
	}
	one.conn.Close()
	s.eventually("the place is free", func() bool { return len(s.connections()) == 1 })
	s.dial().ask(versions)
	two.ask(versions)
}

func (s *server) connections() (all []*conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		all = append(all, c)
	}
	return all
}

// TestClientThatTakesNothing is given up after the write timeout, with one log line.
func TestClientThatTakesNothing(t *testing.T) {
	s := serve(t, setup{options: func(o *Options) { o.WriteTimeout = 50 * time.Millisecond }})
	s.topic("t", 1)
	records := batch(t, record.None, string(make([]byte, 900<<10)))
	producer := s.dial()
	for range 16 {
		producer.produce("t", 0, bytes.Clone(records))
	}
	c := s.dial()
	for range 2 {
		c.send(fetchRequest(12, 0, fetched{"t", 0, 0}))
	}
	s.eventually("the connection is given up", func() bool { return len(s.log.lines("takes no data")) == 1 })
	producer.ask(kmsg.NewPtrApiVersionsRequest())
}

// TestSilentClients: a connection may be silent for the idle time, a request that has begun must come.
func TestSilentClients(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		s := serve(t, setup{options: func(o *Options) { o.IdleTimeout = 50 * time.Millisecond }})
		s.topic("t", 1)
		waiting := s.dial()
		waiting.send(fetchRequest(12, time.Hour, fetched{"t", 0, 0}))
		s.eventually("the fetch waits", s.waits(1))
		s.dial().closed()
		if s.polls.Load() != 1 {
			t.Error("a connection that waits for its answer was taken for idle")
		}
		if lines := s.log.lines("level=WARN"); len(lines) != 0 {
			t.Errorf("log %q", lines)
		}
	})
	t.Run("half a frame", func(t *testing.T) {
		s := serve(t, setup{options: func(o *Options) { o.FrameTimeout = 50 * time.Millisecond }})
		c := s.dial()
		c.write(encodeRequest(kmsg.NewPtrApiVersionsRequest(), 1)[:12])
		c.closed()
		if lines := s.log.lines("did not come within"); len(lines) != 1 {
			t.Errorf("log %q, want one line", s.log.lines(""))
		}
	})
}

// TestMemoryLimit: requests beyond the limit wait until others are done, and nothing is lost.
func TestMemoryLimit(t *testing.T) {
	s := serve(t, setup{options: func(o *Options) {
		o.MaxMessageBytes, o.MaxRequestBytes, o.MemoryLimit = 1<<20, 2<<20, 2<<20+512<<10
	}})
	s.topic("t", 8)
	done := make(chan error)
	for p := range int32(8) {
		c := s.dial()
		records := batch(t, record.None, string(make([]byte, 900<<10)))
		go func() { done <- produceAndWait(c.conn, p, records, 5) }()
	}
	for range 8 {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatal("requests are stuck")
		}
	}
	for p := range int32(8) {
		log, _ := s.dir.Log("t", p)
		if n := log.Positions().HighWatermark; n <= 4*900<<10 {
			t.Errorf("partition %d ends at %d", p, n)
		}
	}
	s.shutdown()
	if s.memory.used != 0 {
		t.Errorf("%d bytes are charged when nothing is left", s.memory.used)
	}
}

// produceAndWait sends n requests at once and then reads as many answers.
func produceAndWait(conn net.Conn, partition int32, records []byte, n int32) error {
	for i := range n {
		req := produceRequest(9, -1, produced{"t", partition, bytes.Clone(records)})
		if _, err := conn.Write(encodeRequest(req, i)); err != nil {
			return err
		}
	}
	for range n {
		var size [4]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(size[:]))); err != nil {
			return err
		}
	}
	return nil
}

// TestSlowClientKeepsNoMemory: a client that announces a large request and does not send it is given up when others
// need its memory, and only then.
func TestSlowClientKeepsNoMemory(t *testing.T) {
	s := serve(t, setup{options: func(o *Options) {
		o.MaxMessageBytes, o.MaxRequestBytes, o.MemoryLimit = 1<<20, 8<<20, 8<<20
	}})
	s.topic("t", 1)
	slow, other := s.dial(), s.dial()
	announced := binary.BigEndian.AppendUint32(nil, 8<<20)
	slow.write(append(announced, 0, 0, 0, 9, 0, 0)) // a Produce v9
	s.eventually("the memory is taken", func() bool {
		s.memory.mu.Lock()
		defer s.memory.mu.Unlock()
		return s.memory.used == 8<<20
	})
	other.produce("t", 0, batch(t, record.None, "x"))
	slow.closed()
	if lines := s.log.lines("while others wait for memory"); len(lines) != 1 {
		t.Errorf("log %q, want one line", s.log.lines(""))
	}
}

// TestShutdown: what was read is answered; a flush that does not come is not waited for longer than was said.
func TestShutdown(t *testing.T) {
	t.Run("answers", func(t *testing.T) {
		fs := newHeldFS()
		s := serve(t, setup{fs: fs})
		s.topic("t", 1)
		c, idle := s.dial(), s.dial()
		idle.ask(kmsg.NewPtrApiVersionsRequest())
		fs.hold(true)
		req := produceRequest(9, -1, produced{"t", 0, batch(t, record.None, "x")})
		id := c.send(req)
		s.eventually("the flush has begun", func() bool { _, syncs := fs.counts(); return syncs == 1 })
		s.stop()
		idle.closed()
		fs.hold(false)
		if part := c.receive(req, id).(*kmsg.ProduceResponse).Topics[0].Partitions[0]; part.ErrorCode != 0 {
			t.Errorf("error %d", part.ErrorCode)
		}
		c.closed()
		s.shutdown()
	})
	t.Run("gives up", func(t *testing.T) {
		fs := newHeldFS()
		s := serve(t, setup{fs: fs, options: func(o *Options) { o.ShutdownTimeout = 20 * time.Millisecond }})
		s.topic("t", 1)
		c := s.dial()
		fs.hold(true)
		defer fs.hold(false)
		c.send(produceRequest(9, -1, produced{"t", 0, batch(t, record.None, "x")}))
		s.eventually("the flush has begun", func() bool { _, syncs := fs.counts(); return syncs == 1 })
		s.shutdown()
		c.closed()
	})
}

func TestServeFailsWithItsListener(t *testing.T) {
	s := serve(t, setup{})
	b, err := New(s.options)
	if err != nil {
		t.Fatal(err)
	}
	s.shutdown() // closes the listener
	if err := b.Serve(context.Background()); err == nil {
		t.Error("Serve of a closed listener returns nil")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	s := serve(t, setup{})
	for _, test := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"wildcard", func(o *Options) { o.Advertise = "0.0.0.0:9092" }, "names no host"},
		{"wildcard IPv6", func(o *Options) { o.Advertise = "[::]:9092" }, "names no host"},
		{"no host", func(o *Options) { o.Advertise = ":9092" }, "names no host"},
		{"no port", func(o *Options) { o.Advertise = "host" }, "missing port"},
		{"port 0", func(o *Options) { o.Advertise = "host:0" }, "allowed are 1 to 65535"},
		{"batch above request", func(o *Options) { o.MaxMessageBytes, o.MaxRequestBytes = 2000, 1000 }, "must exceed"},
		{"request above memory", func(o *Options) { o.MemoryLimit = 1000 }, "memory limit"},
		{"huge request", func(o *Options) { o.MaxRequestBytes = 1 << 40 }, "at most"},
	} {
		o := s.options
		test.change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// TestComplaintsAreRateLimited: a burst, then a line a second that says how many were left out.
func TestComplaintsAreRateLimited(t *testing.T) {
	log := &logBuffer{}
	now := time.Unix(1000, 0)
	c := complaints{logger: slog.New(slog.NewTextHandler(log, nil)), allowed: complaintBurst, since: now}
	admitted := 0
	for range complaintBurst + 30 {
		if ok, _ := c.admit(now); ok {
			admitted++
		}
	}
	if admitted != complaintBurst {
		t.Errorf("%d lines at once, want %d", admitted, complaintBurst)
	}
	ok, left := c.admit(now.Add(complaintEvery))
	if !ok || left != 30 {
		t.Errorf("a second later: %v, %d left out, want 30", ok, left)
	}
	if ok, _ := c.admit(now.Add(complaintEvery)); ok {
		t.Error("two lines in one second")
	}
	c.since = time.Now()
	c.allowed, c.left = 1, 5
	c.warn("x", slog.Int("n", 1))
	if lines := log.lines(fmt.Sprintf("n=1 left_out=%d", 5)); len(lines) != 1 {
		t.Errorf("log %q", log.lines(""))
	}
}
