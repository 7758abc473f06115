package plot

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// stripColumns is the maximum of columns in a noise strip. With more records,
// several share a column.
const stripColumns = 232

// stripRows is the maximum of rows in its table.
const stripRows = 40

// Noise shows what else happened on the machine, cell by cell in the order of
// measurement; nil if nothing is known.
func Noise(a *stat.Analysis) *Plot {
	var records []*cell.Record
	for _, g := range a.Groups {
		records = append(records, g.Records...)
	}
	slices.SortStableFunc(records, func(a, b *cell.Record) int { return a.Started.Compare(b.Started) })
	p := &Plot{ID: "noise", Title: "Noise over the run", Section: "machine", Wide: true, Pairs: true,
		Caption: "A column for each cell, in the order of measurement; with many cells, for the noisiest of several. Every " +
			"panel has its own scale."}
	p.Table = Table{Label: "Noise over the run", Left: 1, Head: []string{"Cells from"}}
	columns := stretches(len(records), stripColumns)
	rows := stretches(len(columns), stripRows)
	var table [][]string
	for _, part := range rows {
		table = append(table, []string{started(records[columns[part[0]][0]])})
	}
	for _, kind := range text.Noises {
		values := make([]float64, len(columns))
		top, known := 0.0, false
		for i, part := range columns {
			for _, rec := range records[part[0]:part[1]] {
				if v := kind.Of(rec.Noise); v >= 0 && !math.IsInf(v, 0) {
					known, values[i] = true, max(values[i], v)
				}
			}
			top = max(top, values[i])
		}
		if !known {
			continue
		}
		f := frame{left: 72, top: 8, right: 464, bottom: 78}
		most := text.Format(kind.Metric, top) + kind.After
		d := newDrawing(fmt.Sprintf("noise-%d", len(p.Panels)), kind.Name+" over the run",
			fmt.Sprintf("%d cells, at most %s.", len(records), most), 104)
		y := linearScale(kind.Metric, top, f.bottom, f.top)
		d.vertical(f, y, y.ticks(2))
		d.line("axis", f.left, f.bottom, f.right, f.bottom)
		width := (f.right - f.left) / float64(len(columns))
		for i, v := range values {
			if v > 0 {
				d.rect("column s6", f.left+float64(i)*width+width*0.08, y.at(v), width*0.84, f.bottom-y.at(v))
			}
		}
		d.text("tick", "start", f.left, f.bottom+18, "first cell")
		d.text("tick", "end", f.right, f.bottom+18, "last")
		p.Panels = append(p.Panels, Panel{kind.Name + ", at most " + most, d.done()})
		p.Table.Head = append(p.Table.Head, kind.Name)
		for i, part := range rows {
			table[i] = append(table[i], text.Format(kind.Metric, slices.Max(values[part[0]:part[1]]))+kind.After)
		}
	}
	if len(p.Panels) == 0 {
		return nil
	}
	for _, row := range table {
		p.Table.Add(row...)
	}
	return p
}

func started(rec *cell.Record) string {
	if rec.Started.IsZero() {
		return text.Absent
	}
	return rec.Started.UTC().Format(time.DateTime)
}

// stretches cuts n things into at most k parts of nearly equal size and returns
// the first and the end of each.
func stretches(n, k int) [][2]int {
	k = min(n, k)
	var out [][2]int
	for i := range k {
		out = append(out, [2]int{i * n / k, (i + 1) * n / k})
	}
	return out
}
