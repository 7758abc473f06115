package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/study/claim"
)

// A claimSession is one call of 'claims run', or several when it was resumed:
// the runs of one size that have the same seed.
type claimSession struct {
	size   claim.Size
	seed   uint64
	have   map[string]int64 // runs of the session by name
	runner *runner.Runner
	failed int // cells that failed or were left out
	// passes and took are, by experiment, how often it was measured, and how
	// long the last pass took without what it took to build.
	passes map[claim.Experiment]int
	took   map[claim.Experiment]time.Duration
}

// quickTime is how long 'claims run --quick' takes: what is left of it when each
// experiment has been measured goes to claims that are in doubt.
const quickTime = 11*time.Minute + 30*time.Second

// newClaimSession begins a session, or with resume goes on with the latest one
// of the size.
func newClaimSession(s *store.Store, size claim.Size, resume bool) (*claimSession, error) {
	session := &claimSession{size: size, seed: plan.NewSeed(), have: map[string]int64{}, passes: map[claim.Experiment]int{}, took: map[claim.Experiment]time.Duration{}}
	if !resume {
		return session, nil
	}
	runs, err := s.Runs()
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, d := range claim.Documents() {
		for i := range d.Claims {
			names[d.Claims[i].Experiment.Name(size)] = true
		}
	}
	for i := len(runs) - 1; i >= 0; i-- {
		r := runs[i]
		if !names[r.Name] || r.Version != host.Version() {
			continue
		}
		if len(session.have) == 0 {
			session.seed = r.Seed
		}
		if r.Seed == session.seed {
			session.have[r.Name] = r.ID
		}
	}
	return session, nil
}

// run returns the session's run of an experiment, created if need be or extended
// by one more pass of what is in doubt, and what is to be measured of it: nil for
// a run of a session that was resumed, if it is complete.
func (c *claimSession) run(s *store.Store, d claim.Doubt) (int64, []cell.Cell, error) {
	e := d.Experiment
	name := e.Name(c.size)
	id := c.have[name]
	if id > 0 && c.passes[e] == 0 {
		cells, err := s.Cells(id)
		if err != nil {
			return 0, nil, err
		}
		spec, err := e.Spec(c.size, c.seed)
		if err != nil {
			return 0, nil, err
		}
		c.passes[e] = cells[len(cells)-1].Block/spec.Repetitions + 1
		pending, err := s.Pending(id)
		return id, pending, err
	}
	cells, err := e.Pass(c.size, c.seed, c.passes[e])
	if err != nil {
		return 0, nil, err
	}
	memory := runner.DefaultMemoryCap(host.Fingerprint().MemoryBytes)
	for i := range cells {
		cells[i].Timeout, cells[i].MemoryBytes = 5*time.Minute, memory
	}
	c.passes[e]++
	if id == 0 {
		id, err = s.CreateRun(store.Run{Name: name, Created: time.Now(), Args: e.Args(c.size), Version: host.Version(), Machine: host.Fingerprint(), Seed: c.seed}, cells)
		c.have[name] = id
		return id, cells, err
	}
	run, err := s.Run(id)
	if err != nil {
		return 0, nil, err
	}
	cells = slices.DeleteFunc(cells, func(cell cell.Cell) bool { return !d.Needs(cell) })
	for i := range cells {
		cells[i].Index = run.Total + i
	}
	return id, cells, s.Extend(id, cells...)
}

// next returns what to measure once more: all that is in doubt, or with the quick
// size what there is time for, beginning with what took least so far.
func (c *claimSession) next(doubts []claim.Doubt, begun time.Time) (next []claim.Doubt) {
	spent := func(d claim.Doubt) time.Duration { return time.Duration(c.passes[d.Experiment]) * c.took[d.Experiment] }
	slices.SortStableFunc(doubts, func(x, y claim.Doubt) int { return cmp.Compare(spent(x), spent(y)) })
	left := quickTime - time.Since(begun)
	for _, d := range doubts {
		took := c.took[d.Experiment]
		switch {
		case c.passes[d.Experiment] >= claim.MaxPasses:
		case c.size != claim.Quick:
			next = append(next, d)
		case took <= left:
			next, left = append(next, d), left-took
		}
	}
	return next
}
