package tune

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A judged program has the answer of tuning beside a scan of settings that the tuning
// did not see.
type judged struct {
	Program corpusProgram
	Under   string // one of conditions
	Tuned   *Answer
	Waiting float64 // mean share of waiting in the scan
	Points  int     // settings scanned
	Runs    int     // of each
	// The errors are means over all points: relative for CPU time and peak memory, in
	// percentage points for GC CPU. Held is the share of points within their
	// interval, Abstained the share without one.
	CPU, Peak, Share          float64
	HeldCPU, HeldPeak, HeldGC float64
	Abstained                 float64
	// Twice is the mean difference between the median CPU time of a setting in the proof and in
	// the scan: no prediction of one from the other can be closer.
	Twice float64
	// Best is the CPU time of the chosen setting over the best of the scan at its memory, and
	// Setting is that best. Fresh is the same ratio in pairs that ran after the scan; zero if the
	// chosen setting is the best or no pairs ran.
	Best    float64
	Setting string
	Fresh   Interval
	Seconds float64 // of the scan
	// CPUTime is the headline when a program whose work per run varies is tuned for CPU time. It
	// is judged by its own figure, which no model predicts.
	CPUTime string
}

// grid returns the settings of a scan; limits are shares of the baseline's peak.
func grid(peak float64, percents []int, shares []float64) (out []cell.GC) {
	for _, percent := range percents {
		for _, share := range append([]float64{0}, shares...) {
			out = append(out, setting(percent, int64(share*peak)>>20<<20))
		}
	}
	return out
}

// recordedSettings are the settings of the scans that the model was developed with.
func recordedSettings(peak float64) []cell.GC {
	return grid(peak, []int{50, 100, 200, 400, 800, 1600, 3200}, []float64{0.75, 0.9, 1.1, 1.5, 2})
}

// judgedSettings are the settings to judge by, besides the chosen ones: few, so that
// each runs five times.
func judgedSettings(peak float64) []cell.GC {
	return grid(peak, []int{50, 100, 200, 800}, []float64{0.9, 1.5})
}

// The conditions in which programs are judged: the machine as it is, beside two busy
// loops, and in a pod of half a CPU.
var conditions = []string{"quiet", "loaded", "pod"}

// TestCorpusJudge tunes the programs that only judge for CPU time, then scans each.
// ISOBAR_CORPUS_UNDER chooses the condition.
func TestCorpusJudge(t *testing.T) {
	under := cmp.Or(os.Getenv("ISOBAR_CORPUS_UNDER"), conditions[0])
	programs := slices.DeleteFunc(slices.Clone(corpus), func(p corpusProgram) bool { return p.Fits })
	corpusPrograms(t, programs, func(t *testing.T, dir string, p corpusProgram) {
		c := corpusConfig(t, dir, p)
		c.Objective, c.Pairs = cmp.Or(p.Objective, CPU), 0
		c.Fill()
		if under == "loaded" {
			busyLoops(t)
		} else if under == "pod" {
			c.Base.Pod = cell.Pod{CPUs: 0.5}
		}
		run := corpusRunner(t, c.Base)
		onCPU := ""
		if p.Objective != "" && p.URL == "" { // the flags refuse CPU time under a closed load
			byCPU := c
			byCPU.Objective = CPU
			a, err := Tune(byCPU, run)
			if err != nil {
				t.Fatal(err)
			}
			onCPU = a.Headline
			t.Log(onCPU)
		}
		tuned := newTuning(c, run)
		if err := tuned.tune(); err != nil {
			t.Fatal(err)
		}
		tuned.conclude()
		m, err := NewModel(tuned.pilots)
		if err != nil {
			t.Fatal(err)
		}
		settings := judgedSettings(m.Expect(c.Base.GC).PeakBytes.Mid)
		for _, choice := range tuned.answer.Choices {
			if !slices.Contains(settings, choice.Setting.GC) {
				settings = append(settings, choice.Setting.GC)
			}
		}
		answer := *tuned.answer
		j, best := judge(p, &answer, m, scanRuns(t, tuned, settings, 5, run))
		j.Under, j.CPUTime = under, onCPU
		if best != answer.Setting.GC {
			j.Fresh = freshPairs(t, tuned, best, answer.Setting.GC)
		}
		t.Log(j.row())
		j.Tuned.Candidates, j.Tuned.Predicted, j.Tuned.Frontier, j.Tuned.Rows = nil, nil, nil, nil
		keepResult(t, dir, "judge-"+p.Name+"-"+under, j)
	})
}

