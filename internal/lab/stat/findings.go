package stat

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A finding is a sentence and whether a verdict supports it.
type finding struct {
	text   string
	proven bool
}

// findings describes what the comparisons of a run show: the cost and gain of
// each other GC setting, and the effect of each other factor, with everything
// else at the workload's baseline. Sentences supported by a verdict come first.
func findings(a *Analysis) []string {
	verdicts := make(map[[2]string]Comparison, len(a.Comparisons))
	for _, c := range a.Comparisons {
		verdicts[[2]string{c.B, c.Metric}] = c
	}
	var all []finding
	for _, groups := range Split(a.Groups, func(g *Group) string { return g.Config.Title() }) {
		s := study{groups[0], groups[1:], verdicts}
		all = append(all, s.optima(a.floors())...)
		all = append(all, s.findings()...)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].proven && !all[j].proven })
	texts := make([]string, len(all))
	for i, f := range all {
		texts[i] = f.text
	}
	return texts
}

// A study is one workload of a run.
type study struct {
	base     *Group
	others   []*Group
	verdicts map[[2]string]Comparison // by key of B and metric
}

func (s study) findings() []finding {
	name := s.base.Config.Title()
	if len(s.base.Records) == 0 && len(s.base.Failures) > 0 {
		return []finding{{fmt.Sprintf("%s: every cell of the baseline failed (%s): nothing can be compared.", name,
			s.base.Failures[0].Err.Kind), true}}
	}
	var out []finding
	var factors []string
	levels := make(map[string][]*Group) // groups that differ from the baseline in that factor alone
	for _, g := range s.others {
		factor, ok := difference(s.base.Config, g.Config)
		switch {
		case !ok:
			continue
		case len(g.Records) == 0 && len(g.Failures) > 0:
			out = append(out, finding{fmt.Sprintf("%s: with %s every cell failed (%s).", name, level(g.Config, factor),
				g.Failures[0].Err.Kind), true})
			continue
		case len(g.Records) == 0:
			continue
		}
		if levels[factor] == nil {
			factors = append(factors, factor)
		}
		levels[factor] = append(levels[factor], g)
	}
	if s.neverCollects() {
		out = append(out, finding{name + ": no collection was seen under any setting of the collector: the program " +
			"allocates too little for one, turns its collector off, or keeps its standard error.", true})
		factors = slices.DeleteFunc(factors, func(factor string) bool { return factor == "gc" })
	}
	if len(factors) == 0 {
		return out
	}
	if n := len(s.base.Records); n < minPairs {
		few := fmt.Sprintf("%d repetitions are", n)
		if n == 1 {
			few = "one repetition is"
		}
		return append(out, finding{fmt.Sprintf("%s: nothing is proven: %s too few for a verdict (--reps %d or more).", name,
			few, minPairs), false})
	}
	for _, factor := range factors {
		if n := len(levels[factor]); n > 1 && n < tooManyLevels && factor != "gc" {
			out = append(out, s.ranking(factor, levels[factor]))
			continue
		}
		if len(levels[factor]) >= tooManyLevels {
			continue // the curve says it in a sentence
		}
		for _, g := range levels[factor] {
			out = append(out, s.effect(factor, g))
		}
	}
	return out
}

// neverCollects reports whether the collector never ran, though settings let it. A collection
// that began and did not end is not in the cycles, but in the collector's CPU time.
func (s study) neverCollects() bool {
	may := false
	for _, g := range append([]*Group{s.base}, s.others...) {
		cycles := g.Series[cell.GCCycles].Values
		if len(g.Records) > 0 && (len(cycles) == 0 || slices.Max(cycles) > 0) {
			return false
		}
		if share := g.Series[cell.GCCPUShare].Values; len(share) > 0 && slices.Max(share) > 0 {
			return false
		}
		may = may || len(cycles) > 0 && (g.Config.GC.Percent >= 0 || g.Config.GC.LimitBytes > 0)
	}
	return may
}

// An aspect is a metric as a sentence names it.
type aspect struct{ name, metric string }

