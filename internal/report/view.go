package report

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// A section is one study of the analysis.
type section struct {
	name string
	// fixed lists what all rows have in common, varying what tells them apart.
	fixed, varying []string
	// rows are the configurations in the order of the plan; the first is the
	// baseline.
	rows        []*row
	comparisons []stat.Comparison
	floors      []stat.Comparison
	exact       bool // see View
}

// A row is one configuration of a section.
type row struct {
	*stat.Group
	label string // the factors that tell it from the other rows
	rest  string // the same without the GC setting; "" where nothing is left
	gc    string
	exact bool // see View
}

// sections sorts the analysis by study, in the order of the plan.
func sections(a *stat.Analysis) []*section {
	var all []*section
	byName := map[string]*section{}
	byKey := map[string]*section{}
	for _, g := range a.Groups {
		s := byName[g.Config.Title()]
		if s == nil {
			s = &section{name: clean(g.Config.Title())}
			byName[g.Config.Title()] = s
			all = append(all, s)
		}
		s.rows = append(s.rows, &row{Group: g})
		byKey[g.Key] = s
	}
	for _, s := range all {
		s.label()
	}
	for _, c := range a.Comparisons {
		if s := byKey[c.A]; s != nil {
			s.comparisons = append(s.comparisons, c)
		}
	}
	for _, c := range a.Floors {
		if s := byKey[c.A]; s != nil {
			s.floors = append(s.floors, c)
		}
	}
	return all
}

// label finds out which factors vary and names the rows by them.
func (s *section) label() {
	var names []string
	for _, r := range s.rows {
		for _, name := range r.Config.Factors() {
			if name != "workload" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		first, ok := s.rows[0].Config.Factor(name)
		varies := false
		for _, r := range s.rows[1:] {
			value, has := r.Config.Factor(name)
			varies = varies || value != first || has != ok
		}
		if varies {
			s.varying = append(s.varying, name)
		} else {
			s.fixed = append(s.fixed, shorten(clean(name)+"="+clean(first), 80))
		}
	}
	shown := s.varying
	if len(shown) == 0 {
		shown = []string{"gc"}
	}
	for _, r := range s.rows {
		var parts, rest []string
		for _, name := range shown {
			value, ok := r.Config.Factor(name)
			if !ok {
				value = "none"
			}
			part := shorten(clean(name), 24) + "=" + shorten(clean(value), 40)
			if name == "strategy" {
				part = shorten(clean(value), 40)
			}
			parts = append(parts, part)
			if name != "gc" {
				rest = append(rest, part)
			}
		}
		r.label, r.rest, r.gc = strings.Join(parts, " "), strings.Join(rest, " "), clean(r.Config.GC.String())
	}
}

func (s *section) baseline() *row { return s.rows[0] }

// find returns the row with that key, nil if there is none.
func (s *section) find(key string) *row {
	for _, r := range s.rows {
		if r.Key == key {
			return r
		}
	}
	return nil
}

// compared returns the comparison of r with the baseline in one metric.
func (s *section) compared(r *row, metric string) (stat.Comparison, bool) {
	for _, c := range s.comparisons {
		if c.B == r.Key && c.Metric == metric {
			return c, true
		}
	}
	return stat.Comparison{}, false
}

// has reports whether any row has a figure for the metric.
func (s *section) has(metric string) bool {
	for _, r := range s.rows {
		if len(r.Series[metric].Values) > 0 {
			return true
		}
	}
	return false
}

// primary is the metric that a reader looks at first: time per operation,
// else the tail of response time, else the time of the whole program.
func (s *section) primary() string {
	for _, metric := range []string{cell.OpTime, stat.LatencyMetric(cell.HistResponse, "p99"), cell.WallTime} {
		if s.has(metric) {
			return metric
		}
	}
	for _, t := range s.themes() {
		if len(t.metrics) > 0 {
			return t.metrics[0]
		}
	}
	return cell.OpTime
}

// A figure is one metric of one row.
type figure struct {
	metric         string
	n              int
	median, lo, hi float64
	isRange        bool // too few values for an interval
	exact          bool // see View
	warnings       []string
}

// figure summarizes a metric. A percentile of the latency comes from the
// merged histogram, with the interval of the single repetitions around it.
func (r *row) figure(metric string) figure {
	series := r.Series[metric]
	if len(series.Values) == 0 {
		return figure{metric: metric}
	}
	sum := stat.Summarize(series)
	f := figure{metric: metric, exact: r.exact, n: sum.N, median: sum.Median, lo: sum.Lo, hi: sum.Hi, isRange: len(sum.Warnings) > 0, warnings: sum.Warnings}
	if v, ok := r.merged(metric); ok {
		f.median = v
		f.lo, f.hi = min(f.lo, v), max(f.hi, v)
	}
	return f
}

// merged returns the value of a latency metric from the merged histogram.
func (r *row) merged(metric string) (float64, bool) {
	for _, name := range histograms {
		h := r.Latency[name]
		if h == nil || h.Count() == 0 {
			continue
		}
		for _, q := range quantiles {
			if metric == stat.LatencyMetric(name, q.name) {
				return float64(h.Quantile(q.q)), true
			}
		}
	}
	return 0, false
}

// spread is the larger side of the interval, relative to the median.
func (f figure) spread() float64 {
	if f.n < 2 || f.median == 0 {
		return math.NaN()
	}
	return max(f.hi-f.median, f.median-f.lo) / math.Abs(f.median)
}

// value and plusMinus are the two halves of how a figure is written.
func (f figure) value() string {
	if f.n == 0 {
		return absent
	}
	return formatIn(f.exact, f.metric, f.median)
}

func (f figure) plusMinus() string {
	spread := f.spread()
	if math.IsNaN(spread) || math.IsInf(spread, 0) {
		return ""
	}
	text := fmt.Sprintf("±%.0f%%", spread*100)
	if spread >= 10 {
		text = "±>999%"
	}
	if f.isRange {
		text += "*"
	}
	return text
}

func (f figure) String() string { return strings.TrimSpace(f.value() + " " + f.plusMinus()) }

// quantiles are the percentiles that tables show, by the names that package
// stat gives them.
var quantiles = []struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}, {"max", 1}}

