package tune

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Outcomes of tuning. There is no fourth: what is not proven is inconclusive.
const (
	Recommended  = "recommended"
	DefaultGood  = "default is as good"
	Inconclusive = "inconclusive"
)

// A Config says what to tune. Base and Objective are needed; Fill sets the
// rest.
type Config struct {
	Base      cell.Config // the program at the default settings
	Objective Objective
	Settings  []cell.GC // candidates; nil for those of Fill
	Procs     []int     // further values of GOMAXPROCS to try
	// Variants are further commands that do the same work, such as builds with
	// another collector, by name.
	Variants     map[string][]string
	Tolerance    float64
	MaxPeakBytes float64
	MaxP99       time.Duration // of responses; 0 for no bound
	MemoryBytes  int64         // what a run may occupy before it is killed; 0 for no bound
	Budget       time.Duration
	Pairs        int // of the re-test; 0 for what the budget allows, 6 to 10
	Noise        float64
	Seed         uint64
}

// Fill replaces zero values by defaults.
func (c *Config) Fill() {
	if c.Tolerance == 0 {
		c.Tolerance = 0.02
	}
	if c.Budget == 0 {
		c.Budget = 3 * time.Minute
	}
	if len(c.Settings) > 0 {
		return
	}
	percents := []int{100, 150, 200, 300, 400, 600, 800, 1200, 1600, 3200, -1}
	if c.Objective == RSS {
		percents = []int{25, 35, 50, 75, 100}
	}
	for _, p := range percents {
		c.Settings = append(c.Settings, setting(p, 0))
	}
	if c.MaxPeakBytes > 0 {
		// The limit counts what the runtime maps; a little is beside it, and it
		// may be exceeded for a moment.
		limit := int64((c.MaxPeakBytes-leastOther)/limitOvershoot/1.02) >> 20 << 20
		if limit > 0 {
			c.Settings = append(c.Settings, setting(-1, limit), setting(400, limit))
		}
	}
}

// setting names the default as the lab does.
func setting(percent int, limit int64) cell.GC {
	gc := cell.GC{Percent: percent, LimitBytes: limit}
	if percent == cell.DefaultGC.Percent {
		gc.Name = cell.DefaultGC.Name
	}
	return gc
}

// A Gain is the measured effect of the recommended setting on one metric: the
// median of ratios to the default, paired by round.
type Gain struct {
	Metric  string   `json:"metric"`
	Ratio   Interval `json:"ratio"`
	Default float64  `json:"default"`
	Tuned   float64  `json:"tuned"`
	Pairs   int      `json:"pairs"`
	Verdict string   `json:"verdict"`
	Floor   float64  `json:"floor"` // ratio of equal runs
}

// An Answer is what tuning found: terminal, page, JSON and ui all render it.
type Answer struct {
	// Headline is the first sentence of every rendering: what to set, what it
	// saves, what it costs, how sure that is.
	Headline string `json:"headline"`
	Outcome  string `json:"outcome"`
	Reason   string `json:"reason"`
	// Choices are up to three settings, each proven against Base in the same
	// fresh rounds. The first is the recommendation, where there is one.
	Choices    []Choice     `json:"choices,omitempty"`
	Setting    cell.Config  `json:"setting"`
	Base       cell.Config  `json:"base"`              // what it was compared with
	Variant    string       `json:"variant,omitempty"` // the name of Setting's command in Config.Variants
	Objective  Objective    `json:"objective"`
	Tolerance  float64      `json:"tolerance"`
	Gains      []Gain       `json:"gains,omitempty"`
	Expected   Prediction   `json:"expected"` // of Setting
	Candidates []Candidate  `json:"candidates,omitempty"`
	Predicted  []Prediction `json:"predicted,omitempty"` // the whole curve: by GOGC, then by GOMEMLIMIT
	// of it, what none beats in both CPU time and peak memory; by ascending memory
	Frontier   []Prediction `json:"frontier,omitempty"`
	Rows       []Row        `json:"rows,omitempty"`        // by GOMAXPROCS, the default first
	CliffBytes int64        `json:"cliff_bytes,omitempty"` // least GOMEMLIMIT that works
	Doubts     []string     `json:"doubts,omitempty"`
	Runs       int          `json:"runs"`
	Seconds    float64      `json:"seconds"` // of running the program
	Built      *Built       `json:"built,omitempty"`
}

