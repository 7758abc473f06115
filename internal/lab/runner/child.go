package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/strategy"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// Child is the child process: it reads one cell from stdin, runs it, writes its
// record to stdout and returns the exit code. stdin must stay open: when it
// closes, the parent has died, and this process and its group end at once.
// Child does not catch a panic of the workload; the parent reads it from
// stderr.
func Child(stdin io.Reader, stdout, stderr io.Writer) int {
	var c cell.Cell
	if err := cell.Decode(stdin, &c); err != nil {
		fmt.Fprintf(stderr, "runner: child: %v: this command is internal to the lab\n", err)
		return 2
	}
	go func() {
		io.Copy(io.Discard, stdin)
		endOwnGroup()
	}()
	preferForOOM()
	adoptOrphans()
	profiles := newProfileSet(os.Getenv(profileDirEnv), c.Profiles)
	os.Unsetenv(profileDirEnv) // the program of an exec cell must not see it
	var join []string
	if files := os.Getenv(joinEnv); files != "" {
		join = strings.Split(files, "\n")
		os.Unsetenv(joinEnv)
	}
	rec := runCell(c, profiles, join)
	if n := endOrphans(); n > 0 {
		rec.Warn("left-running", "the program left processes running after it ended (%d): they are not measured, and were "+
			"ended before the next run", n)
	}
	if err := cell.Encode(stdout, rec); err != nil {
		fmt.Fprintf(stderr, "runner: child: %v\n", err)
		return 1
	}
	return 0
}

func runCell(c cell.Cell, profiles profileSet, join []string) cell.Record {
	rec := cell.Record{Cell: c, Started: time.Now()}
	rec.GoVersion, rec.Experiments = goVersion(runtime.Version())
	task, err := newTask(c, join)
	if err == nil {
		err = errors.Join(runTask(&rec, task, profiles), task.Close())
	}
	if err != nil {
		rec.Err = failure(c.Workload, err)
	}
	return rec
}

// failure returns the *cell.Failure in err, or a workload failure that names the workload.
func failure(name string, err error) *cell.Failure {
	if f, ok := errors.AsType[*cell.Failure](err); ok {
		return f
	}
	text := err.Error()
	if !strings.HasPrefix(text, "workload: ") && !strings.HasPrefix(text, "runner: ") {
		text = "workload: " + name + ": " + text
	}
	return &cell.Failure{Kind: cell.FailWorkload, Message: text}
}

// goVersion splits a Go version such as "go1.26.8-X:nogreenteagc" into version
// and experiments.
func goVersion(s string) (version, experiments string) {
	version, experiments, _ = strings.Cut(s, "X:")
	return strings.TrimRight(version, " -"), experiments
}

func newTask(c cell.Cell, join []string) (workload.Task, error) {
	w, err := workload.Lookup(c.Workload)
	if err != nil {
		return nil, err
	}
	params, err := w.Resolve(c.Params)
	if err != nil {
		return nil, err
	}
	return w.New(workload.Env{
		Params: params, Command: c.Program(), GC: c.GC, Unset: c.Unset, Seed: c.Seed, WarmUp: c.WarmUp,
		Join: join, Strategy: strategy.New, Beside: runBeside,
	})
}

// runTask measures the task according to its kind.
func runTask(rec *cell.Record, task workload.Task, profiles profileSet) error {
	var err error
	switch t := task.(type) {
	case workload.Closed:
		err = measure(rec, profiles, func() error { return runClosed(rec, t, profiles.slow) })
	case workload.Open:
		err = measure(rec, profiles, func() error { return runOpen(rec, t, profiles.slow) })
	case workload.Driven:
		err = measure(rec, profiles, func() error { return runDriven(rec, t) })
	case workload.Whole:
		if len(profiles.kinds) > 0 {
			rec.Warn("profile", "whole programs are not profiled from outside")
		}
		err = t.Run(context.Background(), rec)
	default:
		panic(fmt.Sprintf("runner: workload %s: %T is none of Closed, Open, Driven and Whole", rec.Cell.Workload, task))
	}
	if r, ok := task.(workload.Reporter); ok {
		timed := maps.Clone(rec.Latency)
		r.Report(rec)
		if p := rec.Phases; p != nil && !bytes.Equal(rec.Latency[p.Latency], timed[p.Latency]) {
			p.Latency = "" // operations timed here are not those of the report
		}
	}
	warnCycles(rec)
	return err
}
