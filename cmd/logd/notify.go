package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// manager is the service manager that has started the daemon, and is told how it stands, as sd_notify(3) does: by
// datagrams to the socket that it has named in NOTIFY_SOCKET. Where nobody has named one, nothing is told.
type manager struct {
	socket   string
	watchdog time.Duration // how long the manager hears nothing before it takes the daemon for hung; 0: it does not
	extend   time.Duration // how often it is asked for patience

	ctx    context.Context // over when the daemon ends
	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

// extendEvery is how often the manager is asked for patience. It is asked for three times as long: that is what it takes
// to notice a daemon that is stopped while it starts.
const extendEvery = 10 * time.Second

func newManager(getenv func(string) string) *manager {
	m := &manager{socket: getenv("NOTIFY_SOCKET"), extend: extendEvery}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	pid := getenv("WATCHDOG_PID")
	if err == nil && usec > 0 && usec < int64(1<<62/time.Microsecond) && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		m.watchdog = time.Duration(usec) * time.Microsecond
	}
	return m
}

// close ends all that is told again and again.
func (m *manager) close() {
	m.cancel()
	m.tasks.Wait()
}

// ready tells the manager that clients are served, unless the context ends before it listens.
func (m *manager) ready(ctx context.Context, status string) error {
	for {
		err := m.say("READY=1", "STATUS="+status)
		if !errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	}
}

// say sends lines of NAME=VALUE. A manager that does not listen is waited for shortly: all but READY=1 it may miss.
func (m *manager) say(lines ...string) error {
	if m.socket == "" {
		return nil
	}
	// A leading @ means the abstract namespace, in package net too.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	defer conn.Close()
	conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	if _, err := conn.Write([]byte(strings.Join(lines, "\n"))); err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	return nil
}

// during says what takes its time, and asks for patience until done is called: a start after a crash reads what may be
// torn, however large it is, and whoever is killed at that has to begin again.
func (m *manager) during(status string) (done func()) {
	ctx, cancel := context.WithCancel(m.ctx)
	patience := fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", (3 * m.extend).Microseconds())
	m.every(ctx, m.extend, "STATUS="+status, patience)
	return cancel
}

// watch tells the manager from now on that the daemon runs, where it wants to hear that.
func (m *manager) watch() {
	if m.watchdog > 0 {
		m.every(m.ctx, m.watchdog/2, "WATCHDOG=1")
	}
}

// every says lines now, and again and again until the context ends.
func (m *manager) every(ctx context.Context, interval time.Duration, lines ...string) {
	if m.socket == "" {
		return
	}
	m.say(lines...)
	m.tasks.Go(func() {
		tick := time.NewTicker(max(interval, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				m.say(lines...)
			}
		}
	})
}
