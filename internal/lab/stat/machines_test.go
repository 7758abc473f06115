package stat

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A fleetModel is a run of two configurations, a and b, on several machines that take
// turns at the blocks.
type fleetModel struct {
	speeds  []float64 // cost of a on each machine
	effects []float64 // cost of b there, as a factor of a's
	blocks  int
	noise   float64
}

func (m fleetModel) run(rng *rand.Rand) (cells []cell.Cell, recs []*cell.Record) {
	a := cell.Config{Workload: "w", Params: map[string]string{"v": "a"}, GC: cell.DefaultGC}
	b := cell.Config{Workload: "w", Params: map[string]string{"v": "b"}, GC: cell.DefaultGC}
	twin := a
	twin.Twin = true
	for block := range m.blocks {
		on := block % len(m.speeds)
		name := fmt.Sprintf("w%d", on)
		drift := math.Exp(0.1 * rng.NormFloat64())
		for i, config := range []cell.Config{a, b, twin} {
			c := cell.Cell{Config: config, Index: len(cells), Order: i, Block: block}
			cells = append(cells, c)
			rec := &cell.Record{Cell: c, Origin: &cell.Origin{Worker: name, Machine: cell.Machine{Hostname: "host" + name, CPU: "CPU of " + name}}}
			v := m.speeds[on] * drift * math.Exp(m.noise*rng.NormFloat64())
			if config.Params["v"] == "b" {
				v *= m.effects[on]
			}
			rec.Set(cell.OpTime, v)
			recs = append(recs, rec)
		}
	}
	return cells, recs
}

