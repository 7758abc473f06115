package tune

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestPublishedStudy gives the figures of seed document 002 (signatures a
// second of ECDSA P-256 on 48 threads) as input: its points at 2,400 and 4,800
// predict what it measured at 11,300. At 100 it measured 78,940 and with
// collection off 413,740, both far from the law, and both are refused.
func TestPublishedStudy(t *testing.T) {
	c, err := NewCurve([]CurvePoint{{2400, 671538.90}, {4800, 685810.90}})
	if err != nil {
		t.Fatal(err)
	}
	const published = 691054.0
	got, err := c.Predict(cell.GC{Percent: 11300})
	if err != nil || got < published*0.98 || got > published*1.02 {
		t.Errorf("GOGC=11300: %.0f, %v; published %.0f", got, err, published)
	}
	t.Logf("GOGC=11300: %.0f, published %.0f: %+.2f %%; smallest GOGC within 2 %%: %d", got, published, 100*(got/published-1), c.Smallest(0.02))
	for setting, why := range map[string]string{"100": "contend", "off": "touched for the first time", "400:1GiB": "live heap"} {
		gc, err := cell.ParseGC(setting)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Predict(gc); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("GOGC=%s: %v, %v; want a refusal that says %q", setting, got, err, why)
		}
	}
	if g := c.Smallest(0.02); g < 4000 || g > 6000 {
		t.Errorf("smallest GOGC within 2 %%: %d; its own 4,800 is within 0.8 %% of its optimum", g)
	}
}

func TestCurveRefusesWhatIsNoCurve(t *testing.T) {
	for name, points := range map[string][]CurvePoint{
		"one point":         {{100, 5}},
		"one setting twice": {{100, 5}, {100, 6}},
		"no rate":           {{100, 0}, {200, 5}},
		"off as a point":    {{-1, 7}, {200, 5}},
		"falling":           {{100, 9}, {400, 5}},
	} {
		if c, err := NewCurve(points); err == nil {
			t.Errorf("%s: %+v, want an error", name, c)
		}
	}
}
