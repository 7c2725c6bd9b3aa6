package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strconv"
	"time"

	"logkit/lib/cli"
	"logkit/lib/cluster"
	"logkit/lib/logdir"
	"logkit/lib/registry"
	"logkit/lib/zkserver"
)

// coordination is the ZooKeeper of this logd: the embedded one, or a session with that of --zookeeper.
type coordination struct {
	connect string           // as tools are told it
	server  *zkserver.Server // nil with --zookeeper
	session *registry.Session
}

// isEnsemble tells whether a ZooKeeper is named: else there is the embedded one.
func (o *options) isEnsemble() bool { return len(o.zookeeper.Servers) > 0 }

// openZooKeeper starts the embedded ZooKeeper, unless there is another, and a client of it. It waits for nobody.
func (o *options) openZooKeeper(dir *logdir.Dir, logger *slog.Logger) (*coordination, error) {
	c := &coordination{connect: o.zookeeper.String()}
	options := registry.Options{SessionTimeout: time.Duration(o.zookeeperSession), Logger: logger}
	if !o.isEnsemble() {
		if err := c.embed(o, dir, logger); err != nil {
			return nil, o.explainZooKeeper(dir, err)
		}
		options.Servers, options.Dial = []string{c.server.Addr().String()}, c.server.Dial
	} else {
		options.Servers, options.Chroot = o.zookeeper.Servers, o.zookeeper.Chroot
	}
	session, err := registry.Connect(options)
	if err != nil {
		c.close()
		return nil, fmt.Errorf("option --zookeeper %s: %w", &o.zookeeper, err)
	}
	c.session = session
	return c, nil
}

// embed starts the embedded ZooKeeper. What an earlier run of this broker has registered goes at once.
func (c *coordination) embed(o *options, dir *logdir.Dir, logger *slog.Logger) (err error) {
	c.server, err = zkserver.Open(zkserver.Options{Dir: dir.ZooKeeperDir(), Listen: string(o.zookeeperListen), Logger: logger})
	if err != nil {
		return err
	}
	c.connect = o.toldZooKeeper(c.server.Addr())
	id := dir.BrokerID()
	if session, ok := c.server.Owner("/brokers/ids/" + strconv.Itoa(int(id))); ok && id != logdir.NoBrokerID {
		if err := c.server.ExpireSession(session); err != nil {
			return errors.Join(err, c.server.Close())
		}
	}
	return nil
}

// toldZooKeeper is the address of the embedded ZooKeeper as tools are told it: one that stands for every interface is of
// no use to them.
func (o *options) toldZooKeeper(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil || !isWildcard(host) {
		return address.String()
	}
	told := string(o.advertise)
	if told == "" {
		told = string(o.listen)
	}
	return net.JoinHostPort(hostOf(told), port)
}

// leave ends the session: others see at once that the broker is gone.
func (c *coordination) leave() { c.session.Close() }

func (c *coordination) close() error {
	if c.session != nil {
		c.session.Close()
	}
	if c.server != nil {
		return c.server.Close()
	}
	return nil
}

// watch ends logd, where that is asked for, when the embedded ZooKeeper can write no more.
func (c *coordination) watch(ctx context.Context, fail context.CancelCauseFunc) {
	if c.server == nil {
		return
	}
	select {
	case <-c.server.Failed():
		fail(fmt.Errorf("%w: zookeeper: %w", errLogFailed, c.server.Err()))
	case <-ctx.Done():
	}
}

func (o *options) explainZooKeeperListen(err error) error {
	err = fmt.Errorf("option --zookeeper-listen %s: %w", o.zookeeperListen, withoutCall(err))
	return cli.WithHint(err, "another program has the port; --zookeeper-listen HOST:0 picks a free one, --zookeeper LIST uses a zookeeper that runs")
}

// explainZooKeeper makes an error of the embedded ZooKeeper one of the flags, or says what to do.
func (o *options) explainZooKeeper(dir *logdir.Dir, err error) error {
	var (
		op   *net.OpError
		path *fs.PathError
	)
	switch {
	case errors.As(err, &op):
		return o.explainZooKeeperListen(err)
	case errors.Is(err, zkserver.ErrDamaged):
		err = fmt.Errorf("%s: %w", dir.ZooKeeperDir(), err)
		return cli.WithHint(err, "logs do not depend on it: move that directory away and start with --adopt; offsets of groups are lost with it")
	case errors.As(err, &path):
		return err
	}
	return fmt.Errorf("%s: %w", dir.ZooKeeperDir(), err)
}

// explainJoin says what to do about a directory and a ZooKeeper that do not belong together.
func (o *options) explainJoin(err error) error {
	var (
		other *registry.ClusterError
		empty *cluster.EmptyError
		id    *cluster.IDError
		taken *registry.BrokerIDError
	)
	switch {
	case errors.As(err, &other):
		err = fmt.Errorf("data directory %s: %w", o.dataDir, err)
		return cli.WithHint(err, "if that is right: --adopt makes the directory, with all its topics, a part of that cluster")
	case errors.As(err, &empty):
		hint := "is --zookeeper right? if so: --adopt begins the cluster anew with the topics of this directory"
		if !o.isEnsemble() {
			hint = "is --zookeeper missing? if not: --adopt begins a cluster anew with the topics of this directory"
		}
		return cli.WithHint(err, hint)
	case errors.As(err, &id):
		return cli.WithHint(err, "leave --id out")
	case errors.As(err, &taken):
		return cli.WithHint(err, "another --id, or none to be given a free one; --adopt with --id takes the place of a directory that is gone")
	}
	return err
}
