package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"logkit/lib/broker"
	"logkit/lib/cli"
	"logkit/lib/commitlog"
	"logkit/lib/logdir"
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
	if err := o.check(); err != nil {
		return err
	}
	began := time.Now()
	if env.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(o.memoryLimit) + runtimeMemory)
	}
	logger := slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: o.level()}))
	o.checkDescriptors(logger)

	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	dir, err := logdir.Open(o.fs, o.dataDir, o.dirOptions(logger, fail))
	if err != nil {
		return o.explainOpen(err)
	}
	defer func() {
		if closeErr := dir.Close(); closeErr != nil {
			err = errors.Join(err, closeErr)
			return
		}
		logger.Info("stopped", "data_dir", dir.Path())
	}()
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return o.explainListen(err)
	}
	b, err := broker.New(o.brokerOptions(dir, listener, logger))
	if err != nil {
		listener.Close()
		return err
	}
	ready := func() error {
		logger.Info("started", "address", listener.Addr().String(), "advertised", b.Advertised(), "id", o.id,
			"data_dir", dir.Path(), "topics", len(dir.Topics()), "flush", o.flushPolicy(), "after", time.Since(began).Round(time.Millisecond))
		return o.announce(env, listener.Addr().String())
	}
	return serve(ctx, env, b, ready, o)
}

// serve runs the broker, and tells those who wait for it.
func serve(ctx context.Context, env *cli.Env, b *broker.Broker, ready func() error, o *options) error {
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	served := make(chan error, 1)
	go func() { served <- b.Serve(serving) }() // the listener is open: a client that comes before is served, too
	readyErr := ready()
	if readyErr != nil {
		stop(readyErr)
	}
	select {
	case <-serving.Done():
	case err := <-served:
		served <- err
	}
	notify(env.Getenv("NOTIFY_SOCKET"), "STOPPING=1") // whether anybody hears it makes no difference any more
	err := <-served
	if o.addrFile != "" {
		os.Remove(o.addrFile) // nobody is served there any more
	}
	if cause := context.Cause(ctx); errors.Is(cause, errLogFailed) {
		err = errors.Join(err, cause)
	}
	return errors.Join(readyErr, err)
}

func (o *options) announce(env *cli.Env, address string) error {
	if o.addrFile != "" {
		if err := writeAddrFile(o.addrFile, address); err != nil {
			return fmt.Errorf("option --addr-file: %w", err)
		}
	}
	return notify(env.Getenv("NOTIFY_SOCKET"), "READY=1")
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

func (o *options) brokerOptions(dir *logdir.Dir, listener net.Listener, logger *slog.Logger) broker.Options {
	return broker.Options{
		Dir: dir, Listener: listener, Advertise: o.advertise, NodeID: o.id, Logger: logger,
		AutoCreate: bool(o.autoCreate), Partitions: o.partitions,
		MaxMessageBytes: int32(o.maxMessage), Log: o.logOptions(), Retention: o.retentionOptions(),
		MaxConnections: o.maxConnections, MaxRequestBytes: int(o.maxRequest), MemoryLimit: int64(o.memoryLimit),
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
	return err
}

func (o *options) explainListen(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	err = fmt.Errorf("option --listen %s: %w", o.listen, err)
	if errors.Is(err, syscall.EADDRINUSE) {
		return cli.WithHint(err, "another program has the port; --listen HOST:0 picks a free one")
	}
	return err
}
