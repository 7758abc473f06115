package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// sweepOptions are the flags of having a plan measured by a fleet.
type sweepOptions struct {
	url       string
	connect   fleetFlags
	require   []string
	platforms []string
	ackWait   time.Duration
	attempts  int
}

// localFleet in place of a URL has server and worker in this process.
const localFleet = "local"

func (o *sweepOptions) addFlags(f *pflag.FlagSet) {
	o.addJoinFlags(f)
	f.StringSliceVar(&o.platforms, "fleet-platform", nil, "of a Go package that travels: build it for this `OS/ARCH`; several (default: this machine's)")
}

// addJoinFlags adds those of every command that measures by a fleet.
func (o *sweepOptions) addJoinFlags(f *pflag.FlagSet) {
	f.StringVar(&o.url, "fleet", "", "have it measured by the workers of the fleet at `URL`; local for a worker in this process")
	o.connect.addFlags(f, "fleet-")
	f.StringSliceVar(&o.require, "fleet-require", nil, "only by workers with this label: `KEY=PATTERN` or KEY>=NUMBER, such as cores>=8")
	f.DurationVar(&o.ackWait, "fleet-patience", 30*time.Second, "give a block to another worker when its worker has been silent for so long")
	f.IntVar(&o.attempts, "fleet-attempts", 10, "give a block up when so many workers did not finish it")
}

// check refuses what a fleet cannot measure.
func (o *sweepOptions) check(opts *measureOptions, spec *plan.Spec) error {
	if o.url == "" {
		return nil
	}
	if opts.budget > 0 {
		return usage(errors.New("--budget and --fleet: a fleet measures the whole plan"))
	}
	if err := o.checkJoin(); err != nil {
		return err
	}
	if opts.memory == "auto" {
		spec.MemoryBytes = 0 // each worker has its own limit
	}
	for _, study := range spec.Studies {
		w, err := workload.Lookup(study.Workload)
		if err != nil {
			return usage(err)
		}
		for i, p := range w.Params {
			if p.Path && slices.ContainsFunc(study.Params[i].Levels, func(level string) bool { return level != "" }) {
				return usage(fmt.Errorf("--%s names a file of this machine, which workers do not have: leave it out with --fleet", p.Name))
			}
		}
	}
	return nil
}

// checkJoin refuses what cannot be meant.
func (o *sweepOptions) checkJoin() error {
	if o.attempts < 1 || o.ackWait < 100*time.Millisecond {
		return usage(errors.New("--fleet-attempts: want 1 or more; --fleet-patience: 100ms or more"))
	}
	if err := fleet.CheckLabels(o.require); err != nil {
		return usage(fmt.Errorf("--fleet-require: %w", err))
	}
	return nil
}

