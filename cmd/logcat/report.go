package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"time"

	"logkit/lib/cli"
	"logkit/lib/client"
)

// refused says that a message was not stored. It is called by the sink too.
func (t *transfer) refused(line int64, err error) {
	t.env.Say("%s: %v", t.where(line), err)
	if t.ledger != nil {
		t.ledger.settle([]int64{line}, refused)
	}
	if t.confirm != nil {
		t.halt(nil) // it is said already; nothing behind it would be confirmed
	}
}

// where names a message: its number, and its file when it has a name.
func (t *transfer) where(line int64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := sort.Search(len(t.files), func(i int) bool { return t.files[i].first > line }) - 1
	if at < 0 {
		return fmt.Sprintf("%s %d", t.unit(), line)
	}
	file := t.files[at]
	where := fmt.Sprintf("%s %d", t.unit(), line-file.first+1+file.before)
	if len(t.files) > 1 || file.name != stdinName {
		where = file.name + ": " + where
	}
	return where
}

// unit is what a message is called.
func (t *transfer) unit() string {
	if string(t.o.splitAt()) == "\n" {
		return "line"
	}
	return "message"
}

// acked is called by the sink.
func (t *transfer) acked(r client.Receipt) {
	if t.o.verbose && t.o.acks == "all" {
		first := "-" // stored by an earlier attempt, and the broker does not remember where
		if r.Base >= 0 {
			first = strconv.FormatInt(r.Base, 10)
		}
		t.env.Tell("%d %s %d", r.Partition, first, len(r.Lines))
	}
	if t.ledger != nil {
		t.ledger.settle(r.Lines, acknowledged)
	}
}

// display shows how far a file has come, on a terminal, from time to time.
func (t *transfer) display(ctx context.Context) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		t.mu.Lock()
		name := ""
		if len(t.files) > 0 {
			name = t.files[len(t.files)-1].name
		}
		t.mu.Unlock()
		if name != "" && name != stdinName {
			t.env.Progress("%s: %s read, %d acknowledged", name, cli.Counted(t.lines.Load(), "message"), t.sink.Stats().Acked)
		}
	}
}

// result words the end. stopped is the sink's error that ended the copy, closed that of its end, and left what could not
// be written in the end.
func (t *transfer) result(ctx context.Context, stopped, closed, left error) error {
	stats := t.sink.Stats()
	refused := stats.Refused + t.unsent.Load()
	lines := t.lines.Load()
	if t.o.dryRun {
		t.env.Say("dry run: %s, %s would be sent", cli.Counted(stats.Acked, "message"), cli.Counted(stats.AckedBytes, "byte"))
	} else if t.o.verbose || t.o.summary {
		t.env.Say("%s, %s, %.3f s", cli.Counted(stats.Acked, "message"), cli.Counted(stats.AckedBytes, "byte"), time.Since(t.began).Seconds())
	}
	var errs []error
	failed := stopped == errFailed || closed != nil || stats.Pending > 0
	if failed || ctx.Err() != nil && !t.o.quiet {
		last := "nothing was read"
		if lines > 0 {
			last = t.where(lines) + " is the last one read"
		}
		t.env.Say("%s acknowledged, %d refused, %d not delivered; %s",
			cli.Counted(stats.Acked, "message"), refused, lines-stats.Acked-refused, last)
	}
	if failed {
		errs = append(errs, coded(errors.Join(closed)))
	}
	select {
	case <-t.halted:
		errs = append(errs, cli.WithCode(cli.ExitFailed, t.reason))
		if t.reason == nil {
			t.env.Hint("nothing behind it is confirmed: with --confirm a refused message ends the run")
		}
	default:
	}
	if left != nil {
		errs = append(errs, cli.WithCode(cli.ExitFailed, left))
	}
	if t.tee != nil && t.tee.err != nil {
		errs = append(errs, cli.WithCode(cli.ExitFailed, fmt.Errorf("copy to standard output: %w", t.tee.err)))
	}
	if t.failed || refused > 0 {
		errs = append(errs, cli.WithCode(cli.ExitFailed, cli.ErrReported))
	}
	if errs == nil {
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}

// coded gives an error of the client its exit status.
func coded(err error) error {
	switch {
	case errors.Is(err, client.ErrUnavailable):
		return cli.Unavailable(err)
	case errors.Is(err, client.ErrUnknownTopic):
		return cli.WithHint(err, "the broker creates no topics by itself: logtopic create makes one")
	}
	return err
}
