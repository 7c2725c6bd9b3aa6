package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logkit/lib/broker"
	"logkit/lib/cli"
	"logkit/lib/commitlog"
	"logkit/lib/logdir"
	"logkit/lib/registry"
	"logkit/lib/vfs"
)

// options are the flags.
type options struct {
	dataDir   string
	listen    cli.Listen
	advertise cli.HostPort
	id        brokerID
	addrFile  string

	zookeeper        cli.ZooKeeper
	zookeeperListen  cli.Listen
	zookeeperSession cli.Duration
	adopt            bool

	partitions int32
	autoCreate cli.Bool

	segmentBytes   cli.Size
	segmentAge     cli.Duration
	flushMessages  int64
	flushInterval  cli.Duration
	retention      cli.Duration
	retentionBytes cli.Size
	retentionCheck cli.Duration
	maxMessage     cli.Size

	maxConnections  int
	maxRequest      cli.Size
	memoryLimit     cli.Size
	exitOnDiskError bool

	logLevel       string
	verbose, quiet bool

	fs vfs.FS // that of the operating system, but in tests
}

func defaults() *options {
	return &options{
		dataDir: defaultDataDir(),
		listen:  "127.0.0.1:9092",
		id:      brokerID{logdir.NoBrokerID},

		zookeeperListen:  "127.0.0.1:2181",
		zookeeperSession: cli.Duration(registry.DefaultSessionTimeout),

		partitions: 1,
		autoCreate: true,

		segmentBytes:   commitlog.DefaultSegmentBytes,
		segmentAge:     cli.Duration(commitlog.DefaultSegmentAge),
		flushInterval:  cli.Duration(commitlog.DefaultFlushInterval),
		retention:      cli.Duration(broker.DefaultRetention),
		retentionCheck: cli.Duration(logdir.DefaultRetentionCheck),
		maxMessage:     broker.DefaultMaxMessageBytes,

		maxConnections: broker.DefaultMaxConnections,
		maxRequest:     broker.DefaultMaxRequestBytes,
		memoryLimit:    broker.DefaultMemoryLimit,

		logLevel: "info",

		fs: vfs.OS,
	}
}

// defaultDataDir is empty where there is no home: then the flag is needed.
func defaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/logd"
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "logd")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share", "logd")
	}
	return ""
}

func newTool() *cli.Tool { return toolFor(defaults()) }

func toolFor(o *options) *cli.Tool {
	return &cli.Tool{
		Name:     "logd",
		Usage:    "keep logs and serve them to Kafka clients",
		Synopsis: []string{"[--data-dir DIR] [--listen HOST:PORT] [--zookeeper LIST] [OPTION]..."},
		Description: "It runs in the foreground until INT or TERM, says what it does on stderr, one line an event, and " +
			"serves every client of the Kafka protocol. Consumers see a record when it is on disk; a producer that asks " +
			"for acks=all is answered then.",
		Flags:     o.flags(),
		EnvPrefix: "LOGD",
		Variables: []string{"GOMEMLIMIT", "NOTIFY_SOCKET", "WATCHDOG_USEC", "XDG_DATA_HOME"},
		Config:    true,
		SignalOK:  true,
		Exits: []cli.Exit{
			{Code: cli.ExitOK, Meaning: "stopped by INT or TERM, everything flushed"},
			{Code: cli.ExitFailed, Meaning: "could not start, or a log could not be flushed at the end, or has failed under --exit-on-disk-error"},
			{Code: cli.ExitUsage, Meaning: "usage: the command line, the environment or the configuration makes no sense"},
		},
		Run: func(ctx context.Context, env *cli.Env, _ []string) error { return run(ctx, env, o) },
	}
}

