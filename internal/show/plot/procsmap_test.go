package plot

import (
	"slices"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// TestHeatRises: if more is better, half of the best has share 0.5; rows without GOMAXPROCS come last.
func TestHeatRises(t *testing.T) {
	h := &heat{axis: Procs, MapFigure: MapFigure{cell.RSSPeak, true}, cells: map[int]map[string]heatCell{}}
	for _, procs := range []int{0, 1} {
		h.add(procs, cell.DefaultGC, heatCell{Figure: text.Figure{Summary: stat.Summary{Median: 50 << 20}}})
	}
	if !slices.Equal(h.values, []int{1, 0}) || h.share(h.best/2) != 0.5 {
		t.Errorf("rows %v, half of the best has share %v", h.values, h.share(h.best/2))
	}
}

func TestColumnName(t *testing.T) {
	for want, gc := range map[string]cell.GC{"100": cell.DefaultGC, "off": cell.DisabledGC, "1600": {Percent: 1600}} {
		if got := columnName(gc, 4); got != want {
			t.Errorf("%s is called %q, want %q", gc, got, want)
		}
	}
	if got := columnName(cell.DefaultGC, 12); got != "default" {
		t.Errorf("the default is called %q", got)
	}
}
