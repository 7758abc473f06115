// Package overhead compares what the lab's harness reports for a closed loop
// with what package testing reports for the same loop.
package overhead

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"testing"

	"github.com/isobar-go/isobar/bench/internal/cputime"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/strategy"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// TestMain lets the test binary be the child of the lab: both sides run the
// same code at the same addresses, each in a fresh process.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == runner.ChildArg {
		os.Exit(runner.Child(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// BenchmarkHarness runs the strategies workload, once as a cell of the lab,
// which reports its own time per operation, and once as BenchmarkPlain.
//
// Run it on one CPU (taskset -c 0): a cell's process has threads that a
// benchmark's has not, for its sampler and for its parent's pipe, and on several
// CPUs the kernel may move its loop about for them.
func BenchmarkHarness(b *testing.B) {
	for _, name := range []string{"plain", "syncpool", "arena"} {
		for _, size := range []string{"1024", "16384"} {
			prefix := "strategy=" + name + "/size=" + size
			b.Run(prefix+"/impl=isobar", func(b *testing.B) { average(b, func() ([]float64, error) { return harness(name, size) }) })
			b.Run(prefix+"/impl=testing", func(b *testing.B) { average(b, func() ([]float64, error) { return testingB(name, size) }) })
		}
	}
}

// units are what both sides report per operation, in the order in which package
// testing prints them.
var units = []string{"ns/op", "cpu-ns/op", "B/op", "allocs/op"}

// average reports the means of what run returns, in units.
func average(b *testing.B, run func() ([]float64, error)) {
	sums := make([]float64, len(units))
	runs := 0.0
	for b.Loop() {
		values, err := run()
		if err != nil {
			b.Fatal(err)
		}
		for i, v := range values {
			sums[i] += v
		}
		runs++
	}
	for i, unit := range units {
		b.ReportMetric(sums[i]/runs, unit)
	}
}

func harness(name, size string) ([]float64, error) {
	params := map[string]string{"strategy": name, "size": size, "duration": "2s"} // half of it without clocks
	c := cell.Cell{Config: cell.Config{Workload: "strategies", Params: params, GC: cell.DefaultGC, GOMAXPROCS: runtime.GOMAXPROCS(0)}}
	rec, _, err := runner.New(runner.Config{Log: os.Stderr}).Run(context.Background(), c)
	if err == nil && rec.Err != nil {
		err = rec.Err
	}
	m := rec.Metrics
	return []float64{m[cell.OpTime], m[cell.OpCPU], m[cell.OpBytes], m[cell.OpAllocs]}, err
}

var plainLine = regexp.MustCompile(`BenchmarkPlain\S*\s+\d+\s+([0-9.]+) ns/op\s+([0-9.]+) cpu-ns/op\s+([0-9.]+) B/op\s+([0-9.]+) allocs/op`)

// testingB runs BenchmarkPlain in a process of its own.
func testingB(name, size string) ([]float64, error) {
	cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkPlain$", "-test.benchtime=700ms",
		"-test.cpu="+strconv.Itoa(runtime.GOMAXPROCS(0)))
	cmd.Env = append(os.Environ(), "OVERHEAD_STRATEGY="+name, "OVERHEAD_SIZE="+size)
	out, err := cmd.Output()
	m := plainLine.FindSubmatch(out)
	if err != nil || m == nil {
		return nil, fmt.Errorf("BenchmarkPlain: %v\n%s", err, out)
	}
	values := make([]float64, len(units))
	for i := range values {
		if values[i], err = strconv.ParseFloat(string(m[i+1]), 64); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// BenchmarkPlain is the workload's loop as any benchmark would run it.
func BenchmarkPlain(b *testing.B) {
	name, size := os.Getenv("OVERHEAD_STRATEGY"), os.Getenv("OVERHEAD_SIZE")
	if name == "" {
		b.Skip("BenchmarkHarness runs it")
	}
	w, err := workload.Lookup("strategies")
	if err != nil {
		b.Fatal(err)
	}
	params, err := w.Resolve(map[string]string{"strategy": name, "size": size})
	if err != nil {
		b.Fatal(err)
	}
	task, err := w.New(workload.Env{Params: params, Strategy: strategy.New})
	if err != nil {
		b.Fatal(err)
	}
	defer task.Close()
	loop := task.(workload.Closed)
	b.ReportAllocs()
	began := cputime.Process()
	b.ResetTimer()
	sum = loop.Loop(0, int64(b.N))
	b.StopTimer()
	b.ReportMetric(float64((cputime.Process()-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

var sum uint64 // keeps the loop's result
