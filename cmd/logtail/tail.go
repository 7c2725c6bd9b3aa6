package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"logkit/lib/cli"
	"logkit/lib/client"
	"logkit/lib/record"
)

// tail reads topics and prints them.
type tail struct {
	o      *options
	env    *cli.Env
	c      *client.Client
	out    *output
	cursor *cursor // nil without --cursor
	now    time.Time
	until  int64 // time to end before, Unix ms, when it lies in the future; 0 = none

	reader *client.Reader
	it     record.Iterator
	rec    record.Record
	places map[partition]*place
	open   int      // places that are being read
	absent []string // topics to wait for

	failed  atomic.Bool // something could not be read, and was told
	damaged atomic.Bool // so was a damaged batch
	outage  atomic.Bool // a broker is away
}

type partition struct {
	topic string
	id    int32
}

// place is how far a partition has been read.
type place struct {
	client.Span       // as given to the reader
	next        int64 // id to print next at the earliest
	done        bool
}

func newTail(o *options, env *cli.Env, c *client.Client) *tail {
	now := time.Now()
	return &tail{
		o: o, env: env, c: c, now: now, until: o.coming(now), places: map[partition]*place{},
		out: &output{to: env.Stdout, printer: o.printer(env.StdoutTerminal()), limit: o.count},
	}
}

func (t *tail) run(ctx context.Context, topics []string) error {
	topics = unique(topics)
	t.titles(topics)
	if t.o.cursor != "" {
		var err error
		if t.cursor, err = openCursor(t.o.cursor); err != nil {
			return err
		}
	}
	// When it gets stuck, the cursor is where it was saved last: what is in that write comes again.
	_, err := patiently(ctx, func() error { return t.result(ctx, t.read(ctx, topics)) })
	return err
}

// read prints all that is wanted.
func (t *tail) read(ctx context.Context, topics []string) error {
	if err := t.begin(ctx, topics); err != nil {
		return err
	}
	t.reader = t.c.NewReader(client.ReaderOptions{Forever: t.o.following(), Outage: t.told})
	defer t.reader.Close()
	for _, p := range t.places {
		t.reader.Add(p.Span)
	}
	return t.stream(ctx)
}

// titles says whether messages of another topic than the last one's get a line before them.
func (t *tail) titles(topics []string) {
	t.out.headers = t.o.headers || len(topics) > 1 && !t.o.noHeaders && !t.o.json && !t.o.raw && t.o.format.Template == nil
}

// begin finds the topics and where to start in each, and prints the last messages where those are wanted.
func (t *tail) begin(ctx context.Context, topics []string) error {
	for _, name := range topics {
		topic, err := t.c.Topic(ctx, name, false)
		_, later := t.later()
		switch {
		case errors.Is(err, client.ErrUnknownTopic) && t.o.retry && later:
			t.env.Say("%v yet, waiting for it", err)
			t.absent = append(t.absent, name)
			continue
		case errors.Is(err, client.ErrUnknownTopic):
			t.fail(err)
			continue
		case err != nil:
			return err
		}
		spans, err := t.plan(ctx, topic)
		if err != nil {
			return err
		}
		for _, s := range spans {
			t.places[partition{s.Topic, s.Partition}] = &place{Span: s, next: s.Start}
			t.open++
		}
	}
	return nil
}

// stream prints what is read until all places are done, enough was printed, or the context ends.
func (t *tail) stream(ctx context.Context) error {
	var idle, end <-chan time.Time
	var idler *time.Timer
	if t.o.idle > 0 {
		idler = time.NewTimer(time.Duration(t.o.idle))
		defer idler.Stop()
		idle = idler.C
	}
	if t.until > 0 {
		timer := time.NewTimer(time.Until(time.UnixMilli(t.until)))
		defer timer.Stop()
		end = timer.C
	}
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	found := make(chan []client.Span, 1)
	refreshing := false

	for !t.out.full() && (t.open > 0 || len(t.absent) > 0) {
		chunks, ok := t.waiting()
		if !ok {
			if err := t.flush(); err != nil {
				return err
			}
			select {
			case chunks = <-t.reader.C():
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-idle:
				if t.outage.Load() {
					return fmt.Errorf("%w for %v", client.ErrUnavailable, t.o.idle.String())
				}
				return nil
			case <-end:
				end = nil
				if err := t.endNow(ctx); err != nil {
					return err
				}
			case spans := <-found:
				refreshing = false
				t.join(spans)
			case <-tick.C:
				if err := t.cursor.save(); err != nil {
					return err
				}
				if t.o.following() && !refreshing {
					refreshing = true
					go t.refresh(ctx, t.known(), slices.Clone(t.absent), found)
				}
			}
		}
		before := t.out.printed
		for _, c := range chunks {
			if err := t.take(ctx, c); err != nil {
				return err
			}
		}
		if idler != nil && t.out.printed > before {
			idler.Reset(time.Duration(t.o.idle))
		}
	}
	return nil
}

