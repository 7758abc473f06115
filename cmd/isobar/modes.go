package main

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/study/modes"
)

// modesCommand is 'lab modes', the two matrices of document 001.
func (a *app) modesCommand() *cobra.Command {
	opts := &measureOptions{}
	var markdown, of string
	cmd := &cobra.Command{
		Use:   "modes",
		Short: "Measure which request memory of http11 fits which service, and which requirements it meets",
		Long: `Measures http11's memory modes in each kind of service of document 001, as one run
of 'lab run http' studies in interleaved blocks; about 15 minutes. --markdown writes
the matrix of workloads and that of requirements, each cell with its figure; with
--of RUN from a run in the store.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if of != "" && markdown == "" {
				return usage(errors.New("lab modes: --of RUN measures nothing: name a file with --markdown"))
			}
			if of == "" {
				spec, err := opts.spec(modes.Studies())
				if err != nil {
					return err
				}
				if err := a.measure(cmd.Context(), opts, nil, spec, "modes of http11"); err != nil {
					return err
				}
				of = "last"
			}
			if markdown == "" {
				return nil
			}
			run, analysis, err := a.LoadRun(of)
			if err != nil {
				return err
			}
			return writePage(markdown, func(w io.Writer) error { return modes.Page(w, analysis, run.Meta.Machine) })
		},
	}
	opts.addFlags(cmd.Flags(), 10, 2*time.Minute, 0)
	cmd.Flags().StringVar(&markdown, "markdown", "", "write the matrices to `FILE`")
	cmd.Flags().StringVar(&of, "of", "", "measure nothing: take run `RUN` of the store")
	return cmd
}