// Built says what the program was built from, so that a check can build it
// again. The caller of Tune sets it.
type Built struct {
	Package string   `json:"package"` // import path
	Bench   string   `json:"bench,omitempty"`
	Time    string   `json:"benchtime,omitempty"`
	Args    []string `json:"args,omitempty"`
}

// A Runner runs the program once. Calls in the same order with equal results
// make the same decisions, so that a stored run can be replayed. The block
// pairs runs; those of pilots and of the race have blocks of their own.
type Runner func(c cell.Config, block int) (*cell.Record, error)

// ErrShort says that a run is too short to be told apart from its start-up.
var ErrShort = errors.New("tune: a run takes less than 50 ms: starting it outweighs what settings change; tune " +
	"a command that does more")

// leastWall is the shortest run worth tuning.
const leastWall = 0.05

// Tune finds, proves and returns a setting. A failure of the program at the
// default is an error; under another setting it takes that one out.
func Tune(c Config, run Runner) (*Answer, error) {
	c.Fill()
	t := &tuning{Config: c, run: run,
		result: &Answer{Objective: c.Objective, Tolerance: c.Tolerance, Setting: c.Base, Base: c.Base}}
	first, err := t.measure(c.Base, 0)
	if err != nil {
		return t.result, err
	}
	wall := first.Metrics[cell.WallTime]
	if wall < leastWall {
		return t.result, ErrShort
	}
	affordable := int(c.Budget.Seconds() / (wall + overheadSeconds))
	pairs := c.Pairs
	if pairs == 0 {
		pairs = min(max((affordable-13)/3, 6), 10)
	}
	runs := affordable - 3*pairs
	if runs < 3 {
		need := time.Duration(float64(3+3*pairs) * (wall + overheadSeconds) * float64(time.Second)).Round(time.Second)
		return t.result, fmt.Errorf("tune: a run takes %.1f s and a verdict at least %d of them: give --budget %v or more, "+
			"or a shorter command", wall, 3+3*pairs, need)
	}
	best, err := t.best(first, runs)
	if err != nil || t.result.Outcome != "" {
		return t.result, err
	}
	if best, err = t.axes(best); err != nil {
		return t.result, err
	}
	t.result.Setting = best
	if best.Key() == c.Base.Key() {
		t.result.Outcome = DefaultGood
		return t.result, nil
	}
	t.doubtMargin(best.GC)
	err = t.retest(best, pairs)
	if failure := new(cell.Failure); errors.As(err, &failure) && infeasible(failure) {
		t.result.Outcome, t.result.Reason = Inconclusive, "the setting that seemed best does not run each time: "+err.Error()
		return t.result, nil
	}
	return t.result, err
}

// best finds the setting that seems best, by the model where that predicts the
// objective, and notes why. An outcome is set where none can be.
func (t *tuning) best(first *cell.Record, runs int) (cell.Config, error) {
	if _, err := t.Objective.cost(first); err != nil {
		return t.Base, err
	}
	if !t.Objective.modelled(isServed(t.Base)) || t.MaxP99 > 0 {
		m, err := t.firstModel(first)
		if err != nil {
			return t.Base, err
		}
		return t.race(m, min(runs, raceRuns))
	}
	choice, err := t.search(first, min(runs, 10))
	if err != nil {
		return t.Base, err
	}
	if len(choice.Candidates) == 0 || choice.Best.GC.Percent == 0 {
		t.result.Outcome, t.result.Reason = Inconclusive,
			"no setting keeps within the memory allowed: allow more, or reduce what is live"
		return t.Base, nil
	}
	if m := choice.Model; m.misfit && t.Objective != RSS {
		if left := min(runs-len(choice.Pilots), raceRuns); left >= 2*raceRounds {
			t.result.Candidates = nil
			return t.race(m, left)
		}
		t.result.Outcome, t.result.Reason = Inconclusive,
			"what was measured does not fit the model, and the budget leaves too few runs to race settings instead: give a "+
				"larger --budget"
		return t.Base, nil
	}
	t.result.Reason = fmt.Sprintf("the model expects no setting to gain more than %.0f %% (probability %.2f after %d "+
		"runs)", 100*t.Tolerance, choice.Best.Within, len(choice.Pilots))
	t.result.Expected = choice.Best.Prediction
	best := t.Base
	best.GC = choice.Best.GC
	return best, nil
}

