package tune

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// An Objective is what tuning improves: one of those named below or a figure that the program or
// its load prints. A figure is a unit of the Go benchmark format, such as "ns/op" or "MB/s", or
// "min:NAME" or "max:NAME" for any other.
type Objective string

// The named objectives. For a program that ends, throughput is work over wall time, so both want
// the shortest run; for a server it is responses per second. Among the settings within the
// tolerance of the best, the one of least memory is taken. RSS wants the least memory at today's
// CPU time, within 5 %. P99 and P999 are response times under the built-in load.
const (
	Throughput Objective = "throughput"
	Wall       Objective = "wall"
	CPU        Objective = "cpu"
	RSS        Objective = "rss"
	P99        Objective = "p99"
	P999       Objective = "p99.9"
)

var named = []Objective{Throughput, Wall, CPU, RSS, P99, P999}

// ParseObjective parses an objective.
func ParseObjective(s string) (Objective, error) {
	o := Objective(s)
	how, name, prefixed := strings.Cut(s, ":")
	switch {
	case slices.Contains(named, o):
	case prefixed && (how == "min" || how == "max") && name != "":
	case !prefixed && strings.Contains(s, "/"):
	default:
		return "", fmt.Errorf("tune: objective %q: want throughput, wall, cpu, rss, p99, p99.9, a unit of benchmark lines "+
			"such as ns/op, or min:NAME or max:NAME of a printed figure", s)
	}
	return o, nil
}

// metric returns the metric of records that the objective is about.
func (o Objective) metric(served bool) string {
	switch o {
	case Throughput:
		if served {
			return cell.Throughput
		}
		return cell.WallTime
	case Wall:
		return cell.WallTime
	case CPU:
		return cell.TotalCPU
	case RSS:
		return cell.RSSPeak
	case P99, P999:
		return stat.LatencyMetric(cell.HistResponse, string(o))
	}
	name := strings.TrimPrefix(strings.TrimPrefix(string(o), "min:"), "max:")
	return cell.FigurePrefix + name
}

// rises reports whether more of the metric is better.
func (o Objective) rises(served bool) bool {
	return strings.HasPrefix(string(o), "max:") || !strings.HasPrefix(string(o), "min:") &&
		cell.HigherIsBetter(o.metric(served))
}

// modelled reports whether the model predicts the objective.
func (o Objective) modelled(served bool) bool {
	return o == CPU || o == RSS || o == Wall || o == Throughput && !served
}

// costMetric names the objective as a cost in series: the metric, or its inverse if
// more is better.
const costMetric = "/objective:cost"

// cost returns the objective of a record as a cost, of which less is better.
func (o Objective) cost(rec *cell.Record) (float64, error) {
	all, err := stat.Metrics(rec)
	if err != nil {
		return 0, err
	}
	served := isServed(rec.Cell.Config)
	v, ok := all[o.metric(served)]
	switch {
	case !ok:
		return 0, fmt.Errorf("tune: objective %s: no run reports it; runs report: %s", o, figuresOf(all))
	case v <= 0:
		return 0, fmt.Errorf("tune: objective %s: a run reports %v, which has no ratio: choose another", o, v)
	case o.rises(served):
		return 1 / v, nil
	}
	return v, nil
}

// costName returns the name of the cost in an answer.
func (o Objective) costName(served bool) string {
	if o.rises(served) {
		return "1/" + o.metric(served)
	}
	return o.metric(served)
}

// figuresOf lists the objectives that a record offers.
func figuresOf(all map[string]float64) string {
	out := []string{"wall", "cpu", "rss"}
	if _, ok := all[P99.metric(true)]; ok {
		out = append(out, "throughput", "p99", "p99.9")
	}
	out = append(out, figuresIn(all)...)
	return strings.Join(out[:min(len(out), 40)], ", ")
}

// figuresIn returns the names of the figures that a run prints.
func figuresIn(metrics map[string]float64) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if figure, ok := strings.CutPrefix(name, cell.FigurePrefix); ok {
			out = append(out, figure)
		}
	}
	return out
}

// isServed reports whether c runs a server under load, not a program that ends by itself.
func isServed(c cell.Config) bool { return c.Workload == "serve" }

// isAttached reports whether c is a server that was already running.
func isAttached(c cell.Config) bool { return c.Workload == "attach" }

// p99Of returns the 99th percentile of response time: of the built-in load, or as the
// load prints it in nanoseconds.
func p99Of(rec *cell.Record) (time.Duration, error) {
	all, err := stat.Metrics(rec)
	if err != nil {
		return 0, err
	}
	for _, name := range []string{P99.metric(true), cell.FigurePrefix + "p99-ns", cell.FigurePrefix + "p99-ns/op"} {
		if v, ok := all[name]; ok {
			return time.Duration(v), nil
		}
	}
	return 0, fmt.Errorf("tune: --max-p99: no run reports a 99th percentile: use the built-in load, or print one "+
		"with the unit p99-ns; runs report: %s", figuresOf(all))
}
