package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/isobar-go/isobar/internal/base/atomicfile"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/internal/study/claim"
	"github.com/isobar-go/isobar/internal/web"
)

// measure carries out a new run: plan, run, store, report.
func (a *app) measure(ctx context.Context, opts *measureOptions, sweep *sweepOptions, spec plan.Spec, name string) error {
	for _, study := range spec.Studies {
		if err := checkStudy(study); err != nil {
			return err
		}
	}
	cells, err := spec.Cells()
	if err != nil {
		return usage(err)
	}
	s, path, unlock, err := a.openForRun()
	if err != nil {
		return err
	}
	defer unlock()
	defer s.Close()
	execute, err := a.executor(ctx, sweep, s, cells, opts.budget)
	if err != nil {
		return err
	}
	if opts.name != "" {
		name = opts.name
	}
	id, err := s.CreateRun(store.Run{Name: name, Created: time.Now(), Args: os.Args[1:], Version: host.Version(), Machine: host.Fingerprint(), Seed: spec.Seed}, cells)
	if err != nil {
		return err
	}
	return a.finishRun(execute, s, path, id, &opts.output)
}

// resume goes on with a run exactly where it stopped.
func (a *app) resume(ctx context.Context, runID string, sweep *sweepOptions, output *outputOptions) error {
	s, path, unlock, err := a.openForRun()
	if err != nil {
		return err
	}
	defer unlock()
	defer s.Close()
	run, err := findRun(s, runID)
	if err != nil {
		return err
	}
	if run.Imported {
		return fmt.Errorf("run %d was imported: there is nothing to resume", run.ID)
	}
	if now := host.Fingerprint(); now.CPU != run.Machine.CPU || now.CPUs != run.Machine.CPUs || now.Hostname != run.Machine.Hostname {
		return fmt.Errorf("run %d was begun on another machine (%s, %d CPUs): resume it there, or begin a new run here", run.ID, run.Machine.CPU, run.Machine.CPUs)
	}
	if run.Version != host.Version() {
		fmt.Fprintf(a.err, "isobar: warning: run %d was begun with isobar %s, this is %s\n", run.ID, run.Version, host.Version())
	}
	pending, err := s.Pending(run.ID)
	if err != nil {
		return err
	}
	execute, err := a.executor(ctx, sweep, s, pending, 0)
	if err != nil {
		return err
	}
	return a.finishRun(execute, s, path, run.ID, output)
}

// executor returns what measures the pending cells of a run and tells how many
// failed: on this machine, once the binaries that the cells need are there, or
// by a fleet.
func (a *app) executor(ctx context.Context, sweep *sweepOptions, s *store.Store, cells []cell.Cell, budget time.Duration) (func(id int64) (int, error), error) {
	if sweep != nil && sweep.url != "" {
		return func(id int64) (int, error) { return a.runFleet(ctx, sweep, s, id) }, nil
	}
	r := runner.New(runner.Config{Log: a.err})
	if err := r.Prepare(ctx, cells); err != nil {
		return nil, err
	}
	return func(id int64) (int, error) { return a.execute(ctx, r, s, id, budget) }, nil
}

// openForRun opens the store and takes the lock that keeps two labs from
// measuring at once.
func (a *app) openForRun() (s *store.Store, path string, unlock func(), err error) {
	if path, err = a.storePath(); err != nil {
		return nil, "", nil, err
	}
	if s, err = store.Open(path); err != nil {
		return nil, "", nil, err
	}
	if unlock, err = store.Lock(path); err != nil {
		s.Close()
		return nil, "", nil, err
	}
	return s, path, unlock, nil
}

// finishRun measures what is pending of a run, reports the whole, and turns
// failed cells and interruption into the exit code.
func (a *app) finishRun(execute func(id int64) (failed int, err error), s *store.Store, path string, id int64, output *outputOptions) error {
	failed, err := execute(id)
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		return fmt.Errorf("%w\n%s", err, resumeHint(s, id))
	}
	if interrupted {
		fmt.Fprintf(a.err, "isobar: interrupted. %s\n", resumeHint(s, id))
		return &exitError{code: exitInterrupted}
	}
	if err := a.publish(s, path, id, output); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("run %d: %d cells failed: the report lists them", id, failed)
	}
	return nil
}

