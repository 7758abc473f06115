package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A Fleet says how workers measure the cells.
type Fleet struct {
	Connect   fleet.Options
	Require   []string      // labels that workers must have
	Platforms []string      // to build a Go package for; none: this machine's
	Patience  time.Duration // how long a worker may be silent before it is given up
	Attempts  int           // how many workers may try a block
}

// localFleet, given as the URL, runs server and worker in this process.
const localFleet = "local"

// fleetExecutor joins the fleet and uploads the program first, so that a failure leaves no
// empty run. run lets the fleet measure the cells.
func (se *Session) fleetExecutor(ctx context.Context, o *Fleet, s *store.Store, cells []cell.Cell) (run execution,
	leave func(), err error) {
	f, leave, err := se.joinFleet(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	config := fleet.SweepConfig{AckWait: o.Patience, Attempts: o.Attempts,
		Requires: fleet.Requirement{Kind: fleet.KindLab, Version: host.Version(), Labels: o.Require}}
	if command := cells[0].Command; len(command) > 0 {
		config.Requires.Kind = fleet.KindExec
		if config.Programs, err = se.putPrograms(ctx, f, o, command[0]); err != nil {
			leave()
			return nil, nil, err
		}
		config.Requires.Platforms = slices.Sorted(maps.Keys(config.Programs))
	}
	return func(id int64) (int, error) { return se.runFleet(ctx, f, config, s, id) }, leave, nil
}

// runFleet lets the fleet measure the pending cells of a run and returns how many failed.
func (se *Session) runFleet(ctx context.Context, f *fleet.Fleet, config fleet.SweepConfig, s *store.Store,
	id int64) (failed int, err error) {
	pending, all, err := wholeBlocks(s, id)
	if err != nil {
		return 0, err
	}
	run, err := s.Run(id)
	if err != nil || len(pending) == 0 {
		return 0, err
	}
	config.ID, config.Cells = sweepID(run), pending
	bar := NewProgress(se.Err, all, all-len(pending))
	defer bar.Clear()
	config.Warn = func(format string, args ...any) {
		bar.Clear()
		se.warnFleet(format, args...)
	}
	began := time.Now()
	config.Store = func(results []*fleet.Result) error {
		blocks := make([][]store.Entry, len(results))
		for i, r := range results {
			blocks[i] = r.Entries()
			for _, rec := range r.Records {
				if rec.Err != nil {
					failed++
					config.Warn("cell %d (%s) failed: %v", rec.Cell.Index, cell.Readable(rec.Cell.Key()), rec.Err)
				}
			}
		}
		if _, err := s.AppendBlocks(id, blocks...); err != nil {
			return err
		}
		for _, r := range results {
			bar.advance(len(r.Records), time.Since(began), r.Records[0].Cell)
		}
		return nil
	}
	return failed, f.Sweep(ctx, config)
}

// warnFleet prints a message with texts of workers, which may hold anything.
func (se *Session) warnFleet(format string, args ...any) {
	fmt.Fprintf(se.Err, "isobar: fleet: %s\n", text.Clean(fmt.Sprintf(format, args...)))
}

// wholeBlocks returns the pending cells of a run and the number of all its cells. It fails
// if this machine has begun a block.
func wholeBlocks(s *store.Store, id int64) (pending []cell.Cell, all int, err error) {
	cells, err := s.Cells(id)
	if err != nil {
		return nil, 0, err
	}
	if pending, err = s.Pending(id); err != nil {
		return nil, 0, err
	}
	planned, left := map[int]int{}, map[int]int{}
	for _, c := range cells {
		planned[c.Block]++
	}
	for _, c := range pending {
		left[c.Block]++
	}
	for block, n := range left {
		if n != planned[block] {
			return nil, 0, fmt.Errorf("run %d: block %d was begun on this machine, and a block must stay on one machine: "+
				"resume it without --fleet", id, block+1)
		}
	}
	return pending, len(cells), nil
}

// sweepID names the run for the fleet; a resumed run keeps its ID.
func sweepID(run store.Run) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %s %q", run.ID, run.Created.UnixNano(), run.Seed, run.Machine.Hostname,
		run.Args))
	return fmt.Sprintf("run%d-%s", run.ID, hex.EncodeToString(sum[:6]))
}

// joinFleet connects to the fleet. For localFleet it starts a server and a worker in this process first.
func (se *Session) joinFleet(ctx context.Context, o *Fleet) (f *fleet.Fleet, leave func(), err error) {
	if o.Connect.URL != localFleet {
		f, err := fleet.Connect(ctx, o.Connect)
		if err != nil {
			return nil, nil, err
		}
		return f, f.Close, nil
	}
	server, err := fleet.Serve(fleet.ServerConfig{})
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "isobar-worker-")
	if err != nil {
		server.Close()
		return nil, nil, fmt.Errorf("fleet: %w", err)
	}
	machine := host.Fingerprint()
	config := fleet.WorkerConfig{
		Name: localFleet, Machine: machine, Allow: []string{fleet.KindLab, fleet.KindExec}, Dir: dir,
		MaxMemoryBytes: runner.DefaultMemoryCap(machine.MemoryBytes), Runner: CellRunner(dir, nil, se.Err),
		Log: func(format string, args ...any) { fmt.Fprintf(se.Err, "isobar: worker: "+format+"\n", args...) },
	}
	if f, err = fleet.Connect(ctx, fleet.Options{Server: server}); err != nil {
		server.Close()
		os.RemoveAll(dir)
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := fleet.NewWorker(f, config).Run(ctx); err != nil && ctx.Err() == nil {
			config.Log("%v", err)
			f.Close() // nobody else would come
		}
	}()
	return f, func() {
		cancel()
		<-done
		f.Close()
		server.Close()
		os.RemoveAll(dir)
	}, nil
}
