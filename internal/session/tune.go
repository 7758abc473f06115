package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/internal/tune"
)

// A TuneLog runs cells and stores them. Results that an interrupted run stored
// are returned without running the cell again.
type TuneLog struct {
	session *Session
	ctx     context.Context
	runner  fleet.Runner
	Fleet   *pinned // nil for this machine
	store   *store.Store
	path    string // of the store
	unlock  func()
	ID      int64
	records []*cell.Record // of the resumed run, by index
	next    int            // index of the next run
	planned int            // number of runs in the store's plan
	timeout time.Duration
	first   time.Duration // timeout of the first run
	memory  int64
	seed    uint64
	served  bool // the program is a server
	output  *outputFile
	status  *Status
	latest  *cell.Record  // of the latest run; nil before the first
	failed  *cell.Record  // the latest run, if its program exited with a failure; stored once tuning goes on
	warmUp  time.Duration // of the server in the first run, and so in all others
}

// A TuneRun says how to run the program to tune.
type TuneRun struct {
	Name    string // of the run in the store
	Resume  bool   // continue the latest run, which must have this name
	Timeout time.Duration
	First   time.Duration // timeout of the first run
	Fleet   *Fleet        // nil for this machine
	// Same returns an error if a run that was begun with these arguments is not to be resumed.
	Same func(args []string) error
}

func (se *Session) OpenTuneLog(ctx context.Context, o TuneRun, c *tune.Config) (*TuneLog, error) {
	s, path, unlock, err := se.OpenForRun(o.Resume)
	if err != nil {
		return nil, err
	}
	l := &TuneLog{session: se, ctx: ctx, output: &outputFile{}, store: s, path: path,
		unlock: unlock, timeout: o.Timeout, first: o.First, memory: c.MemoryBytes, status: NewStatus(se.Err)}
	l.runner = runner.New(runner.Config{Log: l.output})
	c.Begin = l.begin
	machine := host.Fingerprint()
	if o.Resume {
		err = l.resume(o, c)
	}
	if err == nil {
		if err = l.join(o.Fleet, c.Base); l.Fleet != nil {
			machine = l.Fleet.member.Machine
		}
	}
	if err == nil && !o.Resume {
		if c.Seed == 0 {
			c.Seed = plan.NewSeed()
		}
		l.ID, err = s.CreateRun(store.Run{Name: o.Name, Created: time.Now(), Args: Args(), Version: host.Version(),
			Machine: machine, Seed: c.Seed}, nil)
	}
	if err == nil && l.Fleet != nil {
		var run store.Run
		run, err = s.Run(l.ID)
		l.Fleet.id = sweepID(run)
	}
	l.seed, l.served = c.Seed, c.Base.Workload == "serve"
	l.output.path = LogPath(ReportPath(path, l.ID))
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *TuneLog) resume(o TuneRun, c *tune.Config) error {
	run, err := l.store.Last()
	if err != nil {
		return err
	}
	if run.Name != o.Name {
		return Misused(fmt.Errorf("tune: --resume: the latest run is %q, not %q: give the same command, or leave out "+
			"--resume", run.Name, o.Name))
	}
	if err := o.Same(run.Args); err != nil {
		return Misused(fmt.Errorf("tune: --resume: run %d %w: give the same flags, or leave out --resume", run.ID, err))
	}
	l.ID, c.Seed = run.ID, run.Seed
	records, err := l.store.Records(run.ID)
	if err != nil {
		return err
	}
	l.records, l.planned = make([]*cell.Record, run.Total), run.Total
	for _, rec := range records {
		l.records[rec.Cell.Index] = rec
	}
	return nil
}

