package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/advise"
	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/internal/advice"
	"github.com/isobar-go/isobar/internal/lab/exercise"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/internal/session"
	"github.com/isobar-go/isobar/internal/show/text"
)

// adviseOptions are the flags of 'isobar advise'; those of proofs are in advise_fix.go.
type adviseOptions struct {
	advice.Config
	checks           []string
	all, json, sarif bool
	gate             bool
	fix, write       bool
	patches          []string
	output           string
	top              int
	newFrom          string
	html             string
	save             bool
}

func (a *app) adviseCommand() *cobra.Command {
	o := &adviseOptions{}
	cmd := &cobra.Command{
		Use:   "advise [PACKAGES]",
		Short: "Find the lines that cause allocations, and what to do about them",
		Long:  help("advise"),
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := a.advise(cmd.Context(), o, args)
			if cmd.Context().Err() != nil {
				return session.ErrInterrupted
			}
			return err
		},
	}
	f := cmd.Flags()
	o.proofFlags(f)
	f.StringSliceVar(&o.checks, "check", nil, "run only these checks")
	f.StringSliceVar(&o.Profiles, "profile", nil,
		"join the samples of these pprof `FILES` to the findings; or URLs of a running program, such as "+
			"http://localhost:6060/debug/pprof/")
	f.BoolVar(&o.all, "all", false, "without a profile: show all findings, hot or not")
	f.BoolVar(&o.json, "json", false, "print the result as JSON")
	f.BoolVar(&o.sarif, "sarif", false, "print the findings as SARIF 2.1.0")
	f.BoolVar(&o.gate, "gate", false, "exit with 3 if there are findings")
	cmd.AddCommand(a.adviseChecksCommand(), a.adviseWhyCommand())
	return cmd
}

func (a *app) advise(ctx context.Context, o *adviseOptions, patterns []string) (err error) {
	if o.Checks, err = chosen(o.checks); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return usage(err)
	}
	show := session.NewStatus(a.Err)
	o.Patterns, o.Began, o.Progress, o.Try = patterns, time.Now(), show.Say, o.Bench != ""
	if cache, err := os.UserCacheDir(); err == nil {
		o.Cache = filepath.Join(cache, "isobar", "advise")
	}
	result, shown, folded, err := a.found(ctx, o)
	show.End()
	if err != nil {
		return err
	}
	switch {
	case o.json:
		result.Findings = shown
		err = writeJSON(a.Out, result)
	case o.sarif:
		err = advice.SARIF(a.Out, host.Version(), o.Dir, o.Checks, shown)
	case o.fix || len(o.patches) > 0:
		err = a.printFixes(o, result.Verification)
	default:
		err = a.printAdvice(result, shown, folded)
	}
	switch {
	case err != nil || !o.gate:
		return err
	case len(shown) > 0:
		return &exitError{code: exitRegression}
	case len(result.Skipped) > 0:
		return fmt.Errorf("advise: gate: %s could not be checked, such as %s: %s; fix them or name others",
			text.Plural(len(result.Skipped), "package"), result.Skipped[0].Package, result.Skipped[0].Reason)
	}
	return nil
}

// found returns the result, the findings to show, and how many are folded.
func (a *app) found(ctx context.Context, o *adviseOptions) (r *advice.Result, shown []advice.Finding, folded int,
	err error) {
	if len(o.patches) > 0 {
		r, err = judgePatches(ctx, o)
		if err != nil {
			return nil, nil, 0, err
		}
		return r, r.Findings, 0, a.keepPage(o, r, r.Findings)
	}
	forget, err := profiled(ctx, &o.Config)
	if err != nil {
		return nil, nil, 0, err
	}
	defer forget()
	if r, err = advice.Run(ctx, o.Config); err != nil {
		return nil, nil, 0, err
	}
	shown, folded = fold(r, o.all)
	if o.newFrom != "" {
		if shown, err = advice.NewFrom(ctx, o.Config, o.newFrom, shown); err != nil {
			return nil, nil, 0, err
		}
	}
	if o.fix {
		if err := repair(ctx, o, r, shown); err != nil {
			return nil, nil, 0, err
		}
	}
	return r, shown, folded, a.keepPage(o, r, shown)
}

// chosen returns the named checks, or all.
func chosen(names []string) ([]*check.Check, error) {
	if len(names) == 0 {
		return advise.All(), nil
	}
	var checks []*check.Check
	for _, name := range names {
		c := advise.Lookup(name)
		if c == nil {
			var known []string
			for _, c := range advise.All() {
				known = append(known, c.Name)
			}
			return nil, usage(fmt.Errorf("unknown check %q%s; 'isobar advise checks' lists them", name,
				workload.DidYouMean(name, known)))
		}
		checks = append(checks, c)
	}
	return checks, nil
}

// noEvidence is the share of a profile below which a finding is folded: hardly any such
// finding saves 1 % of a benchmark.
const noEvidence = 0.005

// fold splits the findings: without a profile it folds all but traps; with one, those below noEvidence.
func fold(r *advice.Result, all bool) (shown []advice.Finding, folded int) {
	shown = []advice.Finding{}
	for _, f := range r.Findings {
		visible := all
		if s := f.Share; s != nil {
			visible = max(s.Bytes, s.Objects, s.CPU) >= noEvidence
		}
		if visible || f.Severity == check.Trap.String() {
			shown = append(shown, f)
		} else {
			folded++
		}
	}
	return shown, folded
}

func (a *app) adviseChecksCommand() *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "checks [NAME]",
		Short: "List the checks, or explain one",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if markdown {
				return advice.Docs(a.Out, advise.All())
			}
			checks, err := chosen(args)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				c := checks[0]
				_, err := fmt.Fprintf(a.Out, "%s: %s\n", c.Name, c.Analyzer.Doc)
				if e := exercise.Explain(c.Exercise); e != nil && err == nil {
					_, err = fmt.Fprint(a.Out, e)
				}
				return err
			}
			for _, c := range checks {
				number := "-"
				if c.Exercise > 0 {
					number = fmt.Sprint(c.Exercise)
				}
				short, _, _ := strings.Cut(c.Doc, "\n")
				if _, err := fmt.Fprintf(a.Out, "%2s  %-16s %-7s %-14s %s\n", number, c.Name, c.Severity, c.Versions(),
					short); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print a page about all checks")
	return cmd
}

func (a *app) adviseWhyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "why FILE:LINE",
		Short: "Say what the compiler knows of a line: what escapes, and what is inlined",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			facts, err := advice.Why(cmd.Context(), args[0])
			if errors.Is(err, advice.ErrLine) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			for _, f := range facts {
				fmt.Fprintln(a.Out, f)
			}
			if len(facts) == 0 {
				fmt.Fprintln(a.Out, "the compiler reports nothing here: no variable declared or value made on this line escapes "+
					"by itself, as far as it says")
			}
			return nil
		},
	}
}
