package tune

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestUntouchedMemory has a program that holds 1 GiB without touching it: only
// resident memory counts.
func TestUntouchedMemory(t *testing.T) {
	rec := steady(40)
	for i := range rec.Cycles {
		c := &rec.Cycles[i]
		c.LiveBytes, c.StartBytes, c.EndBytes, c.GoalBytes = c.LiveBytes+1024*mib, c.StartBytes+1024*mib,
			c.EndBytes+1024*mib, c.GoalBytes+1024*mib
	}
	rec.Set(cell.RSSPeak, 71*mib)
	m, err := NewModel([]Pilot{mustPilot(t, rec)})
	if err != nil {
		t.Fatal(err)
	}
	if p := m.Expect(cell.DefaultGC); !near(p.PeakBytes.Mid, 71*mib, 0.1) {
		t.Errorf("peak %.0f MiB, measured 71", p.PeakBytes.Mid/mib)
	}
	if cliff := m.Cliff(); cliff > 71*mib {
		t.Errorf("a cliff of %d MiB above what is resident", cliff/mib)
	}
}

// TestExpectHoldsTheRuns has runs off the model. If they are off by little, the prediction moves
// there; if by much, its intervals are wide, and a doubt says so.
func TestExpectHoldsTheRuns(t *testing.T) {
	pilot := func(percent int, cpu float64) Pilot {
		p := mustPilot(t, steady(40))
		p.GC, p.CPU = setting(percent, 0), cpu
		return p
	}
	one, err := NewModel([]Pilot{pilot(100, 4)})
	if err != nil {
		t.Fatal(err)
	}
	expected := one.Expect(setting(400, 0)).CPU.Mid
	for name, tc := range map[string]struct {
		factor float64
		wide   bool
	}{"as expected": {1, false}, "a little more": {1.08, false}, "three times": {3, true}} {
		second := pilot(400, tc.factor*expected)
		second.streams = nil // an observation of time alone
		second.Cycles = 0
		second.GCSeconds = one.Expect(setting(400, 0)).GCShare.Mid * expected
		second.PeakBytes = one.Expect(setting(400, 0)).PeakBytes.Mid
		m, err := NewModel([]Pilot{pilot(100, 4), pilot(100, 4), second})
		if err != nil {
			t.Fatal(err)
		}
		there, between := m.Expect(setting(400, 0)), m.Expect(setting(200, 0))
		if i := there.CPU; second.CPU < i.Lo || second.CPU > i.Hi || there.Measured == nil {
			t.Errorf("%s: %+v is printed beside %.2f measured", name, i, second.CPU)
		}
		if got := strings.Contains(m.contradicted(), cpuKind); got != tc.wide ||
			(between.CPU == Interval{} || between.CPU.wide() > 0.25) != tc.wide {
			t.Errorf("%s: contradicted %q, between %+v", name, m.contradicted(), between.CPU)
		}
	}
}

// TestRunsThatAgree: agreement between the runs of one study narrows what is proven, but not the
// prediction of a later run, least of all beside other programs.
func TestRunsThatAgree(t *testing.T) {
	expect := func(waiting float64) (half float64, ratio Interval) {
		var pilots []Pilot
		for i := range 16 {
			p := mustPilot(t, steady(40))
			p.GC, p.Waiting = setting([]int{100, 400}[i%2], 0), waiting
			p.CPU -= 0.5 * float64(i%2)
			pilots = append(pilots, p)
		}
		m, err := NewModel(pilots)
		if err != nil {
			t.Fatal(err)
		}
		ratio, _ = m.ratios(setting(400, 0), setting(100, 0))
		cpu := m.Expect(setting(200, 0)).CPU
		return cpu.wide(), ratio
	}
	alone, ratio := expect(0)
	beside, _ := expect(0.5)
	if alone < 1.6*runNoise || beside < 1.3*alone {
		t.Errorf("a later run is expected within ±%.3f, where runs wait within ±%.3f", alone, beside)
	}
	if more, less := ratio.Mid-ratio.Lo, ratio.Hi-ratio.Mid; more < 1.3*less || ratio.Hi >= 1 {
		t.Errorf("the ratio is %+v", ratio)
	}
}

func TestInvert(t *testing.T) {
	m := [][]float64{{4, 1, 0}, {1, 3, 1}, {0, 1, 2}}
	inverse := invert(m)
	for i := range m {
		for j := range m {
			sum := 0.0
			for k := range m {
				sum += m[i][k] * inverse[k][j]
			}
			if want := map[bool]float64{true: 1}[i == j]; sum-want > 1e-12 || want-sum > 1e-12 {
				t.Errorf("row %d, column %d of the product: %v", i, j, sum)
			}
		}
	}
}