// runFleet has what is pending of a run measured, and returns how many cells
// failed.
func (a *app) runFleet(ctx context.Context, o *sweepOptions, s *store.Store, id int64) (failed int, err error) {
	pending, all, err := wholeBlocks(s, id)
	if err != nil {
		return 0, err
	}
	run, err := s.Run(id)
	if err != nil || len(pending) == 0 {
		return 0, err
	}
	f, leave, err := a.joinFleet(ctx, o)
	if err != nil {
		return 0, err
	}
	defer leave()
	config := fleet.SweepConfig{
		ID: sweepID(run), Cells: pending, AckWait: o.ackWait, Attempts: o.attempts,
		Requires: fleet.Requirement{Kind: fleet.KindLab, Version: host.Version(), Labels: o.require},
	}
	if command := pending[0].Command; len(command) > 0 {
		config.Requires.Kind = fleet.KindExec
		if config.Programs, err = a.putPrograms(ctx, f, o, command[0]); err != nil {
			return 0, err
		}
		config.Requires.Platforms = slices.Sorted(maps.Keys(config.Programs))
	}
	bar := newProgress(a.err, all, all-len(pending))
	defer bar.clear()
	config.Warn = func(format string, args ...any) {
		bar.clear()
		fmt.Fprintf(a.err, "isobar: fleet: "+format+"\n", args...)
	}
	began := time.Now()
	config.Store = func(results []*fleet.Result) error {
		blocks := make([][]store.Entry, len(results))
		for i, r := range results {
			blocks[i] = r.Entries()
			for _, rec := range r.Records {
				if rec.Err != nil {
					failed++
					config.Warn("cell %d (%s) failed: %v", rec.Cell.Index, rec.Cell.Key(), rec.Err)
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

// wholeBlocks returns what is pending of a run, and how many cells it has. A
// block that was begun on this machine is refused.
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
			return nil, 0, fmt.Errorf("run %d: block %d was begun on this machine, and a block is measured on one: resume it without --fleet", id, block+1)
		}
	}
	return pending, len(cells), nil
}

// sweepID names the run for the fleet: the same when it is resumed.
func sweepID(run store.Run) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %s %q", run.ID, run.Created.UnixNano(), run.Seed, run.Machine.Hostname, run.Args))
	return fmt.Sprintf("run%d-%s", run.ID, hex.EncodeToString(sum[:6]))
}

// joinFleet connects, to a server and worker of this process if need be.
func (a *app) joinFleet(ctx context.Context, o *sweepOptions) (f *fleet.Fleet, leave func(), err error) {
	if o.url != localFleet {
		options, err := o.connect.options(a, o.url, "isobar lab")
		if err != nil {
			return nil, nil, err
		}
		f, err := fleet.Connect(ctx, options)
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
		MaxMemoryBytes: runner.DefaultMemoryCap(machine.MemoryBytes), Runner: cellRunner(dir, nil, a.err),
		Log: func(format string, args ...any) { fmt.Fprintf(a.err, "isobar: worker: "+format+"\n", args...) },
	}
	var connections [2]*fleet.Fleet
	for i := range connections {
		if err == nil {
			connections[i], err = fleet.Connect(ctx, fleet.Options{Server: server})
		}
	}
	var w *fleet.Worker
	if err == nil {
		w, err = fleet.NewWorker(connections[1], config)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	leave = func() {
		cancel()
		if w != nil {
			<-done
		}
		for _, f := range connections {
			if f != nil {
				f.Close()
			}
		}
		server.Close()
		os.RemoveAll(dir)
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	return connections[0], leave, nil
}

// putPrograms has a program travel: a file for the platform that it was built
// for, or a directory with a Go package for each platform of --fleet-platform.
func (a *app) putPrograms(ctx context.Context, f *fleet.Fleet, o *sweepOptions, name string) (map[string]fleet.Program, error) {
	files := map[string]string{}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		dir, err := os.MkdirTemp("", "isobar-programs-")
		if err != nil {
			return nil, fmt.Errorf("fleet: %w", err)
		}
		defer os.RemoveAll(dir)
		platforms := o.platforms
		if len(platforms) == 0 {
			platforms = []string{runtime.GOOS + "/" + runtime.GOARCH}
		}
		for _, platform := range platforms {
			if files[platform], err = buildFor(ctx, name, dir, platform, a.err); err != nil {
				return nil, err
			}
		}
	} else {
		file, err := exec.LookPath(name)
		if err != nil {
			return nil, fmt.Errorf("fleet: %w: name a program, or the directory of a Go package", err)
		}
		files[platformOf(file)] = file
	}
	programs := map[string]fleet.Program{}
	for platform, file := range files {
		p, err := f.PutProgram(ctx, file)
		if err != nil {
			return nil, err
		}
		programs[platform] = p
	}
	return programs, nil
}

// platformOf is the platform that a Go program was built for; of other files it
// is taken to be this machine's.
func platformOf(file string) string {
	goos, goarch := runtime.GOOS, runtime.GOARCH
	if info, err := buildinfo.ReadFile(file); err == nil {
		for _, s := range info.Settings {
			switch s.Key {
			case "GOOS":
				goos = s.Value
			case "GOARCH":
				goarch = s.Value
			}
		}
	}
	return goos + "/" + goarch
}

// buildFor builds the Go package in a directory for a platform.
func buildFor(ctx context.Context, pkg, dir, platform string, log io.Writer) (string, error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return "", usage(fmt.Errorf("--fleet-platform %q: want OS/ARCH, such as linux/arm64", platform))
	}
	target := filepath.Join(dir, goos+"-"+goarch)
	fmt.Fprintf(log, "isobar: building %s for %s\n", pkg, platform)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", target, ".")
	cmd.Dir, cmd.Env = pkg, append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fleet: build %s for %s: %w: %s", pkg, platform, err, strings.TrimSpace(string(output)))
	}
	return target, nil
}
