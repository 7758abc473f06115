package claim

import (
	"math"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// madeUp analyzes a run of the experiment in which every repetition of a
// configuration has the figures of w, plus or minus spread.
func madeUp(t *testing.T, c *Claim, w world, spread float64) *stat.Analysis {
	t.Helper()
	spec, err := c.Experiment.Spec(Quick, 1)
	if err != nil {
		t.Fatal(err)
	}
	cells, err := spec.Cells()
	if err != nil {
		t.Fatal(err)
	}
	var records []*cell.Record
	for i := range cells {
		rec := &cell.Record{Cell: cells[i]}
		for side, v := range w {
			if side.fits(cells[i].Config) {
				noise := spread * math.Sin(float64(7*i+3))
				if strings.HasPrefix(side.Metric, "/trial/") {
					noise = 0 // counts have no noise
				}
				rec.Set(side.Metric, v*(1+noise))
			}
		}
		records = append(records, rec)
	}
	a, err := stat.Analyze(cells, records)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestUntimedExperimentsHaveNoLatencyClaims holds that no claim uses latencies
// if its experiment does not time operations.
func TestUntimedExperimentsHaveNoLatencyClaims(t *testing.T) {
	untimed := 0
	for _, d := range Documents() {
		for i := range d.Claims {
			c := &d.Claims[i]
			if c.Untestable != "" {
				continue
			}
			spec, err := c.Experiment.Spec(Quick, 1)
			if err != nil {
				t.Fatal(err)
			}
			if !spec.Untimed {
				continue
			}
			untimed++
			for _, s := range c.Test.sides() {
				if strings.HasPrefix(s.Metric, "/latency/"+cell.HistService+"/") {
					t.Errorf("%s uses %s, which %s does not measure", c.ID, s, c.Experiment.Run)
				}
			}
		}
	}
	if untimed == 0 {
		t.Error("no experiment is untimed: this test checks nothing")
	}
}

// TestEveryClaimCanFail feeds each claim data that support it and data that do
// not, through the analysis used for real runs.
func TestEveryClaimCanFail(t *testing.T) {
	for _, d := range Documents() {
		for i := range d.Claims {
			c := &d.Claims[i]
			if c.Untestable != "" {
				continue
			}
			t.Run(c.ID, func(t *testing.T) {
				for _, holds := range []bool{true, false} {
					figures := world{}
					c.Test.(supposer).suppose(holds, figures)
					a := madeUp(t, c, figures, 1e-4)
					r, samples := c.Judge(a)
					if got := r.Verdict == Holds; got != holds {
						t.Errorf("data made up for holds=%v: verdict %s (%s), estimate %+v", holds, r.Verdict, r.Text, r.Estimate)
					}
					if !holds && r.Verdict != Refuted && r.Verdict != Reversed {
						t.Errorf("contrary data leave the claim %s: %s", r.Verdict, r.Text)
					}
					for _, s := range samples {
						if len(s.Values) == 0 {
							t.Errorf("no samples of %s (%s)", s.Metric, s.Where)
						}
					}
					if len(samples) != len(c.Test.sides()) {
						t.Errorf("%d of %d sides select a configuration", len(samples), len(c.Test.sides()))
					}
				}
			})
		}
	}
}

func TestEffectVerdicts(t *testing.T) {
	const sure, tentative = false, true
	for _, test := range []struct {
		name          string
		ratio, lo, hi float64
		floor, says   float64
		n             int
		want          Verdict
		tentative     bool
	}{
		{"as claimed", 2.4, 2.2, 2.6, 1.1, 2.5, 6, Holds, sure},
		{"more than claimed", 9, 8, 10, 1.1, 2.5, 6, Holds, sure},
		{"as claimed, below one", 0.42, 0.4, 0.45, 1.1, 0.4, 6, Holds, sure},
		{"more than half, or less", 1.7, 1.5, 1.8, 1.1, 2.5, 6, Holds, tentative},
		{"less", 1.3, 1.26, 1.4, 1.1, 2.5, 6, Weaker, sure},
		{"less than half, or more", 1.5, 1.3, 1.8, 1.1, 2.5, 6, Weaker, tentative},
		{"less than half, or next to nothing", 1.3, 1.2, 1.4, 1.1, 2.5, 6, Weaker, tentative},
		{"any of three", 1.3, 1.2, 1.7, 1.1, 2.5, 6, Open, sure},
		{"nothing", 1.01, 0.95, 1.06, 1.1, 2.5, 6, Refuted, sure},
		{"next to nothing, or a little", 1.2, 1.15, 1.3, 1.1, 2.5, 6, Refuted, tentative},
		{"within the noise", 1.2, 1.1, 1.28, 1.3, 2.5, 6, Refuted, sure},
		{"within the noise, or just hidden by it", 1.2, 1.1, 1.7, 1.8, 2.5, 6, Refuted, tentative},
		{"noise hides it", 1.7, 0.9, 2.2, 1.8, 2.5, 6, Open, sure},
		{"other way", 0.7, 0.6, 0.78, 1.1, 2.5, 6, Reversed, sure},
		{"other way, or not", 0.7, 0.6, 0.9, 1.1, 2.5, 6, Reversed, tentative},
		{"other way, below one", 2, 1.9, 2.2, 1.1, 0.4, 6, Reversed, sure},
		{"a little the other way", 0.9, 0.88, 0.92, 1.02, 2.5, 6, Refuted, sure},
		{"a little of much", 1.1, 1.08, 1.12, 1.02, 2.5, 6, Refuted, sure},
		{"other way within the noise", 0.8, 0.75, 0.85, 1.5, 2.5, 6, Refuted, sure},
		{"too few", 2.4, 2.4, 2.4, 1, 2.5, 3, Open, sure},
		{"infinite", math.Inf(1), math.Inf(1), math.Inf(1), 1, 2.5, 6, Holds, sure},
		{"zero", 0, 0, 0, 1, 0.5, 6, Holds, sure},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := judgeEffect(Estimate{test.ratio, test.lo, test.hi, test.n, test.floor}, test.says)
			if r.Verdict != test.want || r.Tentative != test.tentative || r.Text == "" {
				t.Errorf("got %s, tentative %v (%s), want %s, %v", r.Verdict, r.Tentative, r.Text, test.want, test.tentative)
			}
		})
	}
}

