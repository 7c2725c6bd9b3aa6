package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	TooLarge(size int64) error // words that a batch is larger
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
	pace  pace
	began time.Time

	ledger   *ledger    // nil when nobody follows it
	tee      *tee       // nil without --tee
	progress *progress  // nil without --progress
	confirm  *confirmer // nil without --confirm

	lines   atomic.Int64 // messages read so far, over all files, without those that were sent by an earlier run
	at      int64        // when the block being split was read, Unix ms
	pos     int64        // bytes of its file in front of the message being split
	last    bool         // that message ends with its file, not with a delimiter
	input   int          // which file that is
	from    place        // where it began, with --progress
	sum     running      // of its bytes, with --progress
	skipper *skipper     // if it is a stream, with --progress
	inside  bool         // a file has begun, and not ended
	failed  bool         // a file could not be read

	unsent atomic.Int64 // messages refused before they reached the sink

	halting sync.Once
	halted  chan struct{} // closed when no more is to be read, for a reason of ours
	reason  error         // that reason, nil when it has been told; set before halted is closed

	mu    sync.Mutex
	files []fileStart
}

// fileStart says which message is the first one of a file that was read, and how many of the file's are before it.
type fileStart struct {
	name          string
	first, before int64
}

// newTransfer prepares what the options ask for, to the topic.
func newTransfer(ctx context.Context, o *options, env *cli.Env, topic string, files []string) (t *transfer, err error) {
	t = &transfer{o: o, env: env, shape: o.shape(), pace: pace{rate: o.rate}, began: time.Now(), halted: make(chan struct{})}
	var followers []follower
	if o.tee {
		t.tee = &tee{to: env.Stdout, delimiter: o.splitAt(), tame: env.StdoutTerminal()}
		if env.StdoutMissing() {
			t.tee.err = errors.New("it is closed")
		}
		followers = append(followers, t.tee)
	}
	if err := t.notItself(files); err != nil {
		return nil, err
	}
	if o.progress != "" {
		t.progress, err = openProgress(ctx, o.progress, topic, files, o.splitAt(), o.dryRun)
		if err != nil {
			return nil, err
		}
		followers = append(followers, t.progress)
	}
	if o.confirm != "" {
		t.confirm, err = newConfirmer(o.confirm)
		if err != nil {
			return nil, err
		}
		followers = append(followers, t.confirm)
	}
	if followers != nil && !o.dryRun {
		t.ledger = newLedger(followers...)
	}
	return t, nil
}

// run copies the files, or standard input, and returns what the exit status has to say.
func (t *transfer) run(ctx context.Context, files []string) error {
	if len(files) == 0 && t.env.StdinTerminal() && !t.o.quiet {
		what := "lines"
		if t.o.whole {
			what = "one message"
		}
		t.env.Hint("reading %s from the terminal, Ctrl-D ends", what)
	}
	ended := t.accompany()
	var from []place
	if t.progress != nil {
		from = t.progress.began
	}
	stopped := t.copy(ctx, open(files, t.env.Stdin, from))

	flush, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(flushTime, func() { cancel(errFlush) })
	})()
	if t.confirm != nil {
		defer context.AfterFunc(flush, func() { t.confirm.abort(context.Cause(flush)) })()
	}
	closed := t.sink.Close(flush)
	left := t.close(flush)
	ended()
	return t.result(ctx, stopped, closed, left)
}

