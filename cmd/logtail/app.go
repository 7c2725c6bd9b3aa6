package main

import (
	"context"
	"fmt"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logkit/lib/assign"
	"logkit/lib/cli"
	"logkit/lib/client"
	"logkit/lib/format"
	"logkit/lib/registry"
)

// options are the flags.
type options struct {
	brokers []string
	timeout time.Duration

	lines      lines
	offset     cli.Offset
	until      cli.Offset
	follow     bool
	retry      bool
	exit       bool
	partitions []int32
	count      int64
	idle       cli.Timeout
	cursor     string

	group          groupName
	from           origin
	confirm        string
	strategy       string
	zookeeper      cli.ZooKeeper
	sessionTimeout cli.Duration

	format       format.TemplateFlag
	json         bool
	keyDelimiter cli.Separator
	delimiter    delimiter
	null         bool
	raw          bool
	noHeaders    bool
	headers      bool

	verbose, quiet bool
}

// lines is -n, which is another thing when it is given than when it is not.
type lines struct {
	cli.Lines
	given bool
}

func (l *lines) Set(value string) error {
	l.given = true
	return l.Lines.Set(value)
}

// delimiter is -d, which may be empty.
type delimiter struct {
	cli.Escaped
	given bool
}

func (d *delimiter) Set(value string) error {
	d.given = true
	return d.Escaped.Set(value)
}

const defaultLines = 10

func newTool() *cli.Tool {
	o := &options{from: "earliest", strategy: string(assign.Range), sessionTimeout: cli.Duration(registry.DefaultSessionTimeout), lines: lines{Lines: cli.Lines{N: defaultLines}}, delimiter: delimiter{Escaped: "\n"}}
	return &cli.Tool{
		Name:     "logtail",
		Usage:    "Print the messages of topics.",
		Synopsis: []string{"[OPTION]... TOPIC..."},
		Operands: []cli.Operand{cli.TopicOperand},
		MinArgs:  1,
		MaxArgs:  -1,
		Flags:    o.flags(),
		Description: "Prints the last 10 messages of each TOPIC, merged by time over its partitions. Without -f it ends at the end as it was at the start, " +
			"however busy the producers are. With -g several processes share what there is, and go on where their group has got to.\n\n" +
			"OFFSET is earliest, latest, an id, @TIME or -DURATION (ago). Nothing is created by reading.",
		Run: o.run,
	}
}

func (o *options) flags() []ucli.Flag {
	return []ucli.Flag{
		cli.BrokerFlag(&o.brokers), cli.ZooKeeperFlag(&o.zookeeper), cli.TimeoutFlag(&o.timeout),
		&ucli.GenericFlag{Name: "lines", Aliases: []string{"n"}, Value: &o.lines, Usage: "the last `N` messages; +N: from the N-th retained one on"},
		&ucli.GenericFlag{Name: "offset", Aliases: []string{"o"}, Value: &o.offset, Usage: "start at `OFFSET` instead, in each partition"},
		&ucli.GenericFlag{Name: "until", Value: &o.until, Usage: "end before `OFFSET`, in each partition"},
		&ucli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Destination: &o.follow, Usage: "go on with what comes, in new partitions too"},
		&ucli.BoolFlag{Name: "retry", Aliases: []string{"F"}, Destination: &o.retry, Usage: "follow, and wait for topics that do not exist yet"},
		&ucli.BoolFlag{Name: "exit-at-end", Aliases: []string{"e"}, Destination: &o.exit, Usage: "end at the end: what happens without -f anyway"},
		&ucli.GenericFlag{Name: "partition", Aliases: []string{"p"}, Value: cli.Partitions(&o.partitions), DefaultText: "all", Usage: "only partition `N`; repeatable"},
		&ucli.GenericFlag{Name: "count", Aliases: []string{"c"}, Value: cli.Number(&o.count, 1, 1<<62), DefaultText: "no limit", Usage: "end after `N` messages"},
		&ucli.GenericFlag{Name: "idle", Value: &o.idle, DefaultText: "never", Usage: "end when nothing came for so long"},
		&ucli.PathFlag{Name: "cursor", Destination: &o.cursor, Usage: "start from, and keep, the position in `FILE`"},
		&ucli.GenericFlag{Name: "group", Aliases: []string{"g"}, Value: &o.group, Usage: "as a member of group `G`, which shares the partitions and keeps the position"},
		&ucli.GenericFlag{Name: "from", Value: &o.from, Usage: "with -g, where to start when the group has no position"},
		&ucli.PathFlag{Name: "confirm", Destination: &o.confirm, Usage: "with -g, commit only positions that are read back from `FILE`, a FIFO"},
		&ucli.GenericFlag{Name: "strategy", Value: cli.Enum(&o.strategy, assign.Strategies()...), Usage: "with -g, how the members share the partitions"},
		&ucli.GenericFlag{Name: "session-timeout", Value: &o.sessionTimeout, Usage: "with -g, how long a member may be silent before others take over"},
		&ucli.GenericFlag{Name: "format", Value: &o.format, DefaultText: "the value and a newline", Usage: "print what `STR` says: %t %p %o %k %K %s %S %h %T %R %%, and escapes"},
		cli.JSONFlag(&o.json, "print each message as a JSON object on a line"),
		&ucli.GenericFlag{Name: "key-delimiter", Aliases: []string{"K"}, Value: &o.keyDelimiter, Usage: "print the key and `STR` before the value"},
		&ucli.GenericFlag{Name: "delimiter", Aliases: []string{"d"}, Value: &o.delimiter, Usage: "print `STR`, with escapes, after each message"},
		&ucli.BoolFlag{Name: "null", Aliases: []string{"0"}, Destination: &o.null, Usage: "print a NUL after each message"},
		&ucli.BoolFlag{Name: "raw", Destination: &o.raw, Usage: "print nothing after a message, and all bytes as they are even on a terminal"},
		&ucli.BoolFlag{Name: "no-headers", Aliases: []string{"q"}, Destination: &o.noHeaders, Usage: "never print ==> topic <== lines"},
		&ucli.BoolFlag{Name: "headers", Aliases: []string{"v"}, Destination: &o.headers, Usage: "always print ==> topic <== lines"},
		&ucli.BoolFlag{Name: "verbose", Destination: &o.verbose, Usage: "say at the end how many messages were printed"},
		&ucli.BoolFlag{Name: "quiet", Destination: &o.quiet, Usage: "do not tell when a broker goes away or comes back"},
	}
}

