package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/session"
	"github.com/isobar-go/isobar/internal/show/text"
)

// workerOptions are the flags of 'worker'.
type workerOptions struct {
	fleet.WorkerConfig
	connect             fleet.Options
	labels              []string
	user, memory, drain string
}

func (a *app) workerCommand() *cobra.Command {
	var o workerOptions
	cmd := &cobra.Command{
		Use:   "worker URL",
		Short: "Measure for a fleet on this machine",
		Long:  help("worker"),
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.drain != "" {
				return a.drainWorker(cmd.Context(), args[0], &o)
			}
			return a.work(cmd.Context(), args[0], &o)
		},
	}
	f := cmd.Flags()
	connectFlags(cmd, &o.connect, "")
	f.StringVar(&o.Name, "name", "", "name in reports (default: from the machine's digest)")
	f.StringSliceVar(&o.labels, "label", nil, "`KEY=VALUE` that plans can require; cpu, cores, os, arch, kernel and "+
		"machine are set automatically")
	f.StringSliceVar(&o.Allow, "allow", []string{fleet.KindLab}, "kinds of cells that may run here: lab, exec")
	f.StringVar(&o.user, "user", "", "user that runs the cells; only root may give it, and root must for exec")
	f.StringVar(&o.Dir, "dir", "", "`DIR` for working directories, one per worker (default: isobar/worker in the user's "+
		"cache directory; with --user "+userDir+")")
	f.DurationVar(&o.MaxTimeout, "max-timeout", time.Hour, "longest time of a cell; 0 for no limit")
	f.StringVar(&o.memory, "max-memory", "auto", "most memory of a cell: a size, auto (70 % of usable memory), or none")
	f.StringVar(&o.drain, "drain", "", "tell every worker of that `NAME` to finish its block and leave")
	return cmd
}

func (a *app) drainWorker(ctx context.Context, url string, o *workerOptions) error {
	f, err := fleet.Connect(ctx, a.connection(o.connect, url, "isobar drain"))
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := f.Drain(ctx, o.drain)
	if err == nil {
		_, err = fmt.Fprintf(a.Out, "%s of that name: finishing the block, then leaving\n", text.Plural(n, "worker"))
	}
	return err
}

// work runs a worker until it has drained.
func (a *app) work(ctx context.Context, url string, o *workerOptions) error {
	if err := o.complete(a.Err); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return fmt.Errorf("worker: %w: choose another place with --dir", err)
	}
	unlock, err := store.Lock(filepath.Join(o.Dir, "worker"))
	switch {
	case errors.Is(err, store.ErrLocked):
		return fmt.Errorf("worker: %w: two workers on a machine disturb each other's measurements: run one", err)
	case err != nil:
		return fmt.Errorf("worker: %w: choose another place with --dir", err)
	}
	defer unlock()
	if err := session.CanRun(ctx, o.Runner(o.Dir)); err != nil {
		return fmt.Errorf("worker: no program can run in %s: %w: give --dir a place that its user may enter", o.Dir, err)
	}
	f, err := fleet.Connect(ctx, a.connection(o.connect, url, "isobar worker"))
	if err != nil {
		return err
	}
	defer f.Close()
	w := fleet.NewWorker(f, o.WorkerConfig)
	fmt.Fprintf(a.Err, "isobar: worker %s has joined %s, for %s\n", w.Member().Name, url, strings.Join(o.Allow, ","))
	return a.runUntilDrained(ctx, w)
}

// runUntilDrained drains the worker at the first signal, which ends ctx, and
// ends it at the second.
func (a *app) runUntilDrained(ctx context.Context, w *fleet.Worker) error {
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		again, stop := signal.NotifyContext(hard, os.Interrupt, syscall.SIGTERM)
		defer stop()
		w.Drain()
		fmt.Fprintln(a.Err, "isobar: worker: finishing the current block; interrupt again to give it back")
		<-again.Done()
		cancel()
	})()
	return w.Run(hard)
}

// userDir is where cells run as another user, who cannot enter root's own directories.
const userDir = "/var/lib/isobar-worker"

// complete checks the flags and adds to the configuration what they do not set.
func (o *workerOptions) complete(log io.Writer) (err error) {
	o.Machine, o.Labels = host.Fingerprint(), map[string]string{}
	o.Log = func(format string, args ...any) { fmt.Fprintf(log, "isobar: worker: "+format+"\n", args...) }
	for _, label := range o.labels {
		key, value, ok := strings.Cut(label, "=")
		if !ok || key == "" {
			return usage(fmt.Errorf("worker: --label %q: want KEY=VALUE", label))
		}
		o.Labels[key] = value
	}
	for _, kind := range o.Allow {
		if kind != fleet.KindLab && kind != fleet.KindExec {
			return usage(fmt.Errorf("worker: --allow %q: want lab or exec", kind))
		}
	}
	if o.MaxMemoryBytes, err = runner.MemoryCap(o.memory, o.Machine.MemoryBytes); err != nil {
		return usage(fmt.Errorf("worker: --max-memory %q: %w", o.memory, err))
	}
	if o.Dir == "" && o.user != "" {
		o.Dir = userDir
	}
	if o.Dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("worker: %w: give --dir", err)
		}
		o.Dir = filepath.Join(cache, "isobar", "worker")
	}
	if o.Account, err = session.WorkerAccount(o.user, o.Allow); err != nil {
		return err
	}
	o.Runner = session.CellRunner(o.Dir, o.Account, log)
	return nil
}
