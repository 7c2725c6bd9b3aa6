package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"syscall"
	"time"

	"logkit/lib/cli"
	"logkit/lib/client"
	"logkit/lib/registry"
)

// need says what a command asks of a cluster.
type need int

const (
	registryOnly  need = iota // ZooKeeper, to look at; a broker only to learn where it is
	registryEdit              // ZooKeeper, to change what is there
	brokerIfThere             // also the logs, where somebody answers for them
	needsBroker               // also the logs
)

// logs is what the brokers tell of their partitions: a part of client.Client.
type logs interface {
	Topic(ctx context.Context, name string, create bool) (client.Topic, error)
	Offsets(ctx context.Context, topic string, partitions []int32, at int64) (map[int32]int64, error)
}

// session is what a command works with.
type session struct {
	*registry.Session
	logs    logs // nil: no broker is to be had
	client  *client.Client
	env     *cli.Env
	o       *options
	address string // of ZooKeeper, for messages
	away    error  // why no broker is to be had
	now     func() time.Time
	chunk   int   // partitions that are reset in one step
	undo    *undo // nil without --undo-file
}

// resetChunk is what registry.Group.Reset takes at a time.
const resetChunk = 5000

// with gives a command its session. What is wrong with its options is said before anybody is asked.
func (o *options) with(n need, run func(context.Context, *session, []string) error, checks ...func() error) func(context.Context, *cli.Env, []string) error {
	return func(ctx context.Context, env *cli.Env, args []string) error {
		if err := o.checkLoudness(); err != nil {
			return err
		}
		for _, check := range checks {
			if err := check(); err != nil {
				return err
			}
		}
		return coded(o.run(ctx, env, n, args, run))
	}
}

func (o *options) checkLoudness() error {
	if o.verbose && o.quiet {
		return cli.Usagef("--verbose and --quiet exclude each other")
	}
	return nil
}

func (o *options) run(ctx context.Context, env *cli.Env, n need, args []string, run func(context.Context, *session, []string) error) error {
	if o.once {
		limited, cancel := context.WithTimeout(ctx, o.timeout)
		defer cancel()
		ctx = limited
	}
	s, err := o.open(ctx, o, env, n)
	if err != nil {
		return err
	}
	defer s.close()
	guarded, cancel := context.WithCancelCause(ctx)
	guards := make(chan struct{})
	go func() {
		defer close(guards)
		s.guard(guarded, cancel)
	}()
	err = run(guarded, s, args)
	lost := new(client.ZooKeeperError)
	if errors.As(context.Cause(guarded), &lost) && errors.Is(err, context.Canceled) {
		err = lost
	}
	cancel(nil)
	<-guards
	if _, told := signalled(ctx); told && err == nil {
		return cli.WithCode(cli.ExitOK, cli.ErrReported) // all was done when the signal came
	}
	return err
}

// signalled returns the exit status of a run that a signal has ended before all was done.
func signalled(ctx context.Context) (code int, is bool) {
	var s cli.SignalError
	if !errors.As(context.Cause(ctx), &s) {
		return 0, false
	}
	number, _ := s.Signal.(syscall.Signal)
	return 128 + int(number), true
}

// open returns a session, which the caller closes.
func open(ctx context.Context, o *options, env *cli.Env, n need) (*session, error) {
	c, err := client.New(client.Options{Brokers: o.brokers, Timeout: o.timeout, Once: o.once, ClientID: env.Name})
	if err != nil {
		return nil, err
	}
	s := &session{env: env, o: o, client: c, logs: c, now: time.Now, chunk: resetChunk, address: o.zookeeper.String()}
	if err := s.dial(ctx, n); err != nil {
		c.Close()
		return nil, err
	}
	return s, nil
}

func (s *session) close() {
	s.Close()
	if s.client != nil {
		s.client.Close()
	}
}

