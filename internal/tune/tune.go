package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// Outcomes of tuning. What is not proven is inconclusive.
const (
	Recommended  = "recommended"
	DefaultGood  = "default is as good" // today's setting, the baseline, is
	Inconclusive = "inconclusive"
	SetsItself   = "sets its collector itself"
)

// A Config says what to tune. Base and Objective are required; Fill sets defaults of others.
type Config struct {
	// Base is the program with today's settings: the baseline of all comparisons.
	Base      cell.Config
	Objective Objective
	Settings  []cell.GC // candidates; nil for the GOGC and GOMEMLIMIT that the model picks
	Procs     []int     // other values of GOMAXPROCS to try
	// Variants are other commands that do the same work, by name: for example builds
	// with another collector.
	Variants     map[string][]string
	Calls        []string // in the command's binary, see CollectorCalls
	Direct       bool     // the command is itself a Go program, not something that starts one
	Tolerance    float64
	MaxPeakBytes float64
	MaxP99       time.Duration // of responses; 0 for no bound
	MemoryBytes  int64         // a run that occupies more is killed; 0 for no bound
	Budget       time.Duration // a run in progress when it ends is finished, unless it is the first
	Pairs        int           // rounds of the proof; 0 for what is left of mostRuns, 4 to 10
	Seed         uint64
	// Pods are control groups in which to run the answer, with half of the Budget.
	Pods []cell.Pod
	// Begin, if set, is called before each run.
	Begin func(Step)
}

// A Step describes a run that begins.
type Step struct {
	Doing         string // such as "looking at GOGC=400"
	Done, Planned int    // runs; Planned is the most there will be
	Left          time.Duration
}

// Fill replaces zero values by defaults.
func (c *Config) Fill() {
	c.Tolerance = cmp.Or(c.Tolerance, 0.02)
	c.Budget = cmp.Or(c.Budget, 3*time.Minute)
}

// setting returns a GC setting; the default GOGC has the name that the lab gives it.
func setting(percent int, limit int64) cell.GC {
	gc := cell.GC{Percent: percent, LimitBytes: limit}
	if percent == cell.DefaultGC.Percent {
		gc.Name = cell.DefaultGC.Name
	}
	return gc
}

// A Gain is the measured effect of a setting on one metric: the median of ratios to the baseline,
// paired by round, or as Choice.Runs says.
type Gain struct {
	Metric  string   `json:"metric"`
	Ratio   Interval `json:"ratio"`
	Default float64  `json:"default"`
	Tuned   float64  `json:"tuned"`
	Pairs   int      `json:"pairs"`
	Verdict string   `json:"verdict"`
	Floor   float64  `json:"floor"` // ratio of equal runs
}

// NewGain converts a comparison with the baseline. Tuned follows from the ratio, so
// the two never contradict each other.
func NewGain(metric string, c stat.Comparison) Gain {
	return Gain{Metric: metric, Ratio: RatioOf(c), Default: c.AValue, Tuned: c.AValue * c.Ratio,
		Pairs: c.Pairs, Verdict: string(c.Verdict), Floor: c.Floor}
}

// An Answer is the result of tuning; terminal, page, JSON and ui render it.
type Answer struct {
	// Headline is the first sentence of every rendering: what to set, what it saves
	// and costs, and how certain that is.
	Headline string `json:"headline"`
	Outcome  string `json:"outcome"`
	Reason   string `json:"reason"`
	// Choices are up to three settings, compared with Base in the same fresh rounds. The first is
	// the recommendation, if there is one.
	Choices []Choice    `json:"choices,omitempty"`
	Setting cell.Config `json:"setting"`
	// GuardBytes is the GOMEMLIMIT to set with a recommended GOGC that is above today's and was
	// measured without a limit, see Applied; 0 for none.
	GuardBytes int64        `json:"guard_bytes,omitempty"`
	Base       cell.Config  `json:"base"`              // the baseline of the comparisons
	Variant    string       `json:"variant,omitempty"` // the name of Setting's command in Config.Variants
	Objective  Objective    `json:"objective"`
	Tolerance  float64      `json:"tolerance"`
	Gains      []Gain       `json:"gains,omitempty"`
	Expected   Prediction   `json:"expected"`             // of Setting
	Candidates []Candidate  `json:"candidates,omitempty"` // of a race
	Measured   []Measured   `json:"measured,omitempty"`   // every setting that ran
	Predicted  []Prediction `json:"predicted,omitempty"`  // the whole curve, by GOMEMLIMIT, then GOGC
	Waiting    float64      `json:"waiting,omitempty"`    // share of time in which it was runnable but had no CPU
	// those of Predicted that none beats in both CPU time and peak memory, by ascending memory
	Frontier    []Prediction `json:"frontier,omitempty"`
	Rows        []Row        `json:"rows,omitempty"`         // by GOMAXPROCS, the default first
	Pods        []PodTrial   `json:"pods,omitempty"`         // the smallest first
	Others      []string     `json:"others,omitempty"`       // results of other GOMAXPROCS and builds
	CliffBytes  int64        `json:"cliff_bytes,omitempty"`  // least GOMEMLIMIT that works
	BesideBytes int64        `json:"beside_bytes,omitempty"` // the most that runs occupied beside what a GOMEMLIMIT bounds
	Doubts      []string     `json:"doubts,omitempty"`
	Runs        int          `json:"runs"`
	Seconds     float64      `json:"seconds"` // of running the program
	Built       *Built       `json:"built,omitempty"`
	// Processes is the most large processes that ran at once; 0 if there never were several. A
	// GOMEMLIMIT applies to each, and PeakBytes are of all together.
	Processes int `json:"processes,omitempty"`
	// Service names the container or service in the files of Deploy. The caller of Tune sets it.
	Service string `json:"service,omitempty"`
}

