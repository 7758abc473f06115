package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/lab/plan"
)

func (a *app) labCommand() *cobra.Command {
	opts := &measureOptions{}
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Measure what the GC costs, and which memory strategy relieves it",
		Long:  help("lab"),
		Args:  onlyCommands,
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
		a.exportCommand(), a.importCommand(), a.profileCommand(), a.ticksCommand(), a.modesCommand())
	return cmd
}

// quickStudies is the study of 'isobar lab': the three main workloads of the
// seed study, with one strategy's fault (boxing slices) next to its remedy. It
// is scaled so that six blocks take less than 3 minutes on 2 CPUs and cells
// without a collector stay near 2 GB.
func quickStudies() []plan.Study {
	modes := plan.Factor{Name: "gc", Levels: []string{"default", "tuned", "disabled"}}
	return []plan.Study{
		{Workload: "alloc", Factors: []plan.Factor{{Name: "iterations", Levels: []string{"200_000"}}, modes}},
		{Workload: "market", Factors: []plan.Factor{
			{Name: "duration", Levels: []string{"1s"}},
			{Name: "pool", Levels: []string{"off", "on"}},
			modes,
		}},
		{Workload: "strategies", Factors: []plan.Factor{
			{Name: "duration", Levels: []string{"500ms"}},
			{Name: "strategy", Levels: []string{"plain", "syncpool-slice", "syncpool", "chanpool", "arena"}},
			modes,
		}},
	}
}
