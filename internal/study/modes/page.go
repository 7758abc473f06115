package modes

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/template"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// names are the metrics' names in the page.
var names = map[string]string{cell.OpCPU: "CPU a request", tail: "p99.9 response time", cell.RSSPeak: "peak memory",
	cell.OpTime: "time", p99: "p99 response time", cell.Throughput: "requests/s"}

// A result is a run's data for a row.
type result struct {
	Row
	groups map[string]*stat.Group // by mode
	floor  map[string]float64     // by metric
}

// results extracts the rows from a run.
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
				r.floor[f.Metric] = f.Apart()
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// Compare compares mode b with mode a.
func (r *result) Compare(a, b, metric string) stat.Comparison {
	return stat.Compare(r.groups[a], r.groups[b], metric, r.floor[metric])
}

func (r *result) median(mode, metric string) float64 {
	return stat.Summarize(r.groups[mode].Series[metric]).Median
}

// Median returns the median in readable form.
func (r *result) Median(mode, metric string) string {
	return text.Format(metric, r.median(mode, metric))
}

// Noise is the noise floor, 1 if unknown.
func (r *result) Noise(metric string) float64 { return max(r.floor[metric], 1) }

// best returns the modes that no other is shown to beat, taking the metrics in order, and
// the metrics that decided.
func (r *result) best() (candidates, decided []string) {
	candidates = modes
	for _, metric := range r.Metrics {
		var left []string
		for _, b := range candidates {
			beaten := false
			for _, a := range candidates {
				beaten = beaten || a != b && r.Compare(a, b, metric).Verdict == stat.Worse
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

// A choice is the recommended mode and the reason.
type choice struct{ Best, Sure string }

func (r *result) Choice() choice {
	candidates, decided := r.best()
	if len(decided) == 0 {
		return choice{"any", "no difference shown: " + strings.Join(r.spans(), ", ")}
	}
	var why []string
	for _, metric := range decided {
		for _, loser := range modes {
			i := slices.IndexFunc(candidates, func(a string) bool { return r.Compare(a, loser, metric).Verdict == stat.Worse })
			if i >= 0 {
				c := r.Compare(candidates[i], loser, metric)
				why = append(why, fmt.Sprintf("%s takes %.3gx the %s of %s [%.3g, %.3g], p = %.2g", loser, c.Ratio, names[metric],
					candidates[i], c.Lo, c.Hi, c.P))
			}
		}
	}
	return choice{strings.Join(candidates, " or "), strings.Join(why, "; ")}
}

// spans returns, for each metric, the range of all modes' ratios to the first, with their intervals.
func (r *result) spans() (spans []string) {
	for _, metric := range r.Metrics {
		lo, hi := math.Inf(1), 0.0
		for _, mode := range modes[1:] {
			c := r.Compare(modes[0], mode, metric)
			lo, hi = min(lo, c.Lo), max(hi, c.Hi)
		}
		spans = append(spans, fmt.Sprintf("%s within %.2f to %.2f of %s", names[metric], lo, hi, modes[0]))
	}
	return spans
}

// meets says whether a mode meets the requirement, with the deciding figure.
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

//go:embed page.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").
	Funcs(template.FuncMap{"name": func(metric string) string { return names[metric] }}).Parse(pageText))

// A page is the data for the template.
type page struct {
	Machine        string
	Blocks         int
	Modes, Others  []string // Others are the modes except Base
	Base           string
	Services, Rows []*result
	Requirements   []requirement
	Share          share
	byName         map[string]*result
}

// Meets says whether a mode meets a requirement.
func (p *page) Meets(q requirement, mode string) string { return q.meets(p.byName[q.Row], mode) }

// Page writes the matrices and the rows behind them as Markdown. It fails if the run lacks data for a row.
func Page(out io.Writer, a *stat.Analysis, machine cell.Machine) error {
	all, err := results(a)
	if err != nil {
		return err
	}
	p := &page{Machine: text.MachineLine(machine), Blocks: len(all[0].groups[modes[0]].Series[cell.OpCPU].Values),
		Modes: modes, Others: modes[1:], Base: modes[0], Services: all[:10], Rows: all, Requirements: requirements,
		byName: map[string]*result{}}
	for _, r := range all {
		p.byName[r.Name] = r
	}
	p.Share = shareOf(p.byName[plaintext], p.byName[memoryAlone])
	return pageTemplate.Execute(out, p)
}

// A share compares the modes' times for memory alone with the CPU time of a request.
type share struct {
	Each                            string
	RequestMicros, ApartNs, Percent float64
}

func shareOf(plaintext, alone *result) share {
	var each []string
	var took []float64
	for _, mode := range modes {
		v := alone.median(mode, cell.OpTime)
		took, each = append(took, v), append(each, fmt.Sprintf("%s %.0f ns", mode, v))
	}
	request, apart := plaintext.median(modes[0], cell.OpCPU), slices.Max(took)-slices.Min(took)
	return share{strings.Join(each, ", "), request / 1000, apart, apart / request * 100}
}
