package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Compare compares b with a in one metric, paired by block, and by machine if
// there are several. floor is the noise floor, 1 if unknown. The package
// documentation defines the verdict. With fewer than 4 pairs, or 6 across
// several machines, it is Inconclusive.
//
// A pair of zeros has the ratio 1, and a value above zero against zero an
// infinite one. Negative values have none: the verdict is Inconclusive. Without
// any pair, Ratio and its interval are NaN.
func Compare(a, b *Group, metric string, floor float64) Comparison {
	return compare(a, b, metric, func(string) float64 { return floor })
}

// allMachines requests the noise floor across machines, instead of a machine's.
const allMachines = "\x00"

// compare is Compare with a noise floor per machine.
func compare(a, b *Group, metric string, floor func(machine string) float64) Comparison {
	c := Comparison{Metric: metric, A: a.Key, B: b.Key, AValue: value(a, metric), BValue: value(b, metric),
		Floor: max(1, floor(allMachines)), P: 1, Verdict: Inconclusive}
	pairs := paired(a.Series[metric], b.Series[metric])
	if !c.check(pairs) {
		return c
	}
	c.Warnings = append(c.Warnings, thinTails(a, b, metric)...)
	strata := Split(pairs, func(p pair) *Machine { return p.machine })
	if len(strata) == 1 {
		c.estimate(pairs)
		return c
	}
	var ratios [][]float64
	var logs [][]float64
	for _, own := range strata {
		m := own[0].machine
		one := Comparison{Metric: metric, A: a.Key, B: b.Key, Floor: max(1, floor(m.key))}
		one.AValue, one.BValue = medians(own)
		one.estimate(own)
		c.Machines = append(c.Machines, MachineComparison{m, one})
		var r, l []float64
		for _, p := range own {
			r, l = append(r, p.ratio()), append(l, math.Log(p.ratio()))
		}
		ratios, logs = append(ratios, r), append(logs, l)
	}
	all := slices.Concat(ratios...)
	c.P = signedRank(slices.Concat(logs...))
	slices.Sort(all)
	c.Ratio = median(all)
	c.Lo, c.Hi = stratifiedMedian(ratios)
	c.Heterogeneity = heterogeneity(&c, logs)
	c.Verdict, c.Reason = judge(c)
	if c.Verdict != Disagreement && (c.Heterogeneity.Differ || !c.Heterogeneity.Tested) {
		c.Warnings = append(c.Warnings, c.Heterogeneity.Text)
	}
	return c
}

// check reports whether the pairs have ratios. It records in c why not, or which are infinite.
func (c *Comparison) check(pairs []pair) bool {
	c.Pairs = len(pairs)
	zeros := 0
	c.Ratio, c.Lo, c.Hi = math.NaN(), math.NaN(), math.NaN()
	if c.Pairs == 0 {
		c.Reason = "no block has a value for both"
		return false
	}
	for _, p := range pairs {
		if p.a < 0 || p.b < 0 {
			c.Reason = "negative values have no ratio"
			return false
		}
		if p.a == 0 && p.b != 0 {
			zeros++
		}
	}
	if zeros > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d of %d ratios are infinite: %s was 0", zeros, c.Pairs, c.A))
	}
	return true
}

// estimate fills in the result of one machine's pairs.
func (c *Comparison) estimate(pairs []pair) {
	c.Pairs = len(pairs)
	var as, bs, ratios []float64
	for _, p := range pairs {
		as, bs, ratios = append(as, p.a), append(bs, p.b), append(ratios, p.ratio())
	}
	c.P = rankTest(as, bs, ratios)
	slices.Sort(ratios)
	c.Ratio = median(ratios)
	c.Lo, c.Hi = bootstrapMedian(ratios)
	c.Verdict, c.Reason = judge(*c)
}

// judge returns the verdict on a comparison with known figures.
func judge(c Comparison) (Verdict, string) {
	least, where := minPairs, ""
	if n := len(c.Machines); n > 1 {
		// Only the signed-rank test uses pairs, and so machines.
		least, where = minSignedPairs, fmt.Sprintf(" on %d machines", n)
	}
	switch effect := max(c.Ratio, 1/c.Ratio); {
	case c.Pairs < least:
		return Inconclusive, fmt.Sprintf("%d pairs%s are too few for a verdict: need %d", c.Pairs, where, least)
	case c.Heterogeneity != nil && c.Heterogeneity.Opposed:
		return Disagreement, c.Heterogeneity.Text
	case c.Lo <= 1 && c.Hi >= 1:
		return NoDifference, fmt.Sprintf("the interval [%s, %s] of %d pairs%s includes 1", times(c.Lo), times(c.Hi), c.Pairs,
			where)
	case !(c.P < alpha):
		return NoDifference, fmt.Sprintf("the rank test does not agree: p = %.3f in %d pairs%s", c.P, c.Pairs, where)
	case effect <= c.Floor:
		return NoDifference, fmt.Sprintf("%sx is within the noise floor: equal configurations differed by up to %sx",
			times(c.Ratio), times(c.Floor))
	}
	verdict := Worse
	if (c.Ratio > 1) == cell.HigherIsBetter(c.Metric) {
		verdict = Better
	}
	return verdict, fmt.Sprintf("%s in %d pairs%s, p = %.3f, noise floor %sx", c.text(), c.Pairs, where, c.P,
		times(c.Floor))
}