func TestRangeVerdicts(t *testing.T) {
	const sure, tentative = false, true
	side := Side{Metric: "a"}
	c := &Claim{Experiment: Experiment{Run: "x", Quick: "--reps 6", Full: "--reps 6"},
		Test: Range{Of: side, Min: 1, Max: 2}}
	for _, test := range []struct {
		value, spread float64
		want          Verdict
		tentative     bool
	}{
		{1.5, 0.01, Holds, sure}, {1.9, 0.2, Holds, tentative}, {2.4, 0.2, Refuted, tentative}, {3, 0.01, Refuted, sure},
		{0.5, 0.01, Refuted, sure},
	} {
		if r, _ := c.Judge(madeUp(t, c, world{side: test.value}, test.spread)); r.Verdict != test.want ||
			r.Tentative != test.tentative {
			t.Errorf("%v plus or minus %v: %s, tentative %v (%+v), want %s, %v", test.value, test.spread, r.Verdict, r.Tentative,
				r.Estimate, test.want, test.tentative)
		}
	}
}

func TestShareVerdicts(t *testing.T) {
	none, all := Share{Max: 0.02}, Share{Min: 0.98, Max: 1}
	for _, test := range []struct {
		share   Share
		hits, n float64
		want    Verdict
	}{
		{none, 0, 100, Holds}, {none, 100, 100, Refuted}, {none, 1, 20, Open}, {all, 60, 60, Holds}, {all, 0, 60, Refuted},
		{all, 30, 60, Refuted},
	} {
		test.share.Hits, test.share.Trials = Side{Metric: "/trial/hits:trials"}, Side{Metric: "/trial/count:trials"}
		c := &Claim{Experiment: Experiment{Run: "trial --kind x", Quick: "--reps 1", Full: "--reps 1"}, Test: test.share}
		r, _ := c.Judge(madeUp(t, c, world{test.share.Hits: test.hits, test.share.Trials: test.n}, 0))
		if r.Verdict != test.want {
			t.Errorf("%v of %v in %v to %v: %s (%s), want %s", test.hits, test.n, test.share.Min, test.share.Max, r.Verdict,
				r.Text, test.want)
		}
	}
}