func (m fleetModel) analyze(t *testing.T, seed uint64) *Analysis {
	t.Helper()
	cells, recs := m.run(rand.New(rand.NewPCG(seed, 2)))
	a, err := Analyze(cells, recs)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func only(t *testing.T, a *Analysis) Comparison {
	t.Helper()
	if len(a.Comparisons) != 1 {
		t.Fatalf("%d comparisons, want 1", len(a.Comparisons))
	}
	return a.Comparisons[0]
}

func TestMachinesAgree(t *testing.T) {
	a := fleetModel{speeds: []float64{100, 900}, effects: []float64{0.8, 0.8}, blocks: 20, noise: 0.01}.analyze(t, 1)
	c := only(t, a)
	if c.Verdict != Better || c.Pairs != 20 || len(c.Machines) != 2 {
		t.Fatalf("%s in %d pairs on %d machines: %s", c.Verdict, c.Pairs, len(c.Machines), c.Reason)
	}
	if c.Lo > 0.8 || c.Hi < 0.8 || c.Hi-c.Lo > 0.03 {
		t.Errorf("interval [%v, %v], want a narrow one around 0.8 although the machines differ by 9x in speed", c.Lo, c.Hi)
	}
	h := c.Heterogeneity
	if !h.Tested || h.Differ || h.P < alpha || h.DF != 1 || !strings.Contains(h.Text, "no difference shown between the 2 machines") {
		t.Errorf("heterogeneity %+v", h)
	}
	for i, m := range c.Machines {
		if m.Pairs != 10 || m.Verdict != Better || m.Machine != a.Machines[i] || m.Machine.Name != fmt.Sprintf("w%d", i) {
			t.Errorf("machine %s: %+v", m.Machine.Name, m.Comparison)
		}
	}
	if slow := c.Machines[1]; slow.AValue < 500 || c.Machines[0].AValue > 200 {
		t.Errorf("medians of the machines are mixed: %v and %v", c.Machines[0].AValue, slow.AValue)
	}
	if a.Machines[0].Records != 30 || !slices.Equal(a.Machines[0].Blocks, []int{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}) {
		t.Errorf("machine 0: %+v", a.Machines[0])
	}
	if text := strings.Join(a.Findings, "\n"); !strings.Contains(text, "v=b cut the time per operation to 0.") {
		t.Errorf("findings: %s", text)
	}
}

func TestMachinesDisagree(t *testing.T) {
	a := fleetModel{speeds: []float64{100, 300}, effects: []float64{0.5, 2}, blocks: 12, noise: 0.01}.analyze(t, 1)
	c := only(t, a)
	if c.Verdict != Disagreement || !c.Heterogeneity.Opposed || c.Heterogeneity.I2 < 0.9 {
		t.Fatalf("%s: %s, %+v", c.Verdict, c.Reason, c.Heterogeneity)
	}
	if c.Machines[0].Verdict != Better || c.Machines[1].Verdict != Worse {
		t.Errorf("machines: %s and %s", c.Machines[0].Verdict, c.Machines[1].Verdict)
	}
	for _, want := range []string{"machines disagree", "on w0", "on w1", "Cochran's Q"} {
		if !strings.Contains(c.Reason, want) {
			t.Errorf("reason %q lacks %q", c.Reason, want)
		}
	}
	text := strings.Join(a.Findings, "\n")
	if !strings.Contains(text, "had different effects across machines on the time per operation (0.") {
		t.Errorf("findings: %s", text)
	}
	if !slices.ContainsFunc(a.Warnings, func(w CountedWarning) bool {
		return w.Code == "machines" && strings.Contains(w.Text, "disagree about 1 of 1")
	}) {
		t.Errorf("warnings: %+v", a.Warnings)
	}
}

// TestMachinesHalf: one machine gains, the other does not; no verdict holds for both.
func TestMachinesHalf(t *testing.T) {
	c := only(t, fleetModel{speeds: []float64{100, 100}, effects: []float64{0.5, 1}, blocks: 24, noise: 0.01}.analyze(t, 1))
	if c.Verdict != Disagreement {
		t.Errorf("%s: %s", c.Verdict, c.Reason)
	}
}

// TestMachinesDifferInSize: all machines gain, but not equally; the verdict is better, with a warning.
func TestMachinesDifferInSize(t *testing.T) {
	a := fleetModel{speeds: []float64{100, 100, 50}, effects: []float64{0.5, 0.8, 0.7}, blocks: 18, noise: 0.01}.analyze(t, 1)
	c := only(t, a)
	if c.Verdict != Better || !c.Heterogeneity.Differ || c.Heterogeneity.Opposed || !strings.Contains(strings.Join(c.Warnings, "\n"), "but not on the size: from 0.50x") {
		t.Errorf("%s: %s, %v, %+v", c.Verdict, c.Reason, c.Warnings, c.Heterogeneity)
	}
	if !slices.ContainsFunc(a.Warnings, func(w CountedWarning) bool { return strings.Contains(w.Text, "but not the size") }) {
		t.Errorf("warnings: %+v", a.Warnings)
	}
}

// TestMachinesWithOnePairEach: one pair per machine gives an overall verdict, but cannot show whether machines agree.
func TestMachinesWithOnePairEach(t *testing.T) {
	speeds := []float64{10, 20, 30, 40, 50, 60, 70, 80}
	c := only(t, fleetModel{speeds: speeds, effects: slices.Repeat([]float64{0.5}, 8), blocks: 8, noise: 0.01}.analyze(t, 1))
	if c.Verdict != Better || c.Heterogeneity.Tested || !strings.Contains(strings.Join(c.Warnings, "\n"), "cannot tell whether 8 machines agree") {
		t.Errorf("%s: %s, %v", c.Verdict, c.Reason, c.Warnings)
	}
}

// TestFewPairsOfMachines: with 4 or 5 pairs the rank test would ignore machines.
func TestFewPairsOfMachines(t *testing.T) {
	c := only(t, fleetModel{speeds: []float64{100, 900}, effects: []float64{0.5, 0.5}, blocks: 5, noise: 0.001}.analyze(t, 1))
	if c.Verdict != Inconclusive || !strings.Contains(c.Reason, "5 pairs on 2 machines are too few for a verdict: need 6") {
		t.Errorf("%s: %s", c.Verdict, c.Reason)
	}
}

// TestMachinesAreNeverMixed: no value is paired with one of another machine, whatever the blocks.
func TestMachinesAreNeverMixed(t *testing.T) {
	cells, recs := fleetModel{speeds: []float64{100, 900}, effects: []float64{1, 1}, blocks: 12, noise: 0.01}.run(rand.New(rand.NewPCG(1, 2)))
	for _, rec := range recs { // as if a was measured here and b elsewhere
		name := map[bool]string{false: "w0", true: "w1"}[rec.Cell.Params["v"] == "b"]
		rec.Origin = &cell.Origin{Worker: name, Machine: cell.Machine{Hostname: "host" + name}}
	}
	a, err := Analyze(cells, recs)
	if err != nil {
		t.Fatal(err)
	}
	if c := only(t, a); c.Pairs != 0 || c.Verdict != Inconclusive || !math.IsNaN(c.Ratio) {
		t.Errorf("%d pairs, ratio %v: %s", c.Pairs, c.Ratio, c.Verdict)
	}
}

func TestRunsOfDifferentMachines(t *testing.T) {
	on := func(speed float64, host string) *Analysis {
		cells, recs := fleetModel{speeds: []float64{speed}, effects: []float64{1}, blocks: 10, noise: 0.01}.run(rand.New(rand.NewPCG(3, 4)))
		for _, rec := range recs {
			rec.Origin = nil
		}
		a, err := AnalyzeOn(cell.Machine{Hostname: host}, cells, recs)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, c := range CompareRuns(on(100, "x"), on(50, "y")) {
		if c.Pairs != 0 || c.Verdict != Inconclusive || !strings.Contains(c.Reason, "different machines (x; y), which are never compared: measure both on one") {
			t.Errorf("%d pairs: %s: %s", c.Pairs, c.Verdict, c.Reason)
		}
	}
	for _, hosts := range [][2]string{{"x", "x"}, {"", "y"}, {"", ""}} { // the same, or nothing known
		for _, c := range CompareRuns(on(100, hosts[0]), on(50, hosts[1])) {
			if c.Pairs != 10 || c.Verdict != Better || c.Machines != nil {
				t.Errorf("%q: %d pairs: %s: %s", hosts, c.Pairs, c.Verdict, c.Reason)
			}
		}
	}
}

// TestRunsOfFleets has two runs of a fleet whose blocks went to its machines in different orders.
func TestRunsOfFleets(t *testing.T) {
	first := fleetModel{speeds: []float64{100, 900}, effects: []float64{1, 1}, blocks: 12, noise: 0.005}
	cells, recs := first.run(rand.New(rand.NewPCG(5, 6)))
	for _, rec := range recs {
		name := map[bool]string{false: "w0", true: "w1"}[rec.Cell.Block < 6]
		speed := map[string]float64{"w0": 50, "w1": 450}[name] // each takes half the time
		rec.Origin = &cell.Origin{Worker: name, Machine: cell.Machine{Hostname: "host" + name, CPU: "CPU of " + name}}
		rec.Set(cell.OpTime, speed*(1+0.001*float64(rec.Cell.Block)))
	}
	b, err := Analyze(cells, recs)
	if err != nil {
		t.Fatal(err)
	}
	all := CompareRuns(first.analyze(t, 7), b)
	if len(all) != 2 {
		t.Fatalf("%d comparisons", len(all))
	}
	for _, c := range all {
		if c.Pairs != 12 || len(c.Machines) != 2 || c.Verdict != Better || c.Ratio < 0.4 || c.Ratio > 0.62 {
			t.Errorf("%s: %d pairs on %d machines, %vx: %s", c.A, c.Pairs, len(c.Machines), c.Ratio, c.Reason)
		}
	}
}

// TestMachinesOfOneName: machines of one host name with other processors are kept apart within a run, and
// never compared across runs.
func TestMachinesOfOneName(t *testing.T) {
	on := func(seed uint64, cpus ...string) *Analysis {
		model := fleetModel{speeds: []float64{100, 900}[:len(cpus)], effects: []float64{1, 1}, blocks: 12, noise: 0.01}
		cells, recs := model.run(rand.New(rand.NewPCG(seed, 6)))
		for _, rec := range recs {
			cpu := cpus[rec.Cell.Block%len(cpus)]
			rec.Origin = &cell.Origin{Worker: "pod-0", Machine: cell.Machine{Hostname: "h", CPU: cpu}}
		}
		a, err := Analyze(cells, recs)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	both := on(1, "Intel", "AMD")
	if c := only(t, both); len(c.Machines) != 2 || c.Machines[0].Machine.Name != "pod-0 h Intel" || c.Machines[1].Pairs != 6 {
		t.Errorf("machines %+v", c.Machines)
	}
	for _, c := range CompareRuns(on(1, "Intel"), on(2, "AMD")) {
		if c.Pairs != 0 || !strings.Contains(c.Reason, "different machines (pod-0 with Intel; pod-0 with AMD)") {
			t.Errorf("%d pairs: %s: %s", c.Pairs, c.Verdict, c.Reason)
		}
	}
	for _, c := range CompareRuns(both, on(2, "Intel")) {
		if c.Pairs != 6 {
			t.Errorf("%d pairs of the common machine, want 6: %s", c.Pairs, c.Reason)
		}
	}
}

// TestOneMachineIsAsBefore: a run on one machine gets the same verdict with and without a fleet.
func TestOneMachineIsAsBefore(t *testing.T) {
	cells, recs := fleetModel{speeds: []float64{100}, effects: []float64{0.8}, blocks: 9, noise: 0.05}.run(rand.New(rand.NewPCG(1, 2)))
	fleet, err := Analyze(cells, recs)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		rec.Origin = nil
	}
	local, err := Analyze(cells, recs)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(fleet.Comparisons, local.Comparisons) || !reflect.DeepEqual(fleet.Findings, local.Findings) || !reflect.DeepEqual(fleet.Floors, local.Floors) {
		t.Errorf("%+v\n%+v", fleet.Comparisons, local.Comparisons)
	}
	if c := only(t, fleet); c.Machines != nil || c.Heterogeneity != nil {
		t.Errorf("%+v", c)
	}
}

// TestMachineErrorRates simulates no effect, and one effect, on three machines of
// different speed.
func TestMachineErrorRates(t *testing.T) {
	runs := 500
	if invariant.Race {
		runs = 100 // seeds and outcomes are the same, one after the other
	}
	rates := func(effects []float64) map[Verdict]float64 {
		count := map[Verdict]float64{}
		for seed := range uint64(runs) {
			m := fleetModel{speeds: []float64{100, 300, 40}, effects: effects, blocks: 15, noise: 0.02}
			count[only(t, m.analyze(t, seed)).Verdict] += 1 / float64(runs)
		}
		return count
	}
	none, same, opposed := rates([]float64{1, 1, 1}), rates([]float64{0.9, 0.9, 0.9}), rates([]float64{0.8, 1.25, 1})
	t.Logf("no effect: %v; the same: %v; opposed: %v", none, same, opposed)
	if none[Better]+none[Worse]+none[Disagreement] > 0.03 {
		t.Errorf("verdicts without an effect: %v", none)
	}
	if same[Better] < 0.95 {
		t.Errorf("an effect of 10 %% on all machines: %v", same)
	}
	if opposed[Disagreement] < 0.95 || opposed[Better]+opposed[Worse] > 0.01 {
		t.Errorf("opposed effects: %v", opposed)
	}
}

func TestStratifiedMedian(t *testing.T) {
	strata := [][]float64{{0.5, 0.52, 0.55, 0.61}, {0.9, 0.93, 0.97}, {0.7, 0.58}}
	lo, hi := stratifiedMedian(strata)
	rng := rand.New(rand.NewPCG(9, 9))
	var medians []float64
	for range 40000 {
		var draw []float64
		for _, s := range strata {
			for range s {
				draw = append(draw, s[rng.IntN(len(s))])
			}
		}
		slices.Sort(draw)
		medians = append(medians, median(draw))
	}
	slices.Sort(medians)
	if wantLo, wantHi := medians[1000], medians[39000]; lo != wantLo || hi != wantHi {
		t.Errorf("[%v, %v], by simulation [%v, %v]", lo, hi, wantLo, wantHi)
	}
	// One stratum of odd size has the plain bootstrap interval.
	one := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	wantLo, wantHi := bootstrapMedian(one)
	if lo, hi := stratifiedMedian([][]float64{one}); lo != wantLo || hi != wantHi {
		t.Errorf("one stratum: [%v, %v], want [%v, %v]", lo, hi, wantLo, wantHi)
	}
}

// TestHeterogeneityFigures checks the published example of Welch's test: Q, and p from a table of F.
func TestHeterogeneityFigures(t *testing.T) {
	var h Heterogeneity
	h.test([][]float64{{1, 2, 3, 4, 5}, {3, 4, 5, 6, 7}})
	// For two groups Welch's F is the square of his t: 2/sqrt(2*2.5/5) = 2, with 8
	// degrees of freedom p = 0.0805.
	if math.Abs(h.Q-4) > 1e-9 || math.Abs(h.P-0.0805) > 5e-4 || h.DF != 1 || math.Abs(h.I2-0.75) > 1e-9 {
		t.Errorf("%+v", h)
	}
	if p := fTail(3.4903, 3, 12); math.Abs(p-0.05) > 1e-4 { // 5 % point of F(3, 12)
		t.Errorf("F tail %v, want 0.05", p)
	}
	var equal, apart Heterogeneity // counts without any variance
	equal.test([][]float64{{0.5, 0.5, 0.5}, {0.5, 0.5}})
	apart.test([][]float64{{0.5, 0.5, 0.5}, {0.7, 0.7, 0.7}})
	if equal.P < 0.99 || !(apart.P < 0.001) {
		t.Errorf("equal %+v, apart %+v", equal, apart)
	}
}

func TestInfiniteRatiosOnMachines(t *testing.T) {
	cells, recs := fleetModel{speeds: []float64{100, 300}, effects: []float64{1, 1}, blocks: 12, noise: 0.01}.run(rand.New(rand.NewPCG(1, 2)))
	for _, rec := range recs {
		rec.Set(cell.OpTime, map[bool]float64{true: 5}[rec.Cell.Params["v"] == "b"])
	}
	a, err := Analyze(cells, recs)
	if err != nil {
		t.Fatal(err)
	}
	c := only(t, a)
	if !math.IsInf(c.Ratio, 1) || c.Verdict != Worse || c.Heterogeneity.Tested {
		t.Errorf("%v: %s, %+v", c.Ratio, c.Reason, c.Heterogeneity)
	}
	if _, err := json.Marshal(c.Heterogeneity); err != nil { // all of it is finite
		t.Error(err)
	}
}
