package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/advice"
	"github.com/isobar-go/isobar/internal/gc/phase"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/text"
)

func (a *app) traceCommand() *cobra.Command {
	var asJSON bool
	above := 0.99
	cmd := &cobra.Command{
		Use:   "trace FILE|URL|-",
		Short: "Show what the collector did during the slowest operations of an execution trace",
		Long:  help("trace"),
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(above >= 0 && above < 1) {
				return usage(fmt.Errorf("--above %v: want a quantile from 0 to below 1, such as 0.99", above))
			}
			in, err := a.openTrace(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			r := bufio.NewReaderSize(in, 1<<20)
			if _, err := r.Peek(1); err != nil && !errors.Is(err, io.EOF) { // the decoder would hide this error
				return fmt.Errorf("trace: %w", err)
			}
			line, err := phase.Read(r)
			if err != nil {
				return fmt.Errorf("trace: %s: %w", text.WithoutPasswords(args[0]), err)
			}
			if line.Cut != nil && len(line.Ops) == 0 {
				return fmt.Errorf("trace: %s: %w; no operation comes before that", text.WithoutPasswords(args[0]), line.Cut)
			} else if line.Cut != nil {
				fmt.Fprintf(a.Err, "isobar: %v; showing what comes before that\n", line.Cut)
			}
			kinds := attributeKinds(line, above)
			return a.print(asJSON, kinds, func(io.Writer) error { return a.showPhases(line, kinds) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per kind of operation")
	cmd.Flags().Float64Var(&above, "above", above, "quantile above which operations of a kind are the slowest")
	return cmd
}

// openTrace opens a file, a URL, or standard input.
func (a *app) openTrace(ctx context.Context, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.In), nil
	}
	in, err := advice.Fetch(ctx, name, "http://localhost:6060/debug/pprof/trace?seconds=5")
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return in, nil
}

// A tracedKind is one kind of operation of a trace.
type tracedKind struct {
	Kind string `json:"kind"`
	cell.Phases
}

// attributeKinds attributes the slowest operations of each kind, starting with
// the program's own kinds.
func attributeKinds(line *phase.Timeline, above float64) []tracedKind {
	kinds := []tracedKind{}
	for kind, ops := range line.Ops {
		slices.SortFunc(ops, func(a, b phase.Op) int { return int((a.End - a.Start) - (b.End - b.Start)) })
		from := int(above * float64(len(ops)))
		p := line.Attribute(ops[from:], 1)
		p.Above, p.Total, p.ThresholdNs = above, int64(len(ops)), ops[from].End-ops[from].Start
		kinds = append(kinds, tracedKind{kind, p})
	}
	slices.SortFunc(kinds, func(a, b tracedKind) int {
		switch {
		case a.Kind == phase.Waits:
			return 1
		case b.Kind == phase.Waits:
			return -1
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	return kinds
}

func (a *app) showPhases(line *phase.Timeline, kinds []tracedKind) error {
	fmt.Fprintf(a.Out, "a trace of %v\n", time.Duration(line.End-line.Start).Round(time.Microsecond))
	if len(kinds) == 0 {
		_, err := fmt.Fprintln(a.Out, "no operations: the program has no region or task, and no goroutine waited "+
			"for a CPU")
		return err
	}
	for _, k := range kinds {
		fmt.Fprintf(a.Out, "\n%s: %s\n%s", text.Clean(k.Kind), text.PhasesLine(&k.Phases), text.Phases(&k.Phases, a.Style()))
	}
	return nil
}