// Built says what the program was built from, so that a check can rebuild it. The
// caller of Tune sets it.
type Built struct {
	Package string   `json:"package"` // import path
	Bench   string   `json:"bench,omitempty"`
	Time    string   `json:"benchtime,omitempty"`
	Args    []string `json:"args,omitempty"`
}

// A Runner runs the program once. Given the same results, Tune makes the same calls in the same
// order, so a stored study can be replayed. Runs of one block are paired.
type Runner func(c cell.Config, block int) (*cell.Record, error)

// ErrShort says that start-up dominates a run.
var ErrShort = errors.New("tune: a run takes less than 50 ms, or less than 20 ms of CPU time: starting it outweighs " +
	"what settings change")

// leastWall and leastCPU are the least seconds of a run worth tuning.
const leastWall, leastCPU = 0.05, 0.02

// Tune finds, proves and returns up to three settings. It is an error if the program fails under
// the baseline; any other setting under which it fails is dropped.
func Tune(c Config, run Runner) (*Answer, error) {
	c.Fill()
	t := newTuning(c, run)
	pods := 0.0 // seconds of the budget
	if len(c.Pods) > 0 {
		t.Budget /= 2
		pods = t.Budget.Seconds()
	}
	err := t.tune()
	if err == nil && len(c.Pods) > 0 && t.answer.Outcome != SetsItself && !t.timed {
		t.Budget = c.Budget
		err = t.tryPods(pods)
	}
	t.conclude()
	return t.answer, err
}

func newTuning(c Config, run Runner) *tuning {
	return &tuning{Config: c, run: run,
		answer: &Answer{Objective: c.Objective, Tolerance: c.Tolerance, Setting: c.Base, Base: c.Base}}
}

func (t *tuning) tune() error {
	t.planned = mostRuns
	first, err := t.measure(t.Base, 0, "the baseline, "+settingText(t.Base))
	if first != nil && first.Err != nil && first.Err.Kind == cell.FailTimeout && t.spent >= t.Budget.Seconds() {
		return fmt.Errorf("tune: the first run did not end within the budget of %v, and a verdict needs %d runs: give a "+
			"larger --budget, or %s", t.Budget, t.leastRuns(), t.shorter())
	}
	if err != nil {
		return err
	}
	wall := first.Metrics[cell.WallTime]
	if wall < leastWall || first.Metrics[cell.TotalCPU] < leastCPU {
		if slices.ContainsFunc(first.Warnings, func(w cell.Warning) bool { return w.Code == "not-go" }) {
			return errNoCycles
		}
		return ErrShort
	}
	t.warn(first)
	t.figures = figuresIn(first.Metrics)
	if _, err := t.Objective.cost(first); err != nil {
		return err
	}
	e, err := t.explore(first)
	if err != nil || t.answer.Outcome != "" || t.endsByTime() {
		return err
	}
	t.block++
	if t.races() || t.misfits(e.model) {
		if e.picks, err = t.raced(e); err != nil || t.answer.Outcome != "" {
			return err
		}
	}
	err = t.prove(e)
	t.endsByTime()
	return err
}

