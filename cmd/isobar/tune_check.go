package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/session"
	"github.com/isobar-go/isobar/internal/tune"
)

// tuneCheck measures a recommendation again. It exits with 0 if the gain is confirmed, 3 if
// it is gone, 4 if the runs cannot tell.
func (a *app) tuneCheck(ctx context.Context, o *tuneOptions) error {
	data, err := os.ReadFile(o.check)
	if err != nil {
		return usage(fmt.Errorf("tune: --check: %w", err))
	}
	var recorded tune.Answer
	err = json.Unmarshal(data, &recorded)
	switch {
	case recorded.Setting.Workload == "attach":
		return usage(fmt.Errorf("tune: --check %s: it is of a running server: tune that again with --attach", o.check))
	case err != nil || recorded.Outcome == "" || len(recorded.Setting.Command) == 0:
		return usage(fmt.Errorf("tune: --check %s: not a result of 'isobar tune --json'", o.check))
	}
	show := func(checked *tune.Checked) error {
		return a.print(o.json, checked, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s: %s\n", checked.Outcome, checked.Reason)
			return err
		})
	}
	if recorded.Outcome != tune.Recommended {
		return show(&tune.Checked{Outcome: "nothing to check", Reason: fmt.Sprintf("the result was %q", recorded.Outcome)})
	}
	gate, err := parsePercent(o.gate)
	if err != nil {
		return usage(err)
	}
	base := recorded.Base
	if base.Workload == "" {
		return usage(fmt.Errorf("tune: --check %s: it does not name the baseline: tune again", o.check))
	}
	if recorded.Built != nil {
		prepared, err := a.rebuild(ctx, o, &recorded)
		if err != nil {
			return err
		}
		defer prepared.Remove()
		base = recorded.Base
	} else if _, err := checkProgram(base.Command); err != nil {
		return err
	}
	o.objective = string(recorded.Objective)
	c, err := o.config(base.Command)
	if err != nil {
		return err
	}
	c.Base = base
	log, err := a.openLog(ctx, o, &c)
	if err != nil {
		return err
	}
	defer log.Close()
	checked, err := tune.Check(c, &recorded, gate, log.Measure)
	if err != nil {
		return log.Failed(err)
	}
	switch err := show(checked); {
	case err != nil:
		return err
	case checked.Outcome == tune.Lost:
		return &exitError{code: exitRegression}
	case checked.Outcome == tune.Inconclusive:
		return &exitError{code: exitInconclusive}
	}
	return nil
}

// rebuild builds the program of a result again from today's sources, and puts the new
// binaries into the result.
func (a *app) rebuild(ctx context.Context, o *tuneOptions, r *tune.Answer) (*session.Built, error) {
	from := r.Built
	o.build = session.Program{Main: from.Package}
	if from.Bench != "" {
		o.build = session.Program{Bench: from.Package, Run: from.Bench, Time: from.Time}
	}
	if r.Variant != "" {
		o.variants = []cell.Build{cell.ParseBuild(r.Variant)}
	}
	b, err := a.Prepare(ctx, o.build, o.resume, o.builds(), from.Args)
	if err != nil {
		return b, err
	}
	r.Base.Command, r.Setting.Command = b.Command, b.Command
	if r.Variant != "" {
		r.Setting.Command = b.Variants[r.Variant]
	}
	return b, nil
}
