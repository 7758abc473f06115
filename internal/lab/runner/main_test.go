package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/latency"
)

// TestMain lets the test binary be the child, the lab (for the test that kills
// it) and the program of exec cells.
func TestMain(m *testing.M) {
	registerTestWorkloads()
	if len(os.Args) == 2 && os.Args[1] == ChildArg {
		os.Exit(Child(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == "lab" {
		r := New(Config{Log: os.Stderr})
		r.Run(context.Background(), testCell("test-exec", os.Args[2:]...))
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "program" {
		os.Exit(program(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// testCell returns a cell of a workload; its command, if any, is the test binary's program.
func testCell(name string, program ...string) cell.Cell {
	c := cell.Cell{Config: cell.Config{Workload: name, GC: cell.DefaultGC}, Seed: 1, Timeout: time.Minute}
	if len(program) > 0 {
		exe, _ := os.Executable()
		c.Workload, c.Command = "exec", append([]string{exe, "program"}, program...)
	}
	return c
}

// run runs the cell and fails the test if it was not run.
func run(t *testing.T, c cell.Cell) cell.Record {
	t.Helper()
	rec, _, err := New(Config{Log: testWriter{t}}).Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Logf("child: %s", b)
	return len(b), nil
}

// whole is a test workload made of one function.
type whole func(ctx context.Context, rec *cell.Record) error

func (f whole) Run(ctx context.Context, rec *cell.Record) error { return f(ctx, rec) }
func (f whole) Close() error                                    { return nil }

var sink []byte

func registerTestWorkloads() {
	for name, f := range map[string]whole{
		"test-sleep": func(context.Context, *cell.Record) error { time.Sleep(time.Hour); return nil },
		"test-panic": func(context.Context, *cell.Record) error {
			fmt.Fprintln(os.Stderr, "about to fail")
			panic("no luck\ntoday")
		},
		"test-exit":    func(context.Context, *cell.Record) error { os.Exit(3); return nil },
		"test-garbage": func(context.Context, *cell.Record) error { fmt.Println("{} hello"); return nil },
		"test-flood": func(context.Context, *cell.Record) error {
			for b := make([]byte, 1<<20); ; {
				os.Stdout.Write(b)
			}
		},
		"test-signal": func(context.Context, *cell.Record) error {
			p, _ := os.FindProcess(os.Getpid())
			p.Signal(syscall.SIGKILL)
			select {}
		},
		"test-hog": func(context.Context, *cell.Record) error {
			for keep := [][]byte{}; ; {
				b := make([]byte, 1<<20)
				for i := range b {
					b[i] = 1
				}
				keep = append(keep, b)
			}
		},
		"test-error": func(context.Context, *cell.Record) error { return errors.New("ticks.csv:3:7: no number") },
		"test-stray": func(context.Context, *cell.Record) error { // leaves a process behind
			exe, _ := os.Executable()
			cmd := exec.Command(exe, "program", "sleep")
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			return cmd.Start()
		},
		"test-env": func(_ context.Context, rec *cell.Record) error {
			for i, name := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"} {
				rec.Warn(fmt.Sprint(i), "%s=%s", name, os.Getenv(name))
			}
			return nil
		},
	} {
		workload.Register(&workload.Workload{Name: name, New: func(workload.Env) (workload.Task, error) { return f, nil }})
	}
	workload.Register(&workload.Workload{
		Name: "test-closed",
		Params: []workload.Param{
			{Name: "ops", Default: "1001"}, {Name: "time", Default: "0s"}, {Name: "workers", Default: "1"},
		},
		New: func(env workload.Env) (workload.Task, error) {
			return &closedTask{env.Params}, nil
		},
	})
	workload.Register(&workload.Workload{
		Name: "test-reporter",
		Params: []workload.Param{
			{Name: "ops", Default: "20_000"}, {Name: "time", Default: "0s"}, {Name: "workers", Default: "2"},
		},
		New: func(env workload.Env) (workload.Task, error) {
			return reporterTask{&closedTask{env.Params}}, nil
		},
	})
	workload.Register(&workload.Workload{
		Name:   "test-open",
		Params: []workload.Param{{Name: "ops", Default: "200"}, {Name: "take", Default: "0s"}, {Name: "bad", Default: "-1"}},
		New:    func(env workload.Env) (workload.Task, error) { return &openTask{p: env.Params}, nil },
	})
}

// closedTask allocates 64 KiB an operation and returns a sum that does not
// depend on how the operations are divided.
type closedTask struct{ p workload.Params }

func (t *closedTask) Budget() (int64, time.Duration) {
	return int64(t.p.Int("ops")), t.p.Duration("time")
}
func (t *closedTask) Workers() int { return t.p.Int("workers") }
func (t *closedTask) Close() error { return nil }
func (t *closedTask) Loop(worker int, n int64) uint64 {
	for range n {
		b := make([]byte, 64<<10)
		if worker == 0 {
			sink = b
		} else {
			keepAlive(b)
		}
	}
	return 3 * uint64(n)
}

//go:noinline
func keepAlive(b []byte) { b[0] = 1 }

// reporterTask replaces the distribution of its operations by its own, and keeps the
// former under the name replaced.
type reporterTask struct{ *closedTask }

const replaced = "replaced"

func (t reporterTask) Report(rec *cell.Record) {
	rec.Latency[replaced] = rec.Latency[cell.HistService]
	h := new(latency.Histogram)
	h.Record(time.Second)
	rec.SetLatency(cell.HistService, h)
}

// openTask has an operation due every 100 µs.
type openTask struct {
	p    workload.Params
	next int
}

func (t *openTask) Next() (time.Duration, bool, error) {
	n := t.next
	t.next++
	if n == t.p.Int("bad") {
		return 0, false, errors.New("the schedule is broken")
	}
	return time.Duration(n) * 100 * time.Microsecond, n < t.p.Int("ops"), nil
}
func (t *openTask) Do() uint64 {
	time.Sleep(t.p.Duration("take"))
	return 1
}
func (t *openTask) Close() error { return nil }
