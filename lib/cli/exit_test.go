package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	ucli "github.com/urfave/cli/v2"
)

// runWith runs the sample tool with a run that returns err, after the context has ended because of cause.
func runWith(t *testing.T, cause error, signalOK bool, run func(ctx context.Context, env *Env) error) result {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	s := &sample{}
	s.run = func(ctx context.Context, env *Env) error {
		if cause != nil {
			cancel(cause)
			<-ctx.Done()
		}
		return run(ctx, env)
	}
	tool := s.tool()
	tool.SignalOK = signalOK
	out, errs := new(writer), new(writer)
	code := tool.Execute(ctx, []string{"t"}, Stdio{Stdout: out, Stderr: errs})
	return result{code, out.text, errs.text}
}

// writer fails with err once it is set.
type writer struct {
	text string
	err  error
}

func (w *writer) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	w.text += string(b)
	return len(b), nil
}

// helpful is an error of a package that does not know this one.
type helpful struct{ error }

func (helpful) Hint() string { return "help" }

func TestExitStatus(t *testing.T) {
	lost, interrupt := errors.New("3 messages lost"), SignalError{syscall.SIGINT}
	rows := []struct {
		name     string
		cause    error
		signalOK bool
		err      error
		code     int
		stderr   string
	}{
		{name: "nil"},
		{name: "plain", err: lost, code: 1, stderr: "sample: 3 messages lost\n"},
		{name: "usage", err: Usagef("-a and -b"), code: 64, stderr: "sample: -a and -b\nsample: hint: try 'sample --help'\n"},
		{name: "unavailable", err: fmt.Errorf("topic x: %w", Unavailable(io.EOF)), code: 75, stderr: "sample: topic x: EOF\n"},
		{name: "damaged, hinted", err: WithHint(Damaged(lost), "run it again"), code: 65, stderr: "sample: 3 messages lost\nsample: hint: run it again\n"},
		{name: "with a hint of its own", err: fmt.Errorf("topic x: %w", helpful{lost}), code: 1, stderr: "sample: topic x: 3 messages lost\nsample: hint: help\n"},
		{name: "outermost code", err: WithCode(3, Damaged(lost)), code: 3, stderr: "sample: 3 messages lost\n"},
		{name: "reported", err: ErrReported, code: 1},
		{name: "reported with a code", err: Damaged(ErrReported), code: 65},
		{name: "joined", err: errors.Join(Unavailable(io.EOF), errors.Join(Damaged(io.ErrUnexpectedEOF), lost)), code: 1,
			stderr: "sample: EOF\nsample: unexpected EOF\nsample: 3 messages lost\n"},
		{name: "unavailable beside damage", err: errors.Join(Unavailable(io.EOF), Damaged(lost)), code: 65, stderr: "sample: EOF\nsample: 3 messages lost\n"},
		{name: "wrapping two in a sentence", err: fmt.Errorf("%w: %w", lost, Unavailable(io.EOF)), code: 75, stderr: "sample: 3 messages lost: EOF\n"},
		// STYLE 4.2: 6. urfave would call os.Exit here.
		{name: "ExitCoder", err: ucli.Exit("gone", 7), code: 1, stderr: "sample: gone\n"},

		{name: "interrupted", cause: interrupt, code: 130},
		{name: "terminated", cause: SignalError{syscall.SIGTERM}, err: context.Canceled, code: 143},
		{name: "interrupted, cause returned", cause: interrupt, err: fmt.Errorf("fetch: %w", interrupt), code: 130},
		{name: "interrupted while connecting", cause: interrupt, err: Unavailable(fmt.Errorf("dial: %w", context.Canceled)), code: 130},
		{name: "interrupted and lost", cause: interrupt, err: lost, code: 1, stderr: "sample: 3 messages lost\n"},
		{name: "interrupted and reported", cause: interrupt, err: errors.Join(context.Canceled, ErrReported), code: 1},
		{name: "status asked for", cause: interrupt, err: WithCode(1, context.Canceled), code: 1, stderr: "sample: context canceled\n"},
		{name: "daemon", cause: interrupt, signalOK: true, err: context.Canceled},
		{name: "daemon, failed", cause: interrupt, signalOK: true, err: lost, code: 1, stderr: "sample: 3 messages lost\n"},
		{name: "other end of the context", cause: lost, err: context.Canceled, code: 1, stderr: "sample: context canceled\n"},

		{name: "stdout closed", err: fmt.Errorf("write: %w", ErrStdoutClosed)},
		{name: "stdout closed and lost", err: errors.Join(ErrStdoutClosed, lost), code: 1, stderr: "sample: 3 messages lost\n"},
		{name: "stdout closed, status asked for", err: WithCode(1, ErrStdoutClosed), code: 1, stderr: "sample: standard output closed by its reader\n"},
		// A connection that breaks gives EPIPE too.
		{name: "EPIPE of something else", err: &os.SyscallError{Syscall: "write", Err: syscall.EPIPE}, code: 1, stderr: "sample: write: broken pipe\n"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := runWith(t, row.cause, row.signalOK, func(context.Context, *Env) error { return row.err })
			if want := (result{code: row.code, stderr: row.stderr}); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestWritesToClosedStdout(t *testing.T) {
	for _, broken := range []error{&os.PathError{Op: "write", Err: syscall.EPIPE}, syscall.ECONNRESET, io.ErrClosedPipe} {
		s := &sample{}
		s.run = func(_ context.Context, env *Env) error {
			_, err := io.WriteString(env.Stdout, "x")
			if !errors.Is(err, ErrStdoutClosed) {
				t.Errorf("write: %v, want ErrStdoutClosed", err)
			}
			if broken == io.ErrClosedPipe {
				return context.Canceled // a tool that stops its own work for it
			}
			return fmt.Errorf("message 1: %w", err)
		}
		errs := new(writer)
		if code := s.tool().Execute(context.Background(), []string{"t"}, Stdio{Stdout: &writer{err: broken}, Stderr: errs}); code != 0 || errs.text != "" {
			t.Errorf("%v: status %d, stderr %q", broken, code, errs.text)
		}
	}
	errs := new(writer)
	code := (&sample{}).tool().Execute(context.Background(), []string{"--help"}, Stdio{Stdout: &writer{err: syscall.ENOSPC}, Stderr: errs})
	if code != 1 || errs.text != "sample: standard output: no space left on device\n" {
		t.Errorf("help on a full disk: status %d, stderr %q", code, errs.text)
	}
}

func TestExitTable(t *testing.T) {
	if got := len((&Tool{}).ExitTable()); got != 8 {
		t.Errorf("%d rows", got)
	}
	for _, exit := range (&Tool{SignalOK: true}).ExitTable() {
		if exit.Code > 128 {
			t.Errorf("a tool that ends with 0 at a signal lists %d", exit.Code)
		}
	}
	if got := (&Tool{Exits: Exits(65, 0)}).ExitTable(); len(got) != 2 || got[0].Code != 65 || got[1].Code != 0 {
		t.Errorf("%v", got)
	}
}

func TestMessages(t *testing.T) {
	rows := []struct{ text, want string }{
		{"topic \"t\": unknown", "x: topic \"t\": unknown\n"},
		{"a\nb", "x: a\\nb\n"},
		{"\x1b[2J\x07\u009b", "x: \\x1b[2J\\a\\u009b\n"},
		{"a\x9bb", "x: a\ufffdb\n"},
		{"é 世", "x: é 世\n"},
	}
	for _, row := range rows {
		w := new(writer)
		env := newEnv(context.Background(), "x", Stdio{Stdout: w, Stderr: w})
		env.Say("%s", row.text)
		if w.text != row.want {
			t.Errorf("%q: got %q, want %q", row.text, w.text, row.want)
		}
		w.text = ""
		env.Progress("50%%") // no terminal
		if w.text != "" {
			t.Errorf("progress without a terminal: %q", w.text)
		}
	}
}
