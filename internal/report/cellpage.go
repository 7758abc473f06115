package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// NewCellPage returns the page of one record of a run. It fails on a record
// whose histograms are damaged.
func NewCellPage(m Meta, rec *cell.Record, v View) (*Page, error) {
	a, err := stat.Analyze([]cell.Cell{rec.Cell}, []*cell.Record{rec})
	if err != nil {
		return nil, fmt.Errorf("report: cell %d: %w", rec.Cell.Index, err)
	}
	p := &Page{Name: fmt.Sprintf("Cell %d of %s", rec.Cell.Index, strings.TrimPrefix(m.name(), "Isobar ")), Facts: append(cellFacts(rec), originFacts(rec)...), Noise: noiseText(a),
		Version: clean(m.Version), Output: cleanLines(rec.Stderr)}
	for _, w := range rec.Warnings {
		p.Warnings = append(p.Warnings, clean(w.Text+" ("+w.Code+")"))
	}
	if rec.Err != nil {
		p.Failures = []string{failureText(rec)}
		p.Contents = append(p.Contents, htmlContent{"failure", "Failure"})
	}
	if len(p.Warnings) > 0 {
		p.Contents = append(p.Contents, htmlContent{"warnings", "Warnings"})
	}
	s, part := sections(a)[0], wholeOf(rec).within(v.From, v.To)
	s.setExact(v.Exact)
	pauses := s.pausePlot("cell")
	if pauses != nil {
		pauses.Title, pauses.Caption = "Pauses by length", "How long the world was stopped. The height of a column is relative to the highest."
	}
	for _, plot := range []*htmlPlot{s.timelinePlot(rec, part), s.stopsPlot(rec, part), s.utilizationPlot(rec), s.latencyPlot("cell"), pauses} {
		if plot != nil {
			plot.Section = "this cell"
			p.Plots = append(p.Plots, *plot)
			p.Contents = append(p.Contents, htmlContent{plot.ID, plot.Title})
		}
	}
	if p.Collections = s.collectionsOf(rec, "Table of collections", part); p.Collections != nil {
		p.Contents = append(p.Contents, htmlContent{"collections", "Collections"})
	}
	p.Contents = append(p.Contents, htmlContent{"samples", "Raw samples"})
	p.Samples = samplesTable(rec)
	if p.Output != "" {
		p.Contents = append(p.Contents, htmlContent{"output", "Standard error"})
	}
	return p, nil
}

// originFacts say where a fleet measured the cell.
func originFacts(rec *cell.Record) []htmlFact {
	if rec.Origin == nil {
		return nil
	}
	return present([]htmlFact{{"Worker", clean(rec.Origin.Worker)}, {"Machine", machineLine(rec.Origin.Machine)}})
}

