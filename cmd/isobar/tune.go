package main

import (
	"context"
	"crypto/rand"
	"debug/buildinfo"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/cell"
	"github.com/isobar-go/isobar/internal/host"
	"github.com/isobar-go/isobar/internal/report"
	"github.com/isobar-go/isobar/internal/runner"
	"github.com/isobar-go/isobar/internal/store"
	"github.com/isobar-go/isobar/internal/tuner"
	"github.com/isobar-go/isobar/internal/workload"
)

// tuneOptions are the flags of 'isobar tune'.
type tuneOptions struct {
	bench      benchOptions
	objective  string
	maxRSS     string
	memory     string
	gogc       []string
	procs      []string
	collectors []string
	budget     time.Duration
	timeout    time.Duration
	rounds     int
	tolerance  float64
	seed       uint64
	json       bool
	out        string
	resume     bool
	check      string
	gate       string
}

func (a *app) tuneCommand() *cobra.Command {
	o := &tuneOptions{}
	cmd := &cobra.Command{
		Use:   "tune [flags] -- COMMAND [ARG ...]",
		Short: "Find the GC settings that suit a program, and prove them",
		Long: `Runs an unmodified Go program a few times, predicts from its gctrace what every
GOGC and memory limit would cost and buy, measures where that is uncertain, and
proves the best setting against the default in fresh, paired runs. It ends with a
recommendation, with "the default is as good", or inconclusive (exit status 4).

  isobar tune -- go vet ./...
  isobar tune --objective cpu --max-rss 512MiB -- ./batch input.csv
  isobar tune --bench ./codec --run 'Decode/large'
  isobar tune --json -- ./batch > settings.json
  isobar tune --check settings.json --gate 5%     in CI: 3 when the gain is gone

The program runs with an empty standard input, its standard output is thrown
away. It must do the same work each time and come to an end.`,
		Args: func(_ *cobra.Command, args []string) error { return usage(o.validate(args)) },
		RunE: func(cmd *cobra.Command, args []string) error { return a.tune(cmd.Context(), o, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.bench.pkg, "bench", "", "tune a benchmark of `PACKAGE` instead of a command; its tests are compiled once")
	f.StringVar(&o.bench.run, "run", ".", "with --bench: the `REGEXP` of benchmarks to run")
	f.StringVar(&o.bench.time, "benchtime", "", "with --bench: iterations, such as 1000x (default: what takes about 2 s)")
	f.StringVar(&o.objective, "objective", "throughput", "what to make better: throughput, wall, cpu or rss")
	f.StringVar(&o.maxRSS, "max-rss", "", "no setting that may occupy more than this, such as 512MiB; also tries GOMEMLIMIT")
	f.StringVar(&o.memory, "memory", "auto", "kill a run that occupies more: a size, auto (70 % of what is usable), or none")
	f.StringSliceVar(&o.gogc, "gogc", nil, "candidates: GOGC numbers, off, or GOGC:LIMIT such as 200:512MiB (default: 100 to 3200, off)")
	f.StringSliceVar(&o.procs, "gomaxprocs", nil, "also try these values of GOMAXPROCS with the best setting")
	f.StringSliceVar(&o.collectors, "collector", nil, "with --bench: also try builds with these collectors (greentea, classic)")
	f.DurationVar(&o.budget, "budget", 3*time.Minute, "time to run the program for, in all")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "kill a run that takes longer")
	f.IntVar(&o.rounds, "rounds", 0, "paired rounds of the final test, 4 or more (default: 6 to 10, as the budget allows)")
	f.Float64Var(&o.tolerance, "tolerance", 2, "percent: of the settings this near to the best, take the one of least memory")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the order of runs (default: drawn, and recorded)")
	f.BoolVar(&o.json, "json", false, "print the result as JSON, which --check reads")
	f.StringVar(&o.out, "out", "", "write the HTML report to `FILE` (default: reports/run-N.html beside the store)")
	f.BoolVar(&o.resume, "resume", false, "go on with the latest run, which must be of the same command and flags")
	f.StringVar(&o.check, "check", "", "measure again whether the setting in `FILE` (of --json) is worth it")
	f.StringVar(&o.gate, "gate", "5%", "with --check: how much of the gain may be lost")
	return cmd
}

// validate refuses what cannot be meant, before anything runs.
func (o *tuneOptions) validate(args []string) error {
	given := 0
	for _, is := range []bool{len(args) > 0, o.bench.pkg != "", o.check != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return errors.New("tune: name one of: the program behind -- (isobar tune -- go vet ./...), --bench PACKAGE, --check FILE")
	}
	if err := workload.OneOf("throughput", "wall", "cpu", "rss")(o.objective); err != nil {
		return fmt.Errorf("--objective %q: %w", o.objective, err)
	}
	if o.rounds != 0 && o.rounds < 4 {
		return fmt.Errorf("--rounds %d: want 4 or more, or no verdict is possible", o.rounds)
	}
	if o.tolerance <= 0 || o.tolerance > 50 {
		return fmt.Errorf("--tolerance %v: want percents above 0, up to 50", o.tolerance)
	}
	if o.budget <= 0 || o.timeout <= 0 {
		return errors.New("--budget and --timeout: want a time above 0, such as 3m")
	}
	if len(o.collectors) > 0 && o.bench.pkg == "" {
		return errors.New("--collector: a collector is built in: it needs --bench, which builds")
	}
	for _, c := range o.collectors {
		if err := workload.OneOf("greentea", "classic")(c); err != nil {
			return fmt.Errorf("--collector %q: %w", c, err)
		}
	}
	if _, err := parsePercent(o.gate); err != nil {
		return fmt.Errorf("--gate: %w", err)
	}
	if _, err := o.config(args); err != nil {
		return err
	}
	// The runtime silently takes what it does not understand for the default.
	if v := os.Getenv("GOGC"); v != "" && v != "off" {
		if _, err := strconv.ParseInt(v, 10, 32); err != nil {
			return fmt.Errorf("GOGC=%s in the environment: the runtime takes this for 100 without a word: want a number or off", v)
		}
	}
	if v := os.Getenv("GOMEMLIMIT"); v != "" && v != "off" {
		if _, err := cell.ParseBytes(v); err != nil {
			return fmt.Errorf("GOMEMLIMIT=%s in the environment: want a size such as 512MiB, or off", v)
		}
	}
	return nil
}

func parsePercent(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	if err != nil || v < 0 || v > 100 {
		return 0, fmt.Errorf("%q: want a percentage such as 5%%", s)
	}
	return v / 100, nil
}

// config turns the options into what the tuner reads.
func (o *tuneOptions) config(command []string) (tuner.Config, error) {
	c := tuner.Config{
		Base:      cell.Config{Workload: "exec", Command: command, GC: cell.DefaultGC},
		Objective: tuner.Objective(o.objective), Tolerance: o.tolerance / 100, Budget: o.budget, Pairs: o.rounds, Seed: o.seed,
	}
	var err error
	if o.maxRSS != "" {
		n, err := cell.ParseBytes(o.maxRSS)
		if err != nil || n == 0 {
			return c, usage(fmt.Errorf("--max-rss %q: want a size such as 512MiB", o.maxRSS))
		}
		c.MaxPeakBytes = float64(n)
	}
	if c.MemoryBytes, err = memoryCap(o.memory); err != nil {
		return c, err
	}
	for _, s := range o.gogc {
		gc, err := cell.ParseGC(s)
		if err != nil {
			return c, usage(fmt.Errorf("--gogc: %w", err))
		}
		if gc.Percent == cell.DefaultGC.Percent {
			gc.Name = cell.DefaultGC.Name
		} else {
			gc.Name = ""
		}
		c.Settings = append(c.Settings, gc)
	}
	for _, s := range o.procs {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 4096 {
			return c, usage(fmt.Errorf("--gomaxprocs %q: want a whole number from 1 to 4096", s))
		}
		c.Procs = append(c.Procs, n)
	}
	return c, nil
}

func memoryCap(s string) (int64, error) {
	opts := measureOptions{reps: 1, seed: 1, memory: s}
	spec, err := opts.spec(nil)
	return spec.MemoryBytes, err
}

func (a *app) tune(ctx context.Context, o *tuneOptions, args []string) error {
	if o.check != "" {
		return a.tuneCheck(ctx, o)
	}
	if o.bench.pkg != "" {
		prepared, err := a.prepareBench(ctx, o)
		if err != nil {
			return err
		}
		defer prepared.remove()
		args = prepared.command
		o.bench.variants = prepared.variants
	} else if err := checkProgram(args[0]); err != nil {
		return err
	}
	if v := os.Getenv("GOGC"); v != "" && v != "100" {
		fmt.Fprintf(a.err, "isobar: GOGC=%s in the environment is not used: settings are compared with the default, GOGC=100\n", v)
	}
	c, err := o.config(args)
	if err != nil {
		return err
	}
	c.Variants = o.bench.variants
	log, err := a.openTuneLog(ctx, o, &c)
	if err != nil {
		return err
	}
	defer log.close()
	result, err := tuner.Tune(c, log.measure)
	if err != nil {
		return log.failed(err)
	}
	page, err := log.report(o.out, result)
	switch {
	case err != nil:
	case o.json:
		err = writeJSON(a.out, result)
	default:
		if err = result.Write(a.out); err == nil {
			_, err = fmt.Fprintf(a.out, "\nreport    %s\nall runs  isobar lab show %d\n", page, log.id)
		}
	}
	if err == nil && result.Outcome == tuner.Inconclusive {
		err = &exitError{code: exitInconclusive}
	}
	return err
}

// checkProgram says at once when the program is none of Go's. What it starts
// in turn is not known: a script may run a Go program.
func checkProgram(name string) error {
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("tune: %w: give a command that is in PATH, or its path", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	defer f.Close()
	head := make([]byte, 2)
	if _, err := f.Read(head); err == nil && string(head) == "#!" {
		return nil
	}
	if _, err := buildinfo.ReadFile(path); err != nil {
		return fmt.Errorf("tune: %s is not a Go program (it has no build information): GOGC means nothing to it", path)
	}
	return nil
}

// A tuneLog runs cells and stores them, and hands out what an interrupted run
// has stored instead of running it again.
type tuneLog struct {
	app     *app
	ctx     context.Context
	runner  *runner.Runner
	store   *store.Store
	path    string // of the store
	unlock  func()
	id      int64
	records []*cell.Record // of the run that is resumed, by index
	next    int
	timeout time.Duration
	memory  int64
	seed    uint64
}

func (a *app) openTuneLog(ctx context.Context, o *tuneOptions, c *tuner.Config) (*tuneLog, error) {
	s, path, unlock, err := a.openForRun()
	if err != nil {
		return nil, err
	}
	l := &tuneLog{app: a, ctx: ctx, runner: runner.New(runner.Config{Log: a.err}), store: s, path: path, unlock: unlock, timeout: o.timeout, memory: c.MemoryBytes}
	name := "tune " + strings.Join(c.Base.Command, " ")
	if o.bench.pkg != "" {
		name = "tune --bench " + o.bench.pkg
	}
	if o.resume {
		err = l.resume(name, c)
	} else {
		if c.Seed == 0 {
			var b [8]byte
			rand.Read(b[:])
			c.Seed = binary.LittleEndian.Uint64(b[:])>>12 + 1
		}
		l.id, err = s.CreateRun(store.Run{Name: name, Created: time.Now(), Args: os.Args[1:], Version: host.Version(), Machine: host.Fingerprint(), Seed: c.Seed}, nil)
	}
	l.seed = c.Seed
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *tuneLog) resume(name string, c *tuner.Config) error {
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

func (l *tuneLog) close() {
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
func (l *tuneLog) report(out string, result *tuner.Result) (string, error) {
	if out == "" {
		out = reportPath(l.path, l.id)
	}
	meta, analysis, err := analyze(l.store, l.id)
	if err != nil {
		return "", err
	}
	for _, p := range result.Frontier {
		percent := float64(p.GC.Percent)
		if percent < 0 {
			percent = 6400
		}
		three := func(i tuner.Interval) [3]float64 { return [3]float64{i.Mid, i.Lo, i.Hi} }
		meta.Forecasts = append(meta.Forecasts, report.Forecast{Setting: p.GC.String(), Percent: percent, Bytes: three(p.PeakBytes), CPU: three(p.CPU), Wall: three(p.Wall)})
	}
	return out, writeHTML(out, meta, analysis)
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
	case errors.As(err, &failure) && failure.Kind == cell.FailTimeout:
		err = fmt.Errorf("%w, and a command that ends by itself: a server does not", err)
	case errors.As(err, &failure) && failure.Kind != cell.FailMemory:
		err = fmt.Errorf("%w (it runs with an empty standard input; tune needs a command that succeeds each time)", err)
	case errors.Is(err, tuner.ErrShort):
		return &exitError{exitInconclusive, err}
	}
	return fmt.Errorf("%w\n%s", err, kept)
}
