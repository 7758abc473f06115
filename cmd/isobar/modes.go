package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/study/modes"
)

// modesCommand is 'lab modes', the two matrices of document 001.
func (a *app) modesCommand() *cobra.Command {
	opts := &measureOptions{}
	var markdown string
	cmd := &cobra.Command{
		Use:   "modes",
		Short: "Measure which request memory of http11 fits which service, and which requirements it meets",
		Long:  help("lab-modes"),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec, err := opts.spec(modes.Studies())
			if err != nil {
				return err
			}
			if err := a.measure(cmd.Context(), opts, nil, spec, "modes of http11"); err != nil || markdown == "" {
				return err
			}
			run, analysis, err := a.LoadRun("last")
			if err != nil {
				return err
			}
			return writePage(markdown, func(w io.Writer) error { return modes.Page(w, analysis, run.Meta.Machine) })
		},
	}
	opts.addFlags(cmd.Flags(), 10, 2*time.Minute, 0)
	cmd.Flags().StringVar(&markdown, "markdown", "", "write the matrices to `FILE`")
	return cmd
}
