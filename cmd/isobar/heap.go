package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/base/atomicfile"
	"github.com/isobar-go/isobar/internal/heap"
	"github.com/isobar-go/isobar/internal/lab/host"
)

// heapOptions are the flags of 'isobar heap'.
type heapOptions struct {
	heap.Config
	save   string
	pprof  string
	html   string
	ledger bool
	every  time.Duration
	count  int
	json   bool
	lines  int
	share  float64 // in percent
}

func (a *app) heapCommand() *cobra.Command {
	var o heapOptions
	cmd := &cobra.Command{
		Use:   "heap PID|CORE|SAVED [SAVED...]",
		Short: "Show who holds the memory of a Go program, and what marking it costs",
		Long:  help("heap"),
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return usage(err)
			}
			if cmd.Flags().Changed("count") && o.every == 0 {
				return usage(errors.New("--count says how often --every reads: give --every"))
			}
			return a.heap(cmd.Context(), args, &o)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.MaxPause, "max-pause", 10*time.Second,
		"let the process go on after so long, with an error; 0 for no bound")
	f.DurationVar(&o.ForkAbove, "fork-above", 5*time.Millisecond,
		"copy a fork of the process, where that is safe, if it had to stand still for longer; 0 for never")
	f.StringVar(&o.Binary, "binary", "", "the executable of a core `FILE` that does not name it")
	f.StringVar(&o.save, "save", "", "write the result to a new `FILE` that only you can read")
	f.StringVar(&o.pprof, "pprof", "", "write the paths and their sizes to a `FILE` for 'go tool pprof'")
	f.StringVar(&o.html, "html", "", "write holders, paths, types and resident memory as a page to `FILE`")
	f.BoolVar(&o.ledger, "ledger", false, "say where every byte of the process's resident memory is instead")
	f.BoolVar(&o.Strings, "duplicates", false,
		"count repeated strings; reads them, but neither keeps nor shows them")
	f.DurationVar(&o.every, "every", 0, "read it again and again, this far apart, and say what grew")
	f.IntVar(&o.count, "count", 3, "with --every: how often")
	f.BoolVar(&o.json, "json", false, "print the holders, types and goroutines as JSON")
	f.IntVar(&o.lines, "lines", 12, "lines of each table")
	f.Float64Var(&o.share, "share", 1, "least share of the live heap in `PERCENT` of a holder that is listed")
	return cmd
}

func (o *heapOptions) check(args []string) error {
	targets := len(args)
	_, notPID := strconv.Atoi(args[0])
	switch {
	case o.MaxPause < 0:
		return fmt.Errorf("--max-pause %v: want 0 or more", o.MaxPause)
	case o.ForkAbove < 0:
		return fmt.Errorf("--fork-above %v: want 0 or more", o.ForkAbove)
	case o.lines < 1:
		return fmt.Errorf("--lines %d: want at least 1", o.lines)
	case o.share < 0 || o.share > 100:
		return fmt.Errorf("--share %v: want 0 to 100", o.share)
	case o.every < 0 || o.every > 0 && o.count < 2:
		return fmt.Errorf("--every %v --count %d: want a time, and at least 2", o.every, o.count)
	case o.every > 0 && targets > 1:
		return errors.New("--every reads one process: name one")
	case o.every > 0 && notPID != nil:
		return fmt.Errorf("--every reads a process: name its number, not %s", args[0])
	case o.ledger && (o.every > 0 || targets > 1 || o.writes()):
		return errors.New("--ledger reads one process, once, and prints")
	case (o.every > 0 || targets > 1) && o.writes():
		return errors.New("--save, --pprof and --html are for one reading")
	}
	return nil
}

// writes reports whether a file was asked for.
func (o *heapOptions) writes() bool { return o.save != "" || o.pprof != "" || o.html != "" }

// checkFiles returns an error if a file that was asked for cannot be written.
func (o *heapOptions) checkFiles() error {
	if _, err := os.Lstat(o.save); o.save != "" && err == nil {
		return fmt.Errorf("heap: --save: %s exists: name a new file", o.save)
	}
	for _, f := range []struct{ flag, file string }{{"save", o.save}, {"html", o.html}, {"pprof", o.pprof}} {
		if f.file == "" {
			continue
		}
		if err := atomicfile.Check(f.file); err != nil {
			return fmt.Errorf("heap: --%s: %w", f.flag, err)
		}
	}
	return nil
}

func (a *app) heap(ctx context.Context, targets []string, o *heapOptions) error {
	if o.ledger {
		return a.heapLedger(ctx, targets[0], o)
	}
	if err := o.checkFiles(); err != nil { // before a process stands still for nothing
		return err
	}
	if o.every > 0 {
		for len(targets) < o.count {
			targets = append(targets, targets[0])
		}
	}
	var reports []*heap.Report
	for i, target := range targets {
		if i > 0 && o.every > 0 {
			fmt.Fprintf(a.Err, "isobar: reading %d of %d in %v\n", i+1, o.count, o.every)
			select {
			case <-time.After(o.every):
			case <-ctx.Done():
			}
		}
		r, err := heap.Open(ctx, target, o.config())
		if err != nil {
			if o.every > 0 && len(reports) > 0 { // show at least what was read so far
				err = errors.Join(a.showHeaps(reports, o), err)
			}
			return err
		}
		reports = append(reports, r)
	}
	return a.showHeaps(reports, o)
}

// showHeaps shows one reading, or the changes between several.
func (a *app) showHeaps(reports []*heap.Report, o *heapOptions) error {
	if len(reports) > 1 {
		return a.heapChanges(reports, o)
	}
	r := reports[0]
	if err := a.keepHeap(r, o); err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(a.Out).Encode(r.Document(o.share / 100))
	}
	return r.Write(a.Out, o.view())
}

func (o *heapOptions) view() heap.View { return heap.View{Lines: o.lines, Share: o.share / 100} }

// config bounds a reading by the flags and by the free memory.
func (o *heapOptions) config() heap.Config {
	config := o.Config
	if free, ok := host.AvailableBytes(); ok && free > 0 {
		config.FreeBytes = uint64(free)
	}
	return config
}

func (a *app) heapLedger(ctx context.Context, target string, o *heapOptions) error {
	pid, err := strconv.Atoi(target)
	if err != nil {
		return usage(fmt.Errorf("heap: --ledger %s: want a process number", target))
	}
	l, err := heap.ReadLedger(ctx, pid, o.config())
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(a.Out).Encode(l)
	}
	return l.Write(a.Out)
}

func (a *app) heapChanges(reports []*heap.Report, o *heapOptions) error {
	changes, err := heap.Compare(reports, o.share/100)
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(a.Out).Encode(changes)
	}
	return heap.WriteChanges(a.Out, reports, changes, o.lines)
}

// keepHeap writes the files that were asked for.
func (a *app) keepHeap(r *heap.Report, o *heapOptions) error {
	if o.save != "" {
		if err := r.Save(o.save); err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "isobar: saved %s\n", o.save)
	}
	if o.html != "" {
		write := func(w io.Writer) error { return r.Page(w, o.view(), host.Version()) }
		if err := atomicfile.Write(o.html, 0o600, write); err != nil {
			return fmt.Errorf("heap: --html: %w", err)
		}
		fmt.Fprintf(a.Err, "isobar: page %s\n", o.html)
	}
	if o.pprof == "" {
		return nil
	}
	if err := atomicfile.Write(o.pprof, 0o600, r.WriteProfile); err != nil {
		return fmt.Errorf("heap: --pprof: %w", err)
	}
	fmt.Fprintf(a.Err, "isobar: go tool pprof %s\n", o.pprof)
	return nil
}
