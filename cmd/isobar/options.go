package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/isobar-go/isobar/internal/base/cgroup"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/strategy"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// measureOptions are the flags of the commands that measure.
type measureOptions struct {
	plan.Spec
	memory, latency string
	name            string
	budget          time.Duration
	output          outputOptions
}

// outputOptions are the flags for the output of a result.
type outputOptions struct {
	json bool
	out  string
}

func (o *outputOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.json, "json", false, "print the result as JSON")
	f.StringVar(&o.out, "out", "", "write the HTML report to `FILE` (default: run-N.html in reports, beside the store)")
}

func (o *measureOptions) addFlags(f *pflag.FlagSet, reps int, timeout, budget time.Duration) {
	f.IntVar(&o.Repetitions, "reps", reps, "repetitions: blocks, each with every configuration once")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of the order and of the workloads (default: drawn, and recorded)")
	f.DurationVar(&o.Timeout, "timeout", timeout, "kill a cell that runs longer; 0 for no limit")
	f.StringVar(&o.memory, "memory", "auto", "kill a cell that uses more: a size, auto (70 % of usable memory), "+
		"or none")
	f.StringVar(&o.latency, "latency", "on", "time each operation in the second half of a closed loop; off spends the "+
		"whole budget on time and CPU per operation")
	f.StringSliceVar(&o.Profiles, "profile", nil,
		"keep profiles of every cell: cpu, heap, allocs, trace; phases, and also trace, say what the collector did during "+
			"the slowest operations")
	f.DurationVar(&o.budget, "budget", budget, "skip blocks unlikely to finish within this time; 0 for all blocks")
	f.StringVar(&o.name, "name", "", "name of the run in 'lab list'")
	o.output.addFlags(f)
}

// spec checks the options and makes a plan from the given studies.
func (o *measureOptions) spec(studies []plan.Study) (plan.Spec, error) {
	spec := o.Spec
	spec.Studies = studies
	for _, p := range o.Profiles {
		if err := workload.OneOf("cpu", "heap", "allocs", "trace", "phases")(p); err != nil {
			return spec, usage(fmt.Errorf("--profile %q: %w", p, err))
		}
	}
	if err := workload.OneOf("on", "off")(o.latency); err != nil {
		return spec, usage(fmt.Errorf("--latency %q: %w", o.latency, err))
	}
	if spec.Untimed = o.latency == "off"; spec.Untimed && slices.Contains(o.Profiles, "phases") {
		return spec, usage(errors.New("--latency off times no operations that --profile phases could explain: leave out " +
			"one of them"))
	}
	if o.Timeout < 0 {
		return spec, usage(fmt.Errorf("--timeout %v: want 0 or more", o.Timeout))
	}
	var err error
	if spec.MemoryBytes, err = memoryCap(o.memory); err != nil {
		return spec, err
	}
	spec.Seed = cmp.Or(spec.Seed, plan.NewSeed())
	return spec, nil
}

// memoryCap reads the flag --memory.
func memoryCap(value string) (int64, error) {
	n, err := runner.MemoryCap(value, host.Fingerprint().MemoryBytes)
	if err != nil {
		return 0, usage(fmt.Errorf("--memory %q: %w", value, err))
	}
	return n, nil
}

// factorFlags are the GC settings, GOMAXPROCS, the collector and the Go version
// as factors.
type factorFlags struct {
	gc, procs, collectors, versions []string
	pods                            podFlags
}

// podFlags are the sizes of control groups for programs.
type podFlags struct{ cpus, memory []string }

func (f *podFlags) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.cpus, "cpus", nil,
		"run the program in a control group with this quota of CPUs, such as 0.5, or none; several make a factor")
	fs.StringSliceVar(&f.memory, "memory-max", nil,
		"run it with this memory limit, such as 64MiB, or none; several make a factor")
}

// pods returns every pair of the sizes, or nil if none are given.
func (f *podFlags) pods() ([]cell.Pod, error) {
	if len(f.cpus)+len(f.memory) == 0 {
		return nil, nil
	}
	var out []cell.Pod
	for _, cpus := range orNone(f.cpus) {
		for _, memory := range orNone(f.memory) {
			pod, err := cell.NewPod(cpus, memory)
			if err != nil {
				return nil, usage(fmt.Errorf("--cpus, --memory-max: %w", err))
			}
			out = append(out, pod)
		}
	}
	return out, nil
}

