// Package runner runs cells, each in its own child process, and returns their
// records.
//
// The parent side is [Runner]. It starts the child with the GC settings in its
// environment, passes it the cell on standard input, and receives one record on
// its standard output. It enforces the cell's limits of time and memory and
// turns every failure into a record with Err: no child, however it ends, ends
// the run. The child side is [Child], which package main calls when its only
// argument is [ChildArg]: it builds the task and measures it according to the
// task's kind.
//
// A closed loop is measured in two halves: the first reads no clock between
// operations; the second times each one. Package latency paces an open loop. GC
// figures cover both halves and start after a forced collection; none is forced
// at the end, so they miss the share of an unfinished cycle.
//
// No process outlives the lab: a child ends itself and its process group when
// its standard input closes, and on Linux the kernel ends it with the thread
// that started it. A program under test that leaves both its process group and
// its parent escapes this.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
)

// ChildArg is the argument that makes the binary act as a child.
const ChildArg = "child"

// Config says how a Runner starts children. The zero value is usable.
type Config struct {
	// Executable returns the binary of a build and builds it if necessary; nil
	// means the function Executable.
	Executable func(ctx context.Context, build cell.Build) (string, error)
	// Log receives the children's standard error, in addition to the tail kept in
	// each record; nil discards it.
	Log io.Writer
	// Dir is the working directory of children; "" means this process's.
	Dir string
	// Env is the environment of children, without the cell's settings; nil means
	// this process's.
	Env []string
	// Account is the account that children run as; nil means this process's. Only
	// root on Unix can choose another.
	Account *Account
}

// An Account is a user of the operating system.
type Account struct{ UID, GID uint32 }

// A Runner runs cells one after another. Only one goroutine may use it; it must
// not be copied.
type Runner struct {
	config      Config
	executables map[cell.Build]string
}

// New returns a Runner.
func New(config Config) *Runner {
	if config.Log == nil {
		config.Log = io.Discard
	}
	if config.Executable == nil {
		config.Executable = func(ctx context.Context, build cell.Build) (string, error) {
			return Executable(ctx, build, config.Log)
		}
	}
	if config.Env == nil {
		config.Env = os.Environ()
	}
	return &Runner{config: config, executables: map[cell.Build]string{}}
}

// Prepare finds or builds the binaries that the cells need, so that nothing is
// built between measurements.
func (r *Runner) Prepare(ctx context.Context, cells []cell.Cell) error {
	for _, c := range cells {
		if _, err := r.executable(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// executable returns the binary that runs c. If the cell runs another program,
// the binary's own build does not matter.
func (r *Runner) executable(ctx context.Context, c cell.Cell) (string, error) {
	build := c.Build()
	if len(c.Command) > 0 {
		build = cell.Build{}
	}
	if exe := r.executables[build]; exe != "" {
		return exe, nil
	}
	exe, err := r.config.Executable(ctx, build)
	if err == nil {
		r.executables[build] = exe
	}
	return exe, err
}

// Run runs the cell and returns its record and its profiles by kind. A failed
// cell returns a record with Err. An error means that the cell did not run: ctx
// ended (the error wraps its cause), or no child could be started.
func (r *Runner) Run(ctx context.Context, c cell.Cell) (cell.Record, map[string][]byte, error) {
	exe, err := r.executable(ctx, c)
	if err != nil {
		return cell.Record{}, nil, err
	}
	dir := ""
	if len(c.Profiles) > 0 {
		if dir, err = os.MkdirTemp("", "isobar-profiles-"); err != nil {
			return cell.Record{}, nil, fmt.Errorf("runner: run: %w: make room or set TMPDIR", err)
		}
		defer os.RemoveAll(dir)
		if a := r.config.Account; a != nil {
			if err := os.Chown(dir, int(a.UID), int(a.GID)); err != nil {
				return cell.Record{}, nil, fmt.Errorf("runner: run: %w", err)
			}
		}
	}
	pod, err := r.newPod(c)
	if err != nil {
		return cell.Record{}, nil, fmt.Errorf("runner: run: %w", err)
	}
	defer pod.Remove() // a group that the kernel keeps is removed by a later run
	started := time.Now()
	stop := host.Start()
	end, err := r.supervise(ctx, exe, c, dir, pod.Procs())
	noise := stop()
	if err != nil {
		return cell.Record{}, nil, fmt.Errorf("runner: run cell %d: %w", c.Index, err)
	}
	rec := end.record(c)
	if rec.Started.IsZero() {
		rec.Started = started
	}
	rec.Noise = noise
	rec.Warnings = append(rec.Warnings, host.Disturbances(noise)...)
	recordPod(&rec, pod.Usage())
	if _, ok := host.RSSBytes(os.Getpid()); c.MemoryBytes > 0 && !ok {
		rec.Warn("no-memory-cap", "this platform does not report the memory of a process: the cap was not enforced")
	}
	profiles := map[string][]byte{}
	for kind, name := range rec.Profiles {
		data, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)))
		if err != nil {
			rec.Warn("profile", "the %s profile is missing: %v", kind, err)
			delete(rec.Profiles, kind)
			continue
		}
		profiles[kind], rec.Profiles[kind] = data, ""
	}
	return rec, profiles, nil
}

// DefaultMemoryCap is the memory that one cell may occupy unless the user sets
// a cap: 70 % of the machine's usable memory, but no more than what is
// available now less a reserve for the lab itself. It is 0, no cap, if the
// usable memory is unknown (0).
func DefaultMemoryCap(usableBytes int64) int64 {
	available, ok := host.AvailableBytes()
	if !ok {
		return usableBytes / 10 * 7
	}
	return capWithin(usableBytes, available)
}

// capWithin leaves the lab itself 256 MiB, or 30 % of what is available if that is less.
func capWithin(usableBytes, available int64) int64 {
	const reserve, least = 256 << 20, 64 << 20
	n := usableBytes / 10 * 7
	if n > 0 {
		n = max(min(n, available-min(reserve, available/10*3)), least)
	}
	return n
}

// MemoryCap parses the user's memory cap per cell: a size, auto for
// [DefaultMemoryCap], or none, which is 0.
func MemoryCap(value string, usableBytes int64) (int64, error) {
	switch value {
	case "auto":
		return DefaultMemoryCap(usableBytes), nil
	case "none":
		return 0, nil
	}
	n, err := cell.ParseSize(value)
	if err != nil {
		return 0, errors.New("want a size with its unit, such as 4GiB, auto, or none")
	}
	return n, nil
}
