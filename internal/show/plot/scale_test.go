package plot

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	for name, tc := range map[string]struct {
		s    scale
		n    int
		want []float64
	}{
		"linear":        {linearScale(":ns", 97, 0, 100), 4, []float64{0, 50, 100}},
		"bytes":         {linearScale(":bytes", 90<<20, 0, 100), 4, []float64{0, 50 << 20, 100 << 20}},
		"gibibytes":     {linearScale(":bytes", 2<<30, 0, 100), 4, []float64{0, 512 << 20, 1 << 30, 3 << 29, 2 << 30}},
		"kibibytes":     {linearScale(":bytes", 2.1*(1<<20), 0, 100), 4, []float64{0, 1 << 20, 2 << 20, 3 << 20}},
		"nothing":       {linearScale(":ns", 0, 0, 100), 2, []float64{0, 0.5, 1}},
		"two decades":   {logScale(":ns", 1, 100, 0, 100), 6, []float64{1, 2, 5, 10, 20, 50, 100}},
		"three decades": {logScale(":ns", 1, 1000, 0, 100), 6, []float64{1, 3, 10, 30, 100, 300, 1000}},
		"many decades":  {logScale(":ns", 1, 1e12, 0, 100), 6, []float64{1, 100, 1e4, 1e6, 1e8, 1e10, 1e12}},
	} {
		got := tc.s.ticks(tc.n)
		equal := slices.EqualFunc(got, tc.want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) })
		if !equal {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 5e-324, 1.7e308} {
		for _, s := range []scale{linearScale(":bytes", v, 0, 100), logScale(":ns", v, v, 0, 100)} {
			if n := len(s.ticks(5)); n > 20 {
				t.Errorf("%d ticks for %v", n, v)
			}
			if at := s.at(v); !(at >= 0 && at <= 100) && !math.IsNaN(v) {
				t.Errorf("at(%v) = %v, off the axis", v, at)
			}
		}
	}
}

func TestPercentileText(t *testing.T) {
	for step, want := range []string{"0", "90", "99", "99.9", "99.99", "99.999", "99.9999"} {
		if got := percentileText(float64(step)); got != want {
			t.Errorf("step %d: %s, want %s", step, got, want)
		}
	}
}

// Labels that would touch on a narrow screen are left out; the last stays.
func TestTickLabels(t *testing.T) {
	for _, tc := range []struct {
		decades int
		want    string
	}{{4, "99.99 99.9 99 90 0"}, {7, "99.99999 99.999 99.9 99 90 0"}} {
		d := &drawing{}
		f := frame{left: 66, right: 448}
		var ticks []float64
		for i := range tc.decades + 1 {
			ticks = append(ticks, float64(i))
		}
		d.horizontal(f, scale{hi: float64(tc.decades), from: f.left, to: f.right}, ticks, percentileText)
		var got []string
		for _, m := range regexp.MustCompile(`<text[^>]*>([^<]*)<`).FindAllStringSubmatch(d.b.String(), -1) {
			got = append(got, m[1])
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%d decades: %s, want %s", tc.decades, s, tc.want)
		}
	}
}

func TestThinKeepsExtremes(t *testing.T) {
	values := make([]int64, 1000)
	for i := range values {
		values[i] = int64(i % 37)
	}
	values[333], values[777] = -100, 100
	got := thin(values, 64)
	if len(got) > 64 || !slices.IsSorted(got) || !slices.Contains(got, 333) || !slices.Contains(got, 777) {
		t.Errorf("thin = %v", got)
	}
}