// waiting returns what can be had without waiting.
func (t *tail) waiting() ([]client.Chunk, bool) {
	select {
	case chunks := <-t.reader.C():
		return chunks, true
	default:
		return nil, false
	}
}

// take prints a chunk, or as much of it as there is time for.
func (t *tail) take(ctx context.Context, c client.Chunk) error {
	p := t.places[partition{c.Topic, c.Partition}]
	if p == nil || p.done || c.Span != p.Span {
		return nil
	}
	for _, d := range c.Damage {
		t.damage(d)
	}
	for _, batch := range c.Batches {
		if err := t.batch(ctx, p, batch); err != nil {
			return err
		}
		if p.done || t.out.full() {
			return nil
		}
	}
	if c.Err != nil {
		return t.ended(p, c.Err)
	}
	if c.Last {
		t.done(p)
	}
	return nil
}

// batch prints what is wanted of one batch.
func (t *tail) batch(ctx context.Context, p *place, batch []byte) error {
	err := t.it.Reset(batch)
	if err == nil && t.it.Header().Attributes.Control() {
		return nil
	}
	for err == nil && t.it.Next(&t.rec) {
		switch {
		case t.rec.Offset < p.next:
			continue
		case t.rec.Offset >= p.End:
			return nil
		case t.until > 0 && t.rec.Timestamp >= t.until:
			t.reader.Remove(p.Topic, p.Partition)
			t.done(p)
			return nil
		}
		if err := t.out.print(p.Topic, p.Partition, &t.rec); err != nil {
			return err
		}
		p.next = t.rec.Offset + 1
		switch {
		case t.out.full():
			return nil
		case len(t.out.buf) == 0 && ctx.Err() != nil: // it was just written, to a slow reader perhaps
			return context.Cause(ctx)
		}
	}
	if err == nil {
		err = t.it.Err()
	}
	if err != nil {
		t.damage(&client.DamageError{Topic: p.Topic, Partition: p.Partition, Offset: max(p.next, t.it.Header().BaseOffset), Err: err})
	}
	p.next = max(p.next, t.it.Header().LastOffset()+1)
	return nil
}

func (t *tail) done(p *place) {
	p.done = true
	t.open--
}

// ended deals with the end of a partition that is no good end.
func (t *tail) ended(p *place, err error) error {
	_, later := t.later()
	var out *client.OutOfRangeError
	damage := new(client.DamageError)
	switch {
	case errors.Is(err, client.ErrUnavailable):
		return err
	case errors.As(err, &out) && out.Offset < out.Start && out.Start <= out.End:
		t.fail(fmt.Errorf("%w: what was before was deleted unread, going on at %d", out, out.Start))
		p.Start, p.next = out.Start, out.Start
		t.reader.Add(p.Span)
		return nil
	case errors.As(err, &damage):
		t.damage(damage)
	case errors.Is(err, client.ErrUnknownTopic) && t.o.retry && later:
		if !slices.Contains(t.absent, p.Topic) {
			t.env.Say("topic %q: deleted, waiting for it", p.Topic)
			t.absent = append(t.absent, p.Topic)
		}
		delete(t.places, partition{p.Topic, p.Partition})
	default:
		t.fail(err)
	}
	t.done(p)
	return nil
}

// flush writes what was printed; the cursor may follow then.
func (t *tail) flush() error {
	if err := t.out.flush(); err != nil {
		return err
	}
	t.cursor.follow(t.places)
	return nil
}

// told is the reader's Outage.
func (t *tail) told(err error) {
	t.outage.Store(err != nil)
	switch {
	case t.o.quiet || !t.o.following():
	case err != nil:
		t.env.Say("%v; trying again", err)
	default:
		t.env.Say("broker reachable again")
	}
}

// fail tells of something that could not be read, where the rest can.
func (t *tail) fail(err error) {
	t.failed.Store(true)
	t.env.Say("%v", err)
}

func (t *tail) damage(err error) {
	t.damaged.Store(true)
	t.env.Say("%v", err)
}

// result ends the run: err is what ended it, nil for the end of what was to be read.
func (t *tail) result(ctx context.Context, err error) error {
	var errs []error
	if errors.Is(err, client.ErrUnavailable) && ctx.Err() == nil {
		if t.out.printed > 0 {
			err = fmt.Errorf("%w; %s printed", err, cli.Counted(t.out.printed, "message"))
		}
		err = cli.Unavailable(err)
	}
	errs = append(errs, err)
	if !errors.Is(err, cli.ErrStdoutClosed) {
		if err := t.flush(); err != nil {
			errs = append(errs, err)
		}
	}
	if err := t.cursor.save(); err != nil {
		errs = append(errs, err)
	}
	if t.o.verbose {
		t.env.Say("%s", cli.Counted(t.out.printed, "message"))
	}
	if t.damaged.Load() {
		errs = append(errs, cli.WithCode(cli.ExitDamaged, cli.ErrReported))
	}
	if t.failed.Load() {
		errs = append(errs, cli.WithCode(cli.ExitFailed, cli.ErrReported))
	}
	return errors.Join(errs...)
}

func unique(names []string) []string {
	var once []string
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once
}
