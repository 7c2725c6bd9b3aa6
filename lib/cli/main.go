package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// Version is set by the build: -ldflags "-X logkit/lib/cli.Version=...".
var Version string

// Main is the body of main: it runs the tool with the process's arguments and streams, and exits.
//
// The first INT, TERM or HUP cancels the context, the second ends the process at once. A signal that is ignored at the
// start, as INT is for a shell's background jobs and HUP below nohup, stays ignored. SIGPIPE becomes an error of the write.
func Main(t *Tool) {
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 4)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		first := <-signals
		cancel(SignalError{first})
		os.Exit(SignalError{second(first, signals)}.code())
	}()
	os.Exit(t.Execute(ctx, os.Args[1:], Stdio{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
}

// sameSignal is how soon the same signal has to come again to be the same wish. Whoever signals a process and then its
// group reaches it twice, as timeout(1) does, and launchers that pass on what the terminal has sent already.
const sameSignal = 200 * time.Millisecond

// second waits for a signal that was meant to be another one than the first, which has just come.
func second(first os.Signal, signals <-chan os.Signal) os.Signal {
	came := time.Now()
	for {
		if s := <-signals; s != first || time.Since(came) > sameSignal {
			return s
		}
	}
}

func versionLine(name string) string {
	return fmt.Sprintf("%s %s (%s)\n", name, version(), runtime.Version())
}

func version() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
