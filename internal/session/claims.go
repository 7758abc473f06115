package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/internal/study/claim"
)

// RunClaims measures the experiment of each claim once, then repeats, in turns,
// those whose verdict is in doubt. The repetitions spread over several
// stretches of time, because any one stretch may be unusual.
func (se *Session) RunClaims(ctx context.Context, claims []*claim.Claim, size claim.Size, resume bool) error {
	begun := time.Now()
	s, _, unlock, err := se.OpenForRun(false)
	if err != nil {
		return err
	}
	defer unlock()
	defer s.Close()
	session, err := newClaimRuns(s, size, resume)
	if err != nil {
		return err
	}
	begun = begun.Add(-session.before)
	session.runner = runner.New(runner.Config{Log: se.Err})
	experiments := experimentsOf(claims)
	for pass := 1; len(experiments) > 0; pass++ {
		what := ""
		if pass > 1 {
			what = fmt.Sprintf("in doubt, pass %d: ", pass)
		}
		for i, d := range experiments {
			if TerminalWidth(se.Err) > 0 {
				args := strings.Join(d.Experiment.Args(size)[2:], " ")
				fmt.Fprintf(se.Err, "%d/%d  %s%s\n", i+1, len(experiments), what, args)
			}
			if err := se.measureClaims(ctx, s, session, d); err != nil {
				return err
			}
		}
		outcomes, err := claim.Read(s, claims)
		if err != nil {
			return err
		}
		experiments = session.next(claim.InDoubt(outcomes), begun)
	}
	if session.failed > 0 {
		return fmt.Errorf("%d cells failed or were left out: 'isobar lab list' shows the runs", session.failed)
	}
	return nil
}

// measureClaims measures the missing cells of one pass of an experiment. It
// counts cells that fail and returns no error for them.
func (se *Session) measureClaims(ctx context.Context, s *store.Store, session *claimRuns, d claim.Doubt) error {
	e := d.Experiment
	id, pending, err := session.run(s, d)
	if err != nil || pending == nil {
		return err
	}
	if err := session.runner.Prepare(ctx, pending); err != nil && ctx.Err() == nil {
		fmt.Fprintf(se.Err, "isobar: left out: %s: %v\n", strings.Join(e.Args(session.size)[2:], " "), err)
		session.failed += len(pending)
		return nil
	}
	start := time.Now()
	failed, err := se.execute(ctx, session.runner, s, id, 0)
	session.took[e] = time.Since(start)
	session.failed += failed
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(se.Err, "isobar: interrupted: finished cells are kept. Continue with: isobar claims run --resume%s\n",
			map[claim.Size]string{claim.Quick: " --quick"}[session.size])
		return ErrInterrupted
	}
	return err
}

// experimentsOf returns the experiments that test the claims on this machine,
// each once.
func experimentsOf(claims []*claim.Claim) []claim.Doubt {
	var all []claim.Outcome
	for _, c := range claims {
		all = append(all, claim.Outcome{Claim: c, Doubtful: c.Testable()})
	}
	return claim.InDoubt(all)
}

// Outcomes reads what the store says about the claims. There may be no store
// yet.
func (se *Session) Outcomes(claims []*claim.Claim) ([]claim.Outcome, error) {
	s, err := se.OpenForReading()
	if errors.Is(err, store.ErrNotFound) {
		return claim.Read(nil, claims)
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return claim.Read(s, claims)
}

// Ledger sets what the store says about the claims beside the published runs.
func (se *Session) Ledger(claims []*claim.Claim) (*text.Ledger, error) {
	outcomes, err := se.Outcomes(claims)
	if err != nil {
		return nil, err
	}
	runs, err := claim.PublishedRuns()
	if err != nil {
		return nil, err
	}
	return claim.NewLedger(outcomes, runs), nil
}

// A claimRuns is one call of 'claims run', or several if it was resumed: the
// runs of one size that share a seed.
type claimRuns struct {
	size   claim.Size
	seed   uint64
	have   map[string]int64 // runs of the session by name
	runner *runner.Runner
	failed int // cells that failed or were left out
	// By experiment: the number of measured passes, and the time of the last one, without building.
	passes map[claim.Experiment]int
	took   map[claim.Experiment]time.Duration
	// Of the resumed calls: the time they measured in total, and by run.
	before time.Duration
	each   map[int64]time.Duration
}

// interruption is the gap between the starts of two cells from which on it counts as an interruption.
const interruption = time.Minute

// measuring returns the time spent on cells with these starts, without interruptions.
func measuring(starts []time.Time) (sum time.Duration) {
	slices.SortFunc(starts, time.Time.Compare)
	for i := 1; i < len(starts); i++ {
		if step := starts[i].Sub(starts[i-1]); step < interruption {
			sum += step
		}
	}
	return sum
}

// readTimes reads how long the session has measured so far.
func (c *claimRuns) readTimes(s *store.Store) error {
	var all []time.Time
	for _, id := range c.have {
		records, err := s.Records(id)
		if err != nil {
			return err
		}
		var starts []time.Time
		for _, rec := range records {
			starts = append(starts, rec.Started)
		}
		all = append(all, starts...)
		c.each[id] = measuring(starts)
	}
	c.before = measuring(all)
	return nil
}

// quickTime is the time for 'claims run --quick'. What one pass of each experiment leaves
// of it goes to claims in doubt.
const quickTime = 11*time.Minute + 30*time.Second

// newClaimRuns begins a session; with resume it continues the latest session of that size.
func newClaimRuns(s *store.Store, size claim.Size, resume bool) (*claimRuns, error) {
	session := &claimRuns{size: size, seed: plan.NewSeed(), have: map[string]int64{}, passes: map[claim.Experiment]int{},
		took: map[claim.Experiment]time.Duration{}, each: map[int64]time.Duration{}}
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
	return session, session.readTimes(s)
}

// run returns the session's run of an experiment and the cells to measure. It
// creates the run, or extends it by another pass of the cells in doubt. If a
// resumed session holds the complete run, there are no cells to measure.
func (c *claimRuns) run(s *store.Store, d claim.Doubt) (int64, []cell.Cell, error) {
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
		c.took[e] = c.each[id] / time.Duration(c.passes[e])
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
		id, err = s.CreateRun(store.Run{Name: name, Created: time.Now(), Args: e.Args(c.size), Version: host.Version(),
			Machine: host.Fingerprint(), Seed: c.seed}, cells)
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

// next returns what to measure in another pass: everything in doubt or, for the quick size, what
// fits into the remaining time, starting with the experiment that has taken the least time.
func (c *claimRuns) next(doubts []claim.Doubt, begun time.Time) (next []claim.Doubt) {
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
