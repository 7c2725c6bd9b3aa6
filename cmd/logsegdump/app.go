package main

import (
	"context"
	"slices"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logkit/lib/cli"
	"logkit/lib/format"
	"logkit/lib/inspect"
	"logkit/lib/record"
)

// options are the flags.
type options struct {
	check     bool
	records   bool
	hex       bool
	values    bool
	summary   bool
	histogram bool
	salvage   string
	repair    bool
	dryRun    bool

	ids   span
	times timeSpan
	json  bool

	format       format.TemplateFlag
	keyDelimiter cli.Separator
	delimiter    delimiter
	null         bool

	maxBatch        cli.Size
	maxDecompressed cli.Size
	verbose, quiet  bool
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

func newTool() *cli.Tool {
	o := &options{
		delimiter: delimiter{Escaped: "\n"}, ids: everything, times: timeSpan{span: everything, now: time.Now},
		maxBatch: inspect.DefaultMaxBatch, maxDecompressed: record.MaxDecompressed,
	}
	return &cli.Tool{
		Name:     "logsegdump",
		Usage:    "Show what is in the files of a log, what is wrong with them, and save what can be saved.",
		Synopsis: []string{"[OPTION]... PATH..."},
		Operands: []cli.Operand{cli.FileOperand},
		MinArgs:  1,
		MaxArgs:  -1,
		Exits: []cli.Exit{
			{Code: cli.ExitOK, Meaning: "all well, or all repaired"},
			{Code: cli.ExitFailed, Meaning: "a file could not be read or written"},
			{Code: cli.ExitUsage, Meaning: "the command line makes no sense, or a PATH is neither named nor shaped like a file of a log"},
			{Code: cli.ExitDamaged, Meaning: "damage was found"},
			{Code: cli.ExitHungUp, Meaning: "hung up (SIGHUP)"},
			{Code: cli.ExitInterrupted, Meaning: "interrupted (SIGINT)"},
			{Code: cli.ExitTerminated, Meaning: "terminated (SIGTERM)"},
		},
		Flags:     o.flags(),
		Variables: []string{"NO_COLOR", "TERM"},
		Description: "Prints a line for each batch. PATH is the directory of a partition or of several, a segment (logd's, or Kafka's of any age), an index, " +
			"a producer snapshot, a checkpoint file, or - for standard input. Nothing that is read is changed, except by --repair.",
		Run: o.run,
	}
}

func (o *options) flags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.BoolFlag{Name: "check", Aliases: []string{"c"}, Destination: &o.check, Usage: "say only what is wrong; with --records, look into every record too"},
		&ucli.BoolFlag{Name: "records", Aliases: []string{"r"}, Destination: &o.records, Usage: "print a line for each record"},
		&ucli.BoolFlag{Name: "hex", Aliases: []string{"x"}, Destination: &o.hex, Usage: "print a line for each record, keys and values in hexadecimal"},
		&ucli.BoolFlag{Name: "values", Destination: &o.values, Usage: "print the values of the records alone, as logtail does"},
		&ucli.BoolFlag{Name: "summary", Destination: &o.summary, Usage: "print a line for each file"},
		&ucli.BoolFlag{Name: "histogram", Destination: &o.histogram, Usage: "print sizes and times of the records as bars"},
		&ucli.PathFlag{Name: "salvage", Destination: &o.salvage, Usage: "write every intact batch to a segment `FILE`, or into a directory"},
		&ucli.BoolFlag{Name: "repair", Destination: &o.repair, Usage: "cut off a torn tail and build wrong indexes again"},
		&ucli.BoolFlag{Name: "dry-run", Destination: &o.dryRun, Usage: "with --repair: say what would be done, and do nothing"},
		&ucli.GenericFlag{Name: "offset", Aliases: []string{"o"}, Value: &o.ids, DefaultText: "all", Usage: "only ids from A on, and before B: `A[..B]`"},
		&ucli.GenericFlag{Name: "time", Value: &o.times, DefaultText: "all", Usage: "only times from A on, and before B: `A[..B]`"},
		cli.JSONFlag(&o.json, "print JSON, an object a line"),
		&ucli.GenericFlag{Name: "format", Value: &o.format, DefaultText: "the value and a newline", Usage: "with --values: print what `STR` says, as in logtail"},
		&ucli.GenericFlag{Name: "key-delimiter", Aliases: []string{"K"}, Value: &o.keyDelimiter, Usage: "with --values: print the key and `STR` before the value"},
		&ucli.GenericFlag{Name: "delimiter", Aliases: []string{"d"}, Value: &o.delimiter, Usage: "with --values: print `STR` after each"},
		&ucli.BoolFlag{Name: "null", Aliases: []string{"0"}, Destination: &o.null, Usage: "with --values: print a NUL after each"},
		&ucli.GenericFlag{Name: "max-batch", Value: &o.maxBatch, Usage: "take no batch for one that is larger"},
		&ucli.GenericFlag{Name: "max-decompressed", Value: &o.maxDecompressed, Usage: "decompress no batch to more"},
		cli.VerboseFlag(&o.verbose), cli.QuietFlag(&o.quiet),
	}
}

// checkFlags refuses flags that contradict each other.
func (o *options) checkFlags() error {
	modes := 0
	for _, is := range []bool{
		o.check, (o.records || o.hex) && !o.check, o.values, o.summary || o.histogram, o.salvage != "", o.repair,
	} {
		if is {
			modes++
		}
	}
	shaped := o.null || o.delimiter.given || o.keyDelimiter != ""
	ranged := o.ids != everything || o.times.span != everything
	for _, pair := range []struct {
		wrong bool
		text  string
	}{
		{modes > 1, "--check, --records, --values, --summary, --salvage and --repair exclude each other (but --check --records)"},
		{o.hex && o.check, "--hex and --check exclude each other"},
		{o.dryRun && !o.repair, "--dry-run without --repair"},
		{ranged && (o.check || o.repair), "--offset and --time exclude --check and --repair, which look at everything"},
		{(shaped || o.format.Template != nil) && !o.values, "--format, --delimiter, --null and --key-delimiter need --values"},
		{shaped && (o.json || o.format.Template != nil), "--format and --json exclude --delimiter, --null and --key-delimiter"},
		{o.json && o.format.Template != nil, "--format and --json exclude each other"},
		{o.null && o.delimiter.given, "--null and --delimiter exclude each other"},
		{o.salvage == "-", "--salvage writes no standard output: allowed is the path of a file or directory, ./- for one named so"},
		{o.verbose && o.quiet, "--verbose and --quiet exclude each other"},
		{o.maxBatch < 1 || o.maxDecompressed < 1, "--max-batch and --max-decompressed are at least 1"},
	} {
		if pair.wrong {
			return cli.Usagef("%s", pair.text)
		}
	}
	return nil
}

func (o *options) run(ctx context.Context, env *cli.Env, paths []string) error {
	if err := o.checkFlags(); err != nil {
		return err
	}
	if slices.Contains(paths, "") {
		return cli.Usagef("an empty PATH: allowed is the path of a file or directory, and - for standard input")
	}
	return newSession(env.WatchStdout(ctx), o, env).run(paths)
}