var (
	memory   = aspect{"memory", cell.RSSPeak}
	heap     = aspect{"heap", cell.HeapMax}
	work     = aspect{"time per operation", cell.OpTime}
	cpu      = aspect{"CPU time per operation", cell.OpCPU}
	wall     = aspect{"wall time", cell.WallTime}
	allCPU   = aspect{"CPU time", cell.TotalCPU} // of a program
	response = aspect{"p99.9 response time", LatencyMetric(cell.HistResponse, "p99.9")}
	service  = aspect{"p99.9 service time", LatencyMetric(cell.HistService, "p99.9")}
)

// first returns the first aspect for which the baseline has figures, or the last of them.
func (s study) first(aspects ...aspect) aspect {
	for _, a := range aspects {
		if len(s.base.Series[a.metric].Values) > 0 {
			return a
		}
	}
	return aspects[len(aspects)-1]
}

// speed returns the aspect that measures relief.
func (s study) speed() aspect { return s.first(work, response, wall) }

// proven returns the aspect of speed. For a program without a verdict on wall time,
// that is CPU time if it has one.
func (s study) proven(g *Group) aspect {
	shown := func(a aspect) bool {
		c, ok := s.compare(g, a)
		return ok && c.Verdict != NoDifference && c.Verdict != Inconclusive
	}
	if a := s.speed(); a != wall || shown(wall) || !shown(allCPU) {
		return a
	}
	return allCPU
}

// compare returns the comparison of g with the baseline in an aspect.
func (s study) compare(g *Group, a aspect) (Comparison, bool) {
	c, ok := s.verdicts[[2]string{g.Key, a.metric}]
	return c, ok
}

// effect describes what one level did compared with the baseline.
func (s study) effect(factor string, g *Group) finding {
	var costs, gains, none, unproven, mixed []string
	aspects := []aspect{s.first(memory, heap), s.proven(g), s.first(response, service)}
	for _, a := range slices.Compact(aspects) {
		c, ok := s.compare(g, a)
		if !ok {
			continue
		}
		switch c.Verdict {
		case Worse:
			costs = append(costs, factorOf(c, " the "+a.name))
		case Better:
			gains = append(gains, fmt.Sprintf("the %s to %s", a.name, factorOf(c, "")))
		case NoDifference:
			none = append(none, a.name)
		case Disagreement:
			mixed = append(mixed, a.name+" ("+c.byMachine()+")")
		case Inconclusive:
			unproven = append(unproven, a.name)
		}
	}
	subject := label(g.Config, factor)
	var parts []string
	if len(costs) > 0 {
		parts = append(parts, "cost "+list(costs, "and"))
	}
	switch {
	case len(gains) > 0:
		parts = append(parts, "cut "+list(gains, "and"))
		if len(none) > 0 {
			parts = append(parts, "made no measurable difference in "+list(none, "or"))
		}
	case len(costs) > 0 && len(none) > 0:
		parts = append(parts, "brought no measurable change in "+list(none, "or")+" here")
	case len(none) > 0:
		parts = append(parts, "made no measurable difference in "+list(none, "or"))
	}
	if len(unproven) > 0 {
		parts = append(parts, "proved nothing about "+list(unproven, "or"))
	}
	if len(mixed) > 0 {
		parts = append(parts, "had different effects across machines on the "+list(mixed, "and the"))
	}
	if len(parts) == 0 {
		parts = []string{"proved nothing: no figure to compare"}
	}
	return finding{
		fmt.Sprintf("%s: %s %s (against %s).", s.base.Config.Title(), subject, list(parts, "and"),
			level(s.base.Config, factor)),
		len(costs)+len(gains)+len(mixed) > 0,
	}
}

// ranking says which of several levels relieved most. If the machine was too
// noisy for a verdict on time, CPU time per operation may still have one.
func (s study) ranking(factor string, groups []*Group) finding {
	first := s.ranked(factor, groups, s.speed())
	if !first.proven {
		if second := s.ranked(factor, groups, s.first(cpu, allCPU)); second.proven {
			second.text = strings.TrimSuffix(second.text, ".") + fmt.Sprintf("; nothing is proven for %s.", s.speed().name)
			return second
		}
	}
	return first
}

