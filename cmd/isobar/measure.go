package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/session"
	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/internal/study/claim"
)

// measure carries out a new run: plan, run, store, report.
func (a *app) measure(
	ctx context.Context, opts *measureOptions, sweep *sweepOptions, spec plan.Spec, name string,
) error {
	for _, study := range spec.Studies {
		if err := checkStudy(study); err != nil {
			return err
		}
	}
	cells, err := spec.Cells()
	if err != nil {
		return usage(err)
	}
	m, err := a.Measure(ctx, session.Measurement{
		Name: cmp.Or(opts.name, name), Args: session.Args(), Seed: spec.Seed, Cells: cells, Budget: opts.budget,
		Fleet: sweep.fleet(a), Page: opts.output.out,
	})
	if err != nil {
		return err
	}
	return a.publish(m, opts.output.json)
}

// resume continues a run exactly where it stopped.
func (a *app) resume(ctx context.Context, id string, sweep *sweepOptions, output *outputOptions) error {
	m, err := a.Resume(ctx, id, sweep.fleet(a), output.out)
	if err != nil {
		return err
	}
	return a.publish(m, output.json)
}

// publish prints the result of a run. It returns an error if cells failed or the page could not be written.
func (a *app) publish(m *session.Measured, asJSON bool) error {
	if err := cmp.Or(a.printMeasured(m, asJSON), m.Unpaged); err != nil {
		return err
	}
	if m.Failed == 0 {
		return nil
	}
	first := ""
	for _, g := range m.Analysis.Groups {
		if len(g.Failures) > 0 {
			first = ": " + text.Clean(g.Failures[0].Err.Error())
			if g.Config.Workload == "exec" && g.Failures[0].Err.Kind == cell.FailExit {
				first += "; for a linter, whose status tells what it found, run sh -c 'COMMAND || true'"
			}
			break
		}
	}
	return fmt.Errorf("run %d: %s failed%s; the report lists all", m.Meta.ID, text.Plural(m.Failed, "cell"), first)
}

func (a *app) printMeasured(m *session.Measured, asJSON bool) error {
	if asJSON {
		return text.JSON(a.Out, m.Meta, m.Analysis)
	}
	if err := text.Summary(a.Out, m.Meta, m.Analysis, a.Style()); err != nil {
		return err
	}
	if err := a.printSaid(m.Analysis); err != nil {
		return err
	}
	report := "report   " + m.Page + "\n"
	if m.Unpaged != nil {
		report = ""
	}
	_, err := fmt.Fprintf(a.Out, "\n%sall of it  %s\n", report, a.Command(fmt.Sprint("lab show ", m.Meta.ID)))
	return err
}

// printSaid prints the documents' claims about the studies of a run, with the verdicts of this run.
func (a *app) printSaid(analysis *stat.Analysis) error {
	outcomes := claim.OfRun(analysis)
	if len(outcomes) == 0 {
		return nil
	}
	fmt.Fprintln(a.Out)
	return a.printLedger(claim.NewLedger(outcomes, nil), false)
}
