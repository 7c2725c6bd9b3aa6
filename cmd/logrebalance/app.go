package main

import (
	"context"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logkit/lib/assign"
	"logkit/lib/cli"
)

// options are the flags, of all commands.
type options struct {
	brokers        []string
	unnamed        []string // the default of brokers
	zookeeper      cli.ZooKeeper
	timeout        time.Duration
	once           bool
	json           bool
	verbose, quiet bool

	all      bool
	watch    bool
	interval time.Duration
	wait     time.Duration

	members  []string
	strategy string

	topics    []selection
	allTopics bool
	allGroups bool
	to        cli.Offset
	shift     *int64
	fromFile  string
	undoFile  string
	waitEmpty time.Duration
	live      bool
	execute   bool

	warning, critical *cli.Size
	records           bool
	batch             bool

	open func(context.Context, *options, *cli.Env, need) (*session, error)
}

func newTool() *cli.Tool { return (&options{open: open}).tool() }

func (o *options) tool() *cli.Tool {
	o.interval = defaultInterval
	group := []cli.Operand{cli.GroupOperand}
	brokers := cli.BrokerFlag(&o.brokers)
	o.unnamed = o.brokers
	return &cli.Tool{
		Name: "logrebalance", Usage: "Show consumer groups, and move what they have committed.",
		Synopsis: []string{"[OPTION]... COMMAND [GROUP]..."},
		Flags: []ucli.Flag{
			brokers, cli.ZooKeeperFlag(&o.zookeeper), cli.TimeoutFlag(&o.timeout), cli.OnceFlag(&o.once),
			cli.JSONFlag(&o.json, "an object a line instead of columns"),
			cli.VerboseFlag(&o.verbose), cli.QuietFlag(&o.quiet),
		},
		Commands: []*cli.Tool{
			{Name: "list", Usage: "List all groups, with their kind, members and topics; with --quiet only their names.",
				Synopsis: []string{"[OPTION]..."}, Run: o.with(registryOnly, o.list)},
			{Name: "status", Usage: "Show the members of a group, and each partition: owner, committed offset, log, lag.",
				Synopsis: []string{"[OPTION]... GROUP"}, Operands: group, MinArgs: 1, MaxArgs: 1, Run: o.with(brokerIfThere, o.status, o.checkStatus),
				Flags: []ucli.Flag{o.topicFlag(), o.allFlag(),
					&ucli.BoolFlag{Name: "watch", Destination: &o.watch, Usage: "show it again and again, until interrupted"},
					&ucli.GenericFlag{Name: "interval", Value: &intervalValue{(*cli.Duration)(&o.interval)}, Usage: "with --watch, how often"}}},
			{Name: "plan", Usage: "Show who will own which partition, as each member will compute it.",
				Synopsis: []string{"[OPTION]... GROUP"}, Operands: group, MinArgs: 1, MaxArgs: 1, Run: o.with(registryOnly, o.plan),
				Flags: []ucli.Flag{o.topicFlag(), o.allFlag(),
					&ucli.GenericFlag{Name: "members", Value: cli.Repeated(&o.members, parseMembers, identity), DefaultText: "those there are",
						Usage: "as if the members were `NAME,...`; repeatable"},
					&ucli.GenericFlag{Name: "strategy", Value: cli.Enum(&o.strategy, assign.Strategies()...), DefaultText: "the group's",
						Usage: "as if the members assigned by it"}}},
			{Name: "trigger", Usage: "Let the members of a group look at it again, as if one had come or gone.",
				Synopsis: []string{"[OPTION]... GROUP"}, Operands: group, MinArgs: 1, MaxArgs: 1, Run: o.with(registryEdit, o.trigger)},
			{Name: "verify", Usage: "Fail unless every partition has one live owner.",
				Synopsis: []string{"[OPTION]... GROUP"}, Operands: group, MinArgs: 1, MaxArgs: 1, Run: o.with(registryOnly, o.verify),
				Flags: []ucli.Flag{o.topicFlag(), &ucli.GenericFlag{Name: "wait", Value: (*cli.Duration)(&o.wait), DefaultText: "not at all",
					Usage: "wait so long for it to become true"}}},
			{Name: "reset", Usage: "Move the offsets of a group; without --execute say what would be done.",
				Synopsis: []string{"[OPTION]... [--execute] GROUP"}, Operands: group, MinArgs: 1, MaxArgs: 1, Run: o.with(needsBroker, o.reset, o.checkReset),
				Flags: append([]ucli.Flag{o.topicFlag(),
					&ucli.BoolFlag{Name: "all-topics", Destination: &o.allTopics, Usage: "all topics of the group"},
					&ucli.GenericFlag{Name: "to", Value: target{&o.to}, Usage: "to `OFFSET`: earliest, latest, an id, @TIME or -DURATION ago"},
					&ucli.GenericFlag{Name: "shift", Value: shiftValue{&o.shift}, Usage: "forwards or back by so many ids, `[+|-]N`, which are bytes"},
					&ucli.PathFlag{Name: "from-file", Destination: &o.fromFile, Usage: "to what `FILE` says, as export writes it; - is stdin"},
				}, o.changeFlags()...)},
			{Name: "export", Usage: "Print the offsets of a group, or of all, an object a line.",
				Synopsis: []string{"[OPTION]... GROUP", "[OPTION]... --all-groups"}, Operands: group, MaxArgs: 1, Run: o.exporting,
				Flags: []ucli.Flag{o.topicFlag(),
					&ucli.BoolFlag{Name: "all-groups", Destination: &o.allGroups, Usage: "the offsets of all groups that there are"}}},
			{Name: "import", Usage: "Set the offsets of a group to what a file says; without --execute say what would be done.",
				Synopsis: []string{"[OPTION]... [--execute] GROUP FILE"}, Operands: []cli.Operand{cli.GroupOperand, cli.FileOperand}, MinArgs: 2, MaxArgs: 2,
				Run: o.with(needsBroker, o.importFile, o.checkMove), Flags: append([]ucli.Flag{o.topicFlag()}, o.changeFlags()...)},
			{Name: "check", Usage: "Tell a monitor how far a group is behind: one line, and exit status 0, 1, 2 or 3.",
				Synopsis: []string{"[OPTION]... GROUP"}, Operands: group, MinArgs: 1, MaxArgs: 1, Run: o.monitored(o.check), Exits: checkExits,
				Flags: []ucli.Flag{o.topicFlag(),
					&ucli.GenericFlag{Name: "warning", Aliases: []string{"w"}, Value: threshold{&o.warning}, Usage: "warn when the lag is above `SIZE`"},
					&ucli.GenericFlag{Name: "critical", Aliases: []string{"c"}, Value: threshold{&o.critical}, Usage: "critical when the lag is above `SIZE`"},
					&ucli.BoolFlag{Name: "records", Destination: &o.records, Usage: "count the records that are behind, by reading them, instead of bytes"},
					&ucli.BoolFlag{Name: "batch", Destination: &o.batch, Usage: "a group that is behind without members is between two runs of a job"}}},
			{Name: "evict", Usage: "Take a stuck member out of its group; without --execute say what would be done.",
				Synopsis: []string{"[OPTION]... [--execute] GROUP MEMBER"}, Operands: []cli.Operand{cli.GroupOperand, cli.OtherOperand}, MinArgs: 2, MaxArgs: 2, Run: o.with(registryEdit, o.evict),
				Flags: []ucli.Flag{o.executeFlag()}},
			{Name: "delete", Usage: "Delete a group without members, with its offsets; without --execute say what would be done.",
				Synopsis: []string{"[OPTION]... [--execute] GROUP"}, Operands: group, MinArgs: 1, MaxArgs: 1, Run: o.with(registryEdit, o.delete),
				Flags: []ucli.Flag{o.executeFlag()}},
		},
		Variables: []string{"TERM"},
		Exits:     cli.Exits(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitUnavailable, cli.ExitHungUp, cli.ExitInterrupted, cli.ExitTerminated),
	}
}