// cleanLines is clean for text of several lines.
func cleanLines(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = clean(strings.ReplaceAll(line, "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

func cellFacts(rec *cell.Record) []htmlFact {
	outcome := "finished"
	if rec.Err != nil {
		outcome = "failed"
	}
	at := ""
	if !rec.Started.IsZero() {
		at = rec.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	twin := ""
	if rec.Cell.Twin {
		twin = "the second copy of the baseline, for the noise floor"
	}
	return present([]htmlFact{
		{"Configuration", clean(rec.Cell.Key())}, {"Repetition", strconv.Itoa(rec.Cell.Block + 1)}, {"Twin", twin}, {"Seed", strconv.FormatUint(rec.Cell.Seed, 10)},
		{"Measured", at}, {"Outcome", outcome}, {"Built with", clean(strings.TrimSpace(rec.GoVersion + " " + rec.Experiments))}, {"Checksum", clean(rec.Check)},
	})
}

// timelinePlot is the heap over a part of the time of the record.
func (s *section) timelinePlot(rec *cell.Record, part stretch) *htmlPlot {
	line := rec.Timeline
	if len(line.AtNs) < 2 || len(line.HeapBytes) != len(line.AtNs) {
		return nil
	}
	whole := wholeOf(rec)
	p := &htmlPlot{ID: "heap", Title: "Heap over time", Legend: heapLegend(), From: part.from / 1e6, To: part.to / 1e6, Whole: whole.to / 1e6,
		Caption: "Ticks on the time axis are GC pauses."}
	if part != whole {
		p.Caption += fmt.Sprintf(" From %s to %s of %s.", durationText(part.from), durationText(part.to), durationText(whole.to))
	}
	p.Panels = []htmlPanel{{"", heapChart("heap-0", heapText(rec), rec, part)}}
	p.Table = htmlTable{Label: "Heap over time", Left: 0, Head: []string{"at", "heap", "goal", "cycles so far"}}
	var shown []int
	var heap []int64
	for i, at := range line.AtNs {
		if part.has(at) {
			shown, heap = append(shown, i), append(heap, line.HeapBytes[i])
		}
	}
	for _, k := range thin(heap, 200) {
		p.Table.add(s.heapCells(line, shown[k])...)
	}
	return p
}

// stopsPlot shows how long each pause was; nil without pauses.
func (s *section) stopsPlot(rec *cell.Record, part stretch) *htmlPlot {
	var pauses []cell.Pause
	top := 0.0
	for _, pause := range rec.Pauses {
		if part.has(pause.AtNs) {
			pauses, top = append(pauses, pause), max(top, float64(pause.Ns))
		}
	}
	if len(pauses) == 0 {
		return nil
	}
	p := &htmlPlot{ID: "stops", Title: "Pauses over time",
		Caption: "Each line is a stop of the world; its height is how long it lasted. The list may lack some: the histogram is complete."}
	f := frame{left: 72, top: 10, right: 464, bottom: 160}
	d := newDrawing("stops-0", "Pauses over time", fmt.Sprintf("%s, longest %s.", plural(len(pauses), "pause"), durationText(top)), 186)
	x, y := part.axis(f), linearScale(":ns", top, f.bottom, f.top)
	d.vertical(f, y, y.ticks(4))
	d.horizontal(f, x, x.ticks(5), func(v float64) string { return tickText(":ns", v) })
	drawn := map[[2]int]bool{} // by tenths of a unit
	for _, pause := range pauses {
		at := point{x.at(float64(pause.AtNs)), y.at(float64(pause.Ns))}
		if key := [2]int{int(at.x * 2), int(at.y)}; !drawn[key] {
			drawn[key] = true
			d.line("pause", at.x, f.bottom, at.x, at.y)
		}
	}
	p.Panels = []htmlPanel{{"", d.done()}}
	p.Table = htmlTable{Label: "Longest pauses", Left: 0, Head: []string{"ended at", "lasted"}}
	slices.SortStableFunc(pauses, func(a, b cell.Pause) int { return int(min(max(b.Ns-a.Ns, -1), 1)) })
	for _, pause := range pauses[:min(len(pauses), 50)] {
		p.Table.add(s.format(":ns", float64(pause.AtNs)), s.format(":ns", float64(pause.Ns)))
	}
	return p
}

// utilizationPlot is the MMU curve; nil without pauses.
func (s *section) utilizationPlot(rec *cell.Record) *htmlPlot {
	duration := wholeOf(rec).to
	if len(rec.Pauses) == 0 || duration < 1e5 {
		return nil
	}
	var windows, marked []time.Duration
	for step := 0.0; ; step++ {
		w := 1e4 * math.Pow(10, step/20)
		if w >= duration {
			break
		}
		windows = append(windows, time.Duration(w))
		if math.Mod(step, 10) == 0 {
			marked = append(marked, time.Duration(w))
		}
	}
	windows, marked = append(windows, time.Duration(duration)), append(marked, time.Duration(duration))
	shares := stat.MMU(rec.Pauses, time.Duration(duration), windows)
	p := &htmlPlot{ID: "mmu", Title: "Minimum mutator utilization",
		Caption: "In the worst stretch of that length, the share of time in which the world was not stopped. Computed from the listed pauses; assists and workers of the collector are not in it."}
	f := frame{left: 66, top: 10, right: 464, bottom: 160}
	d := newDrawing("mmu-0", "Minimum mutator utilization", fmt.Sprintf("Rises from %s in windows of %s to %s over all of it.",
		format(":ratio", shares[0]), durationText(float64(windows[0])), format(":ratio", shares[len(shares)-1])), 204)
	x := logScale(":ns", float64(windows[0]), duration, f.left, f.right)
	y := scale{metric: ":ratio", hi: 1, from: f.bottom, to: f.top}
	d.vertical(f, y, []float64{0, 0.25, 0.5, 0.75, 1})
	d.horizontal(f, x, x.ticks(6), func(v float64) string { return tickText(":ns", v) })
	d.text("label", "middle", (f.left+f.right)/2, f.bottom+38, "window")
	var curve []point
	for i, w := range windows {
		curve = append(curve, point{x.at(float64(w)), y.at(shares[i])})
	}
	d.curve("curve s0", curve)
	p.Panels = []htmlPanel{{"", d.done()}}
	p.Table = htmlTable{Label: "Minimum mutator utilization", Left: 0, Head: []string{"window", "utilization"}}
	for i, share := range stat.MMU(rec.Pauses, time.Duration(duration), marked) {
		p.Table.add(s.format(":ns", float64(marked[i])), strconv.FormatFloat(share*100, 'f', 3, 64)+" %")
	}
	return p
}

// samplesTable has every scalar figure of a record.
func samplesTable(rec *cell.Record) *htmlTable {
	t := &htmlTable{Label: "Table of raw samples", Left: 2, Head: []string{"Metric", "is", "value", "all digits"}}
	for _, metric := range slices.Sorted(maps.Keys(rec.Metrics)) {
		t.add(clean(metric), heading(metric), format(metric, rec.Metrics[metric]), clean(exactText(metric, rec.Metrics[metric])))
	}
	return t
}
