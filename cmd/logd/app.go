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

	maxConnections  int
	limits          limits
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

		maxConnections: broker.DefaultMaxConnections,
		limits:         defaultLimits(),

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
		Usage:    "Keep logs and serve them to Kafka clients.",
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
		Check: o.check,
		Run:   func(ctx context.Context, env *cli.Env, _ []string) error { return run(ctx, env, o) },
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
		number("zookeeper-session", "after which silence ZooKeeper takes this broker for gone", durations(&o.zookeeperSession, time.Second, 5*time.Minute)),
		&ucli.BoolFlag{Name: "adopt", Destination: &o.adopt,
			Usage: "make topics of partitions that ZooKeeper does not know, and move the data directory into its cluster"},

		number("partitions", "partitions of a topic created on first use", cli.Number(&o.partitions, 1, maxPartitions)),
		number("auto-create", "create a topic when a client's metadata request asks for it", &o.autoCreate),

		number("segment-bytes", "size at which a log goes on in another file", sizes(&o.segmentBytes, 1<<10, math.MaxInt32)),
		number("segment-age", "age at which it does", durations(&o.segmentAge, time.Millisecond, 0)),
		number("flush-messages", "records that may wait for a flush when no producer waits; 0: any number", cli.Number(&o.flushMessages, 0, math.MaxInt64)),
		number("flush-interval", "how long they may", durations(&o.flushInterval, time.Millisecond, 0)),
		number("retention", "age at which records are deleted; 0: never", durations(&o.retention, 0, 0)),
		number("retention-bytes", "size of a partition above which its oldest records are deleted; 0: never", &o.retentionBytes),
		number("retention-check", "how often both are looked at", durations(&o.retentionCheck, time.Millisecond, 0)),
		number("max-message-bytes", "largest batch of records", o.limits.message),

		number("max-connections", "clients served at the same time", cli.Number(&o.maxConnections, 1, math.MaxInt32)),
		number("max-request-bytes", "largest request", o.limits.request),
		number("memory-limit", "memory for all requests that are being read and answered", o.limits.memory),
		&ucli.BoolFlag{Name: "exit-on-disk-error", Destination: &o.exitOnDiskError, Usage: "end with 1 when a log can take no more records"},

		number("log-level", "least level that is logged", cli.Enum(&o.logLevel, "debug", "info", "warn", "error")),
		cli.VerboseFlag(&o.verbose),
		cli.QuietFlag(&o.quiet),
	}
}

// maxPartitions of a topic: each has files and a lock of its own.
const maxPartitions = 10_000