// busyLoops keeps two CPUs busy until the test ends.
func busyLoops(t *testing.T) {
	t.Helper()
	for range 2 {
		loop := exec.CommandContext(t.Context(), "sh", "-c", "while kill -0 $PPID; do :; done")
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
	}
}

// freshPairs returns the CPU time under gc over that under the best of a scan, in new pairs: the
// best of a scan was also the luckiest.
func freshPairs(t *testing.T, tuned *tuning, best, gc cell.GC) Interval {
	t.Helper()
	tuned.Budget = time.Hour
	arms := []cell.Config{tuned.with(best), tuned.with(gc)}
	records, err := tuned.rounds(arms, 6)
	if err != nil {
		t.Fatal(err)
	}
	results, err := tuned.compare(arms, records)
	if err != nil {
		t.Fatal(err)
	}
	metric := cell.TotalCPU
	if tuned.races() {
		metric = costMetric
	}
	c := results[1].by[metric]
	return RatioOf(c)
}

// scanTime is how long a scan may take before it begins no further round; two always run.
const scanTime = 18 * time.Second

// scanRuns runs each setting once per round, in shuffled order.
func scanRuns(t *testing.T, tuned *tuning, settings []cell.GC, rounds int, run Runner) []Measured {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	var pilots []Pilot
	start := time.Now()
	for round := range rounds {
		if round >= 2 && time.Since(start) > scanTime {
			break
		}
		for _, i := range rng.Perm(len(settings)) {
			rec, err := run(tuned.with(settings[i]), 100+round)
			if err != nil {
				t.Fatal(err)
			}
			if p, err := NewPilot(rec); rec.Err == nil && p.CPU > 0 {
				if tuned.races() { // the judged figure takes the place of CPU time
					if p.CPU, err = tuned.Objective.cost(rec); err != nil {
						t.Fatal(err)
					}
				}
				pilots = append(pilots, p)
			} else {
				t.Logf("%s: %v, %v", settings[i], rec.Err, err)
			}
		}
	}
	return measuredOf(pilots)
}

func judge(p corpusProgram, a *Answer, m *Model, scan []Measured) (j judged, best cell.GC) {
	j = judged{Program: p, Tuned: a, Points: len(scan), Best: 1, Waiting: a.Waiting}
	n := 0.0
	add := func(sum, held *float64, i Interval, was Interval, scale float64) {
		*sum += math.Abs(i.Mid-was.Mid) / scale
		if was.Mid >= i.Lo && was.Mid <= i.Hi {
			*held++
		}
	}
	for _, s := range scan {
		j.Runs = max(j.Runs, s.Runs)
		j.Seconds += float64(s.Runs) * s.Wall.Mid
		if p.Objective != "" {
			continue
		}
		p := m.Expect(s.GC)
		if p.CPU.Mid <= 0 || p.PeakBytes.Mid <= 0 {
			j.Abstained += 1 / float64(len(scan))
			continue
		}
		n++
		add(&j.CPU, &j.HeldCPU, p.CPU, s.CPU, s.CPU.Mid)
		add(&j.Peak, &j.HeldPeak, p.PeakBytes, s.PeakBytes, s.PeakBytes.Mid)
		add(&j.Share, &j.HeldGC, p.GCShare, s.GCShare, 1)
	}
	for _, v := range []*float64{&j.CPU, &j.HeldCPU, &j.Peak, &j.HeldPeak, &j.Share, &j.HeldGC} {
		*v /= max(n, 1)
	}
	var twice moments
	for _, was := range a.Measured {
		i := slices.IndexFunc(scan, func(s Measured) bool { return s.GC == was.GC })
		if i >= 0 && p.Objective == "" && was.Runs >= leastRounds {
			twice.add(math.Abs(was.CPU.Mid/scan[i].CPU.Mid - 1))
		}
	}
	j.Twice = twice.mean()
	own := slices.IndexFunc(scan, func(s Measured) bool { return s.GC == a.Setting.GC })
	if own < 0 {
		return j, a.Setting.GC
	}
	least := scan[own]
	for _, s := range scan {
		if s.PeakBytes.Mid <= 1.02*scan[own].PeakBytes.Mid && s.CPU.Mid < least.CPU.Mid {
			least = s
		}
	}
	j.Best, j.Setting = scan[own].CPU.Mid/least.CPU.Mid, least.GC.String()
	return j, least.GC
}

