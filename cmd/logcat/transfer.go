package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"logkit/lib/cli"
	"logkit/lib/client"
	"logkit/lib/record"
)

// sink is where records go: a client.Producer, or a rehearsal.
type sink interface {
	Add(ctx context.Context, rec record.Record, line int64) error
	Failed() <-chan struct{} // closed when Add takes no more; Close tells why
	MaxRecordBytes() int64
	Stats() client.Stats
	Close(ctx context.Context) error
}

// flushTime is what is left for delivering what is pending when a signal ends the run: a tool has 2 s to stop.
const flushTime = 1800 * time.Millisecond

// transfer carries the input to the sink, and accounts for every message.
type transfer struct {
	o     *options
	env   *cli.Env
	shape shape
	sink  sink
	tee   *tee // nil without --tee
	pace  pace
	began time.Time

	lines  int64 // messages read so far, over all files
	at     int64 // when the block being split was read, Unix ms
	last   bool  // the message being split ends with its file, not with a delimiter
	shown  time.Time
	inside bool // a file has begun, and not ended
	failed bool // a file could not be read

	unsent atomic.Int64 // messages refused before they reached the sink

	mu    sync.Mutex
	files []fileStart
}

// fileStart says which message is a file's first.
type fileStart struct {
	name  string
	first int64
}

func newTransfer(o *options, env *cli.Env) *transfer {
	t := &transfer{o: o, env: env, shape: o.shape(), pace: pace{rate: o.rate}, began: time.Now()}
	if o.tee {
		t.tee = &tee{to: env.Stdout, delimiter: o.splitAt()}
	}
	return t
}

// run copies the files, or standard input, and returns what the exit status has to say.
func (t *transfer) run(ctx context.Context, files []string) error {
	if len(files) == 0 && t.env.StdinTerminal() && !t.o.quiet {
		t.env.Hint("reading lines from the terminal, Ctrl-D ends")
	}
	stopped := t.copy(ctx, open(files, t.env.Stdin))

	flush, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(flushTime, func() { cancel(errFlush) })
	})()
	closed := t.sink.Close(flush)
	t.env.Progress("")
	return t.result(ctx, stopped, closed)
}

var errFlush = fmt.Errorf("not acknowledged within %v of the signal", flushTime)

// errFailed stands for the error that the sink returns at its end.
var errFailed = errors.New("no more is sent")

// copy reads until the input or the context ends, or the sink takes no more, which is an error. It waits for the next
// input no longer than for these: a pipe may stay silent for ever.
func (t *transfer) copy(ctx context.Context, in *input) error {
	s := splitter{delimiter: t.o.splitAt(), limit: int(t.sink.MaxRecordBytes()), emit: func(message []byte, size int64) error {
		return t.message(ctx, message, size)
	}}
	for {
		var b block
		var more bool
		select {
		case b, more = <-in.blocks:
		case <-ctx.Done():
		case <-t.sink.Failed():
			return errFailed
		}
		if !more {
			return nil
		}
		t.begin(b)
		err := s.feed(b.data)
		in.done(b)
		if err == nil && b.end && b.err == nil {
			t.last = true
			err = s.end()
			t.last = false
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if b.err != nil {
			t.failed = true
			t.env.Say("%s: %v", b.file, b.err)
			s.forget()
		}
		t.progress(b)
	}
}

// begin notes where a block comes from.
func (t *transfer) begin(b block) {
	t.at = b.at
	if !t.inside {
		t.mu.Lock()
		t.files = append(t.files, fileStart{b.file, t.lines + 1})
		t.mu.Unlock()
	}
	t.inside = !b.end
}

// message sends one message; nil stands for one of size bytes, which is more than the sink takes.
func (t *transfer) message(ctx context.Context, message []byte, size int64) error {
	if err := t.pace.wait(ctx); err != nil {
		return err
	}
	t.lines++
	if t.tee != nil {
		t.tee.hold(t.lines, message, t.last)
	}
	if message == nil {
		t.refuse(&client.SizeError{Size: size + record.HeaderSize, Max: t.sink.MaxRecordBytes()})
		return nil
	}
	rec, err := t.shape.record(message, t.at)
	if err != nil {
		t.refuse(err)
		return nil
	}
	return t.sink.Add(ctx, rec, t.lines)
}

// refuse accounts for the current message, which can not be sent.
func (t *transfer) refuse(err error) {
	t.unsent.Add(1)
	t.refused(t.lines, err)
}

// refused says that a message was not stored. It is called by the sink too.
func (t *transfer) refused(line int64, err error) {
	t.mu.Lock()
	at := sort.Search(len(t.files), func(i int) bool { return t.files[i].first > line }) - 1
	file := t.files[max(at, 0)]
	several := len(t.files) > 1 || file.name != stdinName
	t.mu.Unlock()
	where := fmt.Sprintf("%s %d", t.unit(), line-file.first+1)
	if several {
		where = file.name + ": " + where
	}
	t.env.Say("%s: %v", where, err)
	if t.tee != nil {
		t.tee.settle([]int64{line}, false)
	}
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
	if t.o.verbose && r.Base >= 0 && t.o.acks == "all" {
		fmt.Fprintf(t.env.Stderr, "%d %d %d\n", r.Partition, r.Base, len(r.Lines))
	}
	if t.tee != nil {
		t.tee.settle(r.Lines, true)
	}
}

// progress shows how far a file has come, on a terminal, now and then.
func (t *transfer) progress(b block) {
	if t.o.quiet || t.o.verbose || b.file == stdinName || time.Since(t.shown) < 200*time.Millisecond {
		return
	}
	t.shown = time.Now()
	t.env.Progress("%s: %d messages read, %d acknowledged", b.file, t.lines, t.sink.Stats().Acked)
}

// result words the end. stopped is the sink's error that ended the copy, closed that of its end.
func (t *transfer) result(ctx context.Context, stopped, closed error) error {
	stats := t.sink.Stats()
	refused := stats.Refused + t.unsent.Load()
	if t.o.dryRun {
		t.env.Say("dry run: %d messages, %d bytes would be sent", stats.Acked, stats.AckedBytes)
	} else if t.o.verbose {
		t.env.Say("%d messages, %d bytes, %.3f s", stats.Acked, stats.AckedBytes, time.Since(t.began).Seconds())
	}
	var errs []error
	if stopped != nil || stats.Pending > 0 {
		t.env.Say("%d messages acknowledged, %d refused, %d not delivered; %s %d is the last one read",
			stats.Acked, refused, t.lines-stats.Acked-refused, t.unit(), t.lines)
		errs = append(errs, coded(errors.Join(closed)))
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
