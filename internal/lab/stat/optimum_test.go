package stat

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestOptimum simulates the two curves of a scaling study: throughput that peaks at 17
// goroutines, and throughput that is level from GOGC=800 on.
func TestOptimum(t *testing.T) {
	var configs []cell.Config
	for n := 1; n <= 48; n += 4 {
		configs = append(configs, cell.Config{Workload: "scaling", GC: cell.DefaultGC,
			Params: map[string]string{"goroutines": strconv.Itoa(n)}})
	}
	peak := func(c cell.Config) map[string]float64 {
		n, _ := numeric(c, "goroutines")
		return map[string]float64{cell.Throughput: 3e5 * math.Exp(-math.Pow(math.Log(n/17), 2))}
	}
	found := curveOf(t, configs, peak)
	if len(found) != 1 || !strings.Contains(found[0], "throughput peaks at goroutines=17, ") ||
		strings.Contains(found[0], "the end of the range") {
		t.Errorf("a peak: %q", found)
	}

	configs = nil
	for _, percent := range []int{100, 200, 400, 800, 1600, 3200, -1} {
		configs = append(configs, cell.Config{Workload: "scaling", GC: cell.GC{Percent: percent}})
	}
	level := func(c cell.Config) map[string]float64 {
		k := 300.0
		if c.GC.Percent >= 800 {
			return map[string]float64{cell.Throughput: 1e5}
		} else if c.GC.Percent < 0 {
			return map[string]float64{cell.Throughput: 8e4}
		}
		return map[string]float64{cell.Throughput: 1e5 * float64(c.GC.Percent) / (float64(c.GC.Percent) + k)}
	}
	found = curveOf(t, configs, level)
	if len(found) != 1 || !strings.Contains(found[0], "; 800 to 3200 is a plateau") {
		t.Errorf("a plateau: %q", found)
	}
	if found := curveOf(t, configs[:3], level); len(found) != 0 {
		t.Errorf("three levels make no curve: %q", found)
	}
}

func curveOf(t *testing.T, configs []cell.Config, figures func(cell.Config) map[string]float64) []string {
	t.Helper()
	m := model{configs: configs, figures: figures, blocks: 8, noise: 0.004}
	cells, recs := m.simulate(rand.New(rand.NewPCG(1, 2)))
	a, err := Analyze(cells, recs)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range a.Findings {
		if strings.Contains(f, "confidence)") {
			out = append(out, f)
		}
	}
	return out
}

func TestDerivedMetrics(t *testing.T) {
	all, err := Metrics(&cell.Record{Metrics: map[string]float64{
		cell.WallTime: 2, cell.TotalCPU: 5, cell.GCCycles: 4, cell.GCPauseTotal: 1, cell.Scheduled: 100, cell.Done: 3,
	}})
	if err != nil || all[cell.CPUBusy] != 2.5 || all[cell.GCPauseMean] != 0.25 || all[cell.Dropped] != 97 {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := Metrics(&cell.Record{}); err != nil || len(all) != 0 {
		t.Errorf("of nothing: %v, %v", all, err)
	}
}