// brokerNamed reports whether the command line, or the environment, names a broker.
func (o *options) brokerNamed() bool { return &o.brokers[0] != &o.unnamed[0] }

func (o *options) topicFlag() ucli.Flag {
	return &ucli.GenericFlag{Name: "topic", Value: cli.Repeated(&o.topics, parseSelection, selection.String), DefaultText: "all",
		Usage: "only this topic, or partitions of it, `TOPIC[:P,...]`; repeatable"}
}

func (o *options) allFlag() ucli.Flag {
	return &ucli.BoolFlag{Name: "all", Destination: &o.all, Usage: "every partition, also where they are more than fit on a screen"}
}

func (o *options) executeFlag() ucli.Flag {
	return &ucli.BoolFlag{Name: "execute", Destination: &o.execute, Usage: "do it"}
}

// changeFlags are those of the commands that move offsets.
func (o *options) changeFlags() []ucli.Flag {
	return []ucli.Flag{
		o.executeFlag(), o.allFlag(),
		&ucli.GenericFlag{Name: "wait-empty", Value: (*cli.Duration)(&o.waitEmpty), DefaultText: "not at all",
			Usage: "wait so long for the members to leave"},
		&ucli.BoolFlag{Name: "live", Destination: &o.live, Usage: "also while there are members: they go on from the new offsets at once"},
		&ucli.PathFlag{Name: "undo-file", Destination: &o.undoFile, Usage: "write the old offsets to `FILE` first, for import; what it held goes to FILE~"},
	}
}
