package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/store"
)

// serve starts a server in this process.
func serve(t testing.TB, config ServerConfig) *Server {
	t.Helper()
	if config.Dir == "" {
		config.Dir = t.TempDir()
	}
	s, err := Serve(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func connect(t testing.TB, o Options) *Fleet {
	t.Helper()
	f, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// testStore is a run with that many configurations and blocks.
type testStore struct {
	*store.Store
	run   int64
	cells []cell.Cell
	calls atomic.Int64 // of Store
}

func newStore(t testing.TB, configs, blocks int) *testStore {
	t.Helper()
	levels := make([]string, max(configs-1, 2)) // the twin is one of them
	for i := range levels {
		levels[i] = fmt.Sprint(i + 1)
	}
	study := plan.Study{Workload: "alloc", Factors: []plan.Factor{{Name: "iterations", Levels: levels}}}
	spec := plan.Spec{Studies: []plan.Study{study}, Repetitions: blocks, Seed: 1}
	cells, err := spec.Cells()
	if configs < 3 { // a single configuration has no twin
		cells, err = make([]cell.Cell, configs*blocks), nil
		for i := range cells {
			cells[i] = cell.Cell{Config: cell.Config{Workload: "alloc", GOMAXPROCS: 1 + i%configs}, Index: i, Block: i / configs}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	id, err := s.CreateRun(store.Run{Name: t.Name(), Created: time.Now()}, cells)
	if err != nil {
		t.Fatal(err)
	}
	return &testStore{Store: s, run: id, cells: cells}
}

// sweep returns the rest of the run.
func (s *testStore) sweep(t testing.TB) SweepConfig {
	t.Helper()
	pending, err := s.Pending(s.run)
	if err != nil {
		t.Fatal(err)
	}
	return SweepConfig{
		ID: "test", Cells: pending, Requires: Requirement{Kind: KindLab, Version: "test"}, AckWait: time.Second,
		Store: func(results []*Result) error {
			s.calls.Add(1)
			blocks := make([][]store.Entry, len(results))
			for i, r := range results {
				blocks[i] = r.Entries()
			}
			_, err := s.AppendBlocks(s.run, blocks...)
			return err
		},
		Warn: t.Logf,
	}
}

// check fails the test unless every cell has one record and each block comes
// from one attempt. It returns the number of failed records, and the workers.
func (s *testStore) check(t testing.TB) (failures int, workers map[string]int) {
	t.Helper()
	records, err := s.Records(s.run)
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != len(s.cells) {
		t.Errorf("%d records for %d cells", len(records), len(s.cells))
	}
	attempts, workers := map[int]cell.Origin{}, map[string]int{}
	for i, rec := range records {
		if rec.Cell.Index != i {
			t.Errorf("record %d is of cell %d", i, rec.Cell.Index)
		}
		if rec.Err != nil {
			failures++
			continue
		}
		if got, want := rec.Metrics[cell.Ops], float64(i); got != want {
			t.Errorf("record of cell %d has the figure of cell %v", i, got)
		}
		if rec.Origin == nil {
			t.Fatalf("record %d has no origin", i)
		}
		if first, ok := attempts[rec.Cell.Block]; !ok {
			attempts[rec.Cell.Block] = *rec.Origin
			workers[rec.Origin.Worker]++
		} else if rec.Origin.Attempt != first.Attempt || rec.Origin.Machine.Hostname != first.Machine.Hostname {
			t.Errorf("block %d is of attempts %s and %s", rec.Cell.Block, first.Attempt, rec.Origin.Attempt)
		}
	}
	return failures, workers
}

type profiles = map[string][]byte

// runFunc is a Runner.
type runFunc func(ctx context.Context, c cell.Cell) (cell.Record, profiles, error)

func (f runFunc) Run(ctx context.Context, c cell.Cell) (cell.Record, profiles, error) {
	return f(ctx, c)
}

// noop runs a cell without doing anything; its figure identifies the cell.
func noop(_ context.Context, c cell.Cell) (cell.Record, profiles, error) {
	return cell.Record{Cell: c, Started: time.Now(), Metrics: map[string]float64{cell.Ops: float64(c.Index)}}, nil, nil
}

// workerConfig describes a worker of the given name, on a machine of that name.
func workerConfig(t testing.TB, name string, run runFunc) WorkerConfig {
	return WorkerConfig{
		Name: name, Machine: cell.Machine{Hostname: "machine-" + name, Isobar: "test", CPUs: 2}, Dir: t.TempDir(), Allow: []string{KindLab},
		Runner: func(string) Runner { return run },
		Log:    func(format string, args ...any) { t.Logf(name+": "+format, args...) },
	}
}

// startWorker runs a worker until the test ends.
func startWorker(t testing.TB, o Options, config WorkerConfig) *Worker {
	t.Helper()
	w := NewWorker(connect(t, o), config)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

// TestWorkersDie runs 200 cells with workers that lose their connection at
// random points: while a cell runs, between cells, and between the publication
// of a result and its acknowledgement. Another worker replaces each.
func TestWorkersDie(t *testing.T) {
	server := serve(t, ServerConfig{})
	s := newStore(t, 10, 20)
	var deaths atomic.Int64
	const most = 30
	sweep := s.sweep(t)
	sweep.Attempts = 3 * most // no block fails, however many deaths it meets
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	for i := range 4 {
		workers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for life := 0; ctx.Err() == nil; life++ {
				f, err := Connect(ctx, Options{Server: server})
				if err != nil {
					t.Error(err)
					return
				}
				die := func(chance float64) {
					if rng.Float64() < chance && deaths.Add(1) <= most {
						f.Close()
					}
				}
				name := fmt.Sprintf("%d-%d", i, life)
				config := workerConfig(t, name, func(ctx context.Context, c cell.Cell) (cell.Record, profiles, error) {
					die(0.05)
					return noop(ctx, c)
				})
				config.Log = nil // it may log after the test has ended
				config.published = func() { die(0.3) }
				w := NewWorker(f, config)
				w.Run(ctx)
				f.Close()
			}
		})
	}
	defer workers.Wait()
	defer stop()
	if err := connect(t, Options{Server: server}).Sweep(ctx, sweep); err != nil {
		t.Fatal(err)
	}
	failures, names := s.check(t)
	t.Logf("200 cells, %d deaths, blocks by worker: %v", min(deaths.Load(), most), names)
	if failures > 0 {
		t.Errorf("%d cells failed", failures)
	}
	if deaths.Load() < 5 {
		t.Errorf("only %d workers died", deaths.Load())
	}
}

// TestCoordinatorDies ends coordinators at random points; each continues where
// its predecessors stopped.
func TestCoordinatorDies(t *testing.T) {
	server := serve(t, ServerConfig{})
	s := newStore(t, 5, 40)
	startWorker(t, Options{Server: server}, workerConfig(t, "w", noop))
	died := errors.New("died")
	rng := rand.New(rand.NewPCG(1, 2))
	for life := 0; ; life++ {
		f := connect(t, Options{Server: server})
		config := s.sweep(t)
		inner := config.Store
		config.Store = func(results []*Result) error {
			if life < 10 && rng.IntN(2) == 0 { // before or after it would store them
				if rng.IntN(2) == 0 {
					inner(results)
				}
				f.Close() // nothing is withdrawn or acknowledged
				return died
			}
			return inner(results)
		}
		err := f.Sweep(t.Context(), config)
		if err == nil {
			break
		}
		if !errors.Is(err, died) && !errors.Is(err, context.Canceled) && life > 20 {
			t.Fatal(err)
		}
	}
	if failures, _ := s.check(t); failures > 0 {
		t.Errorf("%d cells failed", failures)
	}
}

// TestStreamsAreLost makes the server lose all its data.
func TestStreamsAreLost(t *testing.T) {
	server := serve(t, ServerConfig{})
	s := newStore(t, 5, 20)
	f := connect(t, Options{Server: server})
	var once sync.Once
	config := workerConfig(t, "w", func(ctx context.Context, c cell.Cell) (cell.Record, profiles, error) {
		if c.Block == 7 {
			once.Do(func() {
				for _, stream := range []string{workStream, resultStream, deadStream} {
					if err := f.js.DeleteStream(ctx, stream); err != nil {
						t.Error(err)
					}
				}
			})
		}
		return noop(ctx, c)
	})
	startWorker(t, Options{Server: server}, config)
	if err := f.Sweep(t.Context(), s.sweep(t)); err != nil {
		t.Fatal(err)
	}
	if failures, _ := s.check(t); failures > 0 {
		t.Errorf("%d cells failed", failures)
	}
}

// TestPoisonedBlock has a block that no worker survives. It ends as failures;
// the others are measured.
func TestPoisonedBlock(t *testing.T) {
	server := serve(t, ServerConfig{})
	s := newStore(t, 3, 6)
	for i := range 2 {
		config := workerConfig(t, fmt.Sprint(i), func(ctx context.Context, c cell.Cell) (cell.Record, profiles, error) {
			if c.Block == 2 {
				return cell.Record{}, nil, errors.New("no child could be started")
			}
			return noop(ctx, c)
		})
		startWorker(t, Options{Server: server}, config)
	}
	config := s.sweep(t)
	config.Attempts = 2
	if err := connect(t, Options{Server: server}).Sweep(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if failures, _ := s.check(t); failures != 3 {
		t.Errorf("%d cells failed, want the 3 of the block", failures)
	}
}

// TestStuckBlock has a block that silences every worker: it uses up its
// attempts without a report.
func TestStuckBlock(t *testing.T) {
	server := serve(t, ServerConfig{})
	s := newStore(t, 3, 4)
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	for i := range 2 {
		workers.Go(func() {
			for life := 0; ctx.Err() == nil; life++ {
				f, err := Connect(ctx, Options{Server: server})
				if err != nil {
					t.Error(err)
					return
				}
				name := fmt.Sprintf("%d-%d", i, life)
				config := workerConfig(t, name, func(ctx context.Context, c cell.Cell) (cell.Record, profiles, error) {
					if c.Block == 2 {
						f.Close()
					}
					return noop(ctx, c)
				})
				config.Log = nil
				w := NewWorker(f, config)
				w.Run(ctx)
				f.Close()
			}
		})
	}
	defer workers.Wait()
	defer stop()
	config := s.sweep(t)
	config.Attempts, config.AckWait = 2, time.Second
	if err := connect(t, Options{Server: server}).Sweep(ctx, config); err != nil {
		t.Fatal(err)
	}
	if failures, _ := s.check(t); failures != 3 {
		t.Errorf("%d cells failed, want the 3 of the block", failures)
	}
}
