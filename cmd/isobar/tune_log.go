package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/tune"
)

// A tuneLog runs cells and stores them, and hands out what an interrupted run
// has stored instead of running it again.
type tuneLog struct {
	app     *app
	ctx     context.Context
	runner  fleet.Runner
	fleet   *pinned // nil for this machine
	store   *store.Store
	path    string // of the store
	unlock  func()
	id      int64
	records []*cell.Record // of the run that is resumed, by index
	next    int
	timeout time.Duration
	memory  int64
	seed    uint64
	served  bool // it is a server
}

func (a *app) openTuneLog(ctx context.Context, o *tuneOptions, c *tune.Config) (*tuneLog, error) {
	s, path, unlock, err := a.openForRun()
	if err != nil {
		return nil, err
	}
	l := &tuneLog{app: a, ctx: ctx, runner: runner.New(runner.Config{Log: a.err}), store: s, path: path, unlock: unlock, timeout: o.timeout, memory: c.MemoryBytes}
	name, machine := o.name(c.Base.Command), host.Fingerprint()
	if o.resume {
		err = l.resume(name, c)
	}
	if err == nil {
		if err = l.join(&o.fleet, c.Base); l.fleet != nil {
			machine = l.fleet.member.Machine
		}
	}
	if err == nil && !o.resume {
		if c.Seed == 0 {
			c.Seed = plan.NewSeed()
		}
		l.id, err = s.CreateRun(store.Run{Name: name, Created: time.Now(), Args: os.Args[1:], Version: host.Version(), Machine: machine, Seed: c.Seed}, nil)
	}
	if err == nil && l.fleet != nil {
		var run store.Run
		run, err = s.Run(l.id)
		l.fleet.id = sweepID(run)
	}
	l.seed, l.served = c.Seed, c.Base.Workload == "serve"
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// name is what the run is called in the store.
func (o *tuneOptions) name(command []string) string {
	switch {
	case o.build.bench != "":
		return "tune --bench " + o.build.bench
	case o.build.main != "":
		return strings.Join(append([]string{"tune --build " + o.build.main}, command[1:]...), " ")
	}
	return "tune " + strings.Join(command, " ")
}

func (l *tuneLog) resume(name string, c *tune.Config) error {
	run, err := l.store.Last()
	if err != nil {
		return err
	}
	if run.Name != name {
		return usage(fmt.Errorf("tune: --resume: the latest run is %q, not %q: give the same command, or leave out --resume", run.Name, name))
	}
	l.id, c.Seed = run.ID, run.Seed
	records, err := l.store.Records(run.ID)
	if err != nil {
		return err
	}
	l.records = make([]*cell.Record, run.Total)
	for _, rec := range records {
		l.records[rec.Cell.Index] = rec
	}
	return nil
}

// join has a machine of a fleet run the program, where the options name one.
func (l *tuneLog) join(o *sweepOptions, base cell.Config) error {
	machine, err := pinnedMachine(l.records, o)
	if err != nil || o.url == "" {
		return err
	}
	if base.Workload != "exec" {
		return usage(errors.New("tune: --fleet: servers are loaded on this machine: leave it out with --url and --load"))
	}
	if l.fleet, err = l.app.pin(l.ctx, o, base.Command[0], machine); err == nil {
		l.runner = l.fleet
	}
	return err
}

func (l *tuneLog) close() {
	if l.fleet != nil {
		l.fleet.leave()
	}
	l.store.Close()
	l.unlock()
}

// measure is the tuner's Runner.
func (l *tuneLog) measure(config cell.Config, block int) (*cell.Record, error) {
	c := cell.Cell{Config: config, Index: l.next, Order: l.next, Block: block, Seed: l.seed, Timeout: l.timeout, MemoryBytes: l.memory}
	l.next++
	known := c.Index < len(l.records)
	if known && l.records[c.Index] != nil {
		rec := l.records[c.Index]
		if rec.Cell.Key() != c.Key() {
			return nil, usage(fmt.Errorf("tune: --resume: run %d went another way (cell %d is %s): give the same flags, or leave out --resume", l.id, c.Index, rec.Cell.Key()))
		}
		return rec, nil
	}
	if !known {
		if err := l.store.Extend(l.id, c); err != nil {
			return nil, err
		}
	}
	bar := newProgress(l.app.err, l.next, l.next-1)
	bar.begin(c)
	rec, _, err := l.runner.Run(l.ctx, c)
	bar.clear()
	if err != nil {
		return nil, err
	}
	return &rec, l.store.Append(l.id, &rec, nil)
}

// report writes the HTML report of all runs and returns where it is.
func (l *tuneLog) report(out string, result *tune.Result) (string, error) {
	if out == "" {
		out = reportPath(l.path, l.id)
	}
	meta, analysis, err := analyze(l.store, l.id)
	if err != nil {
		return "", err
	}
	shown := page.Run{Meta: meta}
	for _, p := range result.Predicted {
		f := forecast(p, 0)
		f.Best = result.OnFrontier(p.GC)
		shown.Forecasts = append(shown.Forecasts, f)
	}
	shown.Traced = []page.Traced{{Name: "the default", Key: result.Base.Key()}}
	if result.Outcome == tune.Recommended {
		shown.Traced = append(shown.Traced, page.Traced{Name: "the recommendation", Key: result.Setting.Key()})
	}
	run, err := l.store.Run(l.id)
	if err != nil {
		return "", err
	}
	shown.Procs = procsMap(result, run)
	return out, writeHTML(out, shown, analysis)
}

// failed explains why tuning ended early.
func (l *tuneLog) failed(err error) error {
	kept := fmt.Sprintf("%d finished runs are kept: 'isobar lab show %d' shows them, the same command with --resume goes on", max(l.next-1, 0), l.id)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(l.app.err, "isobar: interrupted. %s\n", kept)
		return &exitError{code: exitInterrupted}
	}
	var failure *cell.Failure
	switch {
	case errors.As(err, &failure) && failure.Kind == cell.FailTimeout && !l.served:
		err = fmt.Errorf("%w, and a command that ends by itself: a server does not, and needs --url or --load", err)
	case errors.As(err, &failure) && failure.Kind != cell.FailMemory && !l.served:
		err = fmt.Errorf("%w (it runs with an empty standard input; tune needs a command that succeeds each time)", err)
	case errors.Is(err, tune.ErrShort):
		return &exitError{exitInconclusive, err}
	}
	return fmt.Errorf("%w\n%s", err, kept)
}
