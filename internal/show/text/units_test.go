package text

import (
	"math"
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
		if got := Format(tc.metric, tc.v); got != tc.want {
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
		if got := Clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestIntervalShowsItsSideOf1(t *testing.T) {
	for want, i := range map[string][2]float64{
		"[0.87, 0.998]": {0.87, 0.998}, "[0.87, 1.00]": {0.87, 1}, "[1.002, 4.40]": {1.002, 4.4}, "": {math.NaN(), 1},
	} {
		if got := Interval(i[0], i[1]); got != want {
			t.Errorf("%v is %s, want %s", i, got, want)
		}
	}
}
