package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/cell"
)

// goroutines is the factor that a heat map sets against the GC setting.
const goroutines = "goroutines"

// A heat is throughput by goroutines (rows) and GC setting (columns), all other
// factors being equal.
type heat struct {
	title string
	gcs   []cell.GC // by ascending GOGC, off last
	procs []int     // ascending
	cells map[int]map[string]figure
	best  float64
}

// heats splits the section's rows by what varies beside goroutines and GC
// setting; nil unless both vary.
func (s *section) heats() []*heat {
	var out []*heat
	byTitle := map[string]*heat{}
	for _, r := range s.rows {
		value, _ := r.Config.Factor(goroutines)
		n, err := strconv.Atoi(value)
		f := r.figure(cell.Throughput)
		if err != nil || f.n == 0 {
			continue
		}
		var rest []string
		for _, name := range s.varying {
			if v, ok := r.Config.Factor(name); ok && name != goroutines && name != "gc" {
				rest = append(rest, shorten(clean(name+"="+v), 40))
			}
		}
		title := strings.Join(rest, " ")
		h := byTitle[title]
		if h == nil {
			h = &heat{title: title, cells: map[int]map[string]figure{}}
			byTitle[title], out = h, append(out, h)
		}
		h.add(n, r.Config.GC, f)
	}
	out = slices.DeleteFunc(out, func(h *heat) bool { return len(h.gcs) < 2 || len(h.procs) < 2 })
	return out
}

func (h *heat) add(n int, gc cell.GC, f figure) {
	if !slices.Contains(h.procs, n) {
		h.procs = append(h.procs, n)
		slices.Sort(h.procs)
		h.cells[n] = map[string]figure{}
	}
	if !slices.Contains(h.gcs, gc) {
		h.gcs = append(h.gcs, gc)
		slices.SortStableFunc(h.gcs, func(a, b cell.GC) int { return int(uint32(a.Percent)>>1) - int(uint32(b.Percent)>>1) })
	}
	h.cells[n][gc.String()] = f
	h.best = max(h.best, f.median)
}

// heatPlot shows throughput by goroutines and GC setting, and what it is for
// each goroutine; nil where the section has no such factors.
func (s *section) heatPlot(id string) *htmlPlot {
	heats := s.heats()
	if len(heats) == 0 {
		return nil
	}
	p := &htmlPlot{ID: id + "-heat", Title: "Goroutines × GC setting", Wide: true, Pairs: true,
		Caption: "Left: throughput, in percent of the best of the map; fuller is more. Right: throughput of each goroutine, by how many there are; one line for a GC setting."}
	p.Table = htmlTable{Label: "Goroutines and GC setting, " + s.name, Left: 2, Head: []string{"Configuration", "GC setting", "goroutines", "throughput", "low", "high", "of the best", "each goroutine"}}
	for i, h := range heats {
		p.Panels = append(p.Panels,
			htmlPanel{strings.TrimSpace(h.title + " throughput"), h.drawMap(fmt.Sprintf("%s-map-%d", p.ID, i))},
			htmlPanel{strings.TrimSpace(h.title + " for each goroutine"), h.drawEach(fmt.Sprintf("%s-each-%d", p.ID, i))})
		for k, gc := range h.gcs {
			if i == 0 {
				p.Legend = append(p.Legend, htmlLegend{swatch(k, fmt.Sprintf("curve s%d", k%looks), true), "gc=" + clean(gc.String())})
			}
			for _, n := range h.procs {
				f := h.cells[n][gc.String()]
				if f.n == 0 {
					continue
				}
				p.Table.add(cmp.Or(h.title, s.name), clean(gc.String()), strconv.Itoa(n), f.value(), s.format(f.metric, f.lo), s.format(f.metric, f.hi),
					digits(100*f.median/h.best)+" %", s.format(f.metric, f.median/float64(n)))
			}
		}
	}
	return p
}

func (h *heat) drawMap(id string) template.HTML {
	const row = 34
	f := frame{left: 66, top: 26, right: 470, bottom: 26 + row*float64(len(h.procs))}
	var text strings.Builder
	d := newDrawing(id, "Throughput by goroutines and GC setting "+h.title, "A cell for each number of goroutines (rows) and GC setting (columns); the table below has the figures.", f.bottom+24)
	width := (f.right - f.left) / float64(len(h.gcs))
	for k, gc := range h.gcs {
		d.text("tick", "middle", f.left+(float64(k)+0.5)*width, f.top-8, shorten(clean(gc.String()), max(int(width/7), 3)))
	}
	for i, n := range h.procs {
		y := f.top + float64(i)*row
		d.text("tick", "end", f.left-6, y+row/2+4, strconv.Itoa(n))
		for k, gc := range h.gcs {
			cell := h.cells[n][gc.String()]
			if cell.n == 0 {
				continue
			}
			share := cell.median / h.best
			text.Reset()
			fmt.Fprintf(&text, "%.0f", 100*share)
			x := f.left + float64(k)*width
			d.rect(fmt.Sprintf("heat-%d", heatStep(share)), x+1, y+1, width-2, row-2)
			d.text("value", "middle", x+width/2, y+row/2+4, text.String())
		}
	}
	d.text("label", "middle", (f.left+f.right)/2, f.bottom+18, "goroutines down, GC setting across")
	return d.done()
}

// heatStep is one of ten steps of fill. They are finer towards the best, where
// settings differ by little.
func heatStep(share float64) int {
	return int(min(math.Floor(10*share*share), 9))
}

func (h *heat) drawEach(id string) template.HTML {
	f := frame{left: 72, top: 10, right: 464, bottom: 200}
	d := newDrawing(id, "Throughput of each goroutine "+h.title, "A line for each GC setting over the number of goroutines; the table below has the figures.", 244)
	top := 0.0
	for n, row := range h.cells {
		for _, cell := range row {
			top = max(top, cell.median/float64(n))
		}
	}
	x := logScale(":goroutines", float64(h.procs[0]), float64(h.procs[len(h.procs)-1]), f.left+8, f.right-8)
	y := linearScale(cell.Throughput, top, f.bottom, f.top)
	d.vertical(f, y, y.ticks(4))
	ticks := make([]float64, len(h.procs))
	for i, n := range h.procs {
		ticks[i] = float64(n)
	}
	d.horizontal(f, x, ticks, countText)
	for k, gc := range h.gcs {
		var points []point
		for _, n := range h.procs {
			if cell := h.cells[n][gc.String()]; cell.n > 0 {
				points = append(points, point{x.at(float64(n)), y.at(cell.median / float64(n))})
			}
		}
		d.curve(fmt.Sprintf("curve s%d", k%looks), points)
		for _, at := range points {
			d.mark(k, at)
		}
	}
	d.text("label", "middle", (f.left+f.right)/2, f.bottom+38, "goroutines")
	return d.done()
}
