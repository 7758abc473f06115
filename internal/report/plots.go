package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// legend lists the series of the given rows once each.
func (s *section) legend(rows []*row) []htmlLegend {
	var out []htmlLegend
	var seen []string
	for _, r := range rows {
		look, name := s.look(r)
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		out = append(out, htmlLegend{swatch(look, fmt.Sprintf("curve s%d", look), true), name})
	}
	return out
}

func (s *section) latencyPlot(id string) *htmlPlot {
	titles, panels := s.latencyPanels()
	if len(panels) == 0 {
		return nil
	}
	p := &htmlPlot{ID: id + "-latency", Title: "Latency by percentile", Wide: len(panels) > 1,
		Caption: "Further right is rarer: at 99.9, one operation in a thousand took longer. Both axes are logarithmic."}
	var rows []*row
	lo, hi, count := math.Inf(1), 0.0, 1.0
	p.Table = htmlTable{Label: "Latency by percentile, " + s.name, Left: 2, Head: []string{"Configuration", "Time"}}
	for _, q := range quantiles {
		p.Table.Head = append(p.Table.Head, q.name)
	}
	p.Table.Head = append(p.Table.Head, "mean", "operations")
	for _, curves := range panels {
		for _, c := range curves {
			rows = append(rows, c.row)
			lo, hi, count = min(lo, float64(c.h.Min())), max(hi, float64(c.h.Max())), max(count, float64(c.h.Count()))
			cells := []string{c.row.label, c.hist}
			for _, q := range quantiles {
				cells = append(cells, s.format(":ns", float64(c.h.Quantile(q.q))))
			}
			p.Table.add(append(cells, s.format(":ns", float64(c.h.Mean())), countText(float64(c.h.Count())))...)
		}
	}
	for i, curves := range panels {
		svg := s.latencyChart(fmt.Sprintf("%s-%d", p.ID, i), titles[i], curves, lo, hi, max(1, math.Ceil(math.Log10(count)-0.01)))
		p.Panels = append(p.Panels, htmlPanel{titles[i], svg})
	}
	p.Legend = s.legend(rows)
	if s.bothTimes() {
		p.Legend = append(p.Legend, htmlLegend{swatch(0, "curve plain", false), "response time"}, htmlLegend{swatch(0, "curve plain dashed", false), "service time"})
		p.Caption += " Response time counts from when an operation was due, service time from when it began."
	}
	if len(panels) > 1 {
		p.Caption += " All panels have the same axes."
	}
	return p
}

// metricsPlot shows throughput, memory and what the collector costs, with
// intervals.
func (s *section) metricsPlot(id string) *htmlPlot {
	metrics := []string{s.primary(), cell.Throughput, cell.RSSPeak, cell.GCCPUShare}
	metrics = slices.DeleteFunc(metrics, func(m string) bool { return !s.has(m) })
	metrics = slices.Compact(metrics)
	if len(metrics) == 0 {
		return nil
	}
	p := &htmlPlot{ID: id + "-figures", Title: "Speed and memory", Wide: true, Pairs: true,
		Caption: "Medians over the repetitions; the bar is the confidence interval. The dashed line is the baseline."}
	p.Table = htmlTable{Label: "Speed and memory, " + s.name, Left: 1, Head: []string{"Configuration"}}
	for i, metric := range metrics {
		p.Table.Head = append(p.Table.Head, heading(metric), "low", "high")
		better := ", lower is better"
		if cell.HigherIsBetter(metric) {
			better = ", higher is better"
		}
		p.Panels = append(p.Panels, htmlPanel{heading(metric) + better, s.dotChart(fmt.Sprintf("%s-%d", p.ID, i), metric)})
	}
	for _, r := range s.rows {
		cells := []string{r.label}
		for _, metric := range metrics {
			f := r.figure(metric)
			if f.n == 0 {
				cells = append(cells, absent, absent, absent)
				continue
			}
			cells = append(cells, f.value(), s.format(metric, f.lo), s.format(metric, f.hi))
		}
		p.Table.add(cells...)
	}
	return p
}

