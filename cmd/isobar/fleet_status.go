package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
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

func printFleet(w io.Writer, s *fleet.Status) error {
	fmt.Fprintf(w, "server %s", s.Server)
	if s.Cluster != "" {
		fmt.Fprintf(w, " of cluster %s", s.Cluster)
	}
	fmt.Fprintf(w, ": %s, %s, %s given up\n", text.Plural(len(s.Workers), "worker"), text.Plural(len(s.Sweeps), "sweep"),
		text.Plural(int(s.Dead), "message"))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(s.Workers) > 0 {
		fmt.Fprintln(t, "\nWORKER\tMACHINE\tCPUS\tALLOW\tFLOOR\tCELLS\tFAILED\tRETRIES\tLOST BEATS\tSTATE")
	}
	for _, m := range s.Workers {
		state := m.State
		if m.Sweep != "" {
			state = fmt.Sprintf("%s %s block %d, cell %d of %d", state, m.Sweep, m.Block, m.Current(), m.Cells)
		}
		floor := "-"
		if m.Floor > 0 {
			floor = fmt.Sprintf("%.2fx", m.Floor)
		}
		fmt.Fprintf(t, "%s\t%s %s/%s\t%d\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", m.Name, m.Machine.CPU, m.Machine.OS, m.Machine.Arch,
			m.Machine.CPUs,
			strings.Join(m.Allow, ","), floor, m.CellsDone, m.CellsFailed, m.Retries, m.LostHeartbeats, state)
	}
	if len(s.Sweeps) > 0 {
		fmt.Fprintln(t, "\nSWEEP\tNEEDS\tQUEUED\tRUNNING\tRETRIED\tUNSTORED\tTROUBLE")
	}
	for _, sweep := range s.Sweeps {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%s\n", sweep.ID, sweep.Needs(), sweep.Queued,
			sweep.Running, sweep.Retried, sweep.Results, sweep.Unmet)
	}
	return t.Flush()
}
