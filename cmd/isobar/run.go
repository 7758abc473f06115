package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/strategy"
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
		Long:  help("lab-run"),
		Args: func(cmd *cobra.Command, args []string) error {
			if resume {
				return usage(cobra.MaximumNArgs(1)(cmd, args))
			}
			if len(args) == 0 {
				return usage(errors.New("lab run: name a workload (isobar lab run --help lists them), or --resume a run"))
			}
			if _, err := exec.LookPath(args[0]); err == nil {
				return usage(fmt.Errorf("lab run: %s is a program, not a workload: isobar lab run exec -- %[1]s", args[0]))
			}
			_, err := workload.Lookup(args[0]) // a known workload would be a subcommand
			return usage(err)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.resume(cmd.Context(), first(args, "last"), &sweep, &output)
		},
	}
	cmd.Flags().BoolVar(&resume, "resume", false, "continue run RUN (default: the latest) exactly where it stopped")
	output.addFlags(cmd.Flags())
	sweep.addFlags(cmd)
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

// A workloadRun holds the flags of 'lab run NAME'; values has the text of each parameter.
type workloadRun struct {
	*app
	w       *workload.Workload
	values  []*string
	build   string
	opts    measureOptions
	factors factorFlags
	sweep   sweepOptions
}

// workloadCommand is 'lab run NAME', whose flags are the workload's parameters.
func (a *app) workloadCommand(w *workload.Workload) *cobra.Command {
	r := &workloadRun{app: a, w: w}
	cmd := &cobra.Command{Use: w.Name, Short: w.Summary, Args: r.args, RunE: r.run}
	if w.NeedsCommand {
		cmd.Use += " [flags] -- COMMAND [ARG ...]"
		cmd.Flags().StringVar(&r.build, "build", "",
			"build the program of `PACKAGE` for each --go and --collector, and pass it the arguments after --")
		r.factors.pods.addFlags(cmd.Flags())
	}
	r.factors.addFlags(cmd.Flags())
	r.opts.addFlags(cmd.Flags(), 6, 10*time.Minute, 0)
	r.sweep.addFlags(cmd)
	for _, p := range w.Params {
		help := p.Help
		if p.Name == "strategy" { // its words are in a registry
			help += ": " + strings.Join(strategy.Names(), ", ")
		}
		r.values = append(r.values, cmd.Flags().String(p.Name, p.Default, help))
	}
	return cmd
}

func (r *workloadRun) args(_ *cobra.Command, args []string) error {
	switch {
	case !r.w.NeedsCommand && len(args) > 0:
		return usage(fmt.Errorf("lab run %s takes no argument, only flags: %q", r.w.Name, args))
	case !r.w.NeedsCommand || r.build != "":
		return nil
	case len(args) == 0:
		return usage(fmt.Errorf("lab run %s: name the program after --, as in: isobar lab run %[1]s -- go vet PACKAGES",
			r.w.Name))
	case len(r.factors.collectors)+len(r.factors.versions) > 0:
		return usage(errors.New("--collector, --go: these apply when a program is built: give --build too"))
	}
	return nil
}

func (r *workloadRun) run(cmd *cobra.Command, args []string) error {
	studies, err := r.studies(cmd, args)
	if err != nil {
		return err
	}
	spec, err := r.opts.spec(studies)
	if err != nil {
		return err
	}
	if err := r.sweep.check(&r.opts, &spec); err != nil {
		return err
	}
	if r.w.NeedsCommand && len(r.opts.Profiles) > 0 {
		return usage(fmt.Errorf("--profile: lab run %s does not look into the program that it runs: let the program write "+
			"its own profiles, or use its net/http/pprof", r.w.Name))
	}
	if r.w.NeedsCommand && r.build == "" && r.sweep.Connect.URL == "" { // a fleet may build the program itself
		if _, err := exec.LookPath(args[0]); err != nil {
			return fmt.Errorf("lab run %s: %w: give a command that is in PATH, or its path", r.w.Name, err)
		}
	}
	name := strings.Join(append([]string{r.w.Name}, studies[0].Command...), " ")
	return r.measure(cmd.Context(), &r.opts, &r.sweep, spec, name)
}

// studies returns the studies that the flags describe, with their programs built.
func (r *workloadRun) studies(cmd *cobra.Command, args []string) ([]plan.Study, error) {
	study := plan.Study{Workload: r.w.Name, Command: args}
	changed := cmd.Flags().Changed
	if err := onlyBuiltIn(r.w, changed); err != nil {
		return nil, usage(err)
	}
	for i, p := range r.w.Params {
		if p.Unless != "" && changed(p.Unless) && !changed(p.Name) {
			continue
		}
		all, err := plan.ParseLevels(*r.values[i])
		if err != nil {
			return nil, usage(fmt.Errorf("--%s: %w", p.Name, err))
		}
		study.Factors = append(study.Factors, plan.Factor{Name: p.Name, Levels: all})
	}
	if err := r.factors.apply(&study); err != nil {
		return nil, err
	}
	studies, err := split(r.w, study, changed)
	if err != nil || r.build == "" {
		return studies, err
	}
	for i := range studies {
		if studies[i].Command, err = r.BuildProgram(cmd.Context(), r.build, studies[i], args); err != nil {
			return nil, err
		}
	}
	return studies, nil
}

// split makes one study per case of the workload, unless the workload has no cases or the
// flags choose their levels. Flags may limit it to named cases.
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
		study.Name, study.Factors = w.Name+" "+c.Value+" "+c.Name, slices.Clone(all.Factors)
		chosen := true
		for i, p := range study.Factors {
			switch p.Name {
			case w.Cases.Of:
				chosen = !changed(p.Name) || slices.Contains(p.Levels, c.Value)
				study.Factors[i].Levels = []string{c.Value}
			case w.Cases.Over:
				study.Factors[i].Levels = c.Levels
			}
		}
		if chosen {
			studies = append(studies, study)
		}
	}
	return studies, nil
}
