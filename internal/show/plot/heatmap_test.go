package plot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/showtest"
	"github.com/isobar-go/isobar/internal/show/text"
)

// Columns are sorted by GOGC, whatever the order of the plan; off is last.
func TestHeatColumns(t *testing.T) {
	section := text.Sections(showtest.ScalingStudy(t, []string{"1", "2"}, []string{"default", "off", "400"}))[0]
	heats := heatsOf(section, goroutines, MapFigure{cell.Throughput, true})
	if len(heats) != 2 || fmt.Sprint(heats[0].gcs) != "[default 400 disabled]" || heats[0].best != 6000 {
		t.Fatalf("%d maps, columns %v", len(heats), heats[0].gcs)
	}
	if each := strings.Count(string(heats[0].drawEach("x")), "<path class=\"curve"); each != 3 {
		t.Errorf("%d curves for 3 settings", each)
	}
}

func TestNoHeatMap(t *testing.T) {
	for _, a := range []*stat.Analysis{showtest.ScalingStudy(t, []string{"1"}, []string{"default", "400"}), showtest.ScalingStudy(t, []string{"1", "2"}, []string{"default"})} {
		if p := HeatMap(text.Sections(a)[0], "x"); p != nil {
			t.Errorf("a map of %d panels, though one factor does not vary", len(p.Panels))
		}
	}
}

func TestHeatStep(t *testing.T) {
	for share, want := range map[float64]int{0: 0, 0.5: 2, 0.99: 9, 1: 9, 0.9: 8} {
		if got := heatStep(share); got != want {
			t.Errorf("%v: step %d, want %d", share, got, want)
		}
	}
}
