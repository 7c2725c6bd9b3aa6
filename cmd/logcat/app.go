package main

import (
	"context"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logkit/lib/cli"
	"logkit/lib/client"
	"logkit/lib/record"
	"logkit/lib/registry"
)

// options are the flags.
type options struct {
	brokers   []string
	zookeeper cli.ZooKeeper
	timeout   time.Duration

	partition    int32
	delimiter    cli.Escaped
	null         bool
	keyDelimiter cli.Separator
	key          optional
	headers      []record.Field
	tombstones   bool
	crlf         bool
	whole        bool
	json         bool

	codec      string
	acks       string
	linger     cli.Duration
	batchBytes cli.Size
	rate       int64

	tee            bool
	progress       string
	confirm        string
	dryRun         bool
	summary        bool
	verbose, quiet bool
}

// optional is a string that may be empty or not given at all.
type optional struct {
	text  string
	given bool
}

func (o *optional) Set(value string) error {
	o.text, o.given = value, true
	return nil
}

func (o *optional) String() string { return o.text }

func newTool() *cli.Tool {
	o := &options{
		partition:  client.ByKey,
		delimiter:  "\n",
		codec:      "none",
		acks:       "all",
		linger:     cli.Duration(client.DefaultLinger),
		batchBytes: client.DefaultBatchBytes,
	}
	return &cli.Tool{
		Name:     "logcat",
		Usage:    "Send lines from standard input or files to a topic.",
		Synopsis: []string{"[OPTION]... TOPIC [FILE]..."},
		Operands: []cli.Operand{cli.TopicOperand, cli.FileOperand},
		MinArgs:  1,
		MaxArgs:  -1,
		Flags:    o.flags(),
		Description: "Each line is one message, its bytes untouched; blank lines are messages, and a last line without a newline counts. " +
			"The topic is created if it does not exist. A FILE of - is standard input.\n\n" +
			"The exit status is 0 only if every line was acknowledged. The numbers of lines that were refused go to standard error.",
		Exits: cli.Exits(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitUnavailable, cli.ExitHungUp, cli.ExitInterrupted, cli.ExitTerminated),
		Run:   o.run,
	}
}

func (o *options) flags() []ucli.Flag {
	return []ucli.Flag{
		cli.BrokerFlag(&o.brokers), cli.NoZooKeeperFlag(&o.zookeeper), cli.TimeoutFlag(&o.timeout),
		&ucli.GenericFlag{Name: "partition", Aliases: []string{"p"}, Value: cli.Number(&o.partition, 0, 1<<31-1), DefaultText: "by key",
			Usage: "send to partition `N`"},
		&ucli.GenericFlag{Name: "delimiter", Aliases: []string{"d"}, Value: &o.delimiter, Usage: "what ends a message: `STR`, with escapes such as \\n \\t \\0 \\x1e"},
		&ucli.BoolFlag{Name: "null", Aliases: []string{"0"}, Destination: &o.null, Usage: "a NUL ends a message"},
		&ucli.GenericFlag{Name: "key-delimiter", Aliases: []string{"K"}, Value: &o.keyDelimiter, Usage: "what is before the first `STR` of a line is its key"},
		&ucli.GenericFlag{Name: "key", Aliases: []string{"k"}, Value: &o.key, Usage: "the key of every message: `STR`"},
		&ucli.GenericFlag{Name: "header", Aliases: []string{"H"}, Value: cli.Repeated(&o.headers, parseHeader, formatHeader), DefaultText: "none",
			Usage: "add the header `NAME=VALUE` to every message; repeatable"},
		&ucli.BoolFlag{Name: "tombstones", Destination: &o.tombstones, Usage: "an empty value beside a key is null"},
		&ucli.BoolFlag{Name: "crlf", Destination: &o.crlf, Usage: "strip one carriage return before the delimiter"},
		&ucli.BoolFlag{Name: "whole", Aliases: []string{"w"}, Destination: &o.whole, Usage: "each file is one message"},
		cli.JSONFlag(&o.json, "the input is what logtail --json writes"),
		&ucli.GenericFlag{Name: "compress", Aliases: []string{"z"}, Value: cli.Enum(&o.codec, "none", "gzip", "snappy", "lz4", "zstd"), Usage: "compress batches with `CODEC`"},
		&ucli.GenericFlag{Name: "acks", Aliases: []string{"a"}, Value: cli.Enum(&o.acks, "all", "1", "0"), Usage: "wait for `ACKS`, that it is on disk, appended, or nothing"},
		&ucli.GenericFlag{Name: "linger", Value: &o.linger, Usage: "how long a line waits for others"},
		&ucli.GenericFlag{Name: "batch-bytes", Value: &o.batchBytes, Usage: "the largest batch before compression"},
		&ucli.GenericFlag{Name: "rate", Value: cli.Number(&o.rate, 0, 1<<40), DefaultText: "no limit", Usage: "send at most `N` messages a second"},
		&ucli.BoolFlag{Name: "tee", Destination: &o.tee, Usage: "copy the input to standard output as it is acknowledged"},
		&ucli.PathFlag{Name: "progress", Destination: &o.progress, Usage: "keep in `FILE` how much of the input is acknowledged, and go on from there"},
		&ucli.PathFlag{Name: "confirm", Destination: &o.confirm, Usage: "with --json: write to `FILE` the source of each message that is acknowledged, TOPIC PARTITION NEXT-ID"},
		&ucli.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Destination: &o.dryRun, Usage: "send nothing, say what would be sent"},
		&ucli.BoolFlag{Name: "summary", Destination: &o.summary, Usage: "say at the end how many messages were acknowledged, their bytes, and the time"},
		worded(cli.VerboseFlag(&o.verbose), "the summary, and a receipt for each batch: PARTITION FIRST-ID COUNT"),
		worded(cli.QuietFlag(&o.quiet), "no hints, no progress, no counts when it is interrupted"),
	}
}