// CompareRuns compares the configurations of b with the equal ones of a, paired
// by block; if a fleet measured either run, by machine and the order of the
// machine's blocks. Runs without a common machine have no pairs. The noise
// floor is the higher one of the two runs. Unmatched lists the configurations
// left out.
func CompareRuns(a, b *Analysis) []Comparison {
	floorsA, floorsB := a.floors(), b.floors()
	foreign := strangers(a, b)
	several := len(a.Machines) > 1 || len(b.Machines) > 1
	var out []Comparison
	for _, ga := range a.Groups {
		gb := find(b.Groups, ga.Key)
		if gb == nil {
			continue
		}
		metrics := compared(ga, gb)
		if several || foreign != "" {
			ga, gb = a.align(ga), b.align(gb)
		}
		for _, metric := range metrics {
			c := compare(ga, gb, metric, func(machine string) float64 {
				return max(floorsA.of(ga, metric, machine), floorsB.of(gb, metric, machine))
			})
			if foreign != "" {
				c.Reason = foreign
			}
			out = append(out, c)
		}
	}
	return out
}

// Unmatched returns the configurations that only one of the runs has, in that run's
// order, as readable keys.
func Unmatched(a, b *Analysis) (onlyA, onlyB []string) {
	only := func(x, y *Analysis) (keys []string) {
		for _, g := range x.Groups {
			if find(y.Groups, g.Key) == nil {
				keys = append(keys, cell.Readable(g.Key))
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

// paired returns the values of blocks in both series, on the same machine.
func paired(a, b Series) (pairs []pair) {
	type place struct {
		block   int
		machine string
	}
	at := func(s *Series, i int) place {
		if m := s.machine(i); m != nil {
			return place{s.Blocks[i], m.key}
		}
		return place{block: s.Blocks[i]}
	}
	inB := make(map[place]float64, len(b.Blocks))
	for i := range b.Blocks {
		inB[at(&b, i)] = b.Values[i]
	}
	for i := range a.Blocks {
		if v, ok := inB[at(&a, i)]; ok {
			pairs = append(pairs, pair{a.Values[i], v, a.machine(i)})
		}
	}
	return pairs
}

// Split groups items by key, in the order of the first item of each group.
func Split[T any, K comparable](items []T, key func(T) K) (parts [][]T) {
	at := make(map[K]int)
	for _, item := range items {
		i, ok := at[key(item)]
		if !ok {
			i = len(parts)
			at[key(item)] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], item)
	}
	return parts
}

// medians returns the medians of both sides.
func medians(pairs []pair) (a, b float64) {
	var as, bs []float64
	for _, p := range pairs {
		as, bs = append(as, p.a), append(bs, p.b)
	}
	slices.Sort(as)
	slices.Sort(bs)
	return median(as), median(bs)
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

// value returns a group's figure: from the merged histogram if the metric is
// one of its figures, otherwise the median.
func value(g *Group, metric string) float64 {
	for name, h := range g.Latency {
		switch {
		case h.Count() == 0:
		case metric == LatencyMetric(name, "mean"):
			return float64(h.Mean())
		case metric == LatencyMetric(name, "min"):
			return float64(h.Min())
		}
	}
	if v, ok := g.Quantile(metric); ok {
		return v
	}
	return Summarize(g.Series[metric]).Median
}

// Quantile returns a quantile of operations from a merged histogram; ok is false if
// the metric is not one.
func (g *Group) Quantile(metric string) (ns float64, ok bool) {
	for name, h := range g.Latency {
		for _, q := range Quantiles {
			if metric == LatencyMetric(name, q.Name) && h.Count() > 0 {
				return float64(h.Quantile(q.Q)), true
			}
		}
	}
	return 0, false
}

// thinTails warns about quantiles with fewer than 10 values per record above
// them.
func thinTails(a, b *Group, metric string) []string {
	for _, g := range []*Group{a, b} {
		for name, h := range g.Latency {
			for _, q := range Quantiles {
				if metric != LatencyMetric(name, q.Name) || q.Q == 1 || len(g.Records) == 0 {
					continue
				}
				if each := h.Count() / uint64(len(g.Records)); float64(each)*(1-q.Q) < 10 {
					return []string{fmt.Sprintf("%s of about %d operations a repetition: fewer than 10 lie above it", q.Name, each)}
				}
			}
		}
	}
	return nil
}

// Distinct formats v with the given number of decimals, or with as many more as it takes to keep
// v on its side of each bound: a value is never rounded onto a bound that decided something.
func Distinct(v float64, decimals int, bounds ...float64) string {
	for {
		text := strconv.FormatFloat(v, 'f', decimals, 64)
		shown, err := strconv.ParseFloat(text, 64)
		if err != nil || decimals > 15 || !slices.ContainsFunc(bounds, func(bound float64) bool {
			return cmp.Compare(shown, bound) != cmp.Compare(v, bound)
		}) {
			return text
		}
		decimals++
	}
}

// times formats a ratio with enough digits to show its distance from 1.
func times(r float64) string {
	switch {
	case math.IsInf(r, 1):
		return "∞"
	case r >= 9.95 && r < 1e6:
		return strconv.FormatFloat(r, 'f', 0, 64)
	case r >= 1.995 && r < 9.95:
		return strconv.FormatFloat(r, 'f', 1, 64)
	case r >= 0.0995 && r < 1.995:
		return Distinct(r, 2, 1)
	}
	return strconv.FormatFloat(r, 'g', 2, 64)
}
