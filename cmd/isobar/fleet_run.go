package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/internal/session"
)

// sweepOptions are the flags for having a fleet measure a plan.
type sweepOptions struct{ session.Fleet }

// fleet returns the fleet that the flags name; nil for none.
func (o *sweepOptions) fleet(a *app) *session.Fleet {
	if o == nil || o.Connect.URL == "" {
		return nil
	}
	o.Connect = a.connection(o.Connect, o.Connect.URL, "isobar lab")
	return &o.Fleet
}

func (o *sweepOptions) addFlags(cmd *cobra.Command) {
	o.addJoinFlags(cmd)
	cmd.Flags().StringSliceVar(&o.Platforms, "fleet-platform", nil,
		"build a Go package for workers of this `OS/ARCH`; may be repeated (default: this machine's)")
}

// addJoinFlags adds the flags of every command that measures on a fleet.
func (o *sweepOptions) addJoinFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Connect.URL, "fleet", "", "measure on the workers of the fleet at `URL`; local for a worker in this "+
		"process")
	connectFlags(cmd, &o.Connect, "fleet-")
	f.StringSliceVar(&o.Require, "fleet-require", nil,
		"use only workers with this label: `KEY=PATTERN` or KEY>=NUMBER, such as cores>=8")
	f.DurationVar(&o.Patience, "fleet-patience", 30*time.Second,
		"give a block to another worker if its worker is silent for this long")
	f.IntVar(&o.Attempts, "fleet-attempts", 10, "give a block up after this many workers did not finish it")
}

// check rejects plans that a fleet cannot measure.
func (o *sweepOptions) check(opts *measureOptions, spec *plan.Spec) error {
	if o.Connect.URL == "" {
		return nil
	}
	if opts.budget > 0 {
		return usage(errors.New("--budget and --fleet: a fleet measures the whole plan: leave one out"))
	}
	if err := o.checkJoin(); err != nil {
		return err
	}
	if opts.memory == "auto" {
		spec.MemoryBytes = 0 // each worker has its own limit
	}
	for _, study := range spec.Studies {
		w, err := workload.Lookup(study.Workload)
		if err != nil {
			return usage(err)
		}
		for i, p := range w.Params { // the study's factors begin with these, in this order
			if p.Path && slices.ContainsFunc(study.Factors[i].Levels, func(level string) bool { return level != "" }) {
				return usage(fmt.Errorf("--%s names a file of this machine, which workers lack: leave it out with --fleet",
					p.Name))
			}
		}
	}
	return nil
}

// checkJoin refuses invalid values.
func (o *sweepOptions) checkJoin() error {
	if o.Attempts < 1 || o.Patience < 100*time.Millisecond {
		return usage(errors.New("--fleet-attempts: want 1 or more; --fleet-patience: 100ms or more"))
	}
	if err := fleet.CheckLabels(o.Require); err != nil {
		return usage(fmt.Errorf("--fleet-require: %w", err))
	}
	return nil
}
