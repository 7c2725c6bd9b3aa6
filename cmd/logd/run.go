package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"logkit/lib/broker"
	"logkit/lib/cli"
	"logkit/lib/cluster"
	"logkit/lib/commitlog"
	"logkit/lib/logdir"
	"logkit/lib/vfs"
)

// drainTimeout is how long clients may take for what they are owed when logd stops. Flushing comes behind it, and two
// seconds are promised for all.
const drainTimeout = 1200 * time.Millisecond

// runtimeMemory is what the process needs beside what --memory-limit bounds, roughly: it sets the garbage collector's
// limit, above which it works harder, and nothing is refused.
const runtimeMemory = 64 << 20

// errLogFailed is why logd ends under --exit-on-disk-error.
var errLogFailed = errors.New("a log has failed")

// run opens the data directory, serves until the context ends, and closes it.
func run(ctx context.Context, env *cli.Env, o *options) (err error) {
	if err := o.checkAddrFile(); err != nil {
		return err
	}
	began := time.Now()
	if env.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(*o.limits.memory.Size) + runtimeMemory)
	}
	logger := o.logger(env)
	o.checkDescriptors(logger)
	manager := newManager(env.Getenv)
	defer manager.close()

	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if _, err := os.Stat(o.dataDir); errors.Is(err, fs.ErrNotExist) {
		if err := o.probeBoth(); err != nil {
			return err
		}
	}
	started := false
	opened := manager.during("opening " + o.dataDir)
	dir, err := logdir.Open(o.fs, o.dataDir, o.dirOptions(logger, fail))
	opened()
	if err != nil {
		return o.explainOpen(err)
	}
	defer func() {
		defer manager.during("closing " + dir.Path())()
		if closeErr := dir.Close(); closeErr != nil {
			err = errors.Join(err, closeErr)
			return
		}
		if started || err == nil { // else it is the error that is to be said
			logger.Info("stopped", "data_dir", dir.Path())
		}
	}()
	zookeeper, err := o.openZooKeeper(dir, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, zookeeper.close()) }()
	if o.exitOnDiskError {
		go zookeeper.watch(ctx, fail)
	}
	if err := o.probe(); err != nil {
		return err
	}
	manager.say("STATUS=waiting for zookeeper " + zookeeper.connect)
	member, err := cluster.Join(ctx, o.clusterOptions(dir, zookeeper, logger))
	if err != nil {
		if ctx.Err() != nil {
			return failedLog(ctx) // else it was told to stop before it had begun
		}
		return o.explainJoin(err)
	}
	listener, err := net.Listen("tcp", string(o.listen))
	if err != nil {
		return o.explainListen(err)
	}
	b, err := broker.New(o.brokerOptions(member, zookeeper, listener, logger))
	if err != nil {
		listener.Close()
		return err
	}
	d := &instance{options: o, env: env, broker: b, member: member, zookeeper: zookeeper, manager: manager}
	return d.serve(ctx, func() {
		started = true
		logger.Info("started", "address", listener.Addr().String(), "advertised", b.Advertised(), "id", member.ID(),
			"cluster", member.ClusterID(), "zookeeper", zookeeper.connect, "data_dir", dir.Path(), "topics", len(dir.Topics()),
			"flush", o.flushPolicy(), "after", time.Since(began).Round(time.Millisecond))
	}, listener.Addr().String())
}

// instance is a logd that serves.
type instance struct {
	options   *options
	env       *cli.Env
	broker    *broker.Broker
	member    *cluster.Member
	zookeeper *coordination
	manager   *manager
	telling   sync.Mutex
	told      []byte // what the file of --addr-file holds
}

// serve runs the broker, and tells those who wait for it once it is registered. It leaves the cluster before it takes
// its leave of clients.
func (d *instance) serve(ctx context.Context, started func(), address string) error {
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	served, joined := make(chan error, 1), make(chan error, 1)
	go func() { served <- d.broker.Serve(serving) }() // the listener is open: a client that comes before is served, too
	go func() {
		err := d.member.Run(serving, func() error {
			started()
			return d.announce(serving, address)
		})
		if err != nil {
			stop(err)
		}
		d.zookeeper.leave()
		joined <- err
	}()
	select {
	case <-serving.Done():
	case err := <-served:
		stop(err)
		served <- err
	}
	d.unannounce()
	return errors.Join(d.options.explainJoin(<-joined), <-served, failedLog(ctx))
}

// failedLog returns why a context has ended when that was a log: under --exit-on-disk-error.
func failedLog(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errLogFailed) {
		return cause
	}
	return nil
}