// worded gives a shared switch this tool's own words.
func worded(f ucli.Flag, usage string) ucli.Flag {
	f.(*ucli.BoolFlag).Usage = usage
	return f
}

// check refuses flags that contradict each other.
func (o *options) check() error {
	own := o.delimiter != "\n"
	for _, pair := range []struct {
		wrong bool
		text  string
	}{
		{o.delimiter == "", "--delimiter: empty, allowed is at least one byte; for a whole file as one message there is --whole"},
		{o.null && own, "--null and --delimiter exclude each other"},
		{o.whole && (o.null || own || o.crlf || o.json), "--whole excludes --delimiter, --null, --crlf and --json"},
		{o.key.given && o.keyDelimiter != "", "--key and --key-delimiter exclude each other"},
		{o.json && (o.keyDelimiter != "" || o.crlf || o.tombstones), "--json excludes --key-delimiter, --crlf and --tombstones: the input says it all"},
		{o.dryRun && o.tee, "--dry-run and --tee exclude each other: nothing is acknowledged"},
		{o.confirm != "" && !o.json, "--confirm needs --json: only that tells where a message was read"},
		{o.confirm != "" && o.dryRun, "--dry-run and --confirm exclude each other: nothing is acknowledged"},
		{o.confirm != "" && o.progress != "", "--confirm and --progress exclude each other: whoever reads --confirm knows where to go on"},
		{o.batchBytes < 1, "--batch-bytes: 0, allowed is at least 1"},
		{o.verbose && o.quiet, "--verbose and --quiet exclude each other"},
		{o.summary && o.quiet, "--summary and --quiet exclude each other"},
	} {
		if pair.wrong {
			return cli.Usagef("%s", pair.text)
		}
	}
	return nil
}

// shape is how the options make records of lines.
func (o *options) shape() shape {
	s := shape{json: o.json, sources: o.confirm != "", headers: o.headers, tombstones: o.tombstones}
	if o.keyDelimiter != "" {
		s.keyDelimiter = []byte(o.keyDelimiter)
	}
	if o.key.given {
		s.key = []byte(o.key.text)
	}
	return s
}

// splitAt is the delimiter, nil for none.
func (o *options) splitAt() []byte {
	switch {
	case o.whole:
		return nil
	case o.null:
		return []byte{0}
	}
	return []byte(o.delimiter)
}

func (o *options) run(ctx context.Context, env *cli.Env, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := registry.CheckTopic(args[0]); err != nil {
		return cli.WithCode(cli.ExitUsage, err)
	}
	t, err := newTransfer(ctx, o, env, args[0], args[1:])
	if err != nil {
		return err
	}
	if o.dryRun {
		t.sink = &rehearsal{}
		return t.run(ctx, args[1:])
	}
	c, err := client.New(client.Options{Brokers: o.brokers, Timeout: o.timeout, ClientID: env.Name, Acks: acks[o.acks]})
	if err != nil {
		return err
	}
	defer c.Close()
	codec, err := record.ParseCodec(o.codec)
	if err != nil {
		return err
	}
	p, err := c.NewProducer(ctx, client.ProducerOptions{
		Topic: args[0], Partition: o.partition, Codec: codec, Linger: time.Duration(o.linger), BatchBytes: int(min(o.batchBytes, 1<<30)),
		Acked: t.acked, Refused: t.refused,
	})
	if err != nil {
		return coded(err)
	}
	t.sink = p
	return t.run(ctx, args[1:])
}

var acks = map[string]client.Acks{"all": client.AcksAll, "1": client.AcksOne, "0": client.AcksNone}
