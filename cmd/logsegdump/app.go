package main

import (
	"context"
	"errors"
	"fmt"

	ucli "github.com/urfave/cli/v2"

	"logkit/lib/cli"
	"logkit/lib/inspect"
	"logkit/lib/vfs"
)

type options struct{ check bool }

func newTool() *cli.Tool {
	o := &options{}
	return &cli.Tool{
		Name: "logsegdump", Usage: "segment files, taken apart", Synopsis: []string{"[OPTION]... PATH..."},
		Operands: []cli.Operand{cli.FileOperand}, MinArgs: 1, MaxArgs: -1,
		Exits: cli.Exits(0, 1, 64, 65, 130, 143),
		Flags: []ucli.Flag{
			&ucli.BoolFlag{Name: "check", Aliases: []string{"c"}, Destination: &o.check, Usage: "verdicts only"},
		},
		Run: o.run,
	}
}

func (o *options) run(ctx context.Context, env *cli.Env, args []string) error {
	n := 0
	in := &inspect.Inspector{FS: vfs.OS, Visitor: inspect.Visitor{
		Batch: func(f *inspect.File, b *inspect.Batch) error {
			if !o.check {
				fmt.Fprintln(env.Stdout, b.Base, b.Next, b.Position, b.Size, b.Count, b.Codec(), b.Verdict)
			}
			return nil
		},
		Verdict: func(f *inspect.File, v *inspect.Verdict) error {
			if v.Kind.Damage() {
				n++
			}
			_, err := fmt.Fprintln(env.Stdout, v)
			return err
		},
	}}
	for _, path := range args {
		if err := in.Path(path); err != nil {
			if errors.Is(err, inspect.ErrNotSegment) {
				return cli.WithCode(cli.ExitUsage, err)
			}
			return err
		}
	}
	if n > 0 {
		return cli.Damaged(fmt.Errorf("damage found: %d", n))
	}
	return nil
}
