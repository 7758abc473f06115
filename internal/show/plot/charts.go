package plot

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/latency"
)

// A facet is the rows of a section that share a panel.
type facet struct {
	title string
	rows  []*text.Row
}

// facetsOf splits the rows by GC setting if there are too many, so that a reader can follow
// all series of a panel.
func facetsOf(s *text.Section) []facet {
	if !faceted(s) {
		return chunks("", s.Rows)
	}
	grid, _ := s.Grid()
	var out []facet
	for _, gc := range grid.GCs {
		var rows []*text.Row
		for _, rest := range grid.Rests {
			if r := grid.Cells[[2]string{rest, gc}]; r != nil {
				rows = append(rows, r)
			}
		}
		out = append(out, chunks("gc="+gc, rows)...)
	}
	return out
}

// chunks cuts rows into facets of at most looks rows.
func chunks(title string, rows []*text.Row) []facet {
	var out []facet
	for part := range slices.Chunk(rows, looks) {
		out = append(out, facet{title, part})
	}
	if len(out) > 1 {
		for i := range out {
			out[i].title = fmt.Sprintf("%s (%d of %d)", title, i+1, len(out))
		}
	}
	return out
}

func faceted(s *text.Section) bool {
	_, ok := s.Grid()
	return ok && len(s.Rows) > 4
}

// lookOf gives a row its colour and marker, the same in all plots of a section,
// and its name in a legend.
func lookOf(s *text.Section, r *text.Row) (look int, name string) {
	if faceted(s) {
		grid, _ := s.Grid()
		return slices.Index(grid.Rests, r.Rest) % looks, r.Rest
	}
	return slices.Index(s.Rows, r) % looks, r.Label
}

// A curve is one histogram of one row.
type curve struct {
	row  *text.Row
	hist string
	h    *latency.Histogram
}

// histogram returns a row's histogram by name. A pause of the runtime counts with the upper bound of its bucket.
func histogram(r *text.Row, name string) *latency.Histogram {
	b, ok := r.Buckets[name]
	if !ok {
		return r.Latency[name]
	}
	all := new(latency.Histogram)
	for i, n := range b.Count {
		upper := min(b.Upper[i], 3600)
		if !(upper > 0) {
			continue
		}
		twice := new(latency.Histogram) // as often as the lowest bit of n stands for
		twice.Record(time.Duration(upper * 1e9))
		for ; n > 0; n /= 2 {
			if n%2 == 1 {
				all.Merge(twice)
			}
			twice.Merge(twice)
		}
	}
	return all
}

// panelsOf groups the named histograms of a section into panels of at most looks curves.
func panelsOf(s *text.Section, names []string) (titles []string, panels [][]curve) {
	for _, f := range facetsOf(s) {
		var all []curve
		for _, name := range names {
			for _, r := range f.rows {
				if h := histogram(r, name); h != nil && h.Count() > 0 {
					all = append(all, curve{r, name, h})
				}
			}
		}
		if len(all) > 0 && len(all) <= looks {
			titles, panels = append(titles, f.title), append(panels, all)
			continue
		}
		for _, curves := range stat.Split(all, func(c curve) string { return c.hist }) {
			titles, panels = append(titles, f.title+" "+curves[0].hist+" time"), append(panels, curves)
		}
	}
	return titles, panels
}

// bothTimes reports whether the section has both response and service time, so that their
// lines must differ in style.
func bothTimes(s *text.Section) bool {
	has := func(hist string) bool {
		return slices.ContainsFunc(s.Rows,
			func(r *text.Row) bool { return r.Latency[hist] != nil && r.Latency[hist].Count() > 0 })
	}
	return has(cell.HistResponse) && has(cell.HistService)
}

