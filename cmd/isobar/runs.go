package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/session"
	"github.com/isobar-go/isobar/internal/show/text"
)

func (a *app) listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs in the store",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := a.OpenForReading()
			if err != nil {
				return err
			}
			defer s.Close()
			runs, err := s.Runs()
			if err != nil {
				return err
			}
			return a.print(asJSON, runs, func(w io.Writer) error { return listRuns(w, runs) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return cmd
}

func listRuns(w io.Writer, runs []store.Run) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tSTARTED\tCELLS\tSTATUS\tNAME")
	for _, r := range runs {
		fmt.Fprintf(t, "%d\t%s\t%d/%d\t%s\t%s\n", r.ID, r.Created.Local().Format("2006-01-02 15:04"), r.Finished+r.Failed,
			r.Total, r.Status(), r.Name)
	}
	return t.Flush()
}

func (a *app) showCommand() *cobra.Command {
	var output outputOptions
	cmd := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show everything about a run (default: the latest)",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			loaded, analysis, err := a.LoadRun(first(args, "last"))
			if err != nil {
				return err
			}
			meta := loaded.Meta
			if output.out != "" {
				if err := session.WriteReport(output.out, loaded.Run, analysis); err != nil {
					return err
				}
			}
			if output.json {
				return text.JSON(a.Out, meta, analysis)
			}
			if err := text.Report(a.Out, meta, analysis, a.Style()); err != nil {
				return err
			}
			return a.printSaid(analysis)
		},
	}
	cmd.Flags().BoolVar(&output.json, "json", false, "print the result as JSON")
	cmd.Flags().StringVar(&output.out, "out", "", "also write the HTML report to `FILE`")
	return cmd
}

func (a *app) compareCommand() *cobra.Command {
	var asJSON, gate bool
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare run B with run A: better, worse, or no difference shown",
		Long:  help("lab-compare"),
		Args:  cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			var ids [2]int64
			var sides [2]*stat.Analysis
			for i, arg := range args {
				run, analysis, err := a.LoadRun(arg)
				if err != nil {
					return err
				}
				ids[i], sides[i] = run.Meta.ID, analysis
			}
			comparisons := stat.CompareRuns(sides[0], sides[1])
			if len(comparisons) == 0 {
				return fmt.Errorf("runs %d and %d have no configuration in common: 'isobar lab show' lists those of each", ids[0],
					ids[1])
			}
			var err error
			if asJSON {
				err = text.ComparisonsJSON(a.Out, comparisons)
			} else {
				err = text.Comparisons(a.Out, fmt.Sprintf("run %d against run %d", ids[1], ids[0]), comparisons, a.Style())
				onlyA, onlyB := stat.Unmatched(sides[0], sides[1])
				for i, keys := range [][]string{onlyA, onlyB} {
					for _, key := range keys {
						fmt.Fprintf(a.Out, "only in run %d: %s\n", ids[i], key)
					}
				}
			}
			if err != nil || !gate {
				return err
			}
			return gateError(comparisons)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the comparisons as JSON")
	cmd.Flags().BoolVar(&gate, "gate", false, "exit with 3 if something got worse, 4 if nothing could be decided")
	return cmd
}

// gateError turns verdicts into an exit code.
func gateError(comparisons []stat.Comparison) error {
	worse, inconclusive := 0, 0
	for _, c := range comparisons {
		switch c.Verdict {
		case stat.Worse:
			worse++
		case stat.Inconclusive:
			inconclusive++
		case stat.Disagreement:
			if slices.ContainsFunc(c.Machines, func(m stat.MachineComparison) bool { return m.Verdict == stat.Worse }) {
				worse++
			} else {
				inconclusive++
			}
		}
	}
	switch {
	case worse > 0:
		return &exitError{exitRegression, fmt.Errorf("%d of %d figures got worse", worse, len(comparisons))}
	case inconclusive == len(comparisons):
		return &exitError{exitInconclusive,
			errors.New("no verdict on any figure: the reasons say why; with too few pairs, give more --reps on one machine")}
	}
	return nil
}

func (a *app) rmCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rm RUN...",
		Short: "Remove runs from the store, with their samples, profiles and reports",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, path, unlock, err := a.OpenForRun(true)
			if err != nil {
				return err
			}
			defer unlock()
			defer s.Close()
			var runs []store.Run
			for _, arg := range args {
				run, err := session.FindRun(s, arg)
				if err != nil {
					return err
				}
				runs = append(runs, run)
			}
			sort.Slice(runs, func(i, j int) bool { return runs[i].ID < runs[j].ID })
			for _, run := range runs {
				if err := s.Remove(run.ID); err != nil {
					return err
				}
				if err := session.RemoveReport(path, run.ID); err != nil {
					return fmt.Errorf("run %d is removed, but its report is not: %w", run.ID, err)
				}
				fmt.Fprintf(a.Out, "removed run %d (%s)\n", run.ID, run.Name)
			}
			return nil
		},
	}
}

func first(args []string, otherwise string) string {
	if len(args) > 0 {
		return args[0]
	}
	return otherwise
}
