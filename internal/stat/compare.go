package stat

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/isobar-go/isobar/internal/cell"
)

// Compare sets b against a in one metric, paired by block. floor is the noise
// floor, 1 where it is unknown. The verdict is as the package documentation
// says; with fewer than 4 pairs it is Inconclusive.
//
// A pair of zeros has the ratio 1. A value above zero against zero has an
// infinite one. Negative values have none: the verdict is Inconclusive.
// Without any pair, Ratio and its interval are NaN.
func Compare(a, b *Group, metric string, floor float64) Comparison {
	c := Comparison{Metric: metric, A: a.Key, B: b.Key, AValue: value(a, metric), BValue: value(b, metric), Floor: max(1, floor), P: 1, Verdict: Inconclusive}
	as, bs := paired(a.Series[metric], b.Series[metric])
	c.Pairs = len(as)
	if c.Pairs == 0 {
		c.Ratio, c.Lo, c.Hi = math.NaN(), math.NaN(), math.NaN()
		c.Reason = "no block has a value for both"
		return c
	}
	ratios := make([]float64, c.Pairs)
	zeros := 0
	for i := range as {
		if as[i] < 0 || bs[i] < 0 {
			c.Ratio, c.Lo, c.Hi = math.NaN(), math.NaN(), math.NaN()
			c.Reason = "negative values have no ratio"
			return c
		}
		if as[i] == 0 && bs[i] != 0 {
			zeros++
		}
		ratios[i] = ratio(as[i], bs[i])
	}
	if zeros > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d of %d ratios are infinite: %s was 0", zeros, c.Pairs, a.Key))
	}
	c.Warnings = append(c.Warnings, thinTails(a, b, metric)...)
	c.P = rankTest(as, bs, ratios)
	slices.Sort(ratios)
	c.Ratio = median(ratios)
	c.Lo, c.Hi = bootstrapMedian(ratios)
	c.Verdict, c.Reason = judge(c)
	return c
}

// judge gives the verdict on a comparison whose figures are known.
func judge(c Comparison) (Verdict, string) {
	switch effect := max(c.Ratio, 1/c.Ratio); {
	case c.Pairs < minPairs:
		return Inconclusive, fmt.Sprintf("%d pairs are too few for a verdict: it takes %d", c.Pairs, minPairs)
	case c.Lo <= 1 && c.Hi >= 1:
		return NoDifference, fmt.Sprintf("the interval [%s, %s] of %d pairs includes 1", times(c.Lo), times(c.Hi), c.Pairs)
	case !(c.P < alpha):
		return NoDifference, fmt.Sprintf("the rank test does not agree: p = %.3f in %d pairs", c.P, c.Pairs)
	case effect <= c.Floor:
		return NoDifference, fmt.Sprintf("%sx is within the noise floor: equal configurations differed by up to %sx", times(c.Ratio), times(c.Floor))
	}
	verdict := Worse
	if (c.Ratio > 1) == cell.HigherIsBetter(c.Metric) {
		verdict = Better
	}
	return verdict, fmt.Sprintf("%sx [%s, %s] in %d pairs, p = %.3f, noise floor %sx", times(c.Ratio), times(c.Lo), times(c.Hi), c.Pairs, c.P, times(c.Floor))
}

// CompareRuns sets the configurations of b against the equal ones of a, paired
// by block. The noise floor is the higher one of the two runs. Unmatched lists
// the configurations that are left out.
func CompareRuns(a, b *Analysis) []Comparison {
	floorsA, floorsB := a.floors(), b.floors()
	var out []Comparison
	for _, ga := range a.Groups {
		gb := find(b.Groups, ga.Key)
		if gb == nil {
			continue
		}
		for _, metric := range compared(ga, gb) {
			out = append(out, Compare(ga, gb, metric, max(floorsA.of(ga, metric), floorsB.of(gb, metric))))
		}
	}
	return out
}

// Unmatched returns the keys of the configurations that only one of two runs
// has, in its order.
func Unmatched(a, b *Analysis) (onlyA, onlyB []string) {
	only := func(x, y *Analysis) (keys []string) {
		for _, g := range x.Groups {
			if find(y.Groups, g.Key) == nil {
				keys = append(keys, g.Key)
			}
		}
		return keys
	}
	return only(a, b), only(b, a)
}

func find(groups []*Group, key string) *Group {
	i := slices.IndexFunc(groups, func(g *Group) bool { return g.Key == key })
	if i < 0 {
		return nil
	}
	return groups[i]
}

// paired returns the values of the blocks that both series have.
func paired(a, b Series) (as, bs []float64) {
	inB := make(map[int]float64, len(b.Blocks))
	for i, block := range b.Blocks {
		inB[block] = b.Values[i]
	}
	for i, block := range a.Blocks {
		if v, ok := inB[block]; ok {
			as, bs = append(as, a.Values[i]), append(bs, v)
		}
	}
	return as, bs
}

func ratio(a, b float64) float64 {
	switch {
	case a == b:
		return 1
	case a == 0:
		return math.Inf(1)
	}
	return b / a
}

// value is the figure of a group: from the merged histogram where the metric
// is one of its figures, otherwise the median.
func value(g *Group, metric string) float64 {
	for name, h := range g.Latency {
		switch {
		case h.Count() == 0:
			continue
		case metric == LatencyMetric(name, "mean"):
			return float64(h.Mean())
		case metric == LatencyMetric(name, "min"):
			return float64(h.Min())
		}
		for _, q := range quantiles {
			if metric == LatencyMetric(name, q.name) {
				return float64(h.Quantile(q.q))
			}
		}
	}
	return Summarize(g.Series[metric]).Median
}

// thinTails warns of quantiles that fewer than 10 values a record lie above.
func thinTails(a, b *Group, metric string) []string {
	for _, g := range []*Group{a, b} {
		for name, h := range g.Latency {
			for _, q := range quantiles {
				if metric != LatencyMetric(name, q.name) || q.q == 1 || len(g.Records) == 0 {
					continue
				}
				if each := h.Count() / uint64(len(g.Records)); float64(each)*(1-q.q) < 10 {
					return []string{fmt.Sprintf("%s of about %d operations a repetition: fewer than 10 lie above it", q.name, each)}
				}
			}
		}
	}
	return nil
}

// times writes a ratio so that its distance from 1 can be read.
func times(r float64) string {
	switch {
	case math.IsInf(r, 1):
		return "∞"
	case r >= 9.95 && r < 1e6:
		return strconv.FormatFloat(r, 'f', 0, 64)
	case r >= 1.995 && r < 9.95:
		return strconv.FormatFloat(r, 'f', 1, 64)
	case r >= 0.0995 && r < 1.995:
		return strconv.FormatFloat(r, 'f', 2, 64)
	}
	return strconv.FormatFloat(r, 'g', 2, 64)
}