const judgedHead = `| program | condition | waited | answer | choices proven | runs | CPU error | peak error | ` +
	`GC share error | held | abstained | to best (which) |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`

func (j judged) row() string {
	proven := 0
	for _, c := range j.Tuned.Choices {
		if c.Outcome == Recommended {
			proven++
		}
	}
	best := "-"
	if j.Setting != "" {
		best = fmt.Sprintf("%.3f (%s)", j.Best, j.Setting)
	}
	if j.Fresh.Mid > 0 {
		best += "; " + ratioText(j.Fresh)
	}
	return fmt.Sprintf("| %s | %s | %.0f %% | %s: %s | %d of %d | %d %s\n", j.Program.Name, j.Under, 100*j.Waiting,
		j.Tuned.Outcome,
		settingText(j.Tuned.Setting), proven, len(j.Tuned.Choices), j.Tuned.Runs, j.errors()+" | "+best+" |")
}

func (j judged) errors() string {
	if j.Program.Objective != "" {
		return "| - | - | - | - | -"
	}
	return fmt.Sprintf("| %.1f %% (%s; %.1f) | %.1f %% (%s) | %.1f points | %.0f, %.0f, %.0f %% | %.0f %%",
		100*j.CPU, j.own(func(m Measured) Interval { return m.CPU }), 100*j.Twice,
		100*j.Peak, j.own(func(m Measured) Interval { return m.PeakBytes }),
		100*j.Share, 100*j.HeldCPU, 100*j.HeldPeak, 100*j.HeldGC, 100*j.Abstained)
}

// own returns the mean distance of a run from the median of its setting, estimated from the range
// of the proof's runs as of a normal distribution. A dash without a proof.
func (j judged) own(of func(Measured) Interval) string {
	var m moments
	for _, s := range j.Tuned.Measured {
		if i := of(s); s.Runs >= leastRounds && i.Mid > 0 {
			m.add(0.8 * (i.Hi - i.Lo) / i.Mid / (0.75 + 0.31*float64(s.Runs)))
		}
	}
	if m.n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*m.mean())
}