// heapPlot shows the heap of one record of each row over time: the record
// whose primary figure is nearest to the median.
func (s *section) heapPlot(id string) *htmlPlot {
	p := &htmlPlot{ID: id + "-heap", Title: "Heap over time", Wide: true,
		Caption: "One repetition of each configuration, the one nearest to the median. Ticks on the time axis are GC pauses. Every panel has its own scale."}
	p.Table = htmlTable{Label: "Heap over time, " + s.name, Left: 1, Head: []string{"Configuration", "at", "heap", "goal", "cycles so far"}}
	for i, r := range s.rows {
		rec := r.representative(s.primary())
		if rec == nil {
			continue
		}
		title := r.label + ": " + heapText(rec)
		p.Panels = append(p.Panels, htmlPanel{title, heapChart(fmt.Sprintf("%s-%d", p.ID, i), title, rec, wholeOf(rec))})
		for _, k := range thin(rec.Timeline.HeapBytes, 16) {
			p.Table.add(append([]string{r.label}, s.heapCells(rec.Timeline, k)...)...)
		}
	}
	if len(p.Panels) == 0 {
		return nil
	}
	p.Legend = heapLegend()
	p.Wide = len(p.Panels) > 1
	return p
}

func heapLegend() []htmlLegend {
	return []htmlLegend{{swatch(0, "heap", false), "heap"}, {swatch(0, "goal", false), "heap goal"}, {swatch(0, "pause-key", false), "GC pause"}}
}

// heapCells is a row of a timeline in a table: time, heap, goal, cycles.
func (s *section) heapCells(line cell.Timeline, k int) []string {
	goal, cycles := absent, absent
	if g := goalAt(line, k); g > 0 {
		goal = s.format(":bytes", g)
	}
	if k < len(line.Cycles) {
		cycles = fmt.Sprint(line.Cycles[k])
	}
	return []string{s.format(":ns", float64(line.AtNs[k])), s.format(":bytes", float64(line.HeapBytes[k])), goal, cycles}
}

// representative returns the record with a timeline whose value of the metric
// is nearest to the median; nil if no record has a timeline.
func (r *row) representative(metric string) *cell.Record {
	series := r.Series[metric]
	value := map[int]float64{}
	for i, block := range series.Blocks {
		if i < len(series.Values) {
			value[block] = series.Values[i]
		}
	}
	median := math.NaN()
	if len(series.Values) > 0 {
		median = stat.Summarize(series).Median
	}
	var best *cell.Record
	distance := math.Inf(1)
	for _, rec := range r.Records {
		line := rec.Timeline
		if len(line.AtNs) < 2 || len(line.HeapBytes) != len(line.AtNs) {
			continue
		}
		v, ok := value[rec.Cell.Block]
		if d := math.Abs(v - median); ok && d < distance {
			best, distance = rec, d
		} else if best == nil {
			best = rec
		}
	}
	return best
}

func (s *section) pausePlot(id string) *htmlPlot {
	b := binPauses(s.rows)
	if b == nil {
		return nil
	}
	p := &htmlPlot{ID: id + "-pauses", Title: "GC pauses",
		Caption: "How long the world was stopped, all repetitions together. The height of a column is relative to the highest of its configuration."}
	for i, part := range s.facets() {
		p.Panels = append(p.Panels, htmlPanel{part.title, s.pauseChart(fmt.Sprintf("%s-%d", p.ID, i), b, part)})
	}
	p.Wide = len(p.Panels) > 1
	p.Table = htmlTable{Label: "GC pauses, " + s.name, Left: 1, Head: []string{"Configuration"}}
	for i := range len(b.edges) - 1 {
		p.Table.Head = append(p.Table.Head, "< "+format(":seconds", b.edges[i+1]))
	}
	p.Table.Head = append(p.Table.Head, "all")
	for _, r := range s.rows {
		cells := []string{r.label}
		for _, n := range b.counts[r] {
			cells = append(cells, fmt.Sprint(n))
		}
		p.Table.add(append(cells, fmt.Sprint(b.totals[r]))...)
	}
	return p
}
