package text

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// Schema is the version of the documents that JSON and ComparisonsJSON write. Adding fields
// does not change it; it rises when a field is removed or changes its meaning.
const Schema = 1

// A Document is what JSON writes. The unit of a value is the part of its
// metric's name after the colon. A figure that is not finite is null.
type Document struct {
	Schema      int                   `json:"schema"`
	Run         DocumentRun           `json:"run"`
	Findings    []string              `json:"findings"`
	Warnings    []stat.CountedWarning `json:"warnings"`
	Groups      []DocumentGroup       `json:"groups"`      // in plan order
	Floors      []DocumentComparison  `json:"floors"`      // equal configurations (A/A)
	Comparisons []DocumentComparison  `json:"comparisons"` // with the workload's baseline
}

// DocumentRun identifies the run.
type DocumentRun struct {
	ID       int64        `json:"id"`
	Title    string       `json:"title"`
	Created  time.Time    `json:"created"`
	Args     []string     `json:"args"`
	Version  string       `json:"version"`
	Seed     string       `json:"seed"` // decimal: it may exceed a JSON number
	Repeat   string       `json:"repeat"`
	Total    int          `json:"cells"`
	Finished int          `json:"finished"`
	Failed   int          `json:"failed"`
	Missing  int          `json:"missing"`
	Machine  cell.Machine `json:"machine"`
	// Machines are the machines that measured, if several did.
	Machines []*stat.Machine `json:"machines,omitempty"`
}

// A DocumentGroup is one configuration.
type DocumentGroup struct {
	Key      string                     `json:"key"`
	Config   cell.Config                `json:"config"`
	Finished int                        `json:"finished"`
	Failures []DocumentFailure          `json:"failures"`
	Metrics  map[string]DocumentMetric  `json:"metrics"`
	Latency  map[string]DocumentLatency `json:"latency"` // by histogram: response, service
	Buckets  map[string]DocumentBuckets `json:"buckets"` // the runtime's histograms: pause, sched
	// Phases is what the collector did during the slowest operations; absent without a trace.
	Phases *cell.Phases `json:"phases,omitempty"`
}

// A DocumentFailure is one cell that failed.
type DocumentFailure struct {
	Block   int              `json:"block"`
	Kind    cell.FailureKind `json:"kind"`
	Message string           `json:"message"`
}

// A DocumentMetric summarizes one metric and holds all its values, by block.
type DocumentMetric struct {
	Unit     string   `json:"unit"`
	Better   string   `json:"better"` // "lower" or "higher"
	N        int      `json:"n"`
	Median   number   `json:"median"`
	Lo       number   `json:"lo"`
	Hi       number   `json:"hi"`
	Blocks   []int    `json:"blocks"`
	Values   []number `json:"values"`
	Warnings []string `json:"warnings"`
}

// DocumentLatency is a histogram merged across repetitions.
type DocumentLatency struct {
	Count     uint64           `json:"count"`
	MinNs     int64            `json:"min_ns"`
	MeanNs    int64            `json:"mean_ns"`
	MaxNs     int64            `json:"max_ns"`
	Quantiles map[string]int64 `json:"quantiles_ns"` // p50 to p99.99
}

// DocumentBuckets is a histogram with explicit bounds: count[i] values were in
// [lower[i], upper[i]).
type DocumentBuckets struct {
	Lower []number `json:"lower_seconds"`
	Upper []number `json:"upper_seconds"`
	Count []uint64 `json:"count"`
}

// A DocumentComparison compares configuration B with A.
type DocumentComparison struct {
	Metric   string       `json:"metric"`
	A        string       `json:"a"`
	B        string       `json:"b"`
	AValue   number       `json:"a_median"`
	BValue   number       `json:"b_median"`
	Ratio    number       `json:"ratio"`
	Lo       number       `json:"lo"`
	Hi       number       `json:"hi"`
	P        number       `json:"p"`
	Pairs    int          `json:"pairs"`
	Floor    number       `json:"floor"`
	Verdict  stat.Verdict `json:"verdict"`
	Reason   string       `json:"reason"`
	Warnings []string     `json:"warnings"`
	// Machines are the results by machine, if several measured; Heterogeneity says whether they agree.
	Machines      []DocumentMachineComparison `json:"machines,omitempty"`
	Heterogeneity *stat.Heterogeneity         `json:"heterogeneity,omitempty"`
}