func (o *options) flags() []ucli.Flag {
	number := func(name, usage string, value ucli.Generic) ucli.Flag {
		return &ucli.GenericFlag{Name: name, Usage: usage, Value: value}
	}
	return []ucli.Flag{
		&ucli.PathFlag{Name: "data-dir", Destination: &o.dataDir, DefaultText: "/var/lib/logd as root, else $XDG_DATA_HOME/logd",
			Usage: "`DIR` that holds the logs; it is made, and locked"},
		&ucli.GenericFlag{Name: "listen", Value: &o.listen, Usage: "address to accept clients on, `HOST:PORT`; port 0 picks one"},
		&ucli.GenericFlag{Name: "advertise", Value: &o.advertise, DefaultText: "the listen address",
			Usage: "address that clients are told, `HOST:PORT`"},
		&ucli.GenericFlag{Name: "id", Usage: "broker id, `N`", Value: &o.id, DefaultText: "kept in the data directory, else given out by ZooKeeper"},
		&ucli.PathFlag{Name: "addr-file", Destination: &o.addrFile,
			Usage: "`FILE` to write the addresses to once clients are served"},

		&ucli.GenericFlag{Name: "zookeeper", Value: &o.zookeeper, DefaultText: "the embedded one",
			Usage: "ZooKeeper that coordinates the cluster, `HOST:PORT[,HOST:PORT]...[/CHROOT]`"},
		&ucli.GenericFlag{Name: "zookeeper-listen", Value: &o.zookeeperListen,
			Usage: "address of the embedded ZooKeeper, `HOST:PORT`; port 0 picks one"},
		number("zookeeper-session", "after which silence ZooKeeper takes this broker for gone", &o.zookeeperSession),
		&ucli.BoolFlag{Name: "adopt", Destination: &o.adopt,
			Usage: "make topics of partitions that ZooKeeper does not know, and move the data directory into its cluster"},

		number("partitions", "partitions of a topic created on first use", cli.Number(&o.partitions, 1, maxPartitions)),
		number("auto-create", "create a topic when a client's metadata request asks for it", &o.autoCreate),

		number("segment-bytes", "size at which a log goes on in another file", &o.segmentBytes),
		number("segment-age", "age at which it does", &o.segmentAge),
		number("flush-messages", "records that may wait for a flush when no producer waits; 0: any number", cli.Number(&o.flushMessages, 0, math.MaxInt64)),
		number("flush-interval", "how long they may", &o.flushInterval),
		number("retention", "age at which records are deleted; 0: never", &o.retention),
		number("retention-bytes", "size of a partition above which its oldest records are deleted; 0: never", &o.retentionBytes),
		number("retention-check", "how often both are looked at", &o.retentionCheck),
		number("max-message-bytes", "largest batch of records", &o.maxMessage),

		number("max-connections", "clients served at the same time", cli.Number(&o.maxConnections, 1, math.MaxInt32)),
		number("max-request-bytes", "largest request", &o.maxRequest),
		number("memory-limit", "memory for all requests that are being read and answered", &o.memoryLimit),
		&ucli.BoolFlag{Name: "exit-on-disk-error", Destination: &o.exitOnDiskError, Usage: "end with 1 when a log can take no more records"},

		number("log-level", "least level that is logged", cli.Enum(&o.logLevel, "debug", "info", "warn", "error")),
		cli.VerboseFlag(&o.verbose),
		cli.QuietFlag(&o.quiet),
	}
}

// maxPartitions of a topic: each has files and a lock of its own.
const maxPartitions = 10_000

// check refuses values that each make sense, but not here, or not together.
func (o *options) check() error {
	for _, d := range []struct {
		flag  string
		value cli.Duration
	}{{"segment-age", o.segmentAge}, {"flush-interval", o.flushInterval}, {"retention-check", o.retentionCheck}} {
		if time.Duration(d.value) < time.Millisecond {
			return cli.Usagef("option --%s %v: at least 1ms", d.flag, time.Duration(d.value))
		}
	}
	for _, s := range []struct {
		flag        string
		value       cli.Size
		least, most cli.Size
	}{
		{"segment-bytes", o.segmentBytes, 1 << 10, math.MaxInt32},
		{"max-message-bytes", o.maxMessage, 1 << 10, math.MaxInt32 / 2},
		{"max-request-bytes", o.maxRequest, 2 << 10, math.MaxInt32 / 2},
	} {
		if s.value < s.least || s.value > s.most {
			return cli.Usagef("option --%s %s: allowed are %s to %s", s.flag, &s.value, &s.least, &s.most)
		}
	}
	switch {
	case o.dataDir == "":
		return cli.Usagef("option --data-dir: missing, and there is no home directory to put it in")
	case o.maxMessage >= o.maxRequest:
		return cli.Usagef("option --max-request-bytes %s: must be more than --max-message-bytes, %s", &o.maxRequest, &o.maxMessage)
	case o.memoryLimit < o.maxRequest+o.maxRequest/4:
		return cli.Usagef("option --memory-limit %s: must be at least a quarter more than --max-request-bytes, %s", &o.memoryLimit, &o.maxRequest)
	case o.verbose && o.quiet:
		return cli.Usagef("options --verbose and --quiet: at most one of them")
	}
	if d := time.Duration(o.zookeeperSession); d < time.Second || d > 5*time.Minute {
		return cli.Usagef("option --zookeeper-session %v: allowed are 1s to 5m", d)
	}
	return o.checkAddresses()
}
