package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A Measurement is a run to measure.
type Measurement struct {
	Name   string
	Args   []string // the command line
	Seed   uint64
	Cells  []cell.Cell
	Budget time.Duration // see [Session.Measure]; 0 for none
	Fleet  *Fleet        // nil for this machine
	Page   string        // the file of the HTML report; "" for ReportPath
}

// A Measured is a finished run and its report.
type Measured struct {
	Failed   int // cells that failed this time
	Page     string
	Unpaged  error // why there is no page; nil if there is one
	Meta     cell.Run
	Analysis *stat.Analysis
}

// Measure carries out a new run: it stores the plan, measures the cells and
// writes the report. With a budget it skips blocks unlikely to finish in time.
// When interrupted, it says what is kept and returns [ErrInterrupted].
func (se *Session) Measure(ctx context.Context, m Measurement) (*Measured, error) {
	if err := CheckReport(m.Page); err != nil {
		return nil, err
	}
	s, path, unlock, err := se.OpenForRun(false)
	if err != nil {
		return nil, err
	}
	defer unlock()
	defer s.Close()
	execute, leave, err := se.executor(ctx, m.Fleet, s, path, m.Cells, m.Budget)
	if err != nil {
		return nil, err
	}
	defer leave()
	id, err := s.CreateRun(store.Run{
		Name: m.Name, Created: time.Now(), Args: m.Args, Version: host.Version(), Machine: host.Fingerprint(), Seed: m.Seed,
	}, m.Cells)
	if err != nil {
		return nil, err
	}
	return se.finish(execute, s, id, cmp.Or(m.Page, ReportPath(path, id)))
}

// Resume continues a run exactly where it stopped.
func (se *Session) Resume(ctx context.Context, runID string, by *Fleet, page string) (*Measured, error) {
	if err := CheckReport(page); err != nil {
		return nil, err
	}
	s, path, unlock, err := se.OpenForRun(true)
	if err != nil {
		return nil, err
	}
	defer unlock()
	defer s.Close()
	run, err := FindRun(s, runID)
	if err != nil {
		return nil, err
	}
	if err := resumable(run); err != nil {
		return nil, err
	}
	if run.Version != host.Version() {
		fmt.Fprintf(se.Err, "isobar: warning: run %d was begun with isobar %s, this is %s\n",
			run.ID, run.Version, host.Version())
	}
	pending, err := s.Pending(run.ID)
	if err != nil {
		return nil, err
	}
	execute, leave, err := se.executor(ctx, by, s, path, pending, 0)
	if err != nil {
		return nil, err
	}
	defer leave()
	return se.finish(execute, s, run.ID, cmp.Or(page, ReportPath(path, run.ID)))
}

// resumable returns an error if the run cannot be resumed here.
func resumable(run store.Run) error {
	if run.Imported {
		return fmt.Errorf("run %d was imported: there is nothing to resume", run.ID)
	}
	now, then := host.Fingerprint(), run.Machine
	if now.CPU != then.CPU || now.CPUs != then.CPUs || now.Hostname != then.Hostname {
		return fmt.Errorf("run %d was begun on another machine (%s, %d CPUs): resume it there, or begin a new run here",
			run.ID, then.CPU, then.CPUs)
	}
	return nil
}

// An execution measures the pending cells of a run and counts those that
// failed.
type execution func(id int64) (failed int, err error)

// executor returns a function that measures the cells: on the fleet if there is one, once joined,
// otherwise on this machine, after building the binaries that the cells need. Call leave at the end. What servers print
// goes to a file beside the report in the store's directory: they log, often for each request.
func (se *Session) executor(
	ctx context.Context, by *Fleet, s *store.Store, path string, cells []cell.Cell, budget time.Duration,
) (run execution, leave func(), err error) {
	if by != nil && len(cells) > 0 {
		return se.fleetExecutor(ctx, by, s, cells)
	}
	output := &outputFile{}
	config := runner.Config{Log: se.Err}
	if slices.ContainsFunc(cells, func(c cell.Cell) bool { return c.Config.Workload == "serve" }) {
		config.Log = output
	}
	r := runner.New(config)
	run = func(id int64) (int, error) {
		output.path = LogPath(ReportPath(path, id))
		failed, err := se.execute(ctx, r, s, id, budget)
		if output.Close(); output.file != nil {
			fmt.Fprintf(se.Err, "isobar: what the server printed is in %s\n", output.path)
		}
		return failed, err
	}
	return run, func() {}, r.Prepare(ctx, cells)
}

// finish measures the pending cells of a run and writes the report on the whole run.
func (se *Session) finish(execute execution, s *store.Store, id int64, file string) (*Measured, error) {
	failed, err := execute(id)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(se.Err, "isobar: interrupted. %s\n", se.resumeHint(s, id))
		return nil, ErrInterrupted
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, se.resumeHint(s, id))
	}
	run, analysis, err := Load(s, id)
	if err != nil {
		return nil, err
	}
	return &Measured{Failed: failed, Page: file, Unpaged: WriteReport(file, run.Run, analysis), Meta: run.Meta,
		Analysis: analysis}, nil
}

// execute runs the pending cells in the order of the plan. It stores each
// record before it starts the next cell, and with a budget skips blocks
// unlikely to finish in time. It returns how many cells failed.
func (se *Session) execute(ctx context.Context, r *runner.Runner, s *store.Store, id int64,
	budget time.Duration) (failed int, err error) {
	cells, err := s.Pending(id)
	if err != nil {
		return 0, err
	}
	all, err := s.Cells(id)
	if err != nil {
		return 0, err
	}
	bar := NewProgress(se.Err, len(all), len(all)-len(cells))
	defer bar.Clear()
	if len(cells) == 0 {
		return 0, nil
	}
	blocks, said := blockBudget{budget: budget, began: time.Now(), block: cells[0].Block}, ""
	for _, c := range cells {
		if !blocks.allows(c.Block, time.Now()) {
			bar.Clear()
			fmt.Fprintf(se.Err, "isobar: stopped before block %d, which would have exceeded --budget %v. %s\n", c.Block+1,
				budget, se.resumeHint(s, id))
			break
		}
		bar.Begin(c)
		rec, profiles, err := r.Run(ctx, c)
		if err != nil {
			return failed, err
		}
		if err := s.Append(id, &rec, profiles); err != nil {
			return failed, err
		}
		if rec.Err != nil {
			failed++
			if why := text.Clean(rec.Err.Error()); why != said { // the last line counts them
				bar.Clear()
				fmt.Fprintf(se.Err, "isobar: cell %d (%s) failed: %s\n", c.Index, text.Clean(cell.Readable(c.Key())), why)
				said = why
			}
		}
		bar.End()
	}
	return failed, nil
}

func (se *Session) resumeHint(s *store.Store, id int64) string {
	run, err := s.Run(id)
	if err != nil {
		return "Resume with: " + se.Command(store.Run{ID: id}.Resume())
	}
	return fmt.Sprintf("%d of %d cells of run %d are kept. Continue with: %s", run.Finished+run.Failed, run.Total, id,
		se.Command(run.Resume()))
}

// A blockBudget decides whether there is time for another block. It assumes the
// mean time of the blocks so far. The first block always begins.
type blockBudget struct {
	budget time.Duration // 0: no bound
	began  time.Time
	block  int // the running block
	done   int // finished blocks
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
