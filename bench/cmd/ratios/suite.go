package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// suites are the lists of jobs by name. Bench takes less than 40 minutes on two
// CPUs. Many is for machines with more: it asks how cost grows with CPUs, beside what
// package coherence predicts, and how it holds up with four times as many Ps.
var suites = map[string][]job{
	"bench": {
		{Blocks: 9, Benchtime: "50ms", Packages: "./recorder ./pool ./queue ./slab ./arena ./eventloop ./http11"},
		{Blocks: 9, Benchtime: "50ms", Bench: "Typed|Tree", Experiment: "arenas", Variant: ", GOEXPERIMENT=arenas",
			Packages: "./arena"},
		{Blocks: 9, Benchtime: "200ms", Bench: "Server", CPU: "2", Packages: "./http11/server"},
		{Blocks: 9, Benchtime: "1x", Bench: "Wrk/.*/impl=(isobar|isobar-readiness|fasthttp|hertz|gnet)$", CPU: "2",
			Ours: "isobar-readiness", Wall: true, Variant: ", wrk", Packages: "./http11/server"},
		{Blocks: 15, Benchtime: "1x", CPU: "1", Pin: true, Packages: "./overhead"},
		{Blocks: 9, Benchtime: "1x", CPU: "2", Ours: "isobar-fleet", Wall: true, Packages: "./fleet"},
	},
	"many": {
		{Blocks: 9, Benchtime: "20ms", CPU: procsHere, Variant: modelVariant, Bench: modelled,
			Packages: "./lines ./queue ./pool ./recorder ./eventloop ./http11"},
		{Blocks: 7, Benchtime: "50ms", CPU: procsHere, Variant: ", many CPUs",
			Packages: "./recorder ./pool ./queue ./eventloop ./http11"},
	},
}

// modelled are the benchmarks that package coherence is calibrated by and predicts.
const modelled = "Locked/instruction=add|Move/wait=write|Shared/work=0|Stream/left=cleared|Yield|Pause" +
	"|MPSC$/producers=(1|rest)/impl=(isobar|isobar-ring|xsync-mpmc|xsync-umpsc|mutex-slice|channel)$" +
	"|SPSC/batch=1/impl=(isobar|channel)$" +
	"|Backlog/.*/impl=(isobar|isobar-ring|isobar-spsc|xsync-mpmc|xsync-umpsc|mutex-slice|channel)$" +
	"|Retaining/burst=1$/impl=(isobar|syncpool)$|Bounded/burst=1$/impl=(isobar|syncpool|channel|xsync)$|RecordParallel" +
	"|Submit$/producers=(1|rest)/impl=(isobar|channel)$|Requests"

// procs are the numbers of Ps that the suite many asks for on a machine: powers of
// two, as many as CPUs, and four times as many at most.
func procs(cpus int) []int {
	list := []int{cpus, 4 * cpus}
	for n := 1; n < 4*cpus; n *= 2 {
		list = append(list, n)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

var procsHere = func() string {
	var list []string
	for _, n := range procs(runtime.NumCPU()) {
		list = append(list, strconv.Itoa(n))
	}
	return strings.Join(list, ",")
}()

// findSuite returns the jobs of a suite, with defaults for what they leave out.
func findSuite(name string) ([]job, error) {
	jobs := slices.Clone(suites[name])
	if len(jobs) == 0 {
		return nil, fmt.Errorf("no suite %q; use bench or many", name)
	}
	for i := range jobs {
		j := &jobs[i]
		j.Bench, j.CPU, j.Ours = cmp.Or(j.Bench, "."), cmp.Or(j.CPU, "1,2"), cmp.Or(j.Ours, prefix)
	}
	return jobs, nil
}