// execute runs the pending cells in the order of the plan and stores each
// record before it begins the next cell. With a budget it does not begin a
// block that would likely end later. It returns how many cells failed.
func (a *app) execute(ctx context.Context, r *runner.Runner, s *store.Store, id int64, budget time.Duration) (failed int, err error) {
	cells, err := s.Pending(id)
	if err != nil {
		return 0, err
	}
	all, err := s.Cells(id)
	if err != nil {
		return 0, err
	}
	bar := newProgress(a.err, len(all), len(all)-len(cells))
	defer bar.clear()
	if len(cells) == 0 {
		return 0, nil
	}
	blocks := blockBudget{budget: budget, began: time.Now(), block: cells[0].Block}
	for _, c := range cells {
		if !blocks.allows(c.Block, time.Now()) {
			bar.clear()
			fmt.Fprintf(a.err, "isobar: stopped before block %d, which would have gone beyond --budget %v. %s\n", c.Block+1, budget, resumeHint(s, id))
			break
		}
		bar.begin(c)
		rec, profiles, err := r.Run(ctx, c)
		if err != nil {
			return failed, err
		}
		if err := s.Append(id, &rec, profiles); err != nil {
			return failed, err
		}
		if rec.Err != nil {
			failed++
			bar.clear()
			fmt.Fprintf(a.err, "isobar: cell %d (%s) failed: %v\n", c.Index, c.Key(), rec.Err)
		}
		bar.end()
	}
	return failed, nil
}

// publish prints the result of a run and writes its HTML report.
func (a *app) publish(s *store.Store, storePath string, id int64, output *outputOptions) error {
	meta, analysis, err := analyze(s, id)
	if err != nil {
		return err
	}
	out := output.out
	if out == "" {
		out = reportPath(storePath, id)
	}
	if err := writeHTML(out, page.Run{Meta: meta}, analysis); err != nil {
		return err
	}
	if output.json {
		return text.JSON(a.out, meta, analysis)
	}
	if err := text.Summary(a.out, meta, analysis, a.style()); err != nil {
		return err
	}
	if err := a.printSaid(analysis); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "\nreport   %s\nall of it  isobar lab show %d\n", out, id)
	return err
}

// printSaid prints what documents say of the studies of a run, beside what it
// shows.
func (a *app) printSaid(analysis *stat.Analysis) error {
	outcomes := claim.OfRun(analysis)
	if len(outcomes) == 0 {
		return nil
	}
	fmt.Fprintln(a.out)
	return a.printLedger(claim.NewLedger(outcomes), false)
}

// analyze loads a run and computes everything that reports show.
func analyze(s *store.Store, id int64) (text.Meta, *stat.Analysis, error) {
	run, analysis, err := web.Load(s, id)
	return run.Meta, analysis, err
}

// writeHTML writes the report so that the file is whole or absent.
func writeHTML(path string, run page.Run, analysis *stat.Analysis) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("report: %w: choose another place with --out FILE", err)
	}
	err := atomicfile.Write(path, 0o644, func(w io.Writer) error { return page.Write(w, run, analysis) })
	if err != nil {
		return fmt.Errorf("report: %s: %w: choose another place with --out FILE", path, err)
	}
	return nil
}

func resumeHint(s *store.Store, id int64) string {
	run, err := s.Run(id)
	if err != nil {
		return fmt.Sprintf("Resume with: isobar lab run --resume %d", id)
	}
	return fmt.Sprintf("%d of %d cells of run %d are kept. Go on with: isobar lab run --resume %d", run.Finished+run.Failed, run.Total, id, id)
}

// A blockBudget decides whether there is time for another block, which takes
// as long as those before it did on average. The first always begins.
type blockBudget struct {
	budget time.Duration // 0: no bound
	began  time.Time
	block  int // the one that is running
	done   int // blocks finished
}

// allows reports whether a cell of the given block may begin.
func (b *blockBudget) allows(block int, now time.Time) bool {
	if block == b.block {
		return true
	}
	b.block = block
	b.done++
	spent := now.Sub(b.began)
	return b.budget == 0 || spent+spent/time.Duration(b.done) <= b.budget
}
