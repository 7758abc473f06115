package tune

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// errorsOf gathers what a kind of prediction missed by.
type errorsOf struct {
	sum            float64
	n              int
	covered, tried int
	unsure         int
	doubted        float64 // sum of what those missed by that the model is unsure of
	equal          float64 // sum of what a run of the setting itself missed by
	// reach holds how far each run is from the prediction, in half-widths of the
	// interval.
	reach []float64
}

func (e *errorsOf) mean() float64 { return e.sum / float64(max(e.n, 1)) }

// withDoubted is the mean error of all, with what the model is unsure of.
func (e *errorsOf) withDoubted() float64 { return (e.sum + e.doubted) / float64(max(e.n+e.unsure, 1)) }

// chance is the mean error of measuring once instead of predicting.
func (e *errorsOf) chance() float64 { return e.equal / float64(max(e.n, 1)) }

// see holds a prediction against the median of what was measured, and its
// interval against each run.
func (e *errorsOf) see(i Interval, off, equal float64, values []float64) {
	e.sum += math.Abs(off)
	e.equal += math.Abs(equal)
	e.n++
	for _, v := range values {
		e.tried++
		if v >= i.Lo && v <= i.Hi {
			e.covered++
		}
	}
	e.hold(i, values)
}

// hold notes how far the runs are from the prediction.
func (e *errorsOf) hold(i Interval, values []float64) {
	for _, v := range values {
		half := i.Hi - i.Mid
		if v < i.Mid {
			half = i.Mid - i.Lo
		}
		e.reach = append(e.reach, math.Abs(v-i.Mid)/max(half, 1e-12))
	}
}

// A tableCell is what a table shows of errors: their mean where the model is
// sure, that of a run of the setting itself there, and the mean of all.
type tableCell struct {
	sure, chance, all float64
	n, unsure         int // 0 of n: there is no mean
}

func (e *errorsOf) cell() tableCell {
	return tableCell{e.mean(), e.chance(), e.withDoubted(), e.n, e.unsure}
}

// meanCell is the mean over programs.
func meanCell(cells []tableCell) (m tableCell) {
	any := 0
	for _, c := range cells {
		m.unsure += c.unsure
		if c.n > 0 {
			m.sure, m.chance, m.n = m.sure+c.sure, m.chance+c.chance, m.n+1
		}
		if c.n+c.unsure > 0 {
			m.all, any = m.all+c.all, any+1
		}
	}
	m.sure, m.chance, m.all = m.sure/float64(max(m.n, 1)), m.chance/float64(max(m.n, 1)), m.all/float64(max(any, 1))
	return m
}

// text writes the errors in percent or points.
func (c tableCell) text(unit string) string {
	text := "-"
	if c.n > 0 {
		text = fmt.Sprintf("%.1f %s (%.1f)", 100*c.sure, unit, 100*c.chance)
	}
	if c.unsure > 0 {
		text += fmt.Sprintf("; %.1f with %d unsure", 100*c.all, c.unsure)
	}
	return text
}

func (e *errorsOf) join(o errorsOf) {
	e.sum, e.n, e.equal = e.sum+o.sum, e.n+o.n, e.equal+o.equal
	e.covered, e.tried, e.unsure, e.doubted = e.covered+o.covered, e.tried+o.tried, e.unsure+o.unsure, e.doubted+o.doubted
	e.reach = append(e.reach, o.reach...)
}

// A score is how predictions of a program fared: one pilot at the default
// predicts goal, share and peak for GOGC 25 to 800; pilots at 100, 50 and 400
// predict goal and time to 800, and time far beyond.
type score struct{ goal, share, peak, near, far, goals errorsOf }

func (s *score) parts() [6]errorsOf {
	return [6]errorsOf{s.goal, s.share, s.peak, s.near, s.far, s.goals}
}

