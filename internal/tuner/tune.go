package tuner

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/cell"
	"github.com/isobar-go/isobar/internal/stat"
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
	MemoryBytes  int64 // what a run may occupy before it is killed; 0 for no bound
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
		// The limit counts what the runtime maps; a little is beside it.
		limit := int64(0.93*c.MaxPeakBytes) >> 20 << 20
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

// A Result is the answer.
type Result struct {
	Outcome    string       `json:"outcome"`
	Reason     string       `json:"reason"`
	Setting    cell.Config  `json:"setting"`
	Objective  Objective    `json:"objective"`
	Tolerance  float64      `json:"tolerance"`
	Gains      []Gain       `json:"gains,omitempty"`
	Expected   Prediction   `json:"expected"` // of Setting
	Candidates []Candidate  `json:"candidates,omitempty"`
	Frontier   []Prediction `json:"frontier,omitempty"`
	CliffBytes int64        `json:"cliff_bytes,omitempty"` // least GOMEMLIMIT that works
	Doubts     []string     `json:"doubts,omitempty"`
	Runs       int          `json:"runs"`
	Seconds    float64      `json:"seconds"` // of running the program
}

// A Runner runs the program once. Calls in the same order with equal results
// make the same decisions, so that a stored run can be replayed. The block
// pairs runs; those of pilots and of the race have blocks of their own.
type Runner func(c cell.Config, block int) (*cell.Record, error)

// ErrShort says that a run is too short to be told apart from its start-up.
var ErrShort = errors.New("tuner: a run takes less than 50 ms: starting it outweighs what settings change; tune a command that does more")

// leastWall is the shortest run worth tuning.
const leastWall = 0.05

// Tune finds, proves and returns a setting. A failure of the program at the
// default is an error; under another setting it takes that one out.
func Tune(c Config, run Runner) (*Result, error) {
	c.Fill()
	t := &tuning{Config: c, run: run, result: &Result{Objective: c.Objective, Tolerance: c.Tolerance, Setting: c.Base}}
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
	runs := min(affordable-3*pairs, 10)
	if runs < 3 {
		need := time.Duration(float64(3+3*pairs) * (wall + overheadSeconds) * float64(time.Second)).Round(time.Second)
		return t.result, fmt.Errorf("tuner: a run takes %.1f s and a verdict at least %d of them: give --budget %v or more, or a shorter command", wall, 3+3*pairs, need)
	}
	choice, err := t.search(first, runs)
	if err != nil {
		return t.result, err
	}
	best := c.Base
	best.GC = choice.Best.GC
	if len(choice.Candidates) == 0 || choice.Best.GC.Percent == 0 {
		t.result.Outcome, t.result.Reason = Inconclusive, "no setting keeps within the memory allowed: allow more, or reduce what is live"
		return t.result, nil
	}
	best, err = t.axes(best)
	if err != nil {
		return t.result, err
	}
	t.result.Setting, t.result.Expected = best, choice.Best.Prediction
	if best.Key() == c.Base.Key() {
		t.result.Outcome = DefaultGood
		t.result.Reason = fmt.Sprintf("the model expects no setting to gain more than %.0f %% (probability %.2f after %d runs)", 100*c.Tolerance, choice.Best.Within, len(choice.Pilots))
		return t.result, nil
	}
	err = t.retest(best, pairs)
	if failure := new(cell.Failure); errors.As(err, &failure) && infeasible(failure) {
		t.result.Outcome, t.result.Reason = Inconclusive, "the setting that seemed best does not run each time: "+err.Error()
		return t.result, nil
	}
	return t.result, err
}

// infeasible tells a setting that the program cannot run under from a program
// that fails.
func infeasible(f *cell.Failure) bool { return f.Kind == cell.FailMemory || f.Kind == cell.FailTimeout }

// overheadSeconds is what starting and recording a run takes beside it.
const overheadSeconds = 0.15

