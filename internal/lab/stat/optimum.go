package stat

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// leastCurve is the least number of levels with which a numeric factor makes a curve with a best
// point. From tooManyLevels on, the curve replaces a sentence per level.
const (
	leastCurve    = 4
	tooManyLevels = 8
)

// plateau is the ratio to the best up to which a level counts as equally good.
const plateau = 1.02

// A curve is the figures of a study against one numeric factor, everything else equal.
type curve struct {
	factor string
	rest   string // the other factors that vary; "" for none
	levels []point
}

type point struct {
	at    float64 // +Inf for GOGC=off
	group *Group
}

// numeric returns the level of a factor as a number.
func numeric(c cell.Config, factor string) (float64, bool) {
	if factor == "gc" {
		if c.GC.Percent < 0 {
			return math.Inf(1), c.GC.LimitBytes == 0
		}
		return float64(c.GC.Percent), c.GC.LimitBytes == 0
	}
	value, _ := c.Factor(factor)
	if n, err := cell.ParseBytes(value); err == nil {
		return float64(n), true
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(value, "_", ""), 64)
	return v, err == nil
}

// Factors returns the factors of configurations, without the workload: those that differ between them and
// those that all share.
func Factors(groups []*Group) (varying, fixed []string) {
	for _, g := range groups {
		for _, name := range g.Config.Factors()[1:] {
			if slices.Contains(varying, name) || slices.Contains(fixed, name) {
				continue
			}
			first := level(groups[0].Config, name)
			if slices.ContainsFunc(groups, func(g *Group) bool { return level(g.Config, name) != first }) {
				varying = append(varying, name)
			} else {
				fixed = append(fixed, name)
			}
		}
	}
	return varying, fixed
}

// curves returns the curves of every numeric factor with enough levels.
func (s study) curves() []*curve {
	all := append([]*Group{s.base}, s.others...)
	var out []*curve
	varying, _ := Factors(all)
	for _, factor := range varying {
		byRest := map[string]*curve{}
		for _, g := range all {
			at, ok := numeric(g.Config, factor)
			if !ok || len(g.Records) == 0 {
				continue
			}
			var rest []string
			for _, name := range varying {
				if name != factor {
					rest = append(rest, level(g.Config, name))
				}
			}
			key := strings.Join(rest, " ")
			if byRest[key] == nil {
				byRest[key] = &curve{factor: factor, rest: key}
				out = append(out, byRest[key])
			}
			byRest[key].levels = append(byRest[key].levels, point{at, g})
		}
	}
	out = slices.DeleteFunc(out, func(c *curve) bool { return len(c.levels) < leastCurve })
	for _, c := range out {
		slices.SortStableFunc(c.levels, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	}
	return out
}

// An optimum is the best level of a curve.
type optimum struct {
	best     int // index
	lo, hi   int // 95 % interval of the best level, from a bootstrap over blocks
	from, to int // the plateau around it: within 2 %, or not distinguishable
}

// optimum finds the best level by the mean of the logarithm over the blocks that
// all levels have; ok is false with fewer than 4 of them.
func (c *curve) optimum(metric string, floor func(*Group) float64) (o optimum, ok bool) {
	rows := c.blocks(metric)
	if len(rows) < minPairs {
		return o, false
	}
	sign := -1.0
	if cell.HigherIsBetter(metric) {
		sign = 1
	}
	best := func(draw func(i int) int) int {
		top, at := math.Inf(-1), 0
		for level := range c.levels {
			sum := 0.0
			for i := range rows {
				sum += sign * rows[draw(i)][level]
			}
			if sum > top {
				top, at = sum, level
			}
		}
		return at
	}
	o.best = best(func(i int) int { return i })
	const resamples = 1000
	rng := rand.New(rand.NewPCG(1, uint64(len(rows))))
	drawn := make([]int, len(rows))
	tops := make([]int, 0, resamples)
	for range resamples {
		for i := range drawn {
			drawn[i] = rng.IntN(len(rows))
		}
		tops = append(tops, best(func(i int) int { return drawn[i] }))
	}
	slices.Sort(tops)
	const tail = (1 - confidence) / 2
	o.lo, o.hi = tops[int(tail*resamples)], tops[int((1-tail)*resamples)-1]
	o.lo, o.hi = min(o.lo, o.best), max(o.hi, o.best)
	asGood := func(level int) bool {
		top, g := c.levels[o.best].group, c.levels[level].group
		cmp := Compare(top, g, metric, floor(g))
		return cmp.Verdict != Worse || max(cmp.Ratio, 1/cmp.Ratio) <= plateau
	}
	o.from, o.to = o.best, o.best
	for o.from > 0 && asGood(o.from-1) {
		o.from--
	}
	for o.to < len(c.levels)-1 && asGood(o.to+1) {
		o.to++
	}
	return o, true
}

// blocks returns the logarithms of a metric by block and level, for the blocks
// that all levels have.
func (c *curve) blocks(metric string) [][]float64 {
	byBlock := map[int][]float64{}
	for _, p := range c.levels {
		s := p.group.Series[metric]
		for i, block := range s.Blocks {
			if s.Values[i] > 0 {
				byBlock[block] = append(byBlock[block], math.Log(s.Values[i]))
			}
		}
	}
	var rows [][]float64
	for _, row := range byBlock {
		if len(row) == len(c.levels) {
			rows = append(rows, row)
		}
	}
	// Map order must not decide the resamples.
	slices.SortFunc(rows, slices.Compare)
	return rows
}

// optima describes the best level of each curve and the plateau around it.
func (s study) optima(floors floors) []finding {
	metric := cell.Throughput
	if len(s.base.Series[metric].Values) == 0 {
		metric = s.speed().metric
	}
	var out []finding
	for _, c := range s.curves() {
		o, ok := c.optimum(metric, func(g *Group) float64 { return floors.of(g, metric, allMachines) })
		if !ok {
			continue
		}
		name := func(i int) string {
			return strings.TrimPrefix(level(c.levels[i].group.Config, c.factor), c.factor+"=")
		}
		what, verb := s.speed().name, "is least"
		if metric == cell.Throughput {
			what, verb = "throughput", "peaks"
		}
		where := s.base.Config.Title()
		if c.rest != "" {
			where += " with " + c.rest
		}
		text := fmt.Sprintf("%s: %s %s at %s=%s", where, what, verb, c.factor, name(o.best))
		if metric == cell.Throughput {
			text += fmt.Sprintf(", %.0f/s", value(c.levels[o.best].group, metric))
		}
		text += fmt.Sprintf(" (between %s and %s with 95 %% confidence)", name(o.lo), name(o.hi))
		if o.best == 0 || o.best == len(c.levels)-1 {
			text += ", the end of the range measured"
		}
		switch {
		case o.from == 0 && o.to == len(c.levels)-1:
			text += "; no level is told apart from it by more than 2 %"
		case o.from < o.to:
			text += fmt.Sprintf("; %s to %s is a plateau, within 2 %% or not told apart", name(o.from), name(o.to))
		}
		out = append(out, finding{text + ".", true})
	}
	return out
}