// check refuses flags that contradict each other.
func (o *options) check() error {
	styles := 0
	for _, is := range []bool{o.format.Template != nil, o.json, o.raw} {
		if is {
			styles++
		}
	}
	shaped := o.null || o.delimiter.given || o.keyDelimiter != ""
	for _, pair := range []struct {
		wrong bool
		text  string
	}{
		{o.exit && o.following(), "--exit-at-end and --follow exclude each other"},
		{o.lines.given && o.offset.IsSet(), "--lines and --offset exclude each other"},
		{o.backwards(), fmt.Sprintf("--until %s is before --offset %s", o.until.String(), o.offset.String())},
		{o.lines.given && o.cursor != "", "--lines and --cursor exclude each other"},
		{styles > 1, "--format, --json and --raw exclude each other"},
		{o.null && o.delimiter.given, "--null and --delimiter exclude each other"},
		{o.group == "" && o.confirm != "", "--confirm needs --group"},
		{o.group == "" && o.from != "earliest", "--from needs --group: --offset says where to start without one"},
		{o.group == "" && o.strategy != string(assign.Range), "--strategy needs --group"},
		{o.group == "" && time.Duration(o.sessionTimeout) != registry.DefaultSessionTimeout, "--session-timeout needs --group"},
		{o.group != "" && (o.lines.given || o.offset.IsSet()), "--group excludes --lines and --offset: it starts where the group is, see --from"},
		{o.group != "" && o.until.IsSet(), "--group excludes --until"},
		{o.group != "" && o.partitions != nil, "--group excludes --partition: the members share them all"},
		{o.group != "" && o.cursor != "", "--group excludes --cursor: the group keeps the position"},
		{time.Duration(o.sessionTimeout) < minSession || time.Duration(o.sessionTimeout) > maxSession,
			fmt.Sprintf("--session-timeout %s: allowed are %v to %v, which every ZooKeeper grants", o.sessionTimeout.String(), minSession, maxSession)},
		{o.raw && (o.null || o.delimiter.given), "--raw excludes --delimiter and --null"},
		{shaped && (o.json || o.format.Template != nil), "--format and --json exclude --delimiter, --null and --key-delimiter"},
		{o.headers && o.noHeaders, "--headers and --no-headers exclude each other"},
		{o.headers && o.json, "--headers and --json exclude each other: the topic is in each object"},
		{o.verbose && o.quiet, "--verbose and --quiet exclude each other"},
	} {
		if pair.wrong {
			return cli.Usagef("%s", pair.text)
		}
	}
	return nil
}

// backwards reports whether --until lies before --offset, as far as that can be told without a broker.
func (o *options) backwards() bool {
	now := time.Now()
	from, until := o.offset.Resolve(now), o.until.Resolve(now)
	comparable := from.Kind == until.Kind && (from.Kind == cli.OffsetID || from.Kind == cli.OffsetTime)
	return comparable && until.Value < from.Value
}

// Bounds of a session timeout that a ZooKeeper with a tick of 2 s, as all have, grants as it stands.
const (
	minSession = 4 * time.Second
	maxSession = 40 * time.Second
)

func (o *options) following() bool { return o.follow || o.retry }

// printer is how the options print a message.
func (o *options) printer(terminal bool) format.Printer {
	if o.raw { // bytes as they are, also on a terminal
		terminal, o.delimiter.Escaped = false, ""
	}
	return format.Choice{
		JSON: o.json, Template: o.format.Template, Null: o.null, Delimiter: string(o.delimiter.Escaped),
		KeyDelimiter: string(o.keyDelimiter), Terminal: terminal,
	}.Printer()
}

func (o *options) run(ctx context.Context, env *cli.Env, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	for _, topic := range args {
		if err := registry.CheckTopic(topic); err != nil {
			return cli.WithCode(cli.ExitUsage, err)
		}
	}
	ctx = env.WatchStdout(ctx)
	c, err := client.New(client.Options{Brokers: o.brokers, Timeout: o.timeout, ClientID: env.Name})
	if err != nil {
		return err
	}
	defer c.Close()
	if o.group != "" {
		return newShare(o, env, c).run(ctx, args)
	}
	return newTail(o, env, c).run(ctx, args)
}