// affords returns an error if, after the first run, the budget is too small for a verdict.
func (t *tuning) affords(runs int) error {
	least := t.leastRuns()
	if runs > 1 || int(t.Budget.Seconds()/t.mean()) >= least {
		return nil
	}
	return fmt.Errorf("tune: a run takes %.1f s and a verdict needs %d of them: give --budget %v or more, "+
		"or %s", t.mean(), least, t.lasting(least), t.shorter())
}

// shorter says how to make runs shorter.
func (t *tuning) shorter() string {
	if isServed(t.Base) {
		return "the server a shorter load (--for, --warmup, or the --load command)"
	}
	return "a shorter command"
}

// leastRuns is how many runs a verdict needs.
func (t *tuning) leastRuns() int { return 3 + 2*max(t.Pairs, leastRounds) }

// lasting returns the budget that the given number of runs takes.
func (t *tuning) lasting(runs int) time.Duration {
	return time.Duration(math.Ceil(float64(runs)*t.mean())) * time.Second
}

// races reports whether no model predicts the objective or a bound on it.
func (t *tuning) races() bool { return !t.Objective.modelled(isServed(t.Base)) || t.MaxP99 > 0 }

// misfits reports whether a program does not fit the model, whichever run of a repeated setting is left out: beside
// other programs an odd run looks the same.
func (t *tuning) misfits(m *Model) bool {
	if !m.misfit || t.Objective == RSS {
		return false
	}
	for i, p := range m.pilots {
		same := func(o Pilot) bool { return o.GC == p.GC }
		rest := slices.Delete(slices.Clone(m.pilots), i, i+1)
		at := slices.IndexFunc(rest, same)
		if at < 0 || m.foreign > 0 {
			continue
		}
		if i == 0 { // of the baseline, which stays the first
			rest[0], rest[at] = rest[at], rest[0]
		}
		if other, err := NewModel(rest); err == nil && !other.misfit {
			return false
		}
	}
	return true
}

// raced measures an objective that no model predicts, in rounds.
func (t *tuning) raced(e explored) ([]pick, error) {
	why := "no model predicts this"
	if !t.races() {
		why = "its runs do not fit the model"
		t.answer.Doubts = append(t.answer.Doubts, "settings raced in rounds, as "+why)
	}
	proof := 2 * max(t.Pairs, leastRounds)
	left := int((t.Budget.Seconds()-t.spent)/t.mean()) - proof
	if left < 2*raceRounds {
		t.answer.Outcome, t.answer.Reason = Inconclusive, fmt.Sprintf("settings must race, as %s, and "+
			"the budget leaves too few runs: give --budget %v or more", why, t.lasting(t.answer.Runs+2*raceRounds+proof))
		return nil, nil
	}
	t.planned = t.answer.Runs + min(left, raceRuns) + proof
	best, p, err := t.race(e, min(left, raceRuns), why)
	if err != nil || t.answer.Outcome != "" || best.GC == t.Base.GC {
		return nil, err
	}
	return []pick{{Fastest, p}}, nil
}

// noCycles sets the outcome for a program whose collector never ran.
func (t *tuning) noCycles(first *cell.Record) error {
	if first.Metrics[cell.GCRelayed] > 0 || !t.Direct {
		return errNoCycles
	}
	t.answer.Outcome, t.answer.Reason = DefaultGood, "the program never collected: it allocates less than the 4 MiB "+
		"(times GOGC/100) at which the first collection begins, so settings of the collector change nothing, or starts "+
		"another program and keeps its standard error"
	return nil
}

// outcome ends tuning because the program sets its collector itself; it does nothing if reason is "".
func (t *tuning) outcome(reason string) bool {
	if reason == "" {
		return false
	}
	t.answer.Outcome, t.answer.Reason = SetsItself, reason
	return true
}

// muchOutput is how many bytes a program may print before the answer mentions it.
const muchOutput = 64 << 20

// warn records what a run shows about the program under any setting.
func (t *tuning) warn(rec *cell.Record) {
	for _, code := range []string{"left-behind", "left-running", "gctrace-relayed", "held-off", "processes", "killed"} {
		for _, w := range rec.Warnings {
			if w.Code == code {
				t.answer.Doubts = append(t.answer.Doubts, w.Text)
			}
		}
	}
	if n := rec.Metrics[stdoutMetric] + rec.Metrics[stderrMetric]; n > muchOutput {
		t.answer.Doubts = append(t.answer.Doubts, "the program prints "+bytesText(n)+
			": the measurements include writing it")
	}
}