// join pins the runs to a machine of the fleet, if the options name one.
func (l *TuneLog) join(o *Fleet, base cell.Config) error {
	machine, err := pinnedMachine(l.records, o)
	if err != nil || o == nil {
		return err
	}
	if base.Workload != "exec" {
		return Misused(errors.New("tune: --fleet: a server is loaded from this machine: leave out --fleet with --url " +
			"and --load"))
	}
	if l.Fleet, err = l.session.pin(l.ctx, o, base.Command[0], machine); err == nil {
		l.runner = l.Fleet
	}
	return err
}

// begin says what tuning does, how far it is and the time left.
func (l *TuneLog) begin(step tune.Step) {
	line := fmt.Sprintf("run %d of at most %d", step.Done+1, step.Planned)
	if step.Done > 0 {
		line += fmt.Sprintf(", %v left", step.Left.Round(time.Second))
	}
	line += ": " + text.Clean(step.Doing)
	if step.Done == 0 && !l.served { // otherwise only a timeout would tell
		line += "; a server does not end by itself: give --url or --load"
	}
	l.status.Say(line)
}

func (l *TuneLog) Close() {
	if l.Fleet != nil {
		l.Fleet.leave()
	}
	l.status.End()
	l.output.Close()
	l.store.Close()
	l.unlock()
}

// Measure implements the tuner's Runner.
func (l *TuneLog) Measure(config cell.Config, block int) (*cell.Record, error) {
	return l.keep(config, block, func(c cell.Cell) (*cell.Record, error) {
		rec, _, err := l.runner.Run(l.ctx, c)
		return &rec, err
	})
}

// Keep is Measure for a record that the caller measures.
func (l *TuneLog) Keep(config cell.Config, block int, measure func() (*cell.Record, error)) (*cell.Record, error) {
	return l.keep(config, block, func(cell.Cell) (*cell.Record, error) { return measure() })
}

// keep stores the result of measure, unless the store already has the record.
func (l *TuneLog) keep(config cell.Config, block int,
	measure func(cell.Cell) (*cell.Record, error)) (*cell.Record, error) {
	if err := l.keepFailed(); err != nil {
		return nil, err
	}
	c := l.cell(config, block)
	l.next++
	if c.Index < len(l.records) && l.records[c.Index] != nil {
		rec := l.records[c.Index]
		l.took(rec)
		was, is := rec.Cell.GC.Env(cell.EnvLimit), c.GC.Env(cell.EnvLimit)
		if c.Index == 0 && !slices.Equal(was, is) { // the flags are the same
			return nil, Misused(fmt.Errorf("tune: --resume: run %d compares with today's %s, which is %s now: set it as it "+
				"was, or leave out --resume", l.ID, strings.Join(was, " "), strings.Join(is, " ")))
		}
		if rec.Cell.Key() != c.Key() {
			return nil, Misused(fmt.Errorf("tune: --resume: run %d measured other settings (cell %d is %s): give the same "+
				"flags, or leave out --resume", l.ID, c.Index, rec.Cell.Key()))
		}
		return rec, nil
	}
	if c.Index == l.planned {
		if err := l.store.Extend(l.ID, c); err != nil {
			return nil, err
		}
		l.planned++
	}
	began := time.Now()
	rec, err := measure(c)
	l.status.Clear()
	if err != nil {
		return nil, err
	}
	rec.Cell = c
	rec.Set(cell.RunTime, time.Since(began).Seconds())
	l.took(rec)
	if rec.Err != nil && rec.Err.Kind == cell.FailExit { // if it ends tuning, --resume repeats it
		l.failed = rec
		return rec, nil
	}
	return rec, l.store.Append(l.ID, rec, nil)
}

// keepFailed stores a failed run that did not end tuning.
func (l *TuneLog) keepFailed() error {
	rec := l.failed
	if l.failed = nil; rec == nil {
		return nil
	}
	return l.store.Append(l.ID, rec, nil)
}

