package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A tradeoff is a row of a Pareto plot: what it needs of two things.
type tradeoff struct {
	row         *row
	memory, own figure
	best        bool // no other row needs less of both
}

// tradeoffs returns the rows that have both figures, and marks those on the
// Pareto frontier: no other row is at most equal in both and less in one.
func (s *section) tradeoffs() []tradeoff {
	var out []tradeoff
	for _, r := range s.rows {
		t := tradeoff{row: r, memory: r.figure(cell.RSSPeak), own: r.figure(s.primary())}
		usable := func(f figure) bool { return f.n > 0 && f.median > 0 && !math.IsInf(f.median, 0) }
		if usable(t.memory) && usable(t.own) {
			out = append(out, t)
		}
	}
	for i := range out {
		a := &out[i]
		a.best = !slices.ContainsFunc(out, func(b tradeoff) bool {
			return b.memory.median <= a.memory.median && b.own.median <= a.own.median && (b.memory.median < a.memory.median || b.own.median < a.own.median)
		})
	}
	return out
}

// paretoPlot shows memory against the primary metric and the configurations
// among which there is a choice; nil for fewer than three.
func (s *section) paretoPlot(id string) *htmlPlot {
	all := s.tradeoffs()
	if metric := s.primary(); len(all) < 3 || cell.HigherIsBetter(metric) || metric == cell.RSSPeak {
		return nil
	}
	p := &htmlPlot{ID: id + "-pareto", Title: "Memory against " + heading(s.primary()),
		Caption: "Medians with their intervals; left and low is better. The line joins the Pareto frontier, whose configurations no other beats in both. The table says which they are."}
	p.Table = htmlTable{Label: "Memory against " + heading(s.primary()) + ", " + s.name, Left: 2,
		Head: []string{"Configuration", "on the frontier", heading(cell.RSSPeak), "low", "high", heading(s.primary()), "low", "high"}}
	var rows []*row
	for _, t := range all {
		rows = append(rows, t.row)
		best := "no"
		if t.best {
			best = "yes"
		}
		p.Table.add(t.row.label, best, t.memory.value(), s.format(t.memory.metric, t.memory.lo), s.format(t.memory.metric, t.memory.hi),
			t.own.value(), s.format(t.own.metric, t.own.lo), s.format(t.own.metric, t.own.hi))
	}
	p.Panels = []htmlPanel{{"", s.paretoChart(p.ID+"-0", all)}}
	p.Legend = append(s.legend(rows), htmlLegend{swatch(0, "curve plain dashed", false), "frontier"})
	return p
}

func (s *section) paretoChart(id string, all []tradeoff) template.HTML {
	description := "Memory and " + heading(s.primary()) + " of each configuration. On the frontier:"
	x0, x1, y0, y1 := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, t := range all {
		x0, x1, y0, y1 = min(x0, t.memory.median), max(x1, t.memory.median), min(y0, t.own.median), max(y1, t.own.median)
		if t.best {
			description += " " + t.row.label + ";"
		}
	}
	f := frame{left: 72, top: 10, right: 464, bottom: 250}
	d := newDrawing(id, "Memory against "+heading(s.primary())+", "+s.name, description, 292)
	x, y := logScale(cell.RSSPeak, x0/1.1, x1*1.1, f.left, f.right), logScale(s.primary(), y0/1.1, y1*1.1, f.bottom, f.top)
	d.vertical(f, y, y.ticks(6))
	d.horizontal(f, x, x.ticks(5), func(v float64) string { return tickText(cell.RSSPeak, v) })
	d.text("label", "middle", (f.left+f.right)/2, f.bottom+38, heading(cell.RSSPeak))
	var frontier []tradeoff
	for _, t := range all {
		look, _ := s.look(t.row)
		at := point{x.at(t.memory.median), y.at(t.own.median)}
		d.line(fmt.Sprintf("whisker s%d", look), x.at(t.memory.lo), at.y, x.at(t.memory.hi), at.y)
		d.line(fmt.Sprintf("whisker s%d", look), at.x, y.at(t.own.lo), at.x, y.at(t.own.hi))
		if t.best {
			frontier = append(frontier, t)
		}
	}
	slices.SortFunc(frontier, func(a, b tradeoff) int { return int(math.Copysign(1, a.memory.median-b.memory.median)) })
	var steps []point
	for i, t := range frontier {
		at := point{x.at(t.memory.median), y.at(t.own.median)}
		if i > 0 { // beyond it, the one before is still the best
			steps = append(steps, point{at.x, steps[len(steps)-1].y})
		}
		steps = append(steps, at)
	}
	d.curve("curve plain dashed", steps)
	for _, t := range all {
		look, _ := s.look(t.row)
		d.mark(look, point{x.at(t.memory.median), y.at(t.own.median)})
	}
	s.nameFrontier(d, f, frontier, x, y)
	return d.done()
}

// nameFrontier writes the names of configurations beside their marks, where
// there is room for them.
func (s *section) nameFrontier(d *drawing, f frame, frontier []tradeoff, x, y scale) {
	const letter, height = 8.6, 17.0 // of narrow screens
	var taken []point                // the left ends and base lines of names; they end at right
	var ends []float64
	for _, t := range frontier {
		name := shorten(t.row.label, 28)
		width := letter * float64(utf8.RuneCountInString(name))
		at := point{x.at(t.memory.median) + 8, y.at(t.own.median) - 6}
		if at.x+width > f.right {
			at.x = f.right - width
		}
		if at.x < f.left || at.y < f.top+height {
			continue
		}
		clash := false
		for i, other := range taken {
			clash = clash || math.Abs(other.y-at.y) < height && at.x < ends[i] && other.x < at.x+width
		}
		if !clash {
			taken, ends = append(taken, at), append(ends, at.x+width)
			d.text("name", "start", at.x, at.y, name)
		}
	}
}
