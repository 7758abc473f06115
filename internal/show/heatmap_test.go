package show_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

func TestHeatMap(t *testing.T) {
	var shown bytes.Buffer
	a := scalingStudy(t, []string{"1", "2", "16"}, []string{"default", "off", "400"})
	if err := page.Write(&shown, page.Run{Meta: cell.Run{Name: "scaling"}}, a); err != nil {
		t.Fatal(err)
	}
	got := shown.String()
	for _, want := range []string{"GC setting × goroutines", "profile=json throughput", "profile=trees throughput",
		">100</text>", ">11</text>", `class="heat-9"`, `class="heat-0"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Columns are sorted by GOGC in any plan order; off is last.
func TestHeatColumns(t *testing.T) {
	section := text.Sections(scalingStudy(t, []string{"1", "2"}, []string{"default", "off", "400"}))[0]
	p := plot.HeatMap(section, "x", plot.Goroutines, nil)
	if len(p.Panels) != 2 {
		t.Fatalf("%d panels, want two maps", len(p.Panels))
	}
	var columns []string
	for _, row := range p.Table.Rows {
		if row[0].Text == p.Table.Rows[0][0].Text && row[3].Text == "1" {
			columns = append(columns, row[2].Text)
		}
	}
	if !slices.Equal(columns, []string{"default", "400", "disabled"}) {
		t.Errorf("columns %q", columns)
	}
	// Among the settings as planned, 400 comes third: two goroutines do three times the work.
	if row := p.Table.Rows[4]; row[2].Text != "400" || row[3].Text != "2" || !strings.HasPrefix(row[8].Text, "100") {
		t.Errorf("the best: %+v", row)
	}
}

func TestNoHeatMap(t *testing.T) {
	for _, a := range []*stat.Analysis{scalingStudy(t, []string{"1"}, []string{"default", "400"}),
		scalingStudy(t, []string{"1", "2"}, []string{"default"})} {
		if p := plot.HeatMap(text.Sections(a)[0], "x", plot.Goroutines, nil); p != nil {
			t.Errorf("a map of %d panels, though one factor does not vary", len(p.Panels))
		}
	}
}
