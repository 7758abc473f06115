package stat

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/latency"
)

// LatencyMetric names a figure of a histogram, for example
// "/latency/response/p99.9:ns". Histograms in Record.Latency have mean, min,
// p50, p90, p99, p99.9, p99.99 and max; those in Record.Buckets have all but
// mean and min. All are in nanoseconds.
func LatencyMetric(hist, quantile string) string {
	return "/latency/" + hist + "/" + quantile + ":ns"
}

// Quantiles are the figures of a histogram that are quantiles.
var Quantiles = []struct {
	Name string
	Q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}, {"max", 1}}

// Headline lists the metrics compared by default. Metrics that workloads and
// imported files add under their own names, without a leading slash, are
// compared too.
var Headline = []string{
	cell.OpTime, cell.OpCPU, cell.WallTime, cell.TotalCPU, cell.Throughput,
	LatencyMetric(cell.HistResponse, "p50"), LatencyMetric(cell.HistResponse, "p99"),
	LatencyMetric(cell.HistResponse, "p99.9"), LatencyMetric(cell.HistResponse, "max"),
	LatencyMetric(cell.HistService, "p50"), LatencyMetric(cell.HistService, "p99"),
	LatencyMetric(cell.HistService, "p99.9"), LatencyMetric(cell.HistService, "max"),
	cell.OpBytes, cell.OpAllocs, cell.RSSPeak, cell.HeapMax, cell.MinorFaults,
	cell.GCCycles, cell.GCCPUShare, cell.GCPauseTotal, cell.GCPauseMax,
}

// Metrics returns one record's metrics: the measured ones and those named by
// LatencyMetric.
func Metrics(rec *cell.Record) (map[string]float64, error) {
	histograms, err := decodeLatency(rec)
	if err != nil {
		return nil, err
	}
	return metrics(rec, histograms), nil
}

func metrics(rec *cell.Record, histograms map[string]*latency.Histogram) map[string]float64 {
	all := maps.Clone(rec.Metrics)
	if all == nil {
		all = make(map[string]float64)
	}
	derive(all)
	for name, h := range histograms {
		if h.Count() == 0 {
			continue
		}
		all[LatencyMetric(name, "mean")] = float64(h.Mean())
		all[LatencyMetric(name, "min")] = float64(h.Min())
		for _, q := range Quantiles {
			all[LatencyMetric(name, q.Name)] = float64(h.Quantile(q.Q))
		}
	}
	for name, b := range rec.Buckets {
		for _, q := range Quantiles {
			if v, ok := bucketQuantile(b, q.Q); ok {
				all[LatencyMetric(name, q.Name)] = v * 1e9
			}
		}
	}
	return all
}

// derive adds metrics that follow from others.
func derive(all map[string]float64) {
	if wall := all[cell.WallTime]; wall > 0 {
		if cpu, ok := all[cell.TotalCPU]; ok {
			all[cell.CPUBusy] = cpu / wall
		}
	}
	if cycles := all[cell.GCCycles]; cycles > 0 {
		if total, ok := all[cell.GCPauseTotal]; ok {
			all[cell.GCPauseMean] = total / cycles
		}
	}
	if due, ok := all[cell.Scheduled]; ok {
		all[cell.Dropped] = max(0, due-all[cell.Done])
	}
}

func decodeLatency(rec *cell.Record) (map[string]*latency.Histogram, error) {
	histograms := make(map[string]*latency.Histogram, len(rec.Latency))
	for name, data := range rec.Latency {
		h := new(latency.Histogram)
		if err := h.UnmarshalBinary(data); err != nil {
			return nil, fmt.Errorf("stat: %s latency of cell %d: %w", name, rec.Cell.Index, err)
		}
		histograms[name] = h
	}
	return histograms, nil
}

// bucketQuantile returns the upper bound, in seconds, of the bucket that holds
// the value of rank q*n.
func bucketQuantile(b cell.Buckets, q float64) (seconds float64, ok bool) {
	var n uint64
	for _, count := range b.Count {
		n += count
	}
	if n == 0 {
		return 0, false
	}
	rank := max(1, uint64(math.Ceil(q*float64(n))))
	var seen uint64
	for i, count := range b.Count {
		if seen += count; seen >= rank && i < len(b.Upper) {
			return b.Upper[i], true
		}
	}
	return 0, false
}

// mergeBuckets adds buckets with equal bounds.
func mergeBuckets(a, b cell.Buckets) cell.Buckets {
	type bounds struct{ lower, upper float64 }
	counts := make(map[bounds]uint64, len(a.Count))
	for _, h := range []cell.Buckets{a, b} {
		for i, n := range h.Count {
			if i < len(h.Lower) && i < len(h.Upper) {
				counts[bounds{h.Lower[i], h.Upper[i]}] += n
			}
		}
	}
	var out cell.Buckets
	for _, k := range slices.SortedFunc(maps.Keys(counts), func(x, y bounds) int {
		return cmp.Or(cmp.Compare(x.lower, y.lower), cmp.Compare(x.upper, y.upper))
	}) {
		out.Lower, out.Upper, out.Count = append(out.Lower, k.lower), append(out.Upper, k.upper), append(out.Count, counts[k])
	}
	return out
}

// compared lists the metrics in which to compare a and b: Headline and those
// without a leading slash, if both have them.
func compared(a, b *Group) []string {
	both := func(metric string) bool {
		return len(a.Series[metric].Values) > 0 && len(b.Series[metric].Values) > 0
	}
	var out []string
	for _, metric := range Headline {
		if both(metric) {
			out = append(out, metric)
		}
	}
	for _, metric := range slices.Sorted(maps.Keys(a.Series)) {
		if !strings.HasPrefix(metric, "/") && both(metric) {
			out = append(out, metric)
		}
	}
	return out
}
