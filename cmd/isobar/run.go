package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/workload"
	_ "github.com/isobar-go/isobar/internal/study/exhibit" // registers workloads
)

// runCommand is 'lab run', with a subcommand for each registered workload.
func (a *app) runCommand() *cobra.Command {
	var resume bool
	var output outputOptions
	var sweep sweepOptions
	cmd := &cobra.Command{
		Use:   "run WORKLOAD",
		Short: "Run one workload with factors of your choice, or resume a run",
		Long: `Runs one workload. Every workload flag takes one value or several, separated by
commas. Several values make a factor, and the plan is the full cross product. The
first level of each factor is the baseline for comparisons. LOW..HIGH/STEP stands
for all numbers from LOW to HIGH, STEP apart; LOW..HIGH*FACTOR multiplies instead.

  isobar lab run strategies --strategy plain,syncpool,arena --gc default,tuned,disabled
  isobar lab run market --pool off,on --tickrate 50000,100000 --gomaxprocs 1,2
  isobar lab run scaling --kind ecdsa --gc 100..20000/100
  isobar lab run exec --gc default,400,off -- go vet ./...
  isobar lab run exec --build ./cmd/batch --go 1.26.8,1.27.4 -- input.csv
  isobar lab run --resume [RUN]        continue where a run stopped`,
		Args: func(cmd *cobra.Command, args []string) error {
			if resume {
				return usage(cobra.MaximumNArgs(1)(cmd, args))
			}
			if len(args) == 0 {
				return usage(errors.New("lab run: name a workload (isobar lab run --help lists them), or --resume a run"))
			}
			_, err := workload.Lookup(args[0]) // a known one would be a subcommand
			return usage(err)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id := "last"
			if len(args) == 1 {
				id = args[0]
			}
			return a.resume(cmd.Context(), id, &sweep, &output)
		},
	}
	cmd.Flags().BoolVar(&resume, "resume", false, "continue run RUN (default: the latest) exactly where it stopped")
	output.addFlags(cmd.Flags())
	sweep.addFlags(cmd.Flags())
	const instruments, exhibits = "instruments", "exhibits"
	cmd.AddGroup(&cobra.Group{ID: instruments, Title: "Workloads:"},
		&cobra.Group{ID: exhibits, Title: "Exhibits of the five documents:"})
	for _, w := range workload.All() {
		c := a.workloadCommand(w)
		if c.GroupID = instruments; w.Exhibit {
			c.GroupID = exhibits
		}
		cmd.AddCommand(c)
	}
	return cmd
}

// workloadCommand is 'lab run NAME', whose flags are the workload's parameters.
func (a *app) workloadCommand(w *workload.Workload) *cobra.Command {
	opts, factors, sweep := &measureOptions{}, &factorFlags{}, &sweepOptions{}
	values := make([]*string, len(w.Params))
	var build string
	cmd := &cobra.Command{
		Use:   w.Name,
		Short: w.Summary,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case w.NeedsCommand && build == "" && len(args) == 0:
				return usage(fmt.Errorf("lab run %s: name the program after --, as in: isobar lab run %[1]s -- go vet PACKAGES",
					w.Name))
			case w.NeedsCommand && build == "" && len(factors.collectors)+len(factors.versions) > 0:
				return usage(errors.New("--collector, --go: these apply when a program is built: give --build too"))
			case !w.NeedsCommand && len(args) > 0:
				return usage(fmt.Errorf("lab run %s takes no argument, only flags: %q", w.Name, args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			study := plan.Study{Workload: w.Name, Command: args}
			for i, p := range w.Params {
				all, err := levels(*values[i])
				if err != nil {
					return usage(fmt.Errorf("--%s: %w", p.Name, err))
				}
				study.Params = append(study.Params, plan.Factor{Name: p.Name, Levels: all})
			}
			if err := factors.apply(&study); err != nil {
				return err
			}
			studies, err := split(w, study, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			if build != "" {
				for i := range studies {
					if studies[i].Command, err = a.BuildProgram(cmd.Context(), build, studies[i], args); err != nil {
						return err
					}
				}
			}
			spec, err := opts.spec(studies)
			if err != nil {
				return err
			}
			if err := sweep.check(opts, &spec); err != nil {
				return err
			}
			if w.NeedsCommand && len(opts.profiles) > 0 {
				return usage(fmt.Errorf("--profile: lab run %s does not look into the program that it runs: let the program write "+
					"its own profiles, or use its net/http/pprof", w.Name))
			}
			return a.measure(cmd.Context(), opts, sweep, spec, strings.Join(append([]string{w.Name}, studies[0].Command...),
				" "))
		},
	}
	if w.NeedsCommand {
		cmd.Use += " [flags] -- COMMAND [ARG ...]"
		cmd.Flags().StringVar(&build, "build", "",
			"build the program of `PACKAGE` for each --go and --collector, and pass it the arguments after --")
		factors.pods.addFlags(cmd.Flags())
	}
	factors.addFlags(cmd.Flags())
	opts.addFlags(cmd.Flags(), 6, 10*time.Minute, 0)
	sweep.addFlags(cmd.Flags())
	for i, p := range w.Params {
		values[i] = cmd.Flags().String(p.Name, p.Default, p.Help)
	}
	return cmd
}

// split makes one study per case of the workload, if it has cases and the flags
// choose no levels for them: of the named cases, or of all.
func split(w *workload.Workload, all plan.Study, changed func(flag string) bool) ([]plan.Study, error) {
	if w.Cases == nil || changed(w.Cases.Over) {
		return []plan.Study{all}, nil
	}
	if err := checkStudy(all); err != nil {
		return nil, err
	}
	var studies []plan.Study
	for _, c := range w.Cases.All {
		study := all
		study.Name, study.Params = w.Name+" "+c.Value+" "+c.Name, slices.Clone(all.Params)
		chosen := true
		for i, p := range study.Params {
			switch p.Name {
			case w.Cases.Of:
				chosen = !changed(p.Name) || slices.Contains(p.Levels, c.Value)
				study.Params[i].Levels = []string{c.Value}
			case w.Cases.Over:
				study.Params[i].Levels = c.Levels
			}
		}
		if chosen {
			studies = append(studies, study)
		}
	}
	return studies, nil
}
