package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/heap"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/session"
)

// heapOptions are the flags of 'isobar heap'.
type heapOptions struct {
	maxPause time.Duration
	binary   string
	save     string
	json     bool
	lines    int
	share    float64
}

func (a *app) heapCommand() *cobra.Command {
	var o heapOptions
	cmd := &cobra.Command{
		Use:   "heap PID|CORE|SAVED",
		Short: "Show who holds the memory of a Go program, and what marking it costs",
		Long: `Reads the heap of a Go program as the collector sees it, and shows what is live,
by the path that holds it, with what each path retains: what would be garbage
without it. The program needs no endpoint and no symbols.

  isobar heap 4711                   a running process; it stands still while its heap is copied
  isobar heap core.4711              a core file, of the kernel, gcore or a debugger
  isobar heap 4711 --save mon.heap   keep the result: names and sizes, nothing of what memory holds
  isobar heap mon.heap               show it again

Processes can be read on Linux, amd64 and arm64, if they were built with a
version of Go that isobar knows.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(errors.New("heap: name one process number, core file or saved report"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return usage(err)
			}
			return a.heap(cmd.Context(), args[0], &o)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.maxPause, "max-pause", 10*time.Second,
		"let the process go on after so long, with an error; 0 for no bound")
	f.StringVar(&o.binary, "binary", "", "the executable of a core `FILE` that does not name it")
	f.StringVar(&o.save, "save", "", "write the result to a new `FILE` that only you can read")
	f.BoolVar(&o.json, "json", false, "print the holders, types and goroutines as JSON")
	f.IntVar(&o.lines, "lines", 12, "lines of each table")
	f.Float64Var(&o.share, "share", 1, "least share of the live heap in `PERCENT` of a holder that is listed")
	return cmd
}

func (o *heapOptions) check() error {
	switch {
	case o.maxPause < 0:
		return fmt.Errorf("--max-pause %v: want 0 or more", o.maxPause)
	case o.lines < 1:
		return fmt.Errorf("--lines %d: want at least 1", o.lines)
	case o.share < 0 || o.share > 100:
		return fmt.Errorf("--share %v: want 0 to 100", o.share)
	}
	return nil
}

func (a *app) heap(ctx context.Context, target string, o *heapOptions) error {
	config := heap.Config{MaxPause: o.maxPause, Binary: o.binary}
	if free, ok := host.AvailableBytes(); ok && free > 0 {
		config.FreeBytes = uint64(free)
	}
	r, err := heap.Open(ctx, target, config)
	switch {
	case errors.Is(err, context.Canceled):
		return &exitError{code: exitInterrupted}
	case err != nil:
		return fmt.Errorf("heap: %w", err)
	}
	if o.save != "" {
		if err := r.Save(o.save); err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "isobar: saved %s\n", o.save)
	}
	if o.json {
		return json.NewEncoder(a.Out).Encode(r.Document(o.share / 100))
	}
	width, ok := session.IsTerminal(a.Out)
	if !ok {
		width = 120
	}
	return r.Write(a.Out, heap.View{Lines: o.lines, Share: o.share / 100, Width: width})
}
