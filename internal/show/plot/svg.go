package plot

import (
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/isobar-go/isobar/internal/show/text"
)

// A drawing is an SVG image being built. Its style comes from classes of the
// page's style sheet, so that it follows light and dark. Every string is
// escaped here.
type drawing struct {
	b strings.Builder
}

// drawingWidth is the width of every drawing in its own units; the page scales
// it. Margins leave room for the larger letters on narrow screens.
const drawingWidth = 480.0

// newDrawing begins an image with a title and a description for screen readers.
// id must be unique in the page.
func newDrawing(id, title, description string, height float64) *drawing {
	d := &drawing{}
	id = html.EscapeString(id)
	fmt.Fprintf(&d.b, `<svg viewBox="0 0 %.0f %.0f" role="img" aria-labelledby="%s-title %s-desc">`+
		`<title id="%s-title">%s</title><desc id="%s-desc">%s</desc>`,
		drawingWidth, height, id, id, id, html.EscapeString(title), id, html.EscapeString(description))
	return d
}

func (d *drawing) done() template.HTML {
	d.b.WriteString("</svg>")
	return template.HTML(d.b.String())
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.b, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func (d *drawing) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(&d.b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, class, x, y, max(0, w), max(0, h))
}

// text writes s with its baseline at y; anchor is start, middle or end.
func (d *drawing) text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(&d.b, `<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y,
		html.EscapeString(s))
}

// captionRunes is how many letters fit into a drawing's width at the letter
// size of narrow screens.
const captionRunes = 44

// caption writes the name of a row on the left and its value on the right.
func (d *drawing) caption(f frame, y float64, name, value string) {
	d.text("name", "start", f.left, y, text.Shorten(name, max(8, captionRunes-utf8.RuneCountInString(value))))
	d.text("value", "end", f.right, y, value)
}

// A point is a position in a drawing.
type point struct{ x, y float64 }

// curve draws straight lines through the points.
func (d *drawing) curve(class string, points []point) {
	if len(points) > 0 {
		fmt.Fprintf(&d.b, `<path class="%s" d="%s"/>`, class, pathOf(points))
	}
}

// area fills the space between the points and the horizontal at bottom.
func (d *drawing) area(class string, points []point, bottom float64) {
	if len(points) > 0 {
		fmt.Fprintf(&d.b, `<path class="%s" d="%sV%.1fH%.1fZ"/>`, class, pathOf(points), bottom, points[0].x)
	}
}

func pathOf(points []point) string {
	var b strings.Builder
	for i, p := range points {
		command := byte('L')
		if i == 0 {
			command = 'M'
		}
		fmt.Fprintf(&b, "%c%.1f %.1f", command, p.x, p.y)
	}
	return b.String()
}

// looks is the number of series that colour and shape can distinguish.
const looks = 8

// marks are the shapes of the markers, around the origin.
var marks = [looks]string{
	"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
	"M-3.6 -3.6h7.2v7.2h-7.2Z",
	"M0 -4.8L4.6 3.4H-4.6Z",
	"M0 -5L5 0L0 5L-5 0Z",
	"M0 4.8L4.6 -3.4H-4.6Z",
	"M-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3Z",
	"M-5 -2.2h10v4.4h-10Z",
	"M-2.2 -5h4.4v10h-4.4Z",
}

// mark draws the marker of a series.
func (d *drawing) mark(look int, at point) {
	fmt.Fprintf(&d.b, `<path class="mark s%d" transform="translate(%.1f %.1f)" d="%s"/>`, look%looks, at.x, at.y,
		marks[look%looks])
}

// A frame is the data area of a drawing, with an axis on the left and below.
type frame struct {
	left, top, right, bottom float64
}

// horizontal draws the lower axis: a faint line and a label for each tick, from right to left;
// labels that would touch the one to their right are left out. If label is nil, labels show
// the value in the unit of the scale.
func (d *drawing) horizontal(f frame, s scale, ticks []float64, label func(float64) string) {
	if label == nil {
		label = func(v float64) string { return tickText(s.metric, v) }
	}
	free := drawingWidth // where the label to the right begins
	for _, v := range slices.Backward(ticks) {
		x, name := s.at(v), label(v)
		d.line("grid", x, f.top, x, f.bottom)
		half := tickWidth(name) / 2
		if at := min(max(x, half), drawingWidth-half); at+half <= free {
			d.text("tick", "middle", at, f.bottom+18, name)
			free = at - half - 4
		}
	}
	d.line("axis", f.left, f.bottom, f.right, f.bottom)
}

// tickWidth is about the width of a label at the letter size of narrow screens.
func tickWidth(s string) (width float64) {
	for _, r := range s {
		switch r {
		case '.', ' ':
			width += 5.3
		case 'm', 'M', '%':
			width += 16
		default:
			width += 10.5
		}
	}
	return width
}

// vertical draws the left axis.
func (d *drawing) vertical(f frame, s scale, ticks []float64) {
	for _, v := range ticks {
		y := s.at(v)
		d.line("grid", f.left, y, f.right, y)
		d.text("tick", "end", f.left-6, y+4, tickText(s.metric, v))
	}
}

// seriesKey returns the legend entry of a series: a line with a marker.
func seriesKey(look int, name string) Legend {
	return Legend{swatch(look, fmt.Sprintf("curve s%d", look%looks), true), name}
}

// lineKey returns the legend entry of a line without markers.
func lineKey(class, name string) Legend { return Legend{swatch(0, class, false), name} }

// swatch is a legend's sample of a series: its line and its marker.
func swatch(look int, class string, marked bool) template.HTML {
	d := &drawing{}
	d.b.WriteString(`<svg class="swatch" viewBox="0 0 34 14" aria-hidden="true">`)
	d.line(class, 1, 7, 33, 7)
	if marked {
		d.mark(look, point{17, 7})
	}
	return d.done()
}
