package main

import (
	"context"

	"logkit/lib/cli"
	"logkit/lib/client"
)

func (o *options) create(ctx context.Context, s *session, args []string) error {
	name := args[0]
	settings, err := o.settings()
	if err != nil {
		return err
	}
	if err := s.CreateTopic(ctx, name, o.partitions, settings); err != nil {
		return err
	}
	if o.verbose {
		s.env.Say("topic %q: created", name)
	}
	return o.shown(ctx, s, name)
}

func (o *options) alter(ctx context.Context, s *session, args []string) error {
	name := args[0]
	settings, err := o.settings()
	if err != nil {
		return err
	}
	grow, change := o.partitions != client.DefaultPartitions, len(settings)+len(o.unset) > 0
	switch {
	case !grow && !change:
		return cli.Usagef("nothing to alter: allowed are --partitions, --config and --unset")
	case grow && change:
		// These are two requests. What would be refused of the second is found before the first is sent.
		if err := s.SetPartitions(ctx, name, o.partitions, true); err != nil {
			return err
		}
	}
	if change {
		if err := s.ChangeSettings(ctx, name, settings, o.unset); err != nil {
			return err
		}
	}
	if grow {
		if err := s.SetPartitions(ctx, name, o.partitions, false); err != nil {
			return err
		}
	}
	if o.verbose {
		s.env.Say("topic %q: altered", name)
	}
	return o.shown(ctx, s, name)
}

// shown prints, with --json, what a topic is after a change.
func (o *options) shown(ctx context.Context, s *session, name string) error {
	if !o.json {
		return nil
	}
	rows, err := s.describe(ctx, name)
	if err != nil {
		return err
	}
	return print(s, rows)
}

func (o *options) delete(ctx context.Context, s *session, args []string) error {
	name := args[0]
	rows, err := s.describe(ctx, name)
	if err != nil {
		return err
	}
	if o.execute {
		if err := s.DeleteTopic(ctx, name); err != nil {
			return err
		}
	}
	if o.json {
		for _, r := range rows {
			r.Deleted = &o.execute
		}
		return print(s, rows)
	}
	if o.execute && !o.verbose {
		return nil
	}
	doing, bytes := "would delete", int64(0)
	if o.execute {
		doing = "deleted"
	}
	for _, r := range rows {
		if r.SizeBytes != nil {
			bytes += *r.SizeBytes
		}
	}
	s.env.Say("topic %q: %s %s with %s", name, doing, cli.Counted(int64(len(rows)), "partition"), cli.Counted(bytes, "byte"))
	if !o.execute && !o.quiet {
		s.env.Hint("--execute deletes it for good")
	}
	return nil
}
