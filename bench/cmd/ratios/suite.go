package main

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// suites are the lists of jobs by name. Bench takes less than 40 minutes on two
// CPUs. Many is for machines with more: it asks how cost grows with CPUs, beside what
// package coherence predicts, and how it holds up with four times as many Ps.
var suites = map[string][]string{
	"bench": {
		"-blocks=9 -benchtime=50ms ./recorder ./pool ./queue ./slab ./arena ./eventloop ./http11",
		"-blocks=9 -benchtime=50ms -bench='Typed|Tree' -experiment=arenas -variant=', GOEXPERIMENT=arenas' ./arena",
		"-blocks=9 -benchtime=200ms -bench=Server -cpu=2 ./http11/server",
		"-blocks=9 -benchtime=1x -bench='Wrk/.*/impl=(isobar|isobar-readiness|fasthttp|hertz|gnet)$' -cpu=2" +
			" -ours=isobar-readiness -wall -variant=', wrk' ./http11/server",
		"-blocks=15 -benchtime=1x -cpu=1 -pin ./overhead",
		"-blocks=9 -benchtime=1x -cpu=2 -ours=isobar-fleet -wall ./fleet",
	},
	"many": {
		"-blocks=9 -benchtime=20ms -cpu=" + procsHere + " -variant='" + modelVariant + "' -bench='" + modelled + "'" +
			" ./lines ./queue ./pool ./recorder ./eventloop ./http11",
		"-blocks=7 -benchtime=50ms -cpu=" + procsHere +
			" -variant=', many CPUs' ./recorder ./pool ./queue ./eventloop ./http11",
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

func findSuite(name string) ([]job, error) {
	lines, ok := suites[name]
	if !ok {
		return nil, fmt.Errorf("no suite %q; use bench or many", name)
	}
	var jobs []job
	for _, line := range lines {
		j, err := parseJob(line)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}
