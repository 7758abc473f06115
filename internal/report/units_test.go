package report

import (
	"math"
	"slices"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestFormat(t *testing.T) {
	for _, tc := range []struct {
		metric string
		v      float64
		want   string
	}{
		{cell.OpTime, 0, "0"},
		{cell.OpTime, 0.123, "0.12 ns"},
		{cell.OpTime, 12.345, "12.3 ns"},
		{cell.OpTime, 999.4, "999 ns"},
		{cell.OpTime, 999.6, "1.00 µs"},
		{cell.OpTime, 1.5e6, "1.50 ms"},
		{"ns/op", 42, "42.0 ns"},
		{cell.WallTime, 2.5, "2.50 s"},
		{cell.GCPauseMax, 81e-6, "81.0 µs"},
		{cell.RSSPeak, 1536, "1.50 KiB"},
		{cell.RSSPeak, 900 << 20, "900 MiB"},
		{"B/op", 24, "24.0 B"},
		{cell.Throughput, 1.25e6, "1.25 M/s"},
		{cell.GCCPUShare, 0.0512, "5.12 %"},
		{cell.GCCycles, 1234, "1234"},
		{cell.OpAllocs, 1.5, "1.50"},
		{cell.MinorFaults, 2.56e6, "2.56 M"},
		{cell.OpTime, -1500, "-1.50 µs"},
		{cell.OpTime, math.NaN(), "–"},
		{cell.OpTime, math.Inf(1), "∞"},
		{cell.RSSPeak, math.Inf(-1), "-∞"},
	} {
		if got := format(tc.metric, tc.v); got != tc.want {
			t.Errorf("format(%s, %v) = %q, want %q", tc.metric, tc.v, got, tc.want)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain µs ±1%":  "plain µs ±1%",
		"a\x1b[2Jb":     `a\x1b[2Jb`,
		"a\nb\tc":       `a\nb\tc`,
		"right\u202eto": `right\u202eto`,
		"bad\xffutf":    `bad\ufffdutf`,
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTicks(t *testing.T) {
	for name, tc := range map[string]struct {
		s    scale
		n    int
		want []float64
	}{
		"linear":        {linearScale(":ns", 97, 0, 100), 4, []float64{0, 50, 100}},
		"bytes":         {linearScale(":bytes", 90<<20, 0, 100), 4, []float64{0, 50 << 20, 100 << 20}},
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

func TestUniqueIdentifiers(t *testing.T) {
	ids := identifiers{"found": true}
	for _, tc := range [][2]string{{"market", "market"}, {"Market", "market-2"}, {"found", "found-2"}, {"<b>", "b"}, {"", "w-"}, {"9 lives", "w-9-lives"}} {
		if got := ids.unique(tc[0]); got != tc[1] {
			t.Errorf("unique(%q) = %q, want %q", tc[0], got, tc[1])
		}
	}
}