// ranked ranks levels in one aspect.
func (s study) ranked(factor string, groups []*Group, speed aspect) finding {
	var better, worse []Comparison
	var same, mixed []string
	names := make(map[string]string)
	for _, g := range groups {
		c, ok := s.compare(g, speed)
		names[g.Key] = level(g.Config, factor)
		switch {
		case ok && c.Verdict == Better:
			better = append(better, c)
		case ok && c.Verdict == Worse:
			worse = append(worse, c)
		case ok && c.Verdict == Disagreement:
			mixed = append(mixed, names[g.Key]+" ("+c.byMachine()+")")
		default:
			same = append(same, names[g.Key])
		}
	}
	inOrder := func(cs []Comparison) []string {
		slices.SortStableFunc(cs, func(a, b Comparison) int { return cmp.Compare(a.Ratio, b.Ratio) })
		var out []string
		for _, c := range cs {
			out = append(out, names[c.B]+" "+factorOf(c, ""))
		}
		return out
	}
	base := level(s.base.Config, factor)
	text := fmt.Sprintf("%s: under %s ", s.base.Config.Title(), level(s.base.Config, "gc"))
	if len(better) > 0 {
		order := inOrder(better)
		text += fmt.Sprintf("%s relieved most: %s", names[better[0].B], factorOf(better[0], " the "+speed.name+" of "+base))
		if len(order) > 1 {
			text += "; then " + list(order[1:], "and")
		}
	} else {
		text += fmt.Sprintf("nothing provably needs less %s than %s", speed.name, base)
	}
	if len(worse) > 0 {
		text += "; worse: " + list(inOrder(worse), "and")
	}
	if len(mixed) > 0 {
		text += "; machines disagree about " + list(mixed, "and")
	}
	if len(same) > 0 {
		text += "; no difference shown: " + list(same, "and")
	}
	return finding{text + ".", len(better)+len(worse)+len(mixed) > 0}
}

// byMachine lists the results of the machines: only the extremes if there are
// many.
func (c *Comparison) byMachine() string {
	shown := slices.Clone(c.Machines)
	if len(shown) > 4 {
		slices.SortStableFunc(shown, func(a, b MachineComparison) int { return cmp.Compare(a.Ratio, b.Ratio) })
		shown = []MachineComparison{shown[0], shown[len(shown)-1]}
	}
	var parts []string
	for _, m := range shown {
		parts = append(parts, factorOf(m.Comparison, " on "+m.Machine.Name))
	}
	return strings.Join(parts, ", ")
}

// factorOf formats a ratio with its interval, with or without a noun: "4.1x the
// memory [3.9, 4.4]".
func factorOf(c Comparison, of string) string {
	return fmt.Sprintf("%sx%s [%s, %s]", times(c.Ratio), of, times(c.Lo), times(c.Hi))
}

// difference returns the single factor in which two configurations differ.
func difference(a, b cell.Config) (factor string, ok bool) {
	names := append(a.Factors(), b.Factors()...)
	for _, name := range names {
		x, inA := a.Factor(name)
		y, inB := b.Factor(name)
		switch {
		case x == y && inA == inB, name == factor:
		case factor != "":
			return "", false
		default:
			factor = name
		}
	}
	return factor, factor != ""
}

// level names the level of a factor, for comparison with another.
func level(c cell.Config, factor string) string {
	value, ok := c.Factor(factor)
	if !ok {
		return "no " + factor
	}
	if factor == "strategy" {
		return value
	}
	return factor + "=" + value
}

// label names the level of a factor as the subject of a sentence.
func label(c cell.Config, factor string) string {
	if factor != "gc" {
		return level(c, factor)
	}
	limit := ""
	if c.GC.LimitBytes > 0 {
		limit = " with a memory limit of " + cell.FormatBytes(c.GC.LimitBytes)
	}
	switch {
	case c.GC.Percent < 0:
		return "disabling the GC" + limit
	case c.GC.Name == cell.DefaultGC.Name:
		return "the default GC" + limit
	}
	return "GOGC=" + c.GC.GOGC() + limit
}

// list joins items as in prose.
func list(items []string, word string) string {
	switch n := len(items); n {
	case 0:
		return ""
	case 1:
		return items[0]
	default:
		return strings.Join(items[:n-1], ", ") + " " + word + " " + items[n-1]
	}
}
