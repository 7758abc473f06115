package tuner

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/cell"
)

const (
	recordedDir    = "testdata/recorded"
	recordedBlocks = 4
)

// recordedSettings are what predictions are held against; those of pilots first.
func recordedSettings() []cell.GC {
	return []cell.GC{setting(100, 0), setting(50, 0), setting(400, 0), setting(25, 0), setting(200, 0), setting(800, 0), setting(3200, 0), setting(-1, 0)}
}

// A recording holds the runs of one program.
type recording struct {
	Program string        `json:"program"`
	What    string        `json:"what"`
	Served  bool          `json:"served,omitempty"` // a server: CPU time counts
	Runs    []recordedRun `json:"runs"`
}

// A recordedRun is one run. The collections are there of settings that pilots
// have.
type recordedRun struct {
	GOGC   int         `json:"gogc"`
	Block  int         `json:"block"`
	Wall   float64     `json:"wall"`
	CPU    float64     `json:"cpu"`
	System float64     `json:"system"`
	Peak   float64     `json:"peak"`
	Faults float64     `json:"faults"`
	GC     float64     `json:"gc"`   // CPU seconds
	Goal   float64     `json:"goal"` // mean
	N      int         `json:"cycles"`
	Cycles []packCycle `json:"trace,omitempty"`
}

// A packCycle is a cell.Cycle as numbers: times in microseconds, sizes in MiB.
type packCycle [13]int64

func pack(c cell.Cycle) packCycle {
	forced := int64(0)
	if c.Forced {
		forced = 1
	}
	return packCycle{int64(c.Stream), c.AtNs / 1e3, c.MarkNs / 1e3, c.CPUNs / 1e3, c.IdleNs / 1e3, c.StartBytes >> 20, c.EndBytes >> 20, c.LiveBytes >> 20,
		c.GoalBytes >> 20, c.StackBytes >> 20, c.GlobalBytes >> 20, int64(c.Procs), forced}
}

func (p packCycle) cycle() cell.Cycle {
	return cell.Cycle{Stream: int(p[0]), AtNs: p[1] * 1e3, MarkNs: p[2] * 1e3, CPUNs: p[3] * 1e3, IdleNs: p[4] * 1e3, StartBytes: p[5] << 20, EndBytes: p[6] << 20,
		LiveBytes: p[7] << 20, GoalBytes: p[8] << 20, StackBytes: p[9] << 20, GlobalBytes: p[10] << 20, Procs: int(p[11]), Forced: p[12] == 1}
}

func (r *recording) add(rec *cell.Record, block int) {
	p, _ := NewPilot(rec) // the error is that there are no cycles, as with collection off
	run := recordedRun{GOGC: rec.Cell.GC.Percent, Block: block, Wall: p.Wall, CPU: p.CPU, System: p.System, Peak: p.PeakBytes, Faults: p.Faults, GC: p.GCSeconds, Goal: p.MeanGoalBytes, N: p.Cycles}
	if slices.Contains([]int{50, 100, 400}, run.GOGC) {
		for _, c := range rec.Cycles {
			run.Cycles = append(run.Cycles, pack(c))
		}
	}
	r.Runs = append(r.Runs, run)
}

