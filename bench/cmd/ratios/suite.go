package main

import "fmt"

// suites are the lists of jobs by name. Bench takes less than 40 minutes on two
// CPUs. Many is for machines with more: it asks how cost grows with CPUs, and
// how it holds up with four times as many Ps.
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
		"-blocks=7 -benchtime=50ms -cpu=1,2,4,8,16,32,64,128 -variant=', many CPUs'" +
			" ./recorder ./pool ./queue ./eventloop ./http11",
	},
}

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
