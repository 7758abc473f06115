// Isobar measures what the garbage collector costs a Go program and which
// settings and memory strategies relieve it. See README.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/isobar-go/isobar/internal/lab/runner"
)

func main() { os.Exit(realMain()) }

func realMain() int {
	if len(os.Args) == 2 && os.Args[1] == runner.ChildArg {
		return runner.Child(os.Stdin, os.Stdout, os.Stderr)
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop) // so that a second signal ends the process at once
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
