package plot

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/text"
)

// Timeline draws the heap over part of the record's time.
func Timeline(s *text.Section, rec *cell.Record, part Stretch) *Plot {
	line := rec.Timeline
	if len(line.AtNs) < 2 || len(line.HeapBytes) != len(line.AtNs) {
		return nil
	}
	whole := Whole(rec)
	p := &Plot{ID: "heap", Title: "Heap over time", Legend: heapLegend(), From: part.From / 1e6, To: part.To / 1e6,
		Whole:   whole.To / 1e6,
		Caption: "Ticks on the time axis are GC pauses."}
	if part != whole {
		p.Caption += fmt.Sprintf(" From %s to %s of %s.", text.Duration(part.From), text.Duration(part.To),
			text.Duration(whole.To))
	}
	p.Panels = []Panel{{"", heapChart("heap-0", heapText(rec), rec, part)}}
	p.Table = text.Table{Label: "Heap over time", Left: 0, Head: []string{"at", "heap", "goal", "cycles so far"}}
	var shown []int
	var heap []int64
	for i, at := range line.AtNs {
		if part.Has(at) {
			shown, heap = append(shown, i), append(heap, line.HeapBytes[i])
		}
	}
	for _, k := range thin(heap, 200) {
		p.Table.Add(heapCells(s, line, shown[k])...)
	}
	return p
}

// Stops draws the length of each pause; nil if there are none.
func Stops(s *text.Section, rec *cell.Record, part Stretch) *Plot {
	var pauses []cell.Pause
	top := 0.0
	for _, pause := range rec.Pauses {
		if part.Has(pause.AtNs) {
			pauses, top = append(pauses, pause), max(top, float64(pause.Ns))
		}
	}
	if len(pauses) == 0 {
		return nil
	}
	p := &Plot{ID: "stops", Title: "Pauses over time",
		Caption: "Each line is a stop of the world; its height is its length. Some stops may be missing: GC pauses has " +
			"all."}
	f := frame{left: 72, top: 10, right: 464, bottom: 160}
	d := newDrawing("stops-0", "Pauses over time", fmt.Sprintf("%s, longest %s.", text.Plural(len(pauses), "pause"),
		text.Duration(top)), 186)
	x, y := part.axis(f), linearScale(":ns", top, f.bottom, f.top)
	d.vertical(f, y, y.ticks(4))
	d.horizontal(f, x, x.ticks(5), nil)
	drawn := map[[2]int]bool{} // in tenths of a unit
	for _, pause := range pauses {
		at := point{x.at(float64(pause.AtNs)), y.at(float64(pause.Ns))}
		if key := [2]int{int(at.x * 2), int(at.y)}; !drawn[key] {
			drawn[key] = true
			d.line("pause", at.x, f.bottom, at.x, at.y)
		}
	}
	p.Panels = []Panel{{"", d.done()}}
	p.Table = text.Table{Label: "Longest pauses", Left: 0, Head: []string{"ended at", "lasted"}}
	slices.SortStableFunc(pauses, func(a, b cell.Pause) int { return cmp.Compare(b.Ns, a.Ns) })
	for _, pause := range pauses[:min(len(pauses), 50)] {
		p.Table.Add(s.Format(":ns", float64(pause.AtNs)), s.Format(":ns", float64(pause.Ns)))
	}
	return p
}