// evaluate lets the runs of each block in turn be the pilots, and those of the
// others the truth.
func (r *recording) evaluate(t *testing.T) (s score) {
	blocks := 0
	for _, run := range r.Runs {
		blocks = max(blocks, run.Block+1)
	}
	for block := range blocks {
		pilots := map[int]Pilot{}
		truth := map[int][]Pilot{}
		for _, run := range r.Runs {
			if p := r.pilot(t, run); run.Block == block {
				pilots[run.GOGC] = p
			} else {
				truth[run.GOGC] = append(truth[run.GOGC], p)
			}
		}
		one, err := NewModel([]Pilot{pilots[100]}, 0)
		if err != nil {
			t.Fatal(err)
		}
		three, err := NewModel([]Pilot{pilots[100], pilots[50], pilots[400]}, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, gc := range recordedSettings() {
			s.hold(t, r, one.Expect(gc), three.Expect(gc), pilots[gc.Percent], truth[gc.Percent])
		}
	}
	return s
}

func (s *score) hold(t *testing.T, r *recording, p1, p3 Prediction, equal Pilot, truth []Pilot) {
	line := fmt.Sprintf("%5s %3d cycles (%.0f measured)", p1.GC, p1.Cycles, middle(column(truth, func(p Pilot) float64 { return float64(p.Cycles) })))
	see := func(name string, e *errorsOf, doubts []string, i Interval, relative bool, of func(Pilot) float64) {
		values := column(truth, of)
		want := middle(values)
		if want <= 0 && relative {
			return
		}
		off, chance := i.Mid-want, of(equal)-want
		if relative {
			off, chance = off/want, chance/want
		}
		if len(doubts) > 0 {
			e.unsure++
			e.doubted += math.Abs(off)
			e.hold(i, values)
			line += fmt.Sprintf("; %s %.4g (%+.1f %% unsure)", name, want, 100*off)
			return
		}
		e.see(i, off, chance, values)
		line += fmt.Sprintf("; %s %.4g %+.1f %% [%+.0f %+.0f]", name, want, 100*off, 100*(i.Lo/max(i.Mid, 1e-9)-1), 100*(i.Hi/max(i.Mid, 1e-9)-1))
	}
	moderate := p1.GC.Percent > 0 && p1.GC.Percent <= 800
	to := &s.far
	memory := slices.Concat(p1.Doubts, p1.MemoryDoubts)
	if moderate {
		if p1.GoalBytes.Mid > 0 {
			see("goal", &s.goal, memory, p1.GoalBytes, true, func(p Pilot) float64 { return p.MeanGoalBytes })
		}
		see("share", &s.share, p1.Doubts, p1.GCShare, false, func(p Pilot) float64 { return p.GCSeconds / p.CPU })
		see("peak", &s.peak, memory, p1.PeakBytes, true, func(p Pilot) float64 { return p.PeakBytes })
		if p3.GoalBytes.Mid > 0 {
			see("goal of three", &s.goals, slices.Concat(p3.Doubts, p3.MemoryDoubts), p3.GoalBytes, true, func(p Pilot) float64 { return p.MeanGoalBytes })
		}
		to = &s.near
	}
	if r.Served {
		see("CPU", to, p3.Doubts, p3.CPU, true, func(p Pilot) float64 { return p.CPU })
	} else {
		see("wall", to, p3.Doubts, p3.Wall, true, func(p Pilot) float64 { return p.Wall })
	}
	if testing.Verbose() {
		t.Log(line)
	}
}

// TestRecorded holds predictions against the recorded runs, of the programs that
// the model was made with and of those that it had not seen. The bars are what
// was reached, a little above.
func TestRecorded(t *testing.T) {
	for _, tc := range []struct {
		round  int
		bars   [6]float64 // goal, share, peak, time to 800 and beyond, goal from three pilots
		unsure [6]int     // at most, of these
		least  float64    // of what the intervals hold
	}{
		{0, [6]float64{0.03, 0.02, 0.06, 0.06, 0.07, 0.04}, [6]int{135, 24, 160, 16, 0, 130}, 0.88},
		{1, [6]float64{0.02, 0.02, 0.03, 0.05, 0.05, 0.02}, [6]int{68, 26, 76, 38, 8, 60}, 0.88},
		{2, [6]float64{0.02, 0.02, 0.06, 0.13, 0.1, 0.02}, [6]int{34, 10, 38, 6, 0, 30}, 0.73},
	} {
		rows, means, covered := recordedRows(t, tc.round)
		for _, row := range rows {
			t.Log(row)
		}
		for i, bar := range tc.bars {
			if got := means[i].sure; got > bar {
				t.Errorf("round %d, column %d: a mean error of %.3f, want %.3f at most", tc.round, i+1, got, bar)
			}
			if got := means[i].unsure; got > tc.unsure[i] {
				t.Errorf("round %d, column %d: the model is unsure of %d, want %d at most", tc.round, i+1, got, tc.unsure[i])
			}
			// What is marked must be worse, or the marks say nothing.
			if m := means[i]; m.all < 0.9*m.sure {
				t.Errorf("round %d, column %d: %.3f where the model is sure, %.3f with the rest", tc.round, i+1, m.sure, m.all)
			}
		}
		if share := float64(covered.covered) / float64(covered.tried); share < tc.least || share > 0.99 {
			t.Errorf("round %d: the 90 %% intervals hold %.0f %% of %d runs", tc.round, 100*share, covered.tried)
		}
	}
}

const predictionHeader = "| program | heap goal | GC share | peak memory | time to 800 | time at 3200, off | heap goal, three pilots | in the 90 % interval |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n"

// recorded are the programs of a round.
func recorded(round int) (programs []corpusProgram) {
	for _, p := range corpus {
		if p.Round == round {
			programs = append(programs, p)
		}
	}
	return programs
}

// recordedScores are those of the programs, in their order.
func recordedScores(t *testing.T, programs []corpusProgram) (scores []score) {
	for _, p := range programs {
		r := readRecording(t, p.Name)
		scores = append(scores, r.evaluate(t))
	}
	return scores
}

// recordedRows are the rows of the table and one of means, and what that says:
// means over programs, and how many runs the intervals hold.
func recordedRows(t *testing.T, round int) (rows []string, means [6]tableCell, covered errorsOf) {
	programs := recorded(round)
	var columns [6][]tableCell
	for n, s := range recordedScores(t, programs) {
		var cells [6]tableCell
		var all errorsOf
		for i, e := range s.parts() {
			cells[i] = e.cell()
			columns[i] = append(columns[i], cells[i])
			all.join(e)
		}
		covered.join(all)
		rows = append(rows, predictionRow(programs[n].Name, cells, all))
	}
	for i, column := range columns {
		means[i] = meanCell(column)
	}
	name := [...]string{"mean", "mean of the second ones", "mean of the third ones"}[round]
	return append(rows, predictionRow(name, means, covered)), means, covered
}

func predictionRow(name string, cells [6]tableCell, all errorsOf) string {
	text := "| " + name
	for i, c := range cells {
		unit := "%"
		if i == 1 {
			unit = "points"
		}
		text += " | " + c.text(unit)
	}
	return text + fmt.Sprintf(" | %.0f %% of %d |\n", 100*float64(all.covered)/math.Max(float64(all.tried), 1), all.tried)
}

func column(pilots []Pilot, of func(Pilot) float64) (out []float64) {
	for _, p := range pilots {
		out = append(out, of(p))
	}
	return out
}

func middle(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// TestRecordedCoverage asks how wide intervals would have to be to hold 90 % of
// the other programs' runs, and how much of each program's they would hold then.
func TestRecordedCoverage(t *testing.T) {
	programs := recorded(0)
	scores := recordedScores(t, programs)
	for kind, name := range []string{"heap goal", "GC share", "peak memory", "time to 800", "time beyond", "heap goal, three pilots"} {
		held, tried := 0, 0
		for left := range scores {
			var others []float64
			for i, s := range scores {
				if i != left {
					others = append(others, s.parts()[kind].reach...)
				}
			}
			slices.Sort(others)
			wide := others[len(others)*9/10]
			own, in := scores[left].parts()[kind].reach, 0
			for _, v := range own {
				if v <= wide {
					in++
				}
			}
			t.Logf("%s, %s: the others want intervals %.2f times as wide, which hold %d of %d", name, programs[left].Name, wide, in, len(own))
			held, tried = held+in, tried+len(own)
		}
		share := float64(held) / float64(tried)
		t.Logf("%s: %.0f %% of %d, each program left out in turn", name, 100*share, tried)
		if share < 0.85 {
			t.Errorf("%s: intervals as wide as the other programs want hold %.0f %% of a program's runs", name, 100*share)
		}
	}
}

// TestRecordedCosts fits what a second of collection and a byte of peak memory
// cost to all runs of each program: what the priors of the model stand for. It
// tells the noise of equal runs from what the form of the model leaves over.
func TestRecordedCosts(t *testing.T) {
	var seconds, bytes average
	for _, p := range recorded(0) {
		r := readRecording(t, p.Name)
		c, s := r.costs()
		t.Logf("| %s | %.1f ± %.1f | %.2f ± %.2f | %.2f ± %.2f | %.1f %% | %.1f %% |", p.Name, c.coefficient(1).mean, c.coefficient(1).deviation, 1e9*c.coefficient(2).mean, 1e9*c.coefficient(2).deviation,
			1e9*s.coefficient(2).mean, 1e9*s.coefficient(2).deviation, 100*r.noise(), 100*r.misfit(c))
		second, byte := c.coefficient(1), c.coefficient(2)
		seconds.add(second.mean, second.deviation*second.deviation)
		bytes.add(1e9*byte.mean, 1e18*byte.deviation*byte.deviation)
	}
	t.Logf("weighted by their variances: %.2f seconds for a second, %.2f ns for a byte", seconds.mean(), bytes.mean())
	if b := seconds.mean(); b < 0.8 || b > 3 {
		t.Errorf("a second of collection costs %.2f, and the model supposes 1 to 2.5", b)
	}
	if c := bytes.mean(); c < 0 || c > 1.4 {
		t.Errorf("a byte of peak memory costs %.2f ns, and the model supposes 0.7", c)
	}
}

// average is a mean weighted by the inverse of variances.
type average struct{ sum, weights float64 }

func (a *average) add(v, variance float64) { a.sum, a.weights = a.sum+v/variance, a.weights+1/variance }
func (a *average) mean() float64           { return a.sum / max(a.weights, 1e-300) }

// costs fits CPU time, and that of the kernel, on GC seconds and peak memory.
func (r *recording) costs() (cpu, system fit) {
	var cpus, systems []observation
	for _, run := range r.Runs {
		of := func(x vector, y, noise float64) observation {
			return observation{sample{x, place{}, 0, noise * y}, y}
		}
		cpus = append(cpus, of(vector{1, run.GC, run.Peak}, run.CPU, r.noise()))
		systems = append(systems, of(vector{1, 0, run.Peak}, run.System, 0.1))
	}
	wide := [terms]prior{{0, 1e3}, {0, 1e3}, {0, 1e-3}, {}}
	return newFit(cpus, wide), newFit(systems, wide)
}

// noise is the relative standard deviation of CPU time among equal runs.
func (r *recording) noise() float64 {
	equal := map[int]*moments{}
	for _, run := range r.Runs {
		if equal[run.GOGC] == nil {
			equal[run.GOGC] = &moments{}
		}
		equal[run.GOGC].add(math.Log(run.CPU))
	}
	var square, n float64
	for _, m := range equal {
		d := m.deviation()
		square, n = square+m.n*d*d, n+m.n-1
	}
	return max(math.Sqrt(square/n), 1e-3)
}

// misfit is by how much the mean of a setting is off the fit, on average.
func (r *recording) misfit(f fit) float64 {
	var e errorsOf
	for _, gc := range recordedSettings() {
		var times, expected moments
		for _, run := range r.Runs {
			if run.GOGC == gc.Percent {
				times.add(run.CPU)
				y, _ := f.predict(sample{x: vector{1, run.GC, run.Peak}})
				expected.add(y)
			}
		}
		e.sum, e.n = e.sum+math.Abs(expected.mean()/times.mean()-1), e.n+1
	}
	return e.mean()
}
