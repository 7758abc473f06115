package plot

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/text"
)

// The factors that a heat map may show against the GC setting.
const (
	Goroutines = "goroutines"
	Procs      = "gomaxprocs"
)

// A heat is a metric by a factor (rows) and GC setting (columns), with all other factors fixed.
type heat struct {
	title, axis string
	MapFigure
	gcs    []cell.GC // by ascending GOGC, off last
	values []int     // of the factor, ascending; 0, for none, last
	cells  map[int]map[string]heatCell
	best   float64
	mixed  bool // some cells are predicted
}

// A heatCell is measured or predicted.
type heatCell struct {
	text.Figure
	predicted bool
}

// heatsOf splits the section's rows by the factors other than axis and GC
// setting. For GOMAXPROCS, a row without the factor counts as 0.
func heatsOf(s *text.Section, axis string, of MapFigure) []*heat {
	var out []*heat
	byTitle := map[string]*heat{}
	for _, r := range s.Rows {
		value, ok := r.Config.Factor(axis)
		if !ok && axis == Procs {
			value = "0"
		}
		n, err := strconv.Atoi(value)
		f := r.Figure(of.Metric)
		if err != nil || f.N == 0 || math.IsNaN(f.Median) || math.IsInf(f.Median, 0) || f.Median <= 0 && !of.Rises {
			continue
		}
		title := titleBeside(s, r, axis)
		h := byTitle[title]
		if h == nil {
			h = &heat{title: title, axis: axis, MapFigure: of, cells: map[int]map[string]heatCell{}}
			byTitle[title], out = h, append(out, h)
		}
		h.add(n, r.Config.GC, heatCell{Figure: f})
	}
	return out
}

// titleBeside names what distinguishes r from other rows, apart from the factor
// and the GC setting.
func titleBeside(s *text.Section, r *text.Row, axis string) string {
	var rest []string
	for _, name := range s.Varying {
		if v, ok := r.Config.Factor(name); ok && name != axis && name != "gc" {
			rest = append(rest, text.Shorten(text.Clean(name+"="+v), 40))
		}
	}
	return strings.Join(rest, " ")
}

// flat reports whether the factor or the GC setting does not vary.
func (h *heat) flat() bool { return len(h.gcs) < 2 || len(h.values) < 2 }

// add puts a cell into the map. A prediction does not replace an existing cell.
func (h *heat) add(n int, gc cell.GC, c heatCell) {
	if !slices.Contains(h.values, n) {
		h.values = append(h.values, n)
		slices.SortFunc(h.values, func(a, b int) int { return cmp.Compare(uint(a-1), uint(b-1)) })
		h.cells[n] = map[string]heatCell{}
	}
	if !slices.ContainsFunc(h.gcs, func(other cell.GC) bool { return other.String() == gc.String() }) {
		h.gcs = append(h.gcs, gc)
		slices.SortStableFunc(h.gcs, func(a, b cell.GC) int { return int(uint32(a.Percent)>>1) - int(uint32(b.Percent)>>1) })
	}
	if _, there := h.cells[n][gc.String()]; there && c.predicted {
		return
	}
	h.cells[n][gc.String()], h.mixed = c, h.mixed || c.predicted
	if h.best == 0 || h.share(c.Median) > 1 {
		h.best = c.Median
	}
}

// share is the value relative to the best of the map, 1 for the best.
func (h *heat) share(v float64) float64 {
	if h.Rises {
		return v / h.best
	}
	return h.best / v
}

func (h *heat) drawMap(id string) template.HTML {
	const row, letter = 34, 9.4 // on narrow screens
	width := (470.0 - 66) / float64(len(h.gcs))
	var names []string
	lines := 1 // lines of column names; long neighbours are on different lines
	for _, gc := range h.gcs {
		name := columnName(gc, max(int(2*width/letter), 3))
		if letter*float64(utf8.RuneCountInString(name)) > width {
			lines = 2
		}
		names = append(names, name)
	}
	f := frame{left: 66, top: 8 + 18*float64(lines), right: 470}
	f.bottom = f.top + row*float64(len(h.values))
	figure := text.Heading(h.Metric)
	d := newDrawing(id, strings.TrimSpace(figure+" by "+axisName(h.axis)+" and GC setting "+h.title),
		fmt.Sprintf("A cell for each value of %s (rows) and GC setting (columns), with %s in percent of the best; the "+
			"table below has the figures.", axisName(h.axis), figure), f.bottom+24)
	for k, name := range names {
		d.text("tick", "middle", f.left+(float64(k)+0.5)*width, f.top-8-18*float64((len(names)-1-k)%lines), name)
	}
	for i, n := range h.values {
		y := f.top + float64(i)*row
		d.text("tick", "end", f.left-6, y+row/2+4, valueName(n))
		for k, gc := range h.gcs {
			c := h.cells[n][gc.String()]
			if c.N == 0 {
				continue
			}
			share := h.share(c.Median)
			x := f.left + float64(k)*width
			d.rect(fmt.Sprintf("heat-%d", heatStep(share)), x+1, y+1, width-2, row-2)
			if h.mixed && !c.predicted {
				d.rect("heat-measured", x+2, y+2, width-4, row-4)
			}
			d.text("value", "middle", x+width/2, y+row/2+4, fmt.Sprintf("%.0f", 100*share))
		}
	}
	d.text("label", "middle", (f.left+f.right)/2, f.bottom+18, axisName(h.axis)+" down, GC setting across")
	return d.done()
}

// axisName is the name of a factor.
func axisName(axis string) string {
	if axis == Procs {
		return "GOMAXPROCS"
	}
	return axis
}

// valueName is the name of a row; 0 means a program with its own GOMAXPROCS.
func valueName(n int) string {
	if n == 0 {
		return "default"
	}
	return strconv.Itoa(n)
}

// columnName names a GC setting in at most letters letters. It shows GOGC alone if the full
// name is too long.
func columnName(gc cell.GC, letters int) string {
	name := text.Clean(gc.String())
	if utf8.RuneCountInString(name) > letters && gc.LimitBytes == 0 {
		name = gc.GOGC()
	}
	return text.Shorten(name, letters)
}

// heatStep is one of ten steps of fill. They are finer near the best, where
// settings differ little.
func heatStep(share float64) int {
	return int(min(math.Floor(10*share*share), 9))
}
