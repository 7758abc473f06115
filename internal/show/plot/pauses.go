package plot

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/text"
)

// pauseBins holds the pauses of all rows in bins of equal width on a logarithmic axis.
type pauseBins struct {
	edges  []float64 // seconds; bin i is from edges[i] to edges[i+1]
	counts map[*text.Row][]uint64
	totals map[*text.Row]uint64
}

const binsPerDecade = 6

// binPauses rebins the runtime's histograms. It returns nil if no row has a
// pause.
func binPauses(rows []*text.Row) *pauseBins {
	first, last := math.MaxInt, math.MinInt
	for _, r := range rows {
		eachPause(r.Buckets[cell.HistPause], func(bin int, _ uint64) { first, last = min(first, bin), max(last, bin) })
	}
	if first > last {
		return nil
	}
	b := &pauseBins{counts: map[*text.Row][]uint64{}, totals: map[*text.Row]uint64{}}
	for i := first; i <= last+1; i++ {
		b.edges = append(b.edges, math.Pow(10, float64(i)/binsPerDecade))
	}
	for _, r := range rows {
		b.counts[r] = make([]uint64, last-first+1)
		eachPause(r.Buckets[cell.HistPause], func(bin int, n uint64) {
			b.counts[r][bin-first] += n
			b.totals[r] += n
		})
	}
	return b
}

// eachPause calls visit with the bin for the middle of each bucket. It skips
// buckets that are empty or infinite. Pauses below a nanosecond count as one
// nanosecond, above an hour as one hour.
func eachPause(b cell.Buckets, visit func(bin int, n uint64)) {
	for i, n := range b.Count {
		if n == 0 || i >= len(b.Lower) || i >= len(b.Upper) {
			continue
		}
		lower, upper := b.Lower[i], b.Upper[i]
		middle := math.Sqrt(lower * upper)
		if !(lower > 0) {
			middle = upper / 2
		}
		if math.IsNaN(middle) || math.IsInf(middle, 0) {
			continue
		}
		middle = min(max(middle, 1e-9), 3600)
		visit(int(math.Floor(math.Log10(middle)*binsPerDecade)), n)
	}
}

// pauseChart draws a small histogram for each row of a facet over a common
// axis.
func pauseChart(s *text.Section, id string, b *pauseBins, part facet) template.HTML {
	const rowHeight, barHeight = 52, 30
	description := "A histogram of stop-the-world pauses for each configuration."
	for _, r := range part.rows {
		description += fmt.Sprintf(" %s: %s.", r.Label, pauseCount(b.totals[r]))
	}
	f := frame{left: 8, top: 4, right: 472, bottom: 4 + rowHeight*float64(len(part.rows))}
	d := newDrawing(id, strings.TrimSpace("GC pauses, "+s.Name+" "+part.title), description, f.bottom+26)
	x := scale{metric: ":seconds", lo: b.edges[0], hi: b.edges[len(b.edges)-1], from: f.left + 4, to: f.right - 24,
		log: true}
	d.horizontal(f, x, x.ticks(6), nil)
	for i, r := range part.rows {
		y := f.top + rowHeight*float64(i)
		look, name := lookOf(s, r)
		d.caption(f, y+14, name, pauseCount(b.totals[r]))
		bottom := y + rowHeight - 2
		d.line("track", f.left, bottom, f.right, bottom)
		most := uint64(1)
		for _, n := range b.counts[r] {
			most = max(most, n)
		}
		for k, n := range b.counts[r] {
			if n == 0 {
				continue
			}
			left, right := x.at(b.edges[k]), x.at(b.edges[k+1])
			height := max(1.5, barHeight*float64(n)/float64(most))
			d.rect(fmt.Sprintf("column s%d", look), left+0.5, bottom-height, right-left-1, height)
		}
	}
	return d.done()
}

func pauseCount(n uint64) string {
	if n == 0 {
		return "no pauses"
	}
	return text.Count(float64(n)) + " pauses"
}
