package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

// Version is set by the build: -ldflags "-X logkit/lib/cli.Version=...".
var Version string

// Main is the body of main: it runs the tool with the process's arguments and streams, and exits.
//
// The first INT or TERM cancels the context, the second ends the process at once. A signal that is ignored at the start,
// as INT is for a shell's background jobs, stays ignored. SIGPIPE becomes an error of the write.
func Main(t *Tool) {
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		cancel(SignalError{<-signals})
		os.Exit(SignalError{<-signals}.code())
	}()
	os.Exit(t.Execute(ctx, os.Args[1:], Stdio{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
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
