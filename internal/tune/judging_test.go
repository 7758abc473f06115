package tune

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A judged program is what tuning said of it, beside a scan of settings that the
// tuning did not see.
type judged struct {
	Program corpusProgram
	Tuned   *Answer
	Waiting float64 // share, over the scan
	Points  int     // settings scanned
	Runs    int     // of each
	// Errors are means over all points: of CPU time and peak memory relative, of GC
	// CPU in points; Held is the share of points within the interval; Abstained that
	// of points without one.
	CPU, Peak, Share          float64
	HeldCPU, HeldPeak, HeldGC float64
	Abstained                 float64
	// Best is the CPU time of the chosen setting over the best of the scan at its
	// memory, and Setting that best.
	Best    float64
	Setting string
	Seconds float64 // of the scan
}

// judgedSettings are GOGC and GOMEMLIMIT of a scan, the limits by the peak of the
// baseline.
func judgedSettings(peak float64) (out []cell.GC) {
	for _, percent := range []int{50, 100, 200, 400, 800} {
		for _, share := range []float64{0, 0.9, 1.5} {
			out = append(out, setting(percent, int64(share*peak)>>20<<20))
		}
	}
	return out
}

// TestCorpusJudge tunes the programs that only judge for CPU time, and then runs
// a scan of each.
func TestCorpusJudge(t *testing.T) {
	programs := slices.DeleteFunc(slices.Clone(corpus), func(p corpusProgram) bool { return p.Round != 3 })
	corpusPrograms(t, programs, func(t *testing.T, dir string, p corpusProgram) {
		c := corpusConfig(t, dir, p)
		c.Objective, c.Pairs = CPU, 0
		c.Fill()
		run := corpusRunner(t, c.Base)
		tuned := newTuning(c, run)
		if err := tuned.tune(); err != nil {
			t.Fatal(err)
		}
		tuned.conclude()
		m, err := NewModel(tuned.pilots, c.Noise)
		if err != nil {
			t.Fatal(err)
		}
		base := m.Expect(c.Base.GC)
		settings := judgedSettings(base.PeakBytes.Mid)
		for _, choice := range tuned.answer.Choices {
			if !slices.Contains(settings, choice.Setting.GC) {
				settings = append(settings, choice.Setting.GC)
			}
		}
		scanned := scanRuns(t, tuned, settings, 2, run)
		j := judge(p, tuned.answer, m, scanned)
		t.Log(j.row())
		j.Tuned.Candidates, j.Tuned.Predicted, j.Tuned.Frontier, j.Tuned.Rows = nil, nil, nil, nil
		keepResult(t, dir, "judge-"+p.Name, j)
	})
}

// scanRuns runs each setting as often as there are rounds, in shuffled order.
func scanRuns(t *testing.T, tuned *tuning, settings []cell.GC, rounds int, run Runner) []Measured {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	var pilots []Pilot
	for round := range rounds {
		for _, i := range rng.Perm(len(settings)) {
			rec, err := run(tuned.with(settings[i]), 100+round)
			if err != nil {
				t.Fatal(err)
			}
			if p, err := NewPilot(rec); rec.Err == nil && p.CPU > 0 {
				pilots = append(pilots, p)
			} else {
				t.Logf("%s: %v, %v", settings[i], rec.Err, err)
			}
		}
	}
	return measuredOf(pilots)
}

func judge(p corpusProgram, a *Answer, m *Model, scan []Measured) judged {
	j := judged{Program: p, Tuned: a, Points: len(scan), Best: 1, Waiting: a.Waiting}
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
	own := slices.IndexFunc(scan, func(s Measured) bool { return s.GC == a.Setting.GC })
	if own < 0 {
		return j
	}
	best := scan[own]
	for _, s := range scan {
		if s.PeakBytes.Mid <= 1.02*scan[own].PeakBytes.Mid && s.CPU.Mid < best.CPU.Mid {
			best = s
		}
	}
	j.Best, j.Setting = scan[own].CPU.Mid/best.CPU.Mid, best.GC.String()
	return j
}

const judgedIntro = `
## Programs that only judge

Ten programs that were chosen before limits became part of the search, and to which nothing is fitted. Each was tuned for CPU
time; then a scan ran five values of GOGC under three limits (none, 0.9 and 1.5 times today's peak), each setting twice, in
shuffled order. The machine was shared and busy throughout. A first run, of eight programs, showed a defect in the choice of the
second setting; these figures are of the run after its repair, and before 20 runs bounded the proof of three choices too.

*Waited* is the share of time that the program wanted a CPU and had none. *Errors* are means over all points of the scan where the
model predicts, *held* is the share of points within the 90 % interval (CPU time, peak memory, GC share), *abstained* the share of
points without a prediction. *To best* is the chosen setting's CPU time over that of the best point of the scan that takes no more
memory.

| program | waited | answer | choices proven | runs | CPU error | peak error | GC share error | held | abstained | to best (which) |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
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
	return fmt.Sprintf("| %s | %.0f %% | %s: %s | %d of %d | %d | %.1f %% | %.1f %% | %.1f points | %.0f, %.0f, %.0f %% | %.0f %% | %s |\n", j.Program.Name,
		100*j.Waiting, j.Tuned.Outcome, settingText(j.Tuned.Setting), proven, len(j.Tuned.Choices), j.Tuned.Runs, 100*j.CPU, 100*j.Peak, 100*j.Share,
		100*j.HeldCPU, 100*j.HeldPeak, 100*j.HeldGC, 100*j.Abstained, best)
}

// judgedTable is the part of the page about the programs that only judge.
func judgedTable(t *testing.T, dir string) string {
	var b strings.Builder
	for _, p := range corpus {
		data, err := os.ReadFile(filepath.Join(dir, "results", "judge-"+p.Name+".json"))
		if err != nil {
			continue
		}
		var j judged
		if err := json.Unmarshal(data, &j); err != nil {
			t.Fatal(err)
		}
		if b.Len() == 0 {
			b.WriteString(judgedIntro)
		}
		b.WriteString(j.row())
	}
	return b.String()
}

// TestJudge judges a model of a simulated program by points of its own.
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
	m, err := NewModel(pilots, 0)
	if err != nil {
		t.Fatal(err)
	}
	j := judge(corpusProgram{Name: "simulated"}, r, m, measuredOf(scan))
	if j.Points != 16 || j.CPU > 0.06 || j.Peak > 0.08 || j.HeldCPU < 0.8 || j.Abstained > 0.3 || j.Best > 1.05 {
		t.Errorf("%+v", j)
	}
}
