package modes

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// names of metrics in the page.
var names = map[string]string{cell.OpCPU: "CPU a request", tail: "p99.9 response time", cell.RSSPeak: "peak memory",
	cell.OpTime: "time", p99: "p99 response time", cell.Throughput: "requests/s"}

// A result is what a run says of a row.
type result struct {
	Row
	groups map[string]*stat.Group // by mode
	floor  map[string]float64     // by metric
}

// results finds the rows in a run.
func results(a *stat.Analysis) (all []*result, err error) {
	for _, row := range Rows {
		r := &result{row, map[string]*stat.Group{}, map[string]float64{}}
		for _, g := range a.Groups {
			if g.Config.Study == row.Name {
				r.groups[g.Config.Params[row.factor]] = g
			}
		}
		for _, mode := range modes {
			for _, metric := range row.Metrics {
				if g := r.groups[mode]; g == nil || len(g.Series[metric].Values) == 0 {
					return nil, fmt.Errorf("modes: page: the run has no %s of %s in %q: measure it with 'isobar lab modes'",
						metric, mode, row.Name)
				}
			}
		}
		for _, f := range a.Floors {
			if f.A == r.groups[modes[0]].Key && f.Pairs > 0 {
				r.floor[f.Metric] = max(f.Hi, 1/f.Lo)
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// compare sets mode b against mode a.
func (r *result) compare(a, b, metric string) stat.Comparison {
	return stat.Compare(r.groups[a], r.groups[b], metric, r.floor[metric])
}

func (r *result) median(mode, metric string) float64 {
	return stat.Summarize(r.groups[mode].Series[metric]).Median
}

// best returns the modes that none is shown to be better than, by the metrics
// in order, and the metrics that decided.
func (r *result) best() (candidates, decided []string) {
	candidates = modes
	for _, metric := range r.Metrics {
		var left []string
		for _, b := range candidates {
			beaten := false
			for _, a := range candidates {
				beaten = beaten || a != b && r.compare(a, b, metric).Verdict == stat.Worse
			}
			if !beaten {
				left = append(left, b)
			}
		}
		if len(left) > 0 && len(left) < len(candidates) {
			candidates, decided = left, append(decided, metric)
		}
	}
	return candidates, decided
}

// choice is the mode to take, and why.
func (r *result) choice() (best, sure string) {
	candidates, decided := r.best()
	if len(decided) == 0 {
		return "any", "no difference shown: " + strings.Join(r.spans(), ", ")
	}
	var why []string
	for _, metric := range decided {
		for _, loser := range modes {
			i := slices.IndexFunc(candidates, func(a string) bool { return r.compare(a, loser, metric).Verdict == stat.Worse })
			if i >= 0 {
				c := r.compare(candidates[i], loser, metric)
				why = append(why, fmt.Sprintf("%s takes %.3gx the %s of %s [%.3g, %.3g], p = %.2g", loser, c.Ratio, names[metric],
					candidates[i], c.Lo, c.Hi, c.P))
			}
		}
	}
	return strings.Join(candidates, " or "), strings.Join(why, "; ")
}

// spans says within what the modes are, by the intervals of their ratios.
func (r *result) spans() (spans []string) {
	for _, metric := range r.Metrics {
		lo, hi := math.Inf(1), 0.0
		for _, mode := range modes[1:] {
			c := r.compare(modes[0], mode, metric)
			lo, hi = min(lo, c.Lo), max(hi, c.Hi)
		}
		spans = append(spans, fmt.Sprintf("%s within %.2f to %.2f of %s", names[metric], lo, hi, modes[0]))
	}
	return spans
}

// meets says whether a mode meets the requirement, and by what figure.
func (q requirement) meets(r *result, mode string) string {
	series := r.groups[mode].Series[q.of]
	if q.over != "" {
		series = stat.Series{Metric: q.of, Blocks: series.Blocks, Values: slices.Clone(series.Values)}
		for i, v := range r.groups[mode].Series[q.over].Values {
			series.Values[i] /= v
		}
	}
	s := stat.Summarize(series)
	if s.N == 0 {
		return "not measured"
	}
	met := "unsure"
	switch lo, hi := s.Lo, s.Hi; {
	case q.most > 0 && hi <= q.most, q.most == 0 && lo >= q.least:
		met = "yes"
	case q.most > 0 && lo > q.most, q.most == 0 && hi < q.least:
		met = "no"
	}
	show := func(v float64) string {
		if q.over != "" {
			return fmt.Sprintf("%.4g %%", 100*v)
		}
		return text.Format(q.of, v)
	}
	return fmt.Sprintf("**%s**: %s [%s, %s]", met, show(s.Median), show(s.Lo), show(s.Hi))
}

// Page writes the matrices and the rows behind them as Markdown. It fails if the
// run lacks a row.
func Page(out io.Writer, a *stat.Analysis, machine cell.Machine) error {
	all, err := results(a)
	if err != nil {
		return err
	}
	byName := map[string]*result{}
	for _, r := range all {
		byName[r.Name] = r
	}
	fmt.Fprintf(out, "# Which request memory for which service\n\n")
	fmt.Fprintf(out, "Written by `isobar lab modes --markdown docs/results/http11-modes.md`, on %s.\n",
		text.MachineLine(machine))
	fmt.Fprintf(out, "Server and load are processes of one machine. The figures are of the server's process, response "+
		"times are what the load saw.\n%d blocks; medians, ratios to %s paired by block with their 95 %% interval. A "+
		"verdict needs an interval\nwithout 1, a rank test, and an effect beyond what equal configurations differed by "+
		"in that run.\n\n",
		len(all[0].groups[modes[0]].Series[cell.OpCPU].Values), modes[0])
	fmt.Fprintf(out, "## Workloads\n\nDocument 001 names a mode for each of the first nine; its standard pool is "+
		"`pooled` here, its Green Tea is `slab`.\n\n"+
		"| service | it says | what counts | measured best | how sure |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range all[:10] {
		best, sure := r.choice()
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", r.Name, r.Says, list(r.Metrics), best, sure)
	}
	fmt.Fprintf(out, "\n## Requirements\n\nWhat the document says of each mode in brackets, and the measured figure: the "+
		"share of the requests due that were served,\nrequests a second, p99 of the response time, or peak memory. "+
		"*Unsure*: the interval contains the bound. Load and server\nshare the CPUs of the machine.\n\n"+
		"| requirement | %s | row |\n| --- |%s --- |\n",
		strings.Join(modes, " | "), strings.Repeat(" --- |", len(modes)))
	for _, q := range requirements {
		fmt.Fprintf(out, "| %s |", q.name)
		for i, mode := range modes {
			fmt.Fprintf(out, " (%s) %s |", q.says[i], q.meets(byName[q.row], mode))
		}
		fmt.Fprintf(out, " %s |\n", q.row)
	}
	writeShare(out, byName[plaintext], byName[memoryAlone])
	for _, r := range all {
		writeRow(out, r)
	}
	return nil
}

// writeShare says what part of a request its memory is.
func writeShare(out io.Writer, plaintext, alone *result) {
	lo, hi := math.Inf(1), 0.0
	var each []string
	for _, mode := range modes {
		v := alone.median(mode, cell.OpTime)
		lo, hi = min(lo, v), max(hi, v)
		each = append(each, fmt.Sprintf("%s %.0f ns", mode, v))
	}
	request := plaintext.median(modes[0], cell.OpCPU)
	fmt.Fprintf(out, "\n**What the choice is of a request.** Memory for the 8 headers and 512 bytes of a request, filled "+
		"and read, takes %s;\na whole request over loopback takes %.1f µs of the server's CPU time. The modes are %.0f ns "+
		"apart, %.1f %% of a request.\nWhat they are for is the collector's work, memory, and safety: take the one whose "+
		"contract suits the handlers, unless a\nrow above says otherwise.\n",
		strings.Join(each, ", "), request/1000, hi-lo, (hi-lo)/request*100)
}

func writeRow(out io.Writer, r *result) {
	fmt.Fprintf(out, "\n## %s\n\n%s.\n\n```sh\n%s\n```\n\n| | %s |", r.Name, r.About, r.Command(), modes[0])
	for _, mode := range modes[1:] {
		fmt.Fprintf(out, " %s | ratio | verdict |", mode)
	}
	fmt.Fprintf(out, " noise floor |\n| --- | ---: |%s ---: |\n", strings.Repeat(" ---: | --- | --- |", len(modes)-1))
	for _, metric := range r.Metrics {
		fmt.Fprintf(out, "| %s | %s |", names[metric], text.Format(metric, r.median(modes[0], metric)))
		for _, mode := range modes[1:] {
			c := r.compare(modes[0], mode, metric)
			fmt.Fprintf(out, " %s | %.3g [%.3g, %.3g] | %s |", text.Format(metric, r.median(mode, metric)), c.Ratio, c.Lo, c.Hi,
				c.Verdict)
		}
		fmt.Fprintf(out, " %.3g |\n", max(r.floor[metric], 1))
	}
}

func list(metrics []string) string {
	var all []string
	for _, m := range metrics {
		all = append(all, names[m])
	}
	return strings.Join(all, ", then ")
}
