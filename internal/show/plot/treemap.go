package plot

import (
	"cmp"
	"slices"
)

// The geometry of a treemap.
const (
	treemapHeight = 420.0
	treemapLeast  = 4.0  // areas with a shorter side are left out
	treemapInside = 48.0 // areas with a shorter side do not show their parts
)

// NewTreemap draws the root as an area, its parts as areas within it, and so on, if there
// is room. It returns nil if there is nothing to draw; the caller fills in the table.
func NewTreemap(id, title, caption string, root *Flame) *Plot {
	if root.Value <= 0 {
		return nil
	}
	return boxes(id, title, caption, treemapHeight, func(d *drawing) {
		root.fill(d, area{0, 0, flameWidth, treemapHeight}, -1)
	})
}

// An area is a rectangle, given by its upper left corner and its size.
type area struct{ x, y, width, height float64 }

// fill draws f's area, with its parts below its name.
func (f *Flame) fill(d *drawing, a area, series int) {
	f.box(d, area{a.x, a.y, a.width - 1, a.height - 1}, series)
	inside := area{a.x + 2, a.y + flameRow, a.width - 5, a.height - flameRow - 3}
	if min(inside.width, inside.height) < treemapInside || len(f.Parts) == 0 {
		return
	}
	parts, rest := slices.Clone(f.Parts), f.Value
	for _, part := range parts {
		rest -= part.Value
	}
	if rest > 0 {
		parts = append(parts, &Flame{Value: rest}) // the rest stays blank
	}
	parts = slices.DeleteFunc(parts, func(p *Flame) bool { return p.Value <= 0 })
	slices.SortStableFunc(parts, func(a, b *Flame) int { return cmp.Compare(b.Value, a.Value) })
	values := make([]float64, len(parts))
	for i, part := range parts {
		values[i] = part.Value
	}
	for i, at := range squarify(values, inside) {
		own := series
		if series < 0 {
			own = parts[i].Series
		}
		if parts[i].Name != "" && min(at.width, at.height) >= treemapLeast {
			parts[i].fill(d, at, own)
		}
	}
}

// squarify divides an area in proportion to values, sorted largest first, into parts close
// to squares. Bruls, Huizing and van Wijk, "Squarified Treemaps", 2000.
func squarify(values []float64, a area) []area {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	unit := a.width * a.height / sum
	all := make([]area, 0, len(values))
	for len(values) > 0 {
		side := min(a.width, a.height)
		n, row, worst := 0, 0.0, 0.0
		for n < len(values) {
			next := row + values[n]*unit
			ratio := max(side*side*values[0]*unit/(next*next), next*next/(side*side*values[n]*unit))
			if n > 0 && ratio > worst {
				break
			}
			n, row, worst = n+1, next, ratio
		}
		thick, at := row/side, 0.0
		for _, v := range values[:n] {
			long := v * unit / thick
			if a.width < a.height {
				all = append(all, area{a.x + at, a.y, long, thick})
			} else {
				all = append(all, area{a.x, a.y + at, thick, long})
			}
			at += long
		}
		if a.width < a.height {
			a.y, a.height = a.y+thick, a.height-thick
		} else {
			a.x, a.width = a.x+thick, a.width-thick
		}
		values = values[n:]
	}
	return all
}
