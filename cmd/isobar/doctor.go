package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	var runs int
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Report this machine's noise, and which differences are detectable here",
		Long:  help("doctor"),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runs < 6 || runs > 1000 {
				return usage(fmt.Errorf("doctor: --runs %d: want 6 to 1000", runs))
			}
			d, err := a.Diagnose(cmd.Context(), runs)
			if err != nil {
				return err
			}
			if err = a.print(asJSON, d, d.Write); err == nil && len(d.Findings) > 0 {
				err = &exitError{code: exitRegression}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the diagnosis as JSON")
	cmd.Flags().IntVar(&runs, "runs", 20, "number of equal runs, about half a second each")
	return cmd
}