// announce tells those who wait for it that clients are served, unless they are not any more.
func (d *instance) announce(serving context.Context, address string) error {
	d.telling.Lock()
	defer d.telling.Unlock()
	if serving.Err() != nil {
		return nil
	}
	if d.options.addrFile != "" {
		// It appears whole, by a rename, and only when clients are served.
		text := addrText(address, d.zookeeper.connect)
		if err := vfs.WriteFileAtomic(vfs.OS, d.options.addrFile, text); err != nil {
			return fmt.Errorf("option --addr-file: %w", err)
		}
		d.told = text
	}
	d.manager.watch()
	return d.manager.ready(serving, "serving "+d.broker.Advertised())
}

func (d *instance) unannounce() {
	d.telling.Lock()
	defer d.telling.Unlock()
	d.manager.say("STOPPING=1", "STATUS=answering what was asked")
	if d.told != nil {
		removeAddrFile(d.options.addrFile, d.told)
	}
}

func (o *options) level() slog.Level {
	switch {
	case o.verbose:
		return slog.LevelDebug
	case o.quiet:
		return slog.LevelError
	}
	var level slog.Level
	level.UnmarshalText([]byte(o.logLevel)) // the flag takes known names only
	return level
}

func (o *options) logOptions() commitlog.Options {
	return commitlog.Options{
		SegmentBytes:  int64(o.segmentBytes),
		SegmentAge:    time.Duration(o.segmentAge),
		FlushMessages: o.flushMessages,
		FlushInterval: time.Duration(o.flushInterval),
	}
}

func (o *options) retentionOptions() commitlog.Retention {
	return commitlog.Retention{Age: time.Duration(o.retention), Bytes: int64(o.retentionBytes)}
}

func (o *options) dirOptions(logger *slog.Logger, fail context.CancelCauseFunc) logdir.Options {
	log := o.logOptions()
	if o.exitOnDiskError {
		log.OnFailure = func(err error) { fail(fmt.Errorf("%w: %w", errLogFailed, err)) }
	}
	return logdir.Options{
		Log: log, Retention: o.retentionOptions(), RetentionCheck: time.Duration(o.retentionCheck), Logger: logger,
	}
}

func (o *options) clusterOptions(dir *logdir.Dir, zookeeper *coordination, logger *slog.Logger) cluster.Options {
	return cluster.Options{
		Session: zookeeper.session, Dir: dir, ID: o.id.value, Alone: zookeeper.server != nil, Adopt: o.adopt || zookeeper.server != nil, Move: o.adopt, Logger: logger,
	}
}

func (o *options) brokerOptions(member *cluster.Member, zookeeper *coordination, listener net.Listener, logger *slog.Logger) broker.Options {
	return broker.Options{
		Member: member, Listener: listener, Advertise: string(o.advertise), ZooKeeper: zookeeper.connect, Logger: logger,
		AutoCreate: bool(o.autoCreate), Partitions: o.partitions,
		MaxMessageBytes: int32(*o.limits.message.Size), Log: o.logOptions(), Retention: o.retentionOptions(),
		MaxConnections: o.maxConnections, MaxRequestBytes: int(*o.limits.request.Size), MemoryLimit: int64(*o.limits.memory.Size),
		ShutdownTimeout: drainTimeout,
	}
}

// flushPolicy says when what no producer waits for is durable and visible.
func (o *options) flushPolicy() string {
	policy := "acks=all at once, others within " + o.flushInterval.String()
	if o.flushMessages > 0 {
		policy += fmt.Sprintf(" or %d records", o.flushMessages)
	}
	return policy
}

// checkDescriptors says so when the limit on open files is below what the other limits allow.
func (o *options) checkDescriptors(logger *slog.Logger) {
	const others = 64 + 256 // the runtime's and the logs' own
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return
	}
	if need := uint64(o.maxConnections) + others; limit.Cur < need {
		logger.Warn("limit on open files is low", "limit", limit.Cur, "max_connections", o.maxConnections, "wanted", need,
			"hint", "raise it (ulimit -n), or lower --max-connections")
	}
}

func (o *options) explainOpen(err error) error {
	if errors.Is(err, logdir.ErrLocked) {
		return cli.WithHint(err, "another logd runs on it; give this one a directory of its own with --data-dir")
	}
	if info, missing := os.Lstat(o.dataDir); missing == nil && info.Mode()&fs.ModeSymlink != 0 && errors.Is(err, fs.ErrExist) {
		return cli.WithHint(err, "it is a symbolic link to what does not exist: make that directory, or mount what it is on")
	}
	return err
}

func (o *options) explainListen(err error) error {
	err = fmt.Errorf("option --listen %s: %w", o.listen, withoutCall(err))
	if errors.Is(err, syscall.EADDRINUSE) {
		return cli.WithHint(err, "another program has the port; --listen HOST:0 picks a free one")
	}
	return err
}
