package plot

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A tradeoff is a row of a Pareto plot: its values of two metrics.
type tradeoff struct {
	row         *text.Row
	memory, own text.Figure
	best        bool // no other row needs less of both
}

// tradeoffsOf returns the rows that have both figures and marks those on the
// Pareto frontier: no other row is at most equal in both and less in one.
func tradeoffsOf(s *text.Section) []tradeoff {
	var out []tradeoff
	for _, r := range s.Rows {
		t := tradeoff{row: r, memory: r.Figure(cell.RSSPeak), own: r.Figure(s.Primary())}
		usable := func(f text.Figure) bool { return f.N > 0 && f.Median > 0 && !math.IsInf(f.Median, 0) }
		if usable(t.memory) && usable(t.own) {
			out = append(out, t)
		}
	}
	for i := range out {
		a := &out[i]
		a.best = !slices.ContainsFunc(out, func(b tradeoff) bool {
			return b.memory.Median <= a.memory.Median && b.own.Median <= a.own.Median &&
				(b.memory.Median < a.memory.Median || b.own.Median < a.own.Median)
		})
	}
	return out
}

// Pareto shows memory against the primary metric, and which configurations are
// worth choosing among; nil for fewer than three.
func Pareto(s *text.Section, id string) *Plot {
	all := tradeoffsOf(s)
	if metric := s.Primary(); len(all) < 3 || cell.HigherIsBetter(metric) || metric == cell.RSSPeak {
		return nil
	}
	p := &Plot{ID: id + "-pareto", Title: "Memory against " + text.Heading(s.Primary()),
		Caption: "Medians with their intervals; left and low is better. The line joins the Pareto frontier: the " +
			"configurations that no other beats in both. The table names them."}
	p.Table = Table{Label: "Memory against " + text.Heading(s.Primary()) + ", " + s.Name, Left: 2,
		Head: []string{"Configuration", "on the frontier", text.Heading(cell.RSSPeak), "low", "high",
			text.Heading(s.Primary()), "low", "high"}}
	var rows []*text.Row
	for _, t := range all {
		rows = append(rows, t.row)
		p.Table.Add(slices.Concat([]string{t.row.Label, yesNo(t.best)}, t.memory.Cells(), t.own.Cells())...)
	}
	p.Panels = []Panel{{"", paretoChart(s, p.ID+"-0", all)}}
	p.Legend = append(legendOf(s, rows), lineKey("curve plain dashed", "frontier"))
	return p
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func paretoChart(s *text.Section, id string, all []tradeoff) template.HTML {
	description := "Memory and " + text.Heading(s.Primary()) + " of each configuration. On the frontier:"
	x0, x1, y0, y1 := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, t := range all {
		x0, x1, y0, y1 = min(x0, t.memory.Median), max(x1, t.memory.Median), min(y0, t.own.Median), max(y1, t.own.Median)
		if t.best {
			description += " " + t.row.Label + ";"
		}
	}
	f := frame{left: 72, top: 10, right: 464, bottom: 250}
	d := newDrawing(id, "Memory against "+text.Heading(s.Primary())+", "+s.Name, description, 292)
	x, y := logScale(cell.RSSPeak, x0/1.1, x1*1.1, f.left, f.right), logScale(s.Primary(), y0/1.1, y1*1.1, f.bottom, f.top)
	d.vertical(f, y, y.ticks(6))
	d.horizontal(f, x, x.ticks(5), nil)
	d.text("label", "middle", (f.left+f.right)/2, f.bottom+38, text.Heading(cell.RSSPeak))
	at := func(t tradeoff) point { return point{x.at(t.memory.Median), y.at(t.own.Median)} }
	var frontier []tradeoff
	for _, t := range all {
		look, _ := lookOf(s, t.row)
		middle := at(t)
		d.line(fmt.Sprintf("whisker s%d", look), x.at(t.memory.Lo), middle.y, x.at(t.memory.Hi), middle.y)
		d.line(fmt.Sprintf("whisker s%d", look), middle.x, y.at(t.own.Lo), middle.x, y.at(t.own.Hi))
		if t.best {
			frontier = append(frontier, t)
		}
	}
	slices.SortStableFunc(frontier, func(a, b tradeoff) int { return cmp.Compare(a.memory.Median, b.memory.Median) })
	var steps []point
	var names []name
	for i, t := range frontier {
		if i > 0 { // up to here, the previous one is the best
			steps = append(steps, point{at(t).x, steps[len(steps)-1].y})
		}
		steps, names = append(steps, at(t)), append(names, name{at(t), t.row.Label})
	}
	d.curve("curve plain dashed", steps)
	for _, t := range all {
		look, _ := lookOf(s, t.row)
		d.mark(look, at(t))
	}
	d.names(f, names)
	return d.done()
}

// A name belongs beside a mark.
type name struct {
	mark point
	text string
}

// names writes names beside their marks if there is room.
func (d *drawing) names(f frame, all []name) {
	const letter, height = 8.6, 17.0 // on narrow screens
	var taken []point                // left ends and base lines of the names; all end at right
	var ends []float64
	for _, n := range all {
		shown := text.Shorten(n.text, 28)
		width := letter * float64(utf8.RuneCountInString(shown))
		at := point{n.mark.x + 8, n.mark.y - 6}
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
			d.text("name", "start", at.x, at.y, shown)
		}
	}
}