// accompany does what has to be done from time to time, until the function that it returns is called.
func (t *transfer) accompany() (ended func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	if t.progress != nil && !t.o.dryRun {
		running.Go(func() { t.progress.keep(ctx, func(err error) { t.env.Say("%s", err) }) })
	}
	if !t.o.quiet && !t.o.verbose && !t.o.tee && t.env.StderrTerminal() { // a copy is progress, and may go there too
		running.Go(func() { t.display(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
		t.env.Progress("")
	}
}

// close ends what follows the messages, when no more of them will be settled.
func (t *transfer) close(ctx context.Context) error {
	var errs []error
	if t.confirm != nil {
		errs = append(errs, t.confirm.close(ctx, t.o.timeout))
	}
	if t.progress != nil && !t.o.dryRun {
		errs = append(errs, t.progress.save())
		t.progress.close()
	}
	return errors.Join(errs...)
}

// halt ends the reading. It may be called from any goroutine.
func (t *transfer) halt(reason error) {
	t.halting.Do(func() {
		t.reason = reason
		close(t.halted)
	})
}

var errFlush = fmt.Errorf("not acknowledged within %v of the signal", flushTime)

// errFailed stands for the error that the sink returns at its end, and errHalted for the reason of halt.
var (
	errFailed = errors.New("no more is sent")
	errHalted = errors.New("no more is read")
)

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
		case <-t.halted:
			return errHalted
		case <-t.confirmFailed():
			return errHalted
		}
		if !more {
			return nil
		}
		t.begin(b)
		t.sum.feed(b.data)
		err := s.feed(b.data)
		if err == nil && t.progress != nil {
			t.sum.drain()
		}
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
		if b.end && b.err == nil && t.skipper != nil {
			if err := t.skipper.end(); err != nil {
				t.halt(beginAnew(err, t.progress.name))
				return errHalted
			}
		}
	}
}

// confirmFailed is closed when positions can not be told any more; nil without --confirm.
func (t *transfer) confirmFailed() <-chan struct{} {
	if t.confirm == nil {
		return nil
	}
	return t.confirm.failed
}

// begin notes where a block comes from.
func (t *transfer) begin(b block) {
	t.at = b.at
	if !t.inside {
		t.input, t.pos, t.from, t.skipper = b.input, 0, place{}, nil
		if t.progress != nil {
			t.from = t.progress.began[b.input]
			t.sum = running{watch: t.from.Position + t.from.Unfinished}
			if t.from.stream() {
				t.skipper = &skipper{from: t.from, sum: &t.sum}
			} else {
				t.pos, t.sum.at, t.sum.crc = t.from.Position, t.from.Position, t.from.CRC
			}
		}
		t.mu.Lock()
		t.files = append(t.files, fileStart{b.file, t.lines.Load() + 1, t.from.Messages})
		t.mu.Unlock()
		if t.o.verbose && t.from.begun() {
			t.env.Say("%s: goes on behind %s %d, at byte %d", b.file, t.unit(), t.from.Messages, t.from.Position)
		}
	}
	t.inside = !b.end
}

// message sends one message; nil stands for one of size bytes, which is more than the sink takes.
func (t *transfer) message(ctx context.Context, text []byte, size int64) error {
	m := message{bytes: text, size: size, last: t.last}
	if t.progress != nil {
		if sent, err := t.sent(&m); sent || err != nil {
			return err
		}
	}
	if err := t.pace.wait(ctx); err != nil {
		return err
	}
	m.line = t.lines.Add(1)
	var rec record.Record
	var err error
	if text == nil {
		err = t.sink.TooLarge(size + record.HeaderSize)
	} else {
		if t.o.crlf && !m.last { // it belongs to the delimiter, where there is one
			text = bytes.TrimSuffix(text, []byte("\r"))
		}
		rec, m.from, err = t.shape.record(text, t.at)
	}
	if t.ledger != nil && !t.ledger.hold(ctx, &m, t.sink.Failed(), t.halted) {
		return errHalted
	}
	if err != nil {
		t.unsent.Add(1)
		t.refused(m.line, err)
		return nil
	}
	return t.sink.Add(ctx, rec, m.line)
}

// sent finds out where a message ends in its file, and whether an earlier run has sent it.
func (t *transfer) sent(m *message) (bool, error) {
	t.pos += m.size
	if !m.last {
		t.pos += int64(len(t.o.splitAt()))
	}
	m.mark = mark{input: t.input, end: t.pos, crc: t.sum.upTo(t.pos)}
	if t.skipper != nil {
		sent, err := t.skipper.next(m)
		if err != nil {
			t.halt(beginAnew(err, t.progress.name))
			err = errHalted
		}
		return sent, err
	}
	return sentUnfinished(m, &t.from) || t.o.whole && t.from.Messages > 0, nil
}
