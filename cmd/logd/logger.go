package main

import (
	"context"
	"io"
	"log/slog"
	"sync"

	"logkit/lib/cli"
)

// logger writes to stderr, one line an event. The journal of systemd stamps lines with the time itself, and wants to be
// told how grave each is.
func (o *options) logger(env *cli.Env) *slog.Logger {
	options := &slog.HandlerOptions{Level: o.level()}
	if !env.StderrJournal() {
		return slog.New(slog.NewTextHandler(env.Stderr, options))
	}
	return slog.New(newJournalHandler(env.Stderr, options))
}

// journalHandler has a handler for each level, whose lines begin with its priority as sd-daemon(3) has them.
type journalHandler [4]slog.Handler

var journalLevels = [len(journalHandler{})]struct {
	least  slog.Level
	prefix string
}{
	{slog.LevelError, cli.JournalError}, {slog.LevelWarn, cli.JournalWarning}, {slog.LevelInfo, cli.JournalInfo}, {slog.LevelDebug, cli.JournalDebug},
}

func newJournalHandler(w io.Writer, options *slog.HandlerOptions) (h journalHandler) {
	timeless := *options
	timeless.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	mu := new(sync.Mutex)
	for i, level := range journalLevels {
		h[i] = slog.NewTextHandler(&prefixed{mu, w, level.prefix}, &timeless)
	}
	return h
}

func (h journalHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h[0].Enabled(ctx, level)
}

func (h journalHandler) Handle(ctx context.Context, r slog.Record) error {
	for i, level := range journalLevels {
		if r.Level >= level.least {
			return h[i].Handle(ctx, r)
		}
	}
	return h[len(h)-1].Handle(ctx, r)
}

func (h journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for i := range h {
		h[i] = h[i].WithAttrs(attrs)
	}
	return h
}

func (h journalHandler) WithGroup(name string) slog.Handler {
	for i := range h {
		h[i] = h[i].WithGroup(name)
	}
	return h
}

// prefixed puts something before each write, which is a line. Several share w and its mutex.
type prefixed struct {
	mu     *sync.Mutex
	w      io.Writer
	prefix string
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.w.Write(append([]byte(p.prefix), b...)); err != nil {
		return 0, err
	}
	return len(b), nil
}