// percentileChart draws times over percentile, both on logarithmic axes: each
// decade to the right is ten times rarer.
func percentileChart(s *text.Section, id, title string, curves []curve, lo, hi, decades float64) template.HTML {
	d := newDrawing(id, title, describeCurves(s, curves), 300)
	f := frame{left: 66, top: 10, right: 448, bottom: 254}
	y := logScale(":ns", max(lo, 1), max(hi, 1), f.bottom, f.top)
	x := scale{lo: 0, hi: decades, from: f.left, to: f.right}
	var ticks []float64
	for i := 0.0; i <= decades; i++ {
		ticks = append(ticks, i)
	}
	d.vertical(f, y, y.ticks(8))
	d.horizontal(f, x, ticks, percentileText)
	d.text("label", "middle", (f.left+f.right)/2, f.bottom+40, "percentile (%), each step is ten times rarer")
	for _, c := range curves {
		look, _ := lookOf(s, c.row)
		class := fmt.Sprintf("curve s%d", look)
		if c.hist == cell.HistService && bothTimes(s) {
			class += " dashed"
		}
		end := min(decades, math.Log10(float64(c.h.Count())))
		at := func(step float64) point {
			return point{x.at(step), y.at(float64(c.h.Quantile(1 - math.Pow(10, -step))))}
		}
		var points []point
		for step := 0.0; step < end; step += 0.04 {
			points = append(points, at(step))
		}
		points = append(points, at(end))
		d.curve(class, points)
		for step := 0.3; step < end; step++ {
			d.mark(look, at(step))
		}
		d.mark(look, at(end))
	}
	return d.done()
}

// percentileText labels a step of the percentile axis: 0, 90, 99, 99.9, …
func percentileText(step float64) string {
	return fmt.Sprintf("%.*f", max(0, int(step)-2), 100-100*math.Pow(10, -step))
}

func describeCurves(s *text.Section, curves []curve) string {
	words := "Lines of time against percentile."
	for _, c := range curves {
		_, name := lookOf(s, c.row)
		words += fmt.Sprintf(" %s, %s time: median %s, 99th percentile %s, largest %s.", name, c.hist,
			text.Format(":ns", float64(c.h.Quantile(0.5))), text.Format(":ns", float64(c.h.Quantile(0.99))),
			text.Format(":ns", float64(c.h.Max())))
	}
	return words
}

// dotChart draws one metric of all rows: a dot for the median, a bar for its
// interval, a line at the baseline.
func dotChart(s *text.Section, id, metric string) template.HTML {
	const rowHeight = 36
	var figures []text.Figure
	lo, hi := math.Inf(1), 0.0
	description := "Medians with intervals."
	for _, r := range s.Rows {
		f := r.Figure(metric)
		f.Exact = false // space is tight
		figures = append(figures, f)
		if f.N == 0 || math.IsNaN(f.Median) || math.IsInf(f.Hi, 0) {
			continue
		}
		if f.Median > 0 {
			lo = min(lo, max(f.Lo, f.Median/1e3))
		}
		hi = max(hi, f.Hi)
		description += fmt.Sprintf(" %s: %s.", r.Label, f)
	}
	f := frame{left: 8, top: 4, right: 472, bottom: 4 + rowHeight*float64(len(s.Rows))}
	d := newDrawing(id, text.Heading(metric)+", "+s.Name, description, f.bottom+26)
	x := linearScale(metric, hi, f.left+4, f.right-24)
	if lo > 0 && hi/lo > 30 {
		x = logScale(metric, lo, hi, f.left+4, f.right-24)
	}
	d.horizontal(f, x, x.ticks(4), nil)
	for i, fig := range figures {
		y := f.top + rowHeight*float64(i)
		look, _ := lookOf(s, s.Rows[i])
		d.caption(f, y+14, s.Rows[i].Label, fig.String())
		d.line("track", f.left, y+25, f.right, y+25)
		if base := figures[0]; base.N > 0 {
			d.line("base", x.at(base.Median), y+17, x.at(base.Median), y+33)
		}
		if fig.N == 0 || math.IsNaN(fig.Median) {
			continue
		}
		if fig.N > 1 {
			d.line(fmt.Sprintf("bar s%d", look), x.at(fig.Lo), y+25, x.at(fig.Hi), y+25)
		}
		d.mark(look, point{x.at(fig.Median), y + 25})
	}
	return d.done()
}