type tuning struct {
	Config
	run    Runner
	result *Result
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
		return rec, fmt.Errorf("tuner: the program failed with %s: %w%s", settingText(c), rec.Err, panicLine(rec.Stderr))
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

// search runs the model's search; the first pilot is there already.
func (t *tuning) search(first *cell.Record, runs int) (Choice, error) {
	s := Search{Objective: t.Objective, Settings: t.Settings, Anchors: []cell.GC{setting(25, 0), setting(35, 0), setting(50, 0), setting(75, 0)},
		Tolerance: t.Tolerance, MaxPeakBytes: t.MaxPeakBytes, Runs: runs, Noise: t.Noise, Seed: t.Seed}
	if t.MemoryBytes > 0 { // leave room for an error of the prediction
		allowed := 0.8 * float64(t.MemoryBytes)
		if s.MaxPeakBytes == 0 || s.MaxPeakBytes > allowed {
			s.MaxPeakBytes = allowed
		}
	}
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
	t.result.Frontier = choice.Model.Frontier(t.Settings)
	t.result.CliffBytes = choice.Model.Cliff()
	t.result.Doubts = append(t.result.Doubts, choice.Model.doubts...)
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

// axes tries further values of GOMAXPROCS and further builds beside the best
// setting, in paired rounds, and returns the best of all by median ratio.
func (t *tuning) axes(best cell.Config) (cell.Config, error) {
	arms := []cell.Config{best}
	for _, p := range t.Procs {
		arm := best
		arm.GOMAXPROCS = p
		arms = append(arms, arm)
	}
	for _, command := range t.Variants {
		arm := best
		arm.Command = command
		arms = append(arms, arm)
	}
	if len(arms) == 1 {
		return best, nil
	}
	slices.SortStableFunc(arms[1:], func(a, b cell.Config) int { return strings.Compare(a.Key(), b.Key()) })
	const rounds = 4
	records, err := t.rounds(arms, rounds)
	if err != nil {
		return best, err
	}
	winner := 0
	least := 1.0
	for i := 1; i < len(arms); i++ {
		c := stat.Compare(group(arms[0], records[0]), group(arms[i], records[i]), t.metric(), 1)
		if c.Pairs == rounds && c.Ratio < least && c.Hi < 1 {
			winner, least = i, c.Ratio
		}
	}
	return arms[winner], nil
}

// rounds runs each configuration once a round, in an order shuffled anew.
func (t *tuning) rounds(arms []cell.Config, n int) ([][]*cell.Record, error) {
	rng := rand.New(rand.NewPCG(t.Seed, uint64(t.block)))
	out := make([][]*cell.Record, len(arms))
	for range n {
		for _, i := range rng.Perm(len(arms)) {
			rec, err := t.measure(arms[i], t.block)
			if err != nil {
				return nil, err
			}
			rec.Cell.Block = t.block
			out[i] = append(out[i], rec)
		}
		t.block++
	}
	return out, nil
}

func (t *tuning) metric() string {
	switch t.Objective {
	case CPU:
		return cell.TotalCPU
	case RSS:
		return cell.RSSPeak
	}
	return cell.WallTime
}

// group makes a group of package stat of records in rounds.
func group(c cell.Config, records []*cell.Record) *stat.Group {
	g := &stat.Group{Config: c, Key: c.Key(), Records: records, Series: map[string]stat.Series{}}
	for _, metric := range []string{cell.WallTime, cell.TotalCPU, cell.RSSPeak, cell.GCCPUTotal, cell.GCPauseTotal} {
		s := stat.Series{Metric: metric}
		for _, rec := range records {
			if v, ok := rec.Metrics[metric]; ok {
				s.Blocks, s.Values = append(s.Blocks, rec.Cell.Block), append(s.Values, v)
			}
		}
		g.Series[metric] = s
	}
	return g
}

// retest sets the best against the default in fresh rounds, with a second copy
// of the default that shows what equal runs differ by, and gives the verdict.
func (t *tuning) retest(best cell.Config, pairs int) error {
	twin := t.Base
	twin.Twin = true
	arms := []cell.Config{t.Base, best, twin}
	records, err := t.rounds(arms, pairs)
	if err != nil {
		return err
	}
	base := group(arms[0], records[0])
	var main, wall stat.Comparison
	for _, metric := range []string{cell.WallTime, cell.TotalCPU, cell.RSSPeak, cell.GCCPUTotal, cell.GCPauseTotal} {
		aa := stat.Compare(base, group(arms[2], records[2]), metric, 1)
		c := stat.Compare(base, group(arms[1], records[1]), metric, max(aa.Ratio, 1/aa.Ratio))
		if c.Pairs == 0 {
			continue
		}
		if metric == t.metric() {
			main = c
		}
		if metric == cell.WallTime {
			wall = c
		}
		t.result.Gains = append(t.result.Gains, Gain{Metric: metric, Ratio: Interval{c.Ratio, c.Lo, c.Hi}, Default: c.AValue, Tuned: c.BValue,
			Pairs: c.Pairs, Verdict: string(c.Verdict), Floor: c.Floor})
	}
	t.result.Outcome, t.result.Reason = verdict(t.Objective, t.Tolerance, main, wall)
	return nil
}

// verdict judges the re-test. What saves memory must also not be slower than
// the tolerance allows.
func verdict(o Objective, tolerance float64, main, wall stat.Comparison) (outcome, reason string) {
	switch {
	case main.Verdict == stat.Better && o == RSS && wall.Lo > 1+tolerance:
		return DefaultGood, "it saves memory, and is slower by more than the tolerance: " + wall.Reason
	case main.Verdict == stat.Better && o == RSS && wall.Hi > 1+tolerance:
		return Inconclusive, fmt.Sprintf("it saves memory, but may be slower by more than the tolerance: wall time %.3f [%.3f, %.3f] of the default's", wall.Ratio, wall.Lo, wall.Hi)
	case main.Verdict == stat.Better:
		return Recommended, main.Reason
	case main.Verdict == stat.Worse:
		return DefaultGood, "fresh runs show it worse than the default: " + main.Reason
	case main.Verdict == stat.NoDifference && main.Lo > 1-tolerance:
		return DefaultGood, fmt.Sprintf("fresh runs exclude a gain of %.0f %%: %s", 100*tolerance, main.Reason)
	}
	return Inconclusive, "fresh runs neither prove nor exclude the gain: " + main.Reason
}
