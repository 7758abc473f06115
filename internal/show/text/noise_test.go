package text

import (
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

func TestNoiseLine(t *testing.T) {
	steal := func(all ...float64) *stat.Analysis {
		g := &stat.Group{}
		for _, v := range all {
			noise := cell.Noise{Steal: v, CPUPressure: -1, MemoryPressure: -1, OtherCPU: -1}
			g.Records = append(g.Records, &cell.Record{Noise: noise})
		}
		return &stat.Analysis{Groups: []*stat.Group{g}}
	}
	for _, tc := range []struct {
		a    *stat.Analysis
		want string
	}{
		{steal(0.01, 0.02, 0.04), "CPU steal 2.00 % (at most 4.00 %)"},
		{steal(0.01), "CPU steal 1.00 %"}, // nothing to be at most of
		{steal(0, 0), "CPU steal none"},
	} {
		if got := NoiseLine(tc.a); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
