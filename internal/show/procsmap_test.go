package show_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/showtest"
	"github.com/isobar-go/isobar/internal/show/text"
)

// TestProcsMapOfPage checks what the page says about the map.
func TestProcsMapOfPage(t *testing.T) {
	g := showtest.Group("exec", "", cell.DefaultGC, 100)
	g.Series[cell.WallTime] = showtest.Series(cell.WallTime, 1, 1.1)
	a := &stat.Analysis{Groups: []*stat.Group{g}}
	m := &plot.ProcsMap{Figures: []plot.MapFigure{{Metric: cell.WallTime}}, Hint: "More with:", Command: "isobar tune --gomaxprocs 2 -- 'a b'"}
	m.Forecasts = []plot.Forecast{{GC: cell.DefaultGC, Procs: 1, Wall: [3]float64{1, 1, 1}, Unsure: true}}
	var shown bytes.Buffer
	if err := page.Write(&shown, page.Run{Meta: text.Meta{Title: "tune"}, Procs: m}, a); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"GC setting × GOMAXPROCS", "predicted, unsure", "More with: <code>isobar tune --gomaxprocs 2 -- &#39;a b&#39;</code>", "90 % intervals"} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