// number is a float64 that is null in JSON if it is not finite.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if f := float64(n); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return strconv.AppendFloat(nil, f, 'g', -1, 64), nil
	}
	return []byte("null"), nil
}

// JSON writes the analysis as a [Document].
func JSON(w io.Writer, m cell.Run, a *stat.Analysis) error {
	m = Measured(m, a)
	d := Document{
		Schema: Schema,
		Run: DocumentRun{
			ID: m.ID, Title: m.Name, Created: m.Created, Args: list(m.Args), Version: m.Version,
			Seed:   strconv.FormatUint(m.Seed, 10),
			Repeat: m.Repeat(), Total: m.Total, Finished: m.Finished, Failed: m.Failed, Missing: a.Missing,
			Machine:  m.Machine,
			Machines: Several(a),
		},
		Findings: list(a.Findings), Warnings: list(a.Warnings), Groups: mapped(a.Groups, documentGroup),
		Floors: mapped(a.Floors, documentComparison), Comparisons: mapped(a.Comparisons, documentComparison),
	}
	return encode(w, d)
}

// ComparisonsJSON writes comparisons of two runs as an object with "schema" and
// "comparisons", the latter as in a [Document].
func ComparisonsJSON(w io.Writer, comparisons []stat.Comparison) error {
	return encode(w, struct {
		Schema      int                  `json:"schema"`
		Comparisons []DocumentComparison `json:"comparisons"`
	}{Schema, mapped(comparisons, documentComparison)})
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("report: JSON: %w", err)
	}
	return nil
}

func documentGroup(g *stat.Group) DocumentGroup {
	d := DocumentGroup{
		Key: g.Key, Config: g.Config, Finished: len(g.Records), Failures: []DocumentFailure{},
		Metrics: map[string]DocumentMetric{}, Latency: map[string]DocumentLatency{}, Buckets: map[string]DocumentBuckets{},
	}
	for _, rec := range g.Failures {
		f := DocumentFailure{Block: rec.Cell.Block}
		if rec.Err != nil {
			f.Kind, f.Message = rec.Err.Kind, rec.Err.Message
		}
		d.Failures = append(d.Failures, f)
	}
	r := Row{Group: g}
	for _, metric := range slices.Sorted(maps.Keys(g.Series)) {
		series := g.Series[metric]
		if len(series.Values) == 0 {
			continue
		}
		f := r.Figure(metric)
		d.Metrics[metric] = DocumentMetric{
			Unit: UnitOf(metric), Better: cell.Better(metric), N: f.N,
			Median: number(f.Median), Lo: number(f.Lo), Hi: number(f.Hi),
			Blocks: list(series.Blocks), Values: numbers(series.Values), Warnings: list(f.Warnings),
		}
	}
	for name, h := range g.Latency {
		l := DocumentLatency{Count: h.Count(), MinNs: int64(h.Min()), MeanNs: int64(h.Mean()), MaxNs: int64(h.Max()),
			Quantiles: map[string]int64{}}
		for _, q := range stat.Quantiles {
			if q.Q < 1 {
				l.Quantiles[q.Name] = int64(h.Quantile(q.Q))
			}
		}
		d.Latency[name] = l
	}
	d.Phases = r.Phases()
	for name, b := range g.Buckets {
		d.Buckets[name] = DocumentBuckets{Lower: numbers(b.Lower), Upper: numbers(b.Upper), Count: list(b.Count)}
	}
	return d
}

func documentComparison(c stat.Comparison) DocumentComparison {
	d := DocumentComparison{
		Metric: c.Metric, A: c.A, B: c.B, AValue: number(c.AValue), BValue: number(c.BValue), Ratio: number(c.Ratio),
		Lo: number(c.Lo), Hi: number(c.Hi), P: number(c.P), Pairs: c.Pairs, Floor: number(c.Floor),
		Verdict: c.Verdict, Reason: c.Reason, Warnings: list(c.Warnings), Heterogeneity: c.Heterogeneity,
	}
	for _, m := range c.Machines {
		d.Machines = append(d.Machines, DocumentMachineComparison{m.Machine.Name, documentComparison(m.Comparison)})
	}
	return d
}

// list returns s, or an empty slice for nil: [] instead of null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// mapped returns of for each item, and an empty slice for none.
func mapped[T, U any](items []T, of func(T) U) []U {
	out := make([]U, len(items))
	for i, item := range items {
		out[i] = of(item)
	}
	return out
}

func numbers(values []float64) []number {
	return mapped(values, func(v float64) number { return number(v) })
}
