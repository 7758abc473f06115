package tune

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestCurveSettings(t *testing.T) {
	const cliff, roof = 40 * mib, 1000 * mib
	candidates := []cell.GC{cell.DefaultGC, {Percent: 450}, {Percent: -1}, {Percent: 400, LimitBytes: 300 * mib}}
	got := curveSettings(candidates, cliff, roof)
	for _, gc := range candidates {
		if !slices.Contains(got, gc) {
			t.Errorf("the candidate %s is missing", gc)
		}
	}
	var percents []string
	last := int64(cliff)
	for _, gc := range got {
		switch {
		case gc.LimitBytes == 0:
			percents = append(percents, gc.GOGC())
		case gc.Percent < 0 && gc.LimitBytes <= last:
			t.Errorf("%s does not follow %d MiB", gc, last/mib)
		case gc.Percent < 0:
			last = gc.LimitBytes
		}
	}
	if got, want := strings.Join(percents, " "), "10 15 25 35 50 75 100 150 200 300 400 450 600 800 1200 1600 2400 3200 off"; got != want {
		t.Errorf("GOGC %s, want %s", got, want)
	}
	if last < roof || last > 2*roof {
		t.Errorf("limits end at %d MiB, want the first beyond %d", last/mib, roof/mib)
	}
	for _, none := range [][2]int64{{0, roof}, {roof, cliff}} {
		for _, gc := range curveSettings(nil, none[0], none[1]) {
			if gc.LimitBytes > 0 {
				t.Errorf("a limit %s with a cliff of %d and a roof of %d MiB", gc, none[0]/mib, none[1]/mib)
			}
		}
	}
	if got := curveSettings(nil, 1, 1<<62); len(got) > 200 {
		t.Errorf("%d settings", len(got))
	}
}

// TestWholeFrontier looks at the curve of a tuned program, whatever were its
// candidates: it is whole, the frontier is its own, and what no run came near is
// marked.
func TestWholeFrontier(t *testing.T) {
	r, err := tuneSimulated(t, program(0.3), 0.01, func(c *Config) { c.Settings = []cell.GC{cell.DefaultGC, {Percent: 200}, {Percent: 400}} })
	if err != nil {
		t.Fatal(err)
	}
	ran := []cell.GC{{Percent: 35}, cell.DefaultGC, {Percent: 400}} // the pilots of this program
	limits := 0
	for _, p := range r.Predicted {
		if p.GC.LimitBytes > 0 {
			limits++
			if p.GC.LimitBytes < r.CliffBytes || p.GCShare.Mid > nearlyHalf {
				t.Errorf("%s is not above the cliff of %d MiB: %+v", p.GC, r.CliffBytes/mib, p.GCShare)
			}
		}
		beaten := slices.ContainsFunc(r.Predicted, func(o Prediction) bool {
			return !o.crawls && o.PeakBytes.Mid <= p.PeakBytes.Mid && o.CPU.Mid <= p.CPU.Mid && (o.PeakBytes.Mid < p.PeakBytes.Mid || o.CPU.Mid < p.CPU.Mid)
		})
		if beaten && r.OnFrontier(p.GC) {
			t.Errorf("%s is on the frontier, and beaten", p.GC)
		}
		outside := slices.ContainsFunc(p.Doubts, func(d string) bool { return strings.HasPrefix(d, "outside of what was run") })
		if want := p.GC.Percent > 0 && p.GC.Percent < 35 || p.GC.LimitBytes == 0 && (p.GC.Percent > 400 || p.GC.Percent < 0); p.GC.LimitBytes == 0 && outside != want {
			t.Errorf("%s: outside of what was run is %v, want %v: %q", p.GC, outside, want, p.Doubts)
		}
		if slices.Contains(ran, p.GC) && r.Unsure(p) {
			t.Errorf("%s was run, and is unsure: %q", p.GC, p.Doubts)
		}
	}
	if n := len(r.Predicted) - limits; n != len(curvePercents) || limits < 5 {
		t.Errorf("%d values of GOGC, want %d, and %d of GOMEMLIMIT", n, len(curvePercents), limits)
	}
	last := r.Predicted[len(r.Predicted)-1]
	if !r.Unsure(last) {
		t.Errorf("%s allows more memory than any run took, and is sure: %+v", last.GC, last)
	}
	for i, p := range r.Frontier[1:] {
		if before := r.Frontier[i]; p.PeakBytes.Mid < before.PeakBytes.Mid || p.CPU.Mid >= before.CPU.Mid {
			t.Errorf("%s is not cheaper in CPU and dearer in memory than %s", p.GC, before.GC)
		}
	}
	// The candidates are what they were.
	if n := len(r.Rows[0].Settings); n != 3 || len(r.Candidates) != 3 {
		t.Errorf("%d settings in the map and %d candidates, want 3", n, len(r.Candidates))
	}
	data, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(data), `"predicted":[{"gc":{"percent":10}`) {
		t.Errorf("%v: %.300s", err, data)
	}
	testFrontierScreen(t, r)
}

// TestFrontierLeavesOutWhatCrawls looks at a program of which collection takes
// nearly half at the default already, and at predictions that all crawl.
func TestFrontierLeavesOutWhatCrawls(t *testing.T) {
	r, err := tuneSimulated(t, program(0.45), 0.01, nil)
	if err != nil {
		t.Fatal(err)
	}
	if least := r.Predicted[0]; !least.crawls || r.OnFrontier(least.GC) || !r.Unsure(least) {
		t.Errorf("%s crawls: %v, is on the frontier: %v, is unsure: %v", least.GC, least.crawls, r.OnFrontier(least.GC), r.Unsure(least))
	}
	for _, p := range r.Frontier {
		if p.crawls {
			t.Errorf("%s is on the frontier: %q", p.GC, p.Doubts)
		}
	}
	if len(r.Frontier) < 5 {
		t.Errorf("%d settings on the frontier", len(r.Frontier))
	}
	if front := frontier([]Prediction{{crawls: true}}); len(front) != 1 {
		t.Errorf("a frontier of %d settings, where all crawl", len(front))
	}
}

func testFrontierScreen(t *testing.T, r *Answer) {
	t.Helper()
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(b.String(), "GOGC[:GOMEMLIMIT]")
	table, rest, found := strings.Cut(table, fmt.Sprintf("%d of %d predicted settings are on the frontier", len(r.Frontier), len(r.Predicted)))
	if !found || !strings.Contains(rest, "cliff") {
		t.Fatalf("no frontier:\n%s", b.String())
	}
	if n := strings.Count(table, "\n") - 1; n < 5 || n > frontierRows+2 {
		t.Errorf("%d rows on the screen:\n%s", n, table)
	}
	for _, gc := range []cell.GC{r.Base.GC, r.Setting.GC, r.Frontier[0].GC, r.Frontier[len(r.Frontier)-1].GC} {
		if !strings.Contains(table, "\n  "+gc.String()+" ") {
			t.Errorf("no row of %s:\n%s", gc, table)
		}
	}
}