// cell returns the next cell.
func (l *TuneLog) cell(config cell.Config, block int) cell.Cell {
	c := cell.Cell{Config: config, Index: l.next, Order: l.next, Block: block, Seed: l.seed, Timeout: l.timeout,
		MemoryBytes: l.memory, WarmUp: l.warmUp}
	if c.Index == 0 {
		c.Timeout = l.first
	}
	return c
}

// took notes the latest record. A server's load covers its warm-up, so one that differed between runs would
// compare unequal work.
func (l *TuneLog) took(rec *cell.Record) {
	l.latest = rec
	if warm := rec.Metrics[cell.WarmUp]; l.warmUp == 0 && rec.Err == nil {
		l.warmUp = time.Duration(warm * float64(time.Second))
	}
}

// OpenOutput opens the file of the programs' output for a program that is not a child of
// this process. The caller closes it.
func (l *TuneLog) OpenOutput() (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(l.output.path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(l.output.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

// Report stores the answer, a tune.Answer or a type that embeds one, writes the HTML report
// on all runs and returns its path.
func (l *TuneLog) Report(out string, result any) (string, error) {
	if out == "" {
		out = ReportPath(l.path, l.ID)
	}
	data, err := json.Marshal(result)
	if err != nil {
		return "", fmt.Errorf("tune: %w", err)
	}
	if err := cmp.Or(l.keepFailed(), l.store.KeepAnswer(l.ID, data)); err != nil {
		return "", err
	}
	loaded, analysis, err := Load(l.store, l.ID)
	if err != nil {
		return "", err
	}
	return out, WriteReport(out, loaded.Run, analysis)
}

// Failed adds to the error what the user can do and which runs are kept.
func (l *TuneLog) Failed(err error) error {
	l.status.Clear()
	kept := ""
	var failure *cell.Failure
	errors.As(err, &failure)
	if n := l.next - 1; n > 0 { // without the run that failed
		are := "are"
		if n == 1 {
			are = "is"
		}
		kept = fmt.Sprintf("%s %s kept: '%s' shows them, and the same command with --resume continues",
			text.Plural(n, "finished run"), are, l.session.Command(fmt.Sprint("lab show ", l.ID)))
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(l.session.Err, "isobar: interrupted. %s\n", kept)
		return ErrInterrupted
	}
	switch {
	case failure != nil && failure.Kind == cell.FailTimeout && !l.served:
		err = fmt.Errorf("%w; tune needs a command that ends by itself; for a server give --url or --load", err)
	case failure != nil && failure.Kind != cell.FailMemory && !l.served:
		err = fmt.Errorf("%w (it runs with an empty standard input, which sh -c 'COMMAND <FILE' fills; tune needs a command "+
			"that succeeds each time: for a linter, whose status tells what it found, sh -c 'COMMAND || true')", err)
	case errors.Is(err, tune.ErrShort) && l.served:
		return fmt.Errorf("%w; give a longer or heavier load", err)
	case errors.Is(err, tune.ErrShort):
		return fmt.Errorf("%w; tune a command that does more (its standard input is empty: sh -c 'COMMAND <FILE' fills it)",
			err)
	}
	for _, more := range append(l.tails(), kept) {
		if more != "" {
			err = fmt.Errorf("%w\n%s", err, more)
		}
	}
	return err
}

// tailLines and tailColumns are how much of a program's output a failure shows.
const tailLines, tailColumns = 8, 200

// tails returns the end of the latest run's output, and where the rest is.
func (l *TuneLog) tails() []string {
	if l.latest == nil {
		return nil
	}
	return []string{tail("its standard error ends with (in full: "+l.output.path+")", l.latest.Stderr),
		tail("its standard output ends with", l.latest.Stdout)}
}

func tail(heading, printed string) string {
	end := strings.TrimSpace(printed)
	if end == "" {
		return ""
	}
	lines := strings.Split(end, "\n")
	for _, line := range lines[max(len(lines)-tailLines, 0):] {
		heading += "\n  " + text.Shorten(text.Clean(line), tailColumns)
	}
	return heading
}