func (r *recording) write() error {
	if err := os.MkdirAll(recordedDir, 0o755); err != nil {
		return err
	}
	var b strings.Builder
	head := *r
	head.Runs = nil
	data, err := json.Marshal(head)
	if err != nil {
		return err
	}
	b.Write(data[:len(data)-len(`null}`)])
	b.WriteString("[\n")
	for i, run := range r.Runs {
		data, err := json.Marshal(run)
		if err != nil {
			return err
		}
		b.Write(data)
		if i < len(r.Runs)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	b.WriteString("]}\n")
	return os.WriteFile(filepath.Join(recordedDir, r.Program+".json"), []byte(b.String()), 0o644)
}

func readRecording(t *testing.T, name string) recording {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(recordedDir, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// pilot is the run as a pilot: with its trajectory if its cycles are there.
func (r *recording) pilot(t *testing.T, run recordedRun) Pilot {
	t.Helper()
	p := Pilot{GC: setting(run.GOGC, 0), Wall: run.Wall, CPU: run.CPU, System: run.System, PeakBytes: run.Peak, Faults: run.Faults, GCSeconds: run.GC, MeanGoalBytes: run.Goal, Cycles: run.N}
	if len(run.Cycles) == 0 {
		return p
	}
	rec := &cell.Record{Cell: cell.Cell{Config: cell.Config{GC: p.GC}}}
	for _, c := range run.Cycles {
		rec.Cycles = append(rec.Cycles, c.cycle())
	}
	rec.Set(cell.WallTime, run.Wall)
	rec.Set(cell.TotalCPU, run.CPU)
	rec.Set(cell.SystemCPU, run.System)
	rec.Set(cell.RSSPeak, run.Peak)
	rec.Set(cell.MinorFaults, run.Faults)
	p, err := NewPilot(rec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// errorsOf gathers what a kind of prediction missed by.
type errorsOf struct {
	sum            float64
	n              int
	covered, tried int
	unsure         int
	equal          float64 // sum of what a run of the setting itself missed by
}

func (e *errorsOf) mean() float64 { return e.sum / float64(max(e.n, 1)) }

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
}

func (e *errorsOf) join(o errorsOf) {
	e.sum, e.n, e.equal = e.sum+o.sum, e.n+o.n, e.equal+o.equal
	e.covered, e.tried, e.unsure = e.covered+o.covered, e.tried+o.tried, e.unsure+o.unsure
}

// A score is how predictions of a program fared: one pilot at the default
// predicts goal, share and peak for GOGC 25 to 800; pilots at 100, 50 and 400
// predict time to 800, and far beyond.
type score struct{ goal, share, peak, near, far errorsOf }

func (s *score) parts() [5]errorsOf { return [5]errorsOf{s.goal, s.share, s.peak, s.near, s.far} }

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
			s.hold(t, r, one.Predict(gc), three.Predict(gc), pilots[gc.Percent], truth[gc.Percent])
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
		to = &s.near
	}
	if r.Served {
		see("CPU", to, p3.Doubts, p3.CPU, true, func(p Pilot) float64 { return p.CPU })
	} else {
		see("wall", to, p3.Doubts, p3.Wall, true, func(p Pilot) float64 { return p.Wall })
	}
	t.Log(line)
}

// TestRecorded holds predictions against the recorded runs of programs that
// nothing was fitted to.
func TestRecorded(t *testing.T) {
	for _, row := range recordedRows(t, slices.Concat(corpus, sketches)) {
		t.Log(row)
	}
}

const predictionHeader = "| program | heap goal | GC share | peak memory | time to 800 | time at 3200, off | in the 90 % interval |\n| --- | --- | --- | --- | --- | --- | --- |\n"

// recordedRows are the rows of the table, and one of means.
func recordedRows(t *testing.T, programs []corpusProgram) (rows []string) {
	var mean [5]errorsOf // of the programs' means
	var covered errorsOf
	for _, p := range programs {
		if _, err := os.Stat(filepath.Join(recordedDir, p.Name+".json")); err != nil {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			r := readRecording(t, p.Name)
			s := r.evaluate(t)
			rows = append(rows, predictionRow(p.Name, s))
			for i, e := range s.parts() {
				mean[i].unsure += e.unsure
				if e.n > 0 {
					mean[i].sum, mean[i].equal, mean[i].n = mean[i].sum+e.mean(), mean[i].equal+e.chance(), mean[i].n+1
				}
				covered.join(e)
			}
		})
	}
	return append(rows, predictionText("mean", mean, covered))
}

func predictionRow(name string, s score) string {
	var all errorsOf
	for _, e := range s.parts() {
		all.join(e)
	}
	return predictionText(name, s.parts(), all)
}

func predictionText(name string, parts [5]errorsOf, all errorsOf) string {
	text := "| " + name
	for i, e := range parts {
		unit := "%"
		if i == 1 {
			unit = "points"
		}
		text += fmt.Sprintf(" | %.1f %s (%.1f)", 100*e.mean(), unit, 100*e.chance())
		if e.unsure > 0 {
			text += fmt.Sprintf(", unsure of %d", e.unsure)
		}
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

// TestRecordedCosts fits what a second of collection and a byte of peak memory
// cost to all runs of each program: what the priors of the model stand for. It
// tells the noise of equal runs from what the form of the model leaves over.
func TestRecordedCosts(t *testing.T) {
	var seconds, bytes average
	for _, p := range slices.Concat(corpus, sketches) {
		if _, err := os.Stat(filepath.Join(recordedDir, p.Name+".json")); err != nil {
			continue
		}
		r := readRecording(t, p.Name)
		c, s := r.costs()
		t.Logf("| %s | %.1f ± %.1f | %.2f ± %.2f | %.2f ± %.2f | %.1f %% | %.1f %% |", p.Name, c.mean[1], math.Sqrt(c.cov[1][1]), 1e9*c.mean[2], 1e9*math.Sqrt(c.cov[2][2]),
			1e9*s.mean[2], 1e9*math.Sqrt(s.cov[2][2]), 100*r.noise(), 100*r.misfit(c))
		seconds.add(c.mean[1], c.cov[1][1])
		bytes.add(1e9*c.mean[2], 1e18*c.cov[2][2])
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
		cpus = append(cpus, observation{vector{1, run.GC, run.Peak}, run.CPU})
		systems = append(systems, observation{vector{1, 0, run.Peak}, run.System})
	}
	wide := [terms]prior{{0, 1e3}, {0, 1e3}, {0, 1e-3}}
	return posterior(cpus, wide, r.noise()), posterior(systems, wide, 0.1)
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
				expected.add(dot(f.mean, vector{1, run.GC, run.Peak}))
			}
		}
		e.sum, e.n = e.sum+math.Abs(expected.mean()/times.mean()-1), e.n+1
	}
	return e.mean()
}
