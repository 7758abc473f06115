package plot

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/isobar-go/isobar/internal/show/text"
)

// A Flame is a part of a whole, with its own parts. The parts' values add up to at most that of the whole.
type Flame struct {
	Name   string
	Value  float64 // in the same unit throughout
	Text   string  // the value in readable form
	Link   string  // the target of a click, such as #site-1; "" for none
	Series int     // its colour, set on the first level below the root and inherited by all parts
	Parts  []*Flame
}

// The geometry of a flame graph.
const (
	flameWidth = 960.0
	flameRow   = 24.0
	flameLeast = 1.5 // narrower parts are left out
	flameRune  = 7.2 // the width of a letter, at most
)

// NewFlame draws a flame graph, the root on top. Parts with a link are reachable by
// keyboard. It returns nil if there is nothing to draw; the caller fills in the table.
func NewFlame(id, title, caption string, root *Flame) *Plot {
	if root.Value <= 0 {
		return nil
	}
	p := boxes(id, title, caption, flameRow*float64(root.depth()), func(d *drawing) {
		root.draw(d, 0, flameWidth, 0, -1)
	})
	for _, part := range root.Parts {
		p.Legend = append(p.Legend, Legend{swatch(part.Series, fmt.Sprintf("bar s%d", part.Series), false),
			part.Name + ", " + part.Text})
	}
	return p
}

// boxes is a plot of boxes, some of which are links.
func boxes(id, title, caption string, height float64, draw func(*drawing)) *Plot {
	p := &Plot{ID: id, Title: title, Caption: caption, Wide: true}
	d := &drawing{}
	id = html.EscapeString(id)
	fmt.Fprintf(&d.b, `<svg class="flame" viewBox="0 0 %.0f %.0f" role="group" aria-labelledby="%s-title" `+
		`aria-describedby="%s-desc"><title id="%s-title">%s</title><desc id="%s-desc">%s</desc>`, flameWidth, height, id, id,
		id, html.EscapeString(title), id, html.EscapeString(caption))
	draw(d)
	p.Panels = []Panel{{SVG: d.done()}}
	return p
}

// Sum sets the value of f and of its parts to the sum of their own parts, adds the texts,
// and sorts the largest first. A part without parts keeps its value.
func (f *Flame) Sum(format func(float64) string) {
	if len(f.Parts) > 0 {
		f.Value = 0
	}
	for _, part := range f.Parts {
		part.Sum(format)
		f.Value += part.Value
	}
	slices.SortStableFunc(f.Parts, func(a, b *Flame) int { return cmp.Compare(b.Value, a.Value) })
	f.Text = format(f.Value)
}

func (f *Flame) depth() int {
	deepest := 0
	for _, part := range f.Parts {
		deepest = max(deepest, part.depth())
	}
	return deepest + 1
}

// box draws f without its parts, with as much of its name as fits.
func (f *Flame) box(d *drawing, a area, series int) {
	label := f.Name + ", " + f.Text
	shown := ""
	if room := int((a.width - 7) / flameRune); room >= 4 && a.height >= flameRow-1 {
		shown = f.Name
		if utf8.RuneCountInString(label) <= room {
			shown = label
		}
		shown = text.Shorten(shown, room)
	}
	open, shut := "<g>", "</g>"
	if f.Link != "" {
		open, shut = `<a href="`+html.EscapeString(f.Link)+`">`, "</a>"
		// An accessible name must contain the visible text. If that is shortened, the title
		// serves as the name.
		if strings.Contains(label, shown) {
			open = `<a href="` + html.EscapeString(f.Link) + `" aria-label="` + html.EscapeString(label) + `">`
		}
	}
	class := "whole"
	if series >= 0 {
		class = fmt.Sprintf("part s%d", series)
	}
	fmt.Fprintf(&d.b, `%s<title>%s</title>`, open, html.EscapeString(label))
	d.rect(class, a.x, a.y, max(0.5, a.width), a.height)
	if shown != "" {
		d.text("name", "start", a.x+4, a.y+flameRow*0.68, shown)
	}
	d.b.WriteString(shut)
}

// draw draws f at x, with its parts below it.
func (f *Flame) draw(d *drawing, x, width float64, row, series int) {
	f.box(d, area{x, flameRow * float64(row), width - 1, flameRow - 1}, series)
	for _, part := range f.Parts {
		wide := width * part.Value / f.Value
		if wide >= flameLeast {
			own := series
			if row == 0 {
				own = part.Series
			}
			part.draw(d, x, wide, row+1, own)
		}
		x += wide
	}
}