func TestAllTakesTheWorstPart(t *testing.T) {
	a, b := Side{Metric: "a"}, Side{Metric: "b"}
	test := All{Range{Of: a, Min: 0, Max: 1}, Range{Of: b, Min: 1, Max: math.Inf(1)}}
	c := &Claim{Experiment: Experiment{Run: "x", Quick: "--reps 6", Full: "--reps 6"}, Test: test}
	for _, w := range []struct {
		world world
		want  Verdict
	}{{world{a: 0.5, b: 2}, Holds}, {world{a: 2, b: 2}, Refuted}, {world{a: 0.5, b: 0.5}, Refuted}} {
		if r, _ := c.Judge(madeUp(t, c, w.world, 0)); r.Verdict != w.want {
			t.Errorf("%v: %s, want %s", w.world, r.Verdict, w.want)
		}
	}
	// With this spread 1.0 and 1.3 may be on either side of the bound; 0.1 and 9
	// may not.
	for _, w := range []struct {
		world     world
		want      Verdict
		tentative bool
	}{
		{world{a: 0.1, b: 9}, Holds, false}, {world{a: 1.0, b: 9}, Holds, true}, {world{a: 0.1, b: 1.3}, Holds, true},
		{world{a: 1.4, b: 9}, Refuted, true}, {world{a: 1.4, b: 0.1}, Refuted, false}, {world{a: 9, b: 1}, Refuted, false},
	} {
		if r, _ := c.Judge(madeUp(t, c, w.world, 0.3)); r.Verdict != w.want || r.Tentative != w.tentative {
			t.Errorf("%v: %s, tentative %v, want %s, %v", w.world, r.Verdict, r.Tentative, w.want, w.tentative)
		}
	}
	if r, _ := c.Judge(madeUp(t, c, world{a: 0.5}, 0)); r.Verdict != Open || !strings.Contains(r.Text, "b") {
		t.Errorf("a missing figure: %s (%s), want open and its name", r.Verdict, r.Text)
	}
}

func TestExperiment(t *testing.T) {
	e := Experiment{Run: "alloc --gc default,off --size 1024", Quick: "--iterations 1000 --reps 5", Full: "--reps 10"}
	spec, err := e.Spec(Quick, 3)
	if err != nil {
		t.Fatal(err)
	}
	cells, err := spec.Cells()
	if err != nil {
		t.Fatal(err)
	}
	if len(cells) != 15 { // two settings and the twin, five times
		t.Errorf("%d cells, want 15", len(cells))
	}
	if e.Name(Quick) == e.Name(Full) {
		t.Error("the two sizes have the same name")
	}
	for _, bad := range []string{"", "alloc --gc", "alloc size 3", "alloc --gc nonsense", "alloc --gomaxprocs many",
		"alloc --reps none", "alloc --size 1,1"} {
		if _, err := (Experiment{Run: bad, Quick: "--reps 4"}).Spec(Quick, 1); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	side := Side{Metric: "m", Where: "gc=disabled"}
	fits := 0
	for _, c := range cells {
		if side.fits(c.Config) {
			fits++
		}
	}
	if fits != 5 {
		t.Errorf("%s fits %d cells, want 5", side, fits)
	}
}

func TestSelect(t *testing.T) {
	all, err := Select(nil, nil)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d claims, %v", len(all), err)
	}
	one, err := Select(nil, []string{all[0].ID})
	if err != nil || len(one) != 1 {
		t.Errorf("one claim: %d, %v", len(one), err)
	}
	if _, err := Select([]string{"999"}, nil); err == nil {
		t.Error("a document that does not exist is accepted")
	}
}