var histograms = []string{cell.HistResponse, cell.HistService}

// A theme is a table of metrics that belong together.
type theme struct {
	title   string
	metrics []string
}

// headings are the metrics that have a name of their own in reports.
var headings = map[string]string{
	cell.OpTime: "time/op", cell.OpCPU: "CPU/op", cell.Throughput: "throughput", cell.WallTime: "wall time", cell.TotalCPU: "CPU time",
	cell.MaxBacklog: "max backlog", cell.OpBytes: "B/op", cell.OpAllocs: "allocs/op", cell.RSSPeak: "peak RSS", cell.HeapMax: "heap max",
	cell.GoalMax: "heap goal", cell.MinorFaults: "page faults", cell.GCCycles: "GC cycles", cell.GCCPUShare: "GC CPU",
	cell.GCPauseTotal: "pauses, total", cell.GCPauseMax: "longest pause",
}

// themes returns the tables of a section: metrics that some row has. Metrics
// that are in headings or belong to the latency have their place; the last
// theme holds what workloads and imports add of their own.
func (s *section) themes() []theme {
	all := []theme{
		{"Speed", []string{cell.OpTime, cell.OpCPU, cell.Throughput, cell.WallTime, cell.TotalCPU, cell.MaxBacklog}},
		{"Latency", latencyMetrics()},
		{"Memory and GC", []string{cell.OpBytes, cell.OpAllocs, cell.RSSPeak, cell.HeapMax, cell.MinorFaults, cell.GCCycles, cell.GCCPUShare, cell.GCPauseTotal, cell.GCPauseMax}},
		{"Other figures", s.others()},
	}
	var out []theme
	for _, t := range all {
		t.metrics = slices.DeleteFunc(t.metrics, func(m string) bool { return !s.has(m) })
		if len(t.metrics) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func latencyMetrics() []string {
	var metrics []string
	for _, h := range histograms {
		for _, q := range []string{"p50", "p99", "p99.9", "max"} {
			metrics = append(metrics, stat.LatencyMetric(h, q))
		}
	}
	return metrics
}

// others lists the metrics that neither this package nor package cell knows.
func (s *section) others() []string {
	var names []string
	for _, r := range s.rows {
		for metric := range r.Series {
			if !known(metric) && !slices.Contains(names, metric) {
				names = append(names, metric)
			}
		}
	}
	sort.Strings(names)
	return names
}

// known reports whether the lab itself defines the metric.
func known(metric string) bool {
	if _, ok := headings[metric]; ok || strings.HasPrefix(metric, "/latency/") {
		return true
	}
	return slices.Contains([]string{
		cell.Ops, cell.Scheduled, cell.Done, cell.UserCPU, cell.SystemCPU, cell.HeapEnd, cell.HeapLive, cell.SysMax, cell.MajorFaults,
		cell.GCForced, cell.GCPauseLast, cell.GCCPUAssist, cell.GCCPUDedicated, cell.GCCPUIdle, cell.GCCPUPause, cell.GCCPUTotal,
		cell.GCCPUScavenge, cell.GCRelayed, cell.ExitStatus,
	}, metric)
}

// heading names a metric for a person.
func heading(metric string) string {
	if h := headings[metric]; h != "" {
		return h
	}
	if !strings.Contains(metric, ":") {
		return clean(metric)
	}
	if name, ok := strings.CutPrefix(metric, cell.FigurePrefix); ok {
		return clean(name) // as the program calls it
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(metric, "/latency"), "/"), ":")
	return clean(strings.ReplaceAll(name, "/", " "))
}

// verdictCounts counts comparisons by verdict, in words.
func verdictCounts(comparisons []stat.Comparison) string {
	count := map[stat.Verdict]int{}
	for _, c := range comparisons {
		count[c.Verdict]++
	}
	var parts []string
	for _, v := range stat.Verdicts {
		switch {
		case count[v] == 0:
		case v == stat.Disagreement:
			parts = append(parts, fmt.Sprintf("%s about %d", v, count[v]))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	return strings.Join(parts, ", ")
}