// dial opens the way to ZooKeeper. One that was named is enough for commands that need no broker: then none is asked, but
// one that was named, too, whether they belong together.
func (s *session) dial(ctx context.Context, n need) (err error) {
	named := client.ZooKeeper{Servers: s.o.zookeeper.Servers, Chroot: s.o.zookeeper.Chroot, Once: s.o.once}
	if len(named.Servers) == 0 {
		s.address = "of the broker"
	}
	if (n == registryOnly || n == registryEdit) && len(named.Servers) > 0 {
		s.logs = nil
		s.Session, err = client.DialZooKeeper(ctx, named, s.o.timeout)
		if err == nil && s.o.brokerNamed() {
			if err = s.compare(ctx, n, named); err != nil {
				s.Session.Close()
			}
		}
		return err
	}
	s.Session, err = s.client.DialZooKeeper(ctx, named)
	if n == brokerIfThere && len(named.Servers) > 0 && errors.Is(err, client.ErrUnavailable) && !errors.As(err, new(*client.ZooKeeperError)) {
		s.logs, s.away = nil, err
		s.Session, err = client.DialZooKeeper(ctx, named, s.o.timeout)
	}
	return err
}

// briefly is how long a broker is waited for that only has to say which cluster is its own, of somebody who looks.
const briefly = time.Second

// compare refuses a ZooKeeper that is not that of the broker which was named beside it. Where the broker is not reachable
// it may be looked at, and not changed: what is a stranger's would be changed for good.
func (s *session) compare(ctx context.Context, n need, named client.ZooKeeper) error {
	wait := s.o.timeout
	if n == registryOnly {
		wait = min(wait, briefly)
	}
	err := s.client.SameCluster(ctx, s.Session, named, wait)
	if n != registryOnly || !errors.Is(err, client.ErrUnavailable) || errors.As(err, new(*client.ZooKeeperError)) {
		return err
	}
	if !s.o.quiet {
		s.env.Say("%v; whether zookeeper %s is of its cluster is not known", err, named)
	}
	return nil
}

// guard ends a command that ZooKeeper has left in its midst: requests wait for it as long as their context lives.
func (s *session) guard(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		limited, stop := context.WithTimeout(ctx, s.o.timeout)
		lease, err := s.Lease(limited)
		stop()
		if err != nil {
			if ctx.Err() == nil {
				cancel(&client.ZooKeeperError{Addr: s.address, Err: fmt.Errorf("connection lost, and not back within %v", s.o.timeout)})
			}
			return
		}
		select {
		case <-lease.Done():
		case <-ctx.Done():
			return
		}
	}
}

// coded gives an error its exit status, of several that are joined each one its own: 75 is for those that have nothing else
// wrong.
func coded(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && reflect.TypeOf(err) == reflect.TypeOf(errors.Join(err)) {
		var parts []error
		for _, part := range joined.Unwrap() {
			parts = append(parts, coded(part))
		}
		return errors.Join(parts...)
	}
	if errors.Is(err, client.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) { // of --once
		return cli.Unavailable(err)
	}
	return err
}

// group returns a group that is there: looking at one must not make it.
func (s *session) group(ctx context.Context, name string) (*registry.Group, error) {
	g, err := s.Group(name)
	if err != nil {
		return nil, err
	}
	found, err := g.Exists(ctx)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, &unknownGroupError{name}
	}
	return g, nil
}

type unknownGroupError struct{ name string }

func (e *unknownGroupError) Error() string { return fmt.Sprintf("group %q: no such group", e.name) }
func (e *unknownGroupError) Hint() string  { return "'logrebalance list' shows those that there are" }

// print writes lines to standard output.
func print[T cli.Row](s *session, lines []T) error {
	if s.o.json {
		text, err := cli.Objects(lines)
		if err != nil {
			return err
		}
		return s.write(text)
	}
	return s.write(table(lines, s.width()))
}

func (s *session) write(text []byte) error {
	if _, err := s.env.Stdout.Write(text); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// atOnce is how many groups or topics are looked at at a time; each costs the registry some requests at a time.
const atOnce = 8

// each calls f for all numbers below n, some at a time, and returns the first error.
func each(n int, f func(i int) error) error { return registry.Each(n, atOnce, f) }

// together calls functions at the same time, and returns the first error.
func together(all ...func() error) error {
	return each(len(all), func(i int) error { return all[i]() })
}
