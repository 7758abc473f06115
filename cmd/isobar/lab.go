package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/plan"
)

func (a *app) labCommand() *cobra.Command {
	opts := &measureOptions{}
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Measure: what the GC costs, and which memory strategy relieves it",
		Long: `With no argument: the quick study. It measures allocation under memory pressure,
a market-data processor and the memory strategies, each with the collector at
its default, tuned (GOGC=500) and disabled, in interleaved blocks of fresh
processes; prints what was found; and writes an HTML report. It takes at most 3
minutes on 2 CPUs. Ctrl-C keeps what is finished; 'lab run --resume' goes on.`,
		Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec, err := opts.spec(quickStudies())
			if err != nil {
				return err
			}
			return a.measure(cmd.Context(), opts, nil, spec, "quick study")
		},
	}
	opts.addFlags(cmd.Flags(), 6, 2*time.Minute, 150*time.Second)
	cmd.AddCommand(a.runCommand(), a.listCommand(), a.showCommand(), a.compareCommand(), a.rmCommand(),
		a.exportCommand(), a.importCommand(), a.profileCommand(), a.ticksCommand())
	return cmd
}

// quickStudies is the study of 'isobar lab': the three main workloads of the
// seed study, the strategies with the fault of one (boxing slices) beside its
// remedy, scaled so that six blocks take less than 3 minutes on 2 CPUs
// and the cells without a collector stay near 2 GB.
func quickStudies() []plan.Study {
	modes := []cell.GC{cell.DefaultGC, cell.TunedGC, cell.DisabledGC}
	return []plan.Study{
		{Workload: "alloc", GC: modes, Params: []plan.Factor{{Name: "iterations", Levels: []string{"200_000"}}}},
		{Workload: "market", GC: modes, Params: []plan.Factor{
			{Name: "duration", Levels: []string{"1s"}},
			{Name: "pool", Levels: []string{"off", "on"}},
		}},
		{Workload: "strategies", GC: modes, Params: []plan.Factor{
			{Name: "duration", Levels: []string{"500ms"}},
			{Name: "strategy", Levels: []string{"plain", "syncpool-slice", "syncpool", "chanpool", "arena"}},
		}},
	}
}
