package plot

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A ProcsMap is what the map of GC settings and GOMAXPROCS shows besides the
// measurements.
type ProcsMap struct {
	Figures   []MapFigure // one map each
	Forecasts []Forecast
}

// A MapFigure is a metric for a map, and whether more of it is better.
type MapFigure struct {
	Metric string
	Rises  bool
}

// HeatMap shows how close to the best each GC setting is at each value of a factor: one map per figure
// and combination of the other factors. m, if not nil, adds its forecasts to the first map of each
// figure, which is then shown even if a factor does not vary. It returns nil if no map is shown.
func HeatMap(s *text.Section, id, axis string, m *ProcsMap) *Plot {
	metric := s.Primary()
	if s.Has(cell.Throughput) {
		metric = cell.Throughput
	}
	figures := []MapFigure{{metric, cell.HigherIsBetter(metric)}}
	if m != nil {
		figures = m.Figures
	}
	p := Plot{ID: id + "-" + axis, Title: "GC setting × " + axisName(axis)}
	p.Wide, p.Pairs = true, true
	p.Caption = "How close a cell is to the best of its map, in percent; a fuller cell is better."
	if axis == Procs {
		p.Caption += " In row default the runtime chooses GOMAXPROCS."
	}
	p.Table = text.Table{Label: "GC setting and " + axisName(axis) + ", " + s.Name, Left: 5,
		Head: []string{"Configuration", "figure", "GC setting", axisName(axis), "from", "value", "low", "high",
			"of the best"}}
	for _, f := range figures {
		heats := heatsOf(s, axis, f)
		if m != nil && len(heats) > 0 {
			heats[0].predict(m.Forecasts)
		}
		for i, h := range heats {
			if h.flat() && (m == nil || i > 0) {
				continue
			}
			p.addMap(s, h)
		}
	}
	if len(p.Panels) == 0 {
		return nil
	}
	return &p
}

// predict adds a model's predictions where nothing was measured.
func (h *heat) predict(forecasts []Forecast) {
	for _, f := range forecasts {
		three, ok := f.of(h.Metric)
		if !ok || three[0] <= 0 {
			continue
		}
		sum := stat.Summary{N: 1, Median: three[0], Lo: three[1], Hi: three[2]}
		h.add(f.Procs, f.GC, heatCell{text.Figure{Metric: h.Metric, Summary: sum}, !f.Measured})
	}
}

func (p *Plot) addMap(s *text.Section, h *heat) {
	p.Panels = append(p.Panels, Panel{strings.TrimSpace(h.title + " " + text.Heading(h.Metric)),
		h.drawMap(fmt.Sprintf("%s-%d", p.ID, len(p.Panels)))})
	for _, n := range h.values {
		for _, gc := range h.gcs {
			c := h.cells[n][gc.String()]
			if c.N == 0 {
				continue
			}
			p.Table.Add(cmp.Or(h.title, s.Name), text.Heading(h.Metric), text.Clean(gc.String()), valueName(n),
				from(!c.predicted), s.Format(h.Metric, c.Median), s.Format(h.Metric, c.Lo), s.Format(h.Metric, c.Hi),
				text.Digits(100*h.share(c.Median))+" %")
		}
	}
	if h.mixed && len(p.Legend) == 0 {
		p.Legend = []Legend{{cellSwatch(true), "measured"}, {cellSwatch(false), "predicted"}}
		p.Caption += " Predictions come from runs with the same GOMAXPROCS; the table has their 90 % intervals."
	}
}

// cellSwatch is a legend's sample of a cell.
func cellSwatch(measured bool) template.HTML {
	d := &drawing{}
	d.b.WriteString(`<svg class="swatch" viewBox="0 0 34 14" aria-hidden="true">`)
	d.rect("heat-5", 6, 0, 22, 14)
	if measured {
		d.rect("heat-measured", 7, 1, 20, 12)
	}
	return d.done()
}

// of returns the prediction for a metric.
func (f Forecast) of(metric string) (three [3]float64, ok bool) {
	i := slices.Index([]string{cell.WallTime, cell.TotalCPU, cell.RSSPeak}, metric)
	if i < 0 {
		return three, false
	}
	return [][3]float64{f.Wall, f.CPU, f.Bytes}[i], true
}