// These metrics say how much a program printed; see workload.ProgramOutput.
const (
	stdoutMetric = "/program/stdout:bytes"
	stderrMetric = "/program/stderr:bytes"
)

// infeasible reports whether the latest run failed because of its setting. A program that ran before and exits each
// time it is repeated does not run under it.
func (t *tuning) infeasible(rec *cell.Record) bool {
	return rec != nil && rec.Err != nil && (rec.Err.Kind == cell.FailMemory || rec.Err.Kind == cell.FailTimeout ||
		rec.Err.Kind == cell.FailExit && t.repeats == mostAgain)
}

// overheadSeconds is the time to start and record a run.
const overheadSeconds = 0.15

type tuning struct {
	Config
	run      Runner
	answer   *Answer
	block    int
	spent    float64 // seconds of the budget
	planned  int     // runs, at most
	pilots   []Pilot // of all runs that the model may use
	noises   []cell.Noise
	again    []string  // messages of failed runs that were repeated
	repeats  int       // of the latest run
	exceeds  string    // a setting whose limit is not in force
	failed   []cell.GC // settings under which the program does not run
	figures  []string  // printed by the program
	drift    moments   // of response times within a run, in logarithms
	overload []string  // warnings of runs whose server did not keep up with the load
	timed    bool      // runs end after a fixed time, not when their work is done
	unfilled *cell.GC  // would be chosen if a server's load lasted long enough to show it
}

// mean returns the mean time of a run with its overhead, in seconds.
func (t *tuning) mean() float64 { return t.spent / float64(max(t.answer.Runs, 1)) }

func (t *tuning) measure(c cell.Config, block int, doing string) (*cell.Record, error) {
	if t.Begin != nil {
		planned := max(t.planned, t.answer.Runs+1)
		t.Begin(Step{doing, t.answer.Runs, planned,
			time.Duration(max(min(t.mean()*float64(planned-t.answer.Runs), t.Budget.Seconds()-t.spent), 0) *
				float64(time.Second))})
	}
	rec, err := t.run(c, block)
	for t.repeats = 0; err == nil; t.repeats++ {
		t.spent += cmp.Or(rec.Metrics[cell.RunTime], rec.Metrics[cell.WallTime]+overheadSeconds)
		if !t.byChance(rec.Err) {
			break
		}
		t.again = append(t.again, rec.Err.Message)
		rec, err = t.run(c, block)
	}
	if err != nil {
		return nil, err
	}
	t.answer.Runs++
	t.answer.Seconds += rec.Metrics[cell.WallTime]
	t.answer.Processes = max(t.answer.Processes, int(rec.Metrics[cell.Processes]))
	if rec.Err != nil {
		before := ""
		if n := len(t.again); n > 0 {
			before = fmt.Sprintf(", after %s and %s that failed and were repeated",
				text.Plural(t.answer.Runs-1, "good run"), text.Plural(n, "run"))
		}
		if t.infeasible(rec) && rec.Err.Kind == cell.FailExit {
			before, t.again = fmt.Sprintf(", %d times in a row", mostAgain+1), nil
		}
		with := settingText(c)
		for name, command := range t.Variants {
			if slices.Equal(command, c.Command) {
				with += variantText(name)
			}
		}
		return rec, fmt.Errorf("tune: the run with %s failed%s: %w%s", with, before, rec.Err, panicLine(rec.Stderr))
	}
	t.noises = append(t.noises, rec.Noise)
	if c.Pod == t.Base.Pod { // a pod may be too small for the load: its verdict says so
		t.keepsUp(rec)
	}
	if exceeds(rec) && slices.Contains(t.Calls, setLimit) {
		t.exceeds = settingText(c)
	}
	if p, err := NewPilot(rec); c.GOMAXPROCS == t.Base.GOMAXPROCS && c.Pod == t.Base.Pod &&
		slices.Equal(c.Command, t.Base.Command) && (err == nil || errors.Is(err, errNoCycles)) {
		t.pilots = append(t.pilots, p)
	}
	return rec, nil
}

// mostAgain is how many failed runs a study repeats.
const mostAgain = 2

// byChance reports whether to repeat a failed run: the program ran before, and settings of the
// collector seldom make it exit.
func (t *tuning) byChance(f *cell.Failure) bool {
	return f != nil && f.Kind == cell.FailExit && len(t.pilots) > 0 && len(t.again) < mostAgain
}

// panicLine returns the first line of a crash of the Go runtime, or "".
func panicLine(stderr string) string {
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return " (" + strings.TrimSpace(line) + ")"
		}
	}
	return ""
}