// TestCorpusTable writes the results as a table.
func TestCorpusTable(t *testing.T) {
	dir := os.Getenv("ISOBAR_CORPUS")
	if dir == "" {
		t.Skip("scripts/tune-corpus.sh runs this")
	}
	page := judgedTable(t, dir)
	if page == "" {
		t.Fatal("no results")
	}
	if err := os.WriteFile(filepath.Join(dir, "table.md"), []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

// judgedTable formats the results as a table; "" without results.
func judgedTable(t *testing.T, dir string) string {
	var rows, bars, programs strings.Builder
	answers, tried := map[string][]cell.GC{}, map[string][]cell.GC{} // by program
	said := map[string]string{}                                      // by tuning for CPU time, if that is no measure
	for _, under := range conditions {
		var all []judged
		for _, p := range corpus {
			var j judged
			if readResult(t, dir, "judge-"+p.Name+"-"+under, &j) {
				rows.WriteString(j.row())
				if j.CPUTime != "" {
					said[p.Name] += fmt.Sprintf("- %s, %s, for CPU time: %s.\n", p.Name, under, j.CPUTime)
				}
				if p.Objective == "" {
					all = append(all, j)
				}
				if under != "pod" {
					answers[p.Name] = append(answers[p.Name], j.Tuned.Setting.GC)
					for _, c := range j.Tuned.Choices {
						if c.Name == Fastest {
							tried[p.Name] = append(tried[p.Name], c.Setting.GC)
						}
					}
				}
			}
		}
		if len(all) > 0 {
			bars.WriteString(judgedMean(under, all))
		}
	}
	if rows.Len() == 0 {
		return ""
	}
	programs.WriteString("\n")
	for _, p := range corpus {
		programs.WriteString(said[p.Name])
		if !p.Fits && answers[p.Name] != nil {
			fmt.Fprintf(&programs, "- **%s**: %s.\n", p.Name, p.What)
		}
	}
	agree, near, both, alike := 0, 0, 0, 0
	for name, a := range answers {
		if len(a) < 2 {
			continue
		}
		both++
		if c := tried[name]; len(c) == 2 && c[0] == c[1] {
			alike++
		}
		if a[0] == a[1] {
			agree++
		} else if less, more := min(a[0].LimitBytes, a[1].LimitBytes), max(a[0].LimitBytes, a[1].LimitBytes); less > 0 &&
			more <= roundUp(less+1) {
			near++
		}
	}
	if both > 0 {
		fmt.Fprintf(&bars, "- Quiet and loaded machine give the same answer in %d of %d programs, and one next to it in "+
			"%d more; the same setting was set against today's in %d.\n", agree, both, near, alike)
	}
	return judgedHead + rows.String() + "\n" + bars.String() + programs.String()
}

// judgedMean formats the mean over all programs in a condition.
func judgedMean(under string, all []judged) string {
	sum := judged{Under: under}
	close, fresh, most, n := 0, 0, 0, float64(len(all))
	for _, j := range all {
		for _, v := range [][2]*float64{{&sum.CPU, &j.CPU}, {&sum.Twice, &j.Twice}, {&sum.Peak, &j.Peak},
			{&sum.Share, &j.Share}, {&sum.HeldCPU, &j.HeldCPU},
			{&sum.HeldPeak, &j.HeldPeak}, {&sum.HeldGC, &j.HeldGC}, {&sum.Abstained, &j.Abstained}} {
			*v[0] += *v[1] / n
		}
		if j.Best <= 1.03 {
			close++
		}
		if cmp.Or(j.Fresh.Mid, j.Best) <= 1.03 {
			fresh++
		}
		most = max(most, j.Tuned.Runs)
	}
	return fmt.Sprintf("- **%s**, %d programs, means: CPU time off by %.1f %% (measured twice, by %.1f), peak memory "+
		"by %.1f %%, GC share by %.1f points; held %.0f, "+
		"%.0f and %.0f %%; abstained %.0f %%. The choice is within 3 %% of the best in %d, and in %d by fresh pairs; at "+
		"most %d runs.\n", under, len(all), 100*sum.CPU, 100*sum.Twice,
		100*sum.Peak, 100*sum.Share, 100*sum.HeldCPU, 100*sum.HeldPeak, 100*sum.HeldGC, 100*sum.Abstained, close, fresh, most)
}

// TestJudge judges a model of a simulated program by points computed here.
func TestJudge(t *testing.T) {
	p := program(0.3)
	rng := rand.New(rand.NewPCG(1, 1))
	r, err := tuneSimulated(t, p, 0.01, func(c *Config) { c.Objective = CPU })
	if err != nil {
		t.Fatal(err)
	}
	var pilots, scan []Pilot
	for _, gc := range []cell.GC{cell.DefaultGC, setting(300, 0), r.Setting.GC} {
		pilots = append(pilots, p.run(gc, 0.01, rng))
	}
	for _, gc := range append(judgedSettings(100*mib), r.Setting.GC) {
		scan = append(scan, p.run(gc, 0.01, rng))
	}
	m, err := NewModel(pilots)
	if err != nil {
		t.Fatal(err)
	}
	j, _ := judge(corpusProgram{Name: "simulated"}, r, m, measuredOf(scan))
	if j.Points != 13 || j.CPU > 0.06 || j.Peak > 0.08 || j.HeldCPU < 0.8 || j.Abstained > 0.3 || j.Best > 1.05 {
		t.Errorf("%+v", j)
	}
}

// readResult reads what keepResult stored, and reports whether it exists.
func readResult(t *testing.T, dir, name string, v any) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "results", name+".json"))
	if os.IsNotExist(err) {
		return false
	}
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}
