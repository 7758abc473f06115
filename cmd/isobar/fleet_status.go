package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/show/text"
)

func (a *app) fleetStatusCommand() *cobra.Command {
	var connect fleet.Options
	var asJSON bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "status URL",
		Short: "Show workers, what they run, what is queued, and what was given up",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := fleet.Connect(cmd.Context(), a.connection(connect, args[0], "isobar status"))
			if err != nil {
				return err
			}
			defer f.Close()
			status, err := f.Status(cmd.Context(), wait)
			if err != nil {
				return err
			}
			return a.print(asJSON, status, func(w io.Writer) error { return printFleet(w, status) })
		},
	}
	connectFlags(cmd, &connect, "")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the status as JSON")
	cmd.Flags().DurationVar(&wait, "wait", 500*time.Millisecond, "how long to wait for workers to answer")
	return cmd
}

// printFleet prints the status in lines of at most 80 columns, as long as names and labels are short.
func printFleet(w io.Writer, s *fleet.Status) (err error) {
	line := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintln(w, text.Clean(strings.TrimRight(fmt.Sprintf(format, args...), " ")))
		}
	}
	line("server %s", s.Server)
	if s.Cluster != "" {
		line("cluster %s", s.Cluster)
	}
	line("%s, %s, %s given up", text.Plural(len(s.Workers), "worker"), text.Plural(len(s.Sweeps), "sweep"),
		text.Plural(int(s.Dead), "message"))
	if len(s.Workers) > 0 {
		line("")
		line("STATE     FLOOR    CELLS  FAILED  RETRIES  LOST BEATS  WORKER")
	}
	for _, m := range s.Workers {
		floor := "-"
		if m.Floor > 0 {
			floor = fmt.Sprintf("%.2fx", m.Floor)
		}
		line("%-8s %6s %8d %7d %8d %11d  %s", m.State, floor, m.CellsDone, m.CellsFailed, m.Retries, m.LostHeartbeats, m.Name)
		cpus := text.Plural(m.Machine.CPUs, "CPU")
		if m.Machine.CPUQuota > 0 {
			cpus = fmt.Sprintf("%.3g of %s", m.Machine.CPUQuota, cpus)
		}
		line("  %s %s/%s, %s, for %s", m.Machine.CPU, m.Machine.OS, m.Machine.Arch, cpus, strings.Join(m.Allow, ","))
		if m.Sweep != "" {
			line("  %s block %d, cell %d of %d", m.Sweep, m.Block, m.Current(), m.Cells)
		}
	}
	if len(s.Sweeps) > 0 {
		line("")
		line("  QUEUED   RUNNING   RETRIED  UNSTORED  SWEEP")
	}
	for _, sweep := range s.Sweeps {
		line("%8d %9d %9d %9d  %s", sweep.Queued, sweep.Running, sweep.Retried, sweep.Results, sweep.ID)
		line("  needs %s", sweep.Needs())
		if sweep.Unmet != "" {
			line("  trouble: %s", sweep.Unmet)
		}
	}
	return err
}
