package text

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/exercise"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// SetExact makes the section and its rows show figures with all digits.
func (s *Section) SetExact(exact bool) {
	s.exact = exact
	for _, r := range s.Rows {
		r.exact = exact
	}
}

// Format formats a value for a table of the section.
func (s *Section) Format(metric string, v float64) string { return formatIn(s.exact, metric, v) }

func formatIn(exact bool, metric string, v float64) string {
	if exact {
		return Exact(metric, v)
	}
	return Format(metric, v)
}

// Representative returns the record with a timeline whose value of the metric
// is nearest to the median; nil if no record has a timeline.
func (r *Row) Representative(metric string) *cell.Record {
	series := r.Series[metric]
	value := map[int]float64{}
	for i, block := range series.Blocks {
		value[block] = series.Values[i]
	}
	median, distance := stat.Summarize(series).Median, math.Inf(1)
	var best *cell.Record
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

// A Section is one study of the analysis.
type Section struct {
	Name string
	// Fixed lists the factors that all rows share, Varying those that differ.
	Fixed, Varying []string
	// Rows are the configurations in plan order; the first is the baseline.
	Rows        []*Row
	Comparisons []stat.Comparison
	Floors      []stat.Comparison
	exact       bool // see SetExact
}

// A Row is one configuration of a section.
type Row struct {
	*stat.Group
	Label string // the factors that distinguish it from the other rows
	Rest  string // Label without the GC setting; may be ""
	GC    string
	exact bool // see SetExact
}

// Sections sorts the analysis by study, in the order of the plan.
func Sections(a *stat.Analysis) []*Section {
	var all []*Section
	byKey := map[string]*Section{}
	for _, groups := range stat.Split(a.Groups, func(g *stat.Group) string { return g.Config.Title() }) {
		s := &Section{Name: Clean(groups[0].Config.Title())}
		for _, g := range groups {
			s.Rows = append(s.Rows, &Row{Group: g})
			byKey[g.Key] = s
		}
		s.label(groups)
		all = append(all, s)
	}
	for _, c := range a.Comparisons {
		if s := byKey[c.A]; s != nil {
			s.Comparisons = append(s.Comparisons, c)
		}
	}
	for _, c := range a.Floors {
		if s := byKey[c.A]; s != nil {
			s.Floors = append(s.Floors, c)
		}
	}
	return all
}

// label finds the varying factors and names the rows by them.
func (s *Section) label(groups []*stat.Group) {
	var fixed []string
	s.Varying, fixed = stat.Factors(groups)
	for _, name := range fixed {
		value, _ := groups[0].Config.Factor(name)
		s.Fixed = append(s.Fixed, Shorten(Clean(name)+"="+Clean(value), 80))
	}
	shown := s.Varying
	if len(shown) == 0 {
		shown = []string{"gc"}
	}
	for _, r := range s.Rows {
		var parts, rest []string
		for _, name := range shown {
			value, ok := r.Config.Factor(name)
			if !ok {
				value = "none"
			}
			part := Shorten(Clean(name), 24) + "=" + Shorten(Clean(value), 40)
			if name == "strategy" {
				part = Shorten(Clean(value), 40)
			}
			parts = append(parts, part)
			if name != "gc" {
				rest = append(rest, part)
			}
		}
		r.Label, r.Rest, r.GC = strings.Join(parts, " "), strings.Join(rest, " "), Clean(r.Config.GC.String())
	}
}

func (s *Section) Baseline() *Row { return s.Rows[0] }

// Exercises explains the exercises that the rows measure; nil for other workloads.
func (s *Section) Exercises() []*exercise.Explanation {
	var all []*exercise.Explanation
	for _, r := range s.Rows {
		number, _ := r.Config.Factor("exercise")
		n, _ := strconv.Atoi(number)
		if e := exercise.Explain(n); e != nil && r.Config.Workload == "exercises" && !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	return all
}

// Compared returns the comparison of r with the baseline in one metric.
func (s *Section) Compared(r *Row, metric string) (stat.Comparison, bool) {
	for _, c := range s.Comparisons {
		if c.B == r.Key && c.Metric == metric {
			return c, true
		}
	}
	return stat.Comparison{}, false
}

// Has reports whether any row has a figure for the metric.
func (s *Section) Has(metric string) bool {
	return slices.ContainsFunc(s.Rows, func(r *Row) bool { return len(r.Series[metric].Values) > 0 })
}

// Primary is the metric to show first: time per operation, otherwise the tail
// of response time, otherwise the time of the whole program.
func (s *Section) Primary() string {
	for _, metric := range []string{cell.OpTime, stat.LatencyMetric(cell.HistResponse, "p99"), cell.WallTime} {
		if s.Has(metric) && (metric != cell.WallTime || !s.counts()) {
			return metric
		}
	}
	if own := s.answers(); len(own) > 0 {
		return own[0]
	}
	if themes := s.Themes(); len(themes) > 0 {
		return themes[0].Metrics[0]
	}
	return cell.OpTime
}

// tries are the metrics that count trials.
func (s *Section) tries() []string {
	return slices.DeleteFunc(s.others(), func(metric string) bool { return !strings.Contains(metric, "/count:") })
}

// counts reports whether the workload counts the outcomes of trials: then these are its
// answer, not the time taken.
func (s *Section) counts() bool { return len(s.tries()) > 0 && !s.Has(cell.OpTime) }

// answers are the workload's own figures without the number of trials.
func (s *Section) answers() []string {
	return slices.DeleteFunc(s.others(), func(metric string) bool { return strings.Contains(metric, "/count:") })
}

// A Figure is one metric of one row.
type Figure struct {
	Metric string
	stat.Summary
	Exact bool // with all digits
}

// Figure summarizes a metric. A latency percentile comes from the merged
// histogram, with the interval of the single repetitions around it.
func (r *Row) Figure(metric string) Figure {
	series := r.Series[metric]
	if len(series.Values) == 0 {
		return Figure{Metric: metric}
	}
	f := Figure{metric, stat.Summarize(series), r.exact}
	if v, ok := r.Quantile(metric); ok {
		f.Median = v
		f.Lo, f.Hi = min(f.Lo, v), max(f.Hi, v)
	}
	return f
}

// spread is the larger side of the interval, relative to the median.
func (f Figure) spread() float64 {
	if f.N < 2 || f.Median == 0 {
		return math.NaN()
	}
	return max(f.Hi-f.Median, f.Median-f.Lo) / math.Abs(f.Median)
}

// Value and PlusMinus return the two halves of a formatted figure.
func (f Figure) Value() string {
	if f.N == 0 {
		return Absent
	}
	return formatIn(f.Exact, f.Metric, f.Median)
}

func (f Figure) PlusMinus() string {
	spread := f.spread()
	if math.IsNaN(spread) || math.IsInf(spread, 0) {
		return ""
	}
	text := fmt.Sprintf("±%.0f%%", spread*100)
	if spread >= 10 {
		text = "±>999%"
	}
	if len(f.Warnings) > 0 { // too few values for an interval
		text += "*"
	}
	return text
}

func (f Figure) String() string { return strings.TrimSpace(f.Value() + " " + f.PlusMinus()) }

var Histograms = []string{cell.HistResponse, cell.HistService}

// A theme is a table of metrics that belong together.
type theme struct {
	title   string
	Metrics []string
}

// headings are the names that reports use for metrics.
var headings = map[string]string{
	cell.OpTime: "time/op", cell.OpCPU: "CPU/op", cell.Throughput: "throughput", cell.WallTime: "wall time",
	cell.TotalCPU:  "CPU time",
	cell.CPUBusy:   "CPUs busy",
	cell.Scheduled: "due", cell.Done: "done", cell.Dropped: "dropped", cell.SysMax: "Sys",
	cell.GCPauseLast: "last pause", cell.GCPauseMean: "pause/cycle",
	cell.MaxBacklog: "max backlog", cell.OpBytes: "B/op", cell.OpAllocs: "allocs/op", cell.RSSPeak: "peak RSS",
	cell.HeapMax: "heap max",
	cell.GoalMax: "heap goal", cell.MinorFaults: "page faults", cell.GCCycles: "GC cycles", cell.GCCPUShare: "GC CPU",
	cell.SlowestStopped: "slowest stopped", cell.GCPauseTotal: "pauses, total", cell.GCPauseMax: "longest pause",
}

// Themes returns the tables of a section, limited to metrics that some row has. The last
// theme has the metrics that workloads and imports add.
func (s *Section) Themes() []theme {
	all := []theme{
		{"Speed", []string{cell.OpTime, cell.OpCPU, cell.Throughput, cell.WallTime, cell.TotalCPU,
			cell.CPUBusy, cell.Scheduled, cell.Done, cell.Dropped, cell.MaxBacklog}},
		{"Latency", latencyMetrics()},
		{"Memory and GC", []string{cell.OpBytes, cell.OpAllocs, cell.RSSPeak, cell.HeapMax, cell.SysMax, cell.MinorFaults,
			cell.GCCycles, cell.GCCPUShare, cell.GCPauseTotal, cell.GCPauseMean, cell.GCPauseMax, cell.GCPauseLast,
			cell.SlowestStopped}},
		{"GC work by function, share of CPU time in it and what it calls", s.under(cell.GCWorkPrefix)},
		{"Other figures", s.others()},
	}
	var out []theme
	for _, t := range all {
		t.Metrics = slices.DeleteFunc(t.Metrics, func(m string) bool { return !s.Has(m) })
		if len(t.Metrics) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func latencyMetrics() []string {
	var metrics []string
	for _, h := range Histograms {
		for _, q := range []string{"p50", "p99", "p99.9", "max"} {
			metrics = append(metrics, stat.LatencyMetric(h, q))
		}
	}
	return metrics
}

// others lists the metrics that neither this package nor package cell knows.
func (s *Section) others() []string {
	return slices.DeleteFunc(s.under(""), known)
}

// under returns the rows' metrics with the prefix.
func (s *Section) under(prefix string) []string {
	var names []string
	for _, r := range s.Rows {
		for metric := range r.Series {
			if strings.HasPrefix(metric, prefix) && !slices.Contains(names, metric) {
				names = append(names, metric)
			}
		}
	}
	slices.Sort(names)
	return names
}

// known reports whether the lab itself defines the metric.
func known(metric string) bool {
	if _, ok := headings[metric]; ok || strings.HasPrefix(metric, "/latency/") ||
		strings.HasPrefix(metric, cell.GCWorkPrefix) {
		return true
	}
	return slices.Contains([]string{
		cell.Ops, cell.UserCPU, cell.SystemCPU, cell.HeapEnd, cell.HeapLive, cell.MajorFaults,
		cell.GCForced, cell.GCCPUAssist, cell.GCCPUDedicated, cell.GCCPUIdle, cell.GCCPUPause,
		cell.GCCPUTotal,
		cell.GCCPUScavenge, cell.GCRelayed, cell.ExitStatus,
	}, metric)
}

// Heading names a metric for readers.
func Heading(metric string) string {
	if h := headings[metric]; h != "" {
		return h
	}
	if !strings.Contains(metric, ":") {
		return Clean(metric)
	}
	if name, ok := strings.CutPrefix(metric, cell.FigurePrefix); ok {
		return Clean(name) // as the program calls it
	}
	if name, ok := strings.CutPrefix(metric, cell.GCWorkPrefix); ok {
		return Clean(strings.TrimSuffix(name, ":ratio"))
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(metric, "/latency"), "/"), ":")
	return Clean(strings.ReplaceAll(name, "/", " "))
}

// VerdictCounts counts comparisons by verdict, in words.
func VerdictCounts(comparisons []stat.Comparison) string {
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
