package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// scalingStudy is a made-up study: throughput of two profiles, of which GOGC=400
// doubles what the default does.
func scalingStudy(t *testing.T, goroutines, gcs []string) *stat.Analysis {
	t.Helper()
	var cells []cell.Cell
	var records []*cell.Record
	for block := range 4 {
		for _, profile := range []string{"json", "trees"} {
			for i, n := range goroutines {
				for k, setting := range gcs {
					gc, err := cell.ParseGC(setting)
					if err != nil {
						t.Fatal(err)
					}
					c := cell.Cell{Config: cell.Config{Workload: "scaling", Params: map[string]string{"goroutines": n, "profile": profile}, GC: gc}, Index: len(cells), Block: block}
					rec := &cell.Record{Cell: c}
					rec.Set(cell.Throughput, float64((i+1)*(k+1))*1000)
					rec.Set(cell.OpTime, 1e6/float64((i+1)*(k+1)))
					cells, records = append(cells, c), append(records, rec)
				}
			}
		}
	}
	a, err := stat.Analyze(cells, records)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestHeatMap(t *testing.T) {
	var page bytes.Buffer
	if err := HTML(&page, Run{Meta: Meta{Title: "scaling"}}, scalingStudy(t, []string{"1", "2", "16"}, []string{"default", "off", "400"})); err != nil {
		t.Fatal(err)
	}
	got := page.String()
	for _, want := range []string{"Goroutines × GC setting", "profile=json throughput", "profile=trees for each goroutine", ">100</text>", ">11</text>", `class="heat-9"`, `class="heat-0"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Columns go by GOGC, whatever the order of the plan: off is the last.
func TestHeatColumns(t *testing.T) {
	section := sections(scalingStudy(t, []string{"1", "2"}, []string{"default", "off", "400"}))[0]
	heats := section.heats(goroutines, MapFigure{cell.Throughput, true})
	if len(heats) != 2 || fmt.Sprint(heats[0].gcs) != "[default 400 disabled]" || heats[0].best != 6000 {
		t.Fatalf("%d maps, columns %v", len(heats), heats[0].gcs)
	}
	if each := strings.Count(string(heats[0].drawEach("x")), "<path class=\"curve"); each != 3 {
		t.Errorf("%d curves for 3 settings", each)
	}
}

func TestNoHeatMap(t *testing.T) {
	for _, a := range []*stat.Analysis{scalingStudy(t, []string{"1"}, []string{"default", "400"}), scalingStudy(t, []string{"1", "2"}, []string{"default"})} {
		if p := sections(a)[0].heatPlot("x"); p != nil {
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