// checkPods makes a group of each size, so that nothing is measured where that is not allowed.
func checkPods(pods []cell.Pod) error {
	for _, pod := range pods {
		g, err := cgroup.New("/", cgroup.Bounds(pod))
		if err != nil {
			return fmt.Errorf("--cpus, --memory-max: %w", err)
		}
		if err := g.Remove(); err != nil {
			return err
		}
	}
	return nil
}

func orNone(levels []string) []string {
	if len(levels) == 0 {
		return []string{"none"}
	}
	return levels
}

func (f *factorFlags) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.gc, "gc", []string{"default"},
		"GC settings: default, tuned, disabled, a GOGC number, GOGC:LIMIT such as 200:512MiB; several make a factor, and a "+
			"range such as 100..20000/100 or 50..12800*2")
	fs.StringSliceVar(&f.procs, "gomaxprocs", nil,
		"GOMAXPROCS values; several make a factor (default: as the Go runtime chooses)")
	fs.StringSliceVar(&f.collectors, "collector", nil,
		"collectors: greentea, classic, goarenas (greentea with Go's arenas); several make a factor (others than the "+
			"default are built with GOEXPERIMENT)")
	fs.StringSliceVar(&f.versions, "go", nil,
		"versions of Go that build the program, such as 1.26.8,1.27.4; several make a factor (fetched where they are "+
			"missing)")
}

// apply adds the flags to study.
func (f *factorFlags) apply(study *plan.Study) error {
	settings, err := plan.ExpandRanges(f.gc)
	if err != nil {
		return usage(fmt.Errorf("--gc: %w", err))
	}
	procs, err := plan.ExpandRanges(f.procs)
	if err != nil {
		return usage(fmt.Errorf("--gomaxprocs: %w", err))
	}
	if _, err := parseProcs(procs); err != nil {
		return err
	}
	pods, err := f.pods.pods()
	if err != nil {
		return err
	}
	var sizes []string
	for _, p := range pods {
		sizes = append(sizes, p.String())
	}
	if err := checkBuilds(f.versions, f.collectors, "greentea", "classic", "goarenas"); err != nil {
		return usage(err)
	}
	for _, factor := range []plan.Factor{{Name: "gc", Levels: settings}, {Name: "gomaxprocs", Levels: procs},
		{Name: "pod", Levels: sizes}, {Name: "collector", Levels: f.collectors}, {Name: "go", Levels: f.versions}} {
		if len(factor.Levels) > 0 {
			study.Factors = append(study.Factors, factor)
		}
	}
	return nil
}

// checkBuilds rejects invalid versions of Go and unknown collectors.
func checkBuilds(versions, collectors []string, known ...string) error {
	for _, s := range versions {
		if err := cell.CheckGo(s); err != nil {
			return fmt.Errorf("--go %w", err)
		}
	}
	for _, s := range collectors {
		if err := workload.OneOf(known...)(s); err != nil {
			return fmt.Errorf("--collector %q: %w", s, err)
		}
	}
	return nil
}

func parseProcs(values []string) (all []int, err error) {
	for _, s := range values {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 4096 {
			return nil, usage(fmt.Errorf("--gomaxprocs %q: want a whole number from 1 to 4096", s))
		}
		all = append(all, n)
	}
	return all, nil
}

// checkStudy resolves every configuration of a study against the workload's declarations,
// so that mistakes show before anything runs.
func checkStudy(study plan.Study) error {
	w, err := workload.Lookup(study.Workload)
	if err != nil {
		return usage(err)
	}
	configs, err := study.Configs()
	if err != nil {
		return usage(err)
	}
	for _, c := range configs {
		params, err := w.Resolve(c.Params)
		if err != nil {
			return usage(err)
		}
		if name, ok := params["strategy"]; ok {
			if err := workload.OneOf(strategy.Names()...)(name); err != nil {
				return usage(fmt.Errorf("workload: %s: --strategy %q: %w", w.Name, name, err))
			}
		}
	}
	return nil
}
