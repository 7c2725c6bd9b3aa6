package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logkit/lib/cli"
	"logkit/lib/client"
	"logkit/lib/registry"
)

// options are the flags, of all commands.
type options struct {
	brokers        []string
	zookeeper      cli.ZooKeeper
	timeout        time.Duration
	once           bool
	json           bool
	verbose, quiet bool

	partitions int32
	set        []setting
	unset      []string
	execute    bool
}

func newTool() *cli.Tool {
	o := &options{partitions: client.DefaultPartitions}
	return &cli.Tool{
		Name: "logtopic", Usage: "Create, list, describe, alter and delete topics.",
		Synopsis: []string{"[OPTION]... COMMAND [TOPIC]..."},
		Flags: []ucli.Flag{
			cli.BrokerFlag(&o.brokers), cli.NoZooKeeperFlag(&o.zookeeper), cli.TimeoutFlag(&o.timeout), cli.OnceFlag(&o.once),
			cli.JSONFlag(&o.json, "an object a line instead of columns"),
			cli.VerboseFlag(&o.verbose), cli.QuietFlag(&o.quiet),
		},
		Commands: []*cli.Tool{
			{Name: "list", Usage: "List all topics, with the number of their partitions; with --quiet only their names.",
				Synopsis: []string{"[OPTION]..."}, Run: o.with(o.list)},
			{Name: "create", Usage: "Make a topic.", Synopsis: []string{"[OPTION]... TOPIC"},
				Operands: []cli.Operand{cli.OtherOperand}, MinArgs: 1, MaxArgs: 1, Run: o.with(o.create),
				Flags: []ucli.Flag{o.partitionsFlag("make `N` partitions", "the broker's"), o.configFlag()}},
			{Name: "describe", Usage: "Show the partitions of topics, or of all: leader, ids, size on disk, and what is set.",
				Synopsis: []string{"[OPTION]... [TOPIC]..."},
				Operands: []cli.Operand{cli.TopicOperand}, MaxArgs: -1, Run: o.with(o.describe)},
			{Name: "alter", Usage: "Give a topic more partitions, and change what is set for it.", Synopsis: []string{"[OPTION]... TOPIC"},
				Operands: []cli.Operand{cli.TopicOperand}, MinArgs: 1, MaxArgs: 1, Run: o.with(o.alter),
				Flags: []ucli.Flag{o.partitionsFlag("have `N` partitions afterwards, never fewer than before", "as many as before"), o.configFlag(),
					&ucli.GenericFlag{Name: "unset", Value: cli.Chosen(cli.Repeated(&o.unset, parseName, strings.Clone), settingNames...),
						Usage: "let the setting `KEY` follow the broker again; repeatable"}}},
			{Name: "delete", Usage: "Delete a topic with all its records; without --execute say what would be deleted.",
				Synopsis: []string{"[OPTION]... TOPIC"},
				Operands: []cli.Operand{cli.TopicOperand}, MinArgs: 1, MaxArgs: 1, Run: o.with(o.delete),
				Flags: []ucli.Flag{&ucli.BoolFlag{Name: "execute", Destination: &o.execute, Usage: "do it"}}},
		},
		Exits: cli.Exits(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitUnavailable, cli.ExitHungUp, cli.ExitInterrupted, cli.ExitTerminated),
	}
}

func (o *options) partitionsFlag(usage, standard string) ucli.Flag {
	return &ucli.GenericFlag{Name: "partitions", Value: cli.Number(&o.partitions, 1, math.MaxInt32), DefaultText: standard, Usage: usage}
}

// settingNames are those that completions offer. A broker may know others.
var settingNames = []string{"flush.messages", "flush.ms", "max.message.bytes", "retention.bytes", "retention.ms", "segment.bytes", "segment.ms"}

func (o *options) configFlag() ucli.Flag {
	keys := make([]string, len(settingNames))
	for i, name := range settingNames {
		keys[i] = name + "="
	}
	return &ucli.GenericFlag{Name: "config", Value: cli.Chosen(cli.Repeated(&o.set, parseSetting, setting.String), keys...), DefaultText: "none",
		Usage: "set `KEY=VALUE` for the topic; repeatable"}
}

// setting is what --config says.
type setting struct{ key, value string }

func (s setting) String() string { return s.key + "=" + s.value }

func parseSetting(text string) ([]setting, error) {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return nil, errors.New("not a setting: allowed is KEY=VALUE, such as retention.ms=86400000")
	}
	return []setting{{key, value}}, nil
}

func parseName(text string) ([]string, error) {
	if text == "" || strings.Contains(text, "=") {
		return nil, errors.New("not the name of a setting: allowed is KEY, such as retention.ms")
	}
	return []string{text}, nil
}

// settings are those of --config by name. One that is named twice, or set and unset, is refused.
func (o *options) settings() (map[string]string, error) {
	all := make(map[string]string, len(o.set))
	for _, s := range o.set {
		if _, again := all[s.key]; again {
			return nil, cli.Usagef("--config: %s is set twice", s.key)
		}
		all[s.key] = s.value
	}
	named := make(map[string]bool, len(o.unset))
	for _, key := range o.unset {
		if _, set := all[key]; set || named[key] {
			return nil, cli.Usagef("--unset: %s is named twice", key)
		}
		named[key] = true
	}
	return all, nil
}

// session is what a command works with.
type session struct {
	*client.Client
	env  *cli.Env
	json bool
}

// with gives a command its client.
func (o *options) with(run func(context.Context, *session, []string) error) func(context.Context, *cli.Env, []string) error {
	return func(ctx context.Context, env *cli.Env, args []string) error {
		if o.verbose && o.quiet {
			return cli.Usagef("--verbose and --quiet exclude each other")
		}
		for _, topic := range args {
			if err := registry.CheckTopic(topic); err != nil {
				return cli.WithCode(cli.ExitUsage, err)
			}
		}
		if o.once {
			limited, cancel := context.WithTimeout(ctx, o.timeout)
			defer cancel()
			ctx = limited
		}
		c, err := client.New(client.Options{Brokers: o.brokers, Timeout: o.timeout, Once: o.once, ClientID: env.Name})
		if err != nil {
			return err
		}
		defer c.Close()
		err = run(ctx, &session{c, env, o.json}, args)
		if o.once && errors.Is(err, context.DeadlineExceeded) {
			return cli.Unavailable(err)
		}
		return coded(err)
	}
}

// coded gives an error of the client its exit status.
func coded(err error) error {
	if errors.Is(err, client.ErrUnavailable) {
		return cli.Unavailable(err)
	}
	return err
}

// written words a failed write to standard output.
func written(_ int, err error) error {
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}
