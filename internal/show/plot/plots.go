package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// legendOf lists the series of the given rows, once each.
func legendOf(s *text.Section, rows []*text.Row) []Legend {
	var out []Legend
	var seen []string
	for _, r := range rows {
		look, name := lookOf(s, r)
		if !slices.Contains(seen, name) {
			seen, out = append(seen, name), append(out, seriesKey(look, name))
		}
	}
	return out
}

// Latency draws the distributions of response and service time.
func Latency(s *text.Section, id string) *Plot {
	p := byPercentile(s, id+"-latency", "Latency by percentile", "operations", text.Histograms...)
	if p != nil && bothTimes(s) {
		p.Legend = append(p.Legend, lineKey("curve plain", "response time"), lineKey("curve plain dashed", "service time"))
		p.Caption += " Response time starts when an operation was due, service time when it began."
	}
	return p
}

// Pauses draws the distribution of the runtime's stops.
func Pauses(s *text.Section, id string) *Plot {
	p := byPercentile(s, id+"-pauses", "GC pauses", "pauses", cell.HistPause)
	if p != nil {
		p.Caption = "How long the world was stopped. " + p.Caption
	}
	return p
}

// byPercentile draws the named histograms of a section, which count what; nil if it has none.
func byPercentile(s *text.Section, id, title, what string, names ...string) *Plot {
	titles, panels := panelsOf(s, names)
	if len(panels) == 0 {
		return nil
	}
	p := &Plot{ID: id, Title: title, Wide: len(panels) > 1}
	var rows []*text.Row
	lo, hi, count := math.Inf(1), 0.0, 1.0
	p.Table = text.Table{Label: title + ", " + s.Name, Left: 2, Head: []string{"Configuration", "Time"}}
	for _, q := range stat.Quantiles {
		p.Table.Head = append(p.Table.Head, q.Name)
	}
	p.Table.Head = append(p.Table.Head, "mean", what)
	for _, curves := range panels {
		for _, c := range curves {
			rows = append(rows, c.row)
			lo, hi, count = min(lo, float64(c.h.Min())), max(hi, float64(c.h.Max())), max(count, float64(c.h.Count()))
			cells := []string{c.row.Label, c.hist}
			for _, q := range stat.Quantiles {
				cells = append(cells, s.Format(":ns", float64(c.h.Quantile(q.Q))))
			}
			p.Table.Add(append(cells, s.Format(":ns", float64(c.h.Mean())), text.Count(float64(c.h.Count())))...)
		}
	}
	decades := max(1, math.Ceil(math.Log10(count)-0.01))
	p.Caption = fmt.Sprintf("Further right is rarer: %s took longer. Both axes are logarithmic.", rarer(decades))
	if p.Wide {
		p.Caption += " All panels have the same axes."
	}
	for i, curves := range panels {
		name := strings.TrimSpace(p.Table.Label + " " + titles[i])
		svg := percentileChart(s, fmt.Sprintf("%s-%d", p.ID, i), name, curves, lo, hi, decades)
		p.Panels = append(p.Panels, Panel{titles[i], svg})
	}
	p.Legend = legendOf(s, rows)
	return p
}

// rarer explains a percentile that an axis of so many decades has.
func rarer(decades float64) string {
	return []string{"at 90, one in ten", "at 99, one in a hundred", "at 99.9, one in a thousand"}[int(min(decades, 3))-1]
}

// Figures shows throughput, memory and the collector's cost, with intervals.
func Figures(s *text.Section, id string) *Plot {
	metrics := []string{s.Primary(), cell.Throughput, cell.RSSPeak, cell.GCCPUShare}
	metrics = slices.DeleteFunc(metrics, func(m string) bool { return !s.Has(m) })
	metrics = slices.Compact(metrics)
	if len(metrics) == 0 {
		return nil
	}
	p := &Plot{ID: id + "-figures", Title: "Speed and memory", Wide: true, Pairs: true,
		Caption: "Medians over the repetitions; the bar is the confidence interval. The dashed line is the baseline."}
	p.Table = *s.FigureTable(metrics)
	p.Table.Label = "Speed and memory, " + s.Name
	for i, metric := range metrics {
		p.Panels = append(p.Panels, Panel{text.Heading(metric) + ", " + cell.Better(metric) + " is better",
			dotChart(s, fmt.Sprintf("%s-%d", p.ID, i), metric)})
	}
	return p
}

// Heap shows the heap over time for one record of each row: the one with the
// primary figure nearest to the median.
func Heap(s *text.Section, id string) *Plot {
	p := &Plot{ID: id + "-heap", Title: "Heap over time", Wide: true,
		Caption: "One repetition of each configuration, the one nearest to the median. Ticks on the time axis are GC " +
			"pauses. Every panel has its own scale."}
	p.Table = text.Table{Label: "Heap over time, " + s.Name, Left: 1,
		Head: []string{"Configuration", "at", "heap", "goal", "cycles so far"}}
	for i, r := range s.Rows {
		rec := r.Representative(s.Primary())
		if rec == nil {
			continue
		}
		title := r.Label + ": " + heapText(rec)
		p.Panels = append(p.Panels, Panel{title, heapChart(fmt.Sprintf("%s-%d", p.ID, i), title, rec, Whole(rec))})
		for _, k := range thin(rec.Timeline.HeapBytes, 16) {
			p.Table.Add(append([]string{r.Label}, heapCells(s, rec.Timeline, k)...)...)
		}
	}
	if len(p.Panels) == 0 {
		return nil
	}
	p.Legend = heapLegend()
	p.Wide = len(p.Panels) > 1
	return p
}

func heapLegend() []Legend {
	return []Legend{lineKey("heap", "heap"), lineKey("goal", "heap goal"), lineKey("pause-key", "GC pause")}
}

// heapCells returns a row of a timeline's table: time, heap, goal, cycles.
func heapCells(s *text.Section, line cell.Timeline, k int) []string {
	goal, cycles := text.Absent, text.Absent
	if g := goalAt(line, k); g > 0 {
		goal = s.Format(":bytes", g)
	}
	if k < len(line.Cycles) {
		cycles = fmt.Sprint(line.Cycles[k])
	}
	return []string{s.Format(":ns", float64(line.AtNs[k])), s.Format(":bytes", float64(line.HeapBytes[k])), goal, cycles}
}