// doubtMargin says how little a memory limit leaves for growth.
func (t *tuning) doubtMargin(gc cell.GC) {
	if margin := float64(gc.LimitBytes) / float64(max(t.result.CliffBytes, 1)); gc.LimitBytes > 0 && margin < 1.5 {
		t.result.Doubts = append(t.result.Doubts,
			fmt.Sprintf("the memory limit is %.2f times the cliff: should the live heap grow by %.0f %%, the program crawls",
				margin, 100*(margin-1)))
	}
}

// infeasible tells a setting that the program cannot run under from a program
// that fails.
func infeasible(f *cell.Failure) bool { return f.Kind == cell.FailMemory || f.Kind == cell.FailTimeout }

// overheadSeconds is what starting and recording a run takes beside it.
const overheadSeconds = 0.15

type tuning struct {
	Config
	run    Runner
	result *Answer
	block  int
}

func (t *tuning) measure(c cell.Config, block int) (*cell.Record, error) {
	rec, err := t.run(c, block)
	if err != nil {
		return nil, err
	}
	t.result.Runs++
	t.result.Seconds += rec.Metrics[cell.WallTime]
	if rec.Err != nil {
		return rec, fmt.Errorf("tune: the program failed with %s: %w%s", settingText(c), rec.Err, panicLine(rec.Stderr))
	}
	return rec, nil
}

// panicLine is the line that the Go runtime begins a crash with, or "".
func panicLine(stderr string) string {
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return " (" + strings.TrimSpace(line) + ")"
		}
	}
	return ""
}

func (t *tuning) newSearch(runs int) Search {
	s := Search{Objective: t.Objective, Served: isServed(t.Base), Settings: t.Settings,
		Anchors:   []cell.GC{setting(25, 0), setting(35, 0), setting(50, 0), setting(75, 0)},
		Tolerance: t.Tolerance, MaxPeakBytes: t.MaxPeakBytes, Runs: runs, Noise: t.Noise, Seed: t.Seed}
	if t.MemoryBytes > 0 { // leave room for an error of the prediction
		allowed := 0.8 * float64(t.MemoryBytes)
		if s.MaxPeakBytes == 0 || s.MaxPeakBytes > allowed {
			s.MaxPeakBytes = allowed
		}
	}
	return s
}

// search runs the model's search; the first pilot is there already.
func (t *tuning) search(first *cell.Record, runs int) (found, error) {
	s := t.newSearch(runs)
	var rounds int
	choice, err := s.Find(func(gc cell.GC, round int) (Pilot, error) {
		if first != nil {
			rec := first
			first = nil
			return NewPilot(rec)
		}
		c := t.Base
		c.GC = gc
		rounds = max(rounds, round)
		rec, err := t.measure(c, round)
		if rec != nil && rec.Err != nil && infeasible(rec.Err) {
			t.result.Doubts = append(t.result.Doubts, err.Error())
			return Pilot{}, ErrInfeasible
		}
		if err != nil {
			return Pilot{}, err
		}
		p, err := NewPilot(rec)
		if errors.Is(err, errNoCycles) && choiceNeedsNoCycles(gc) {
			err = nil
		}
		return p, err
	})
	t.block = rounds + 1
	if err != nil {
		return choice, err
	}
	t.result.Candidates = choice.Candidates
	t.note(choice.Model)
	for _, d := range choice.Best.Doubts {
		if !slices.Contains(t.result.Doubts, d) {
			t.result.Doubts = append(t.result.Doubts, d)
		}
	}
	return choice, nil
}

// choiceNeedsNoCycles says that a run without any cycle is no surprise.
func choiceNeedsNoCycles(gc cell.GC) bool {
	return gc.Percent < 0 || gc.Percent > cell.DefaultGC.Percent
}
