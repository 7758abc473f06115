package tune

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// axes tries further values of GOMAXPROCS and further builds beside the best
// setting, in paired rounds, and returns the best of all by median ratio.
func (t *tuning) axes(best cell.Config) (cell.Config, error) {
	arms, names := []cell.Config{best}, []string{""}
	for _, p := range t.Procs {
		arm := best
		arm.GOMAXPROCS = p
		arms, names = append(arms, arm), append(names, "")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Variants)) {
		arm := best
		arm.Command = t.Variants[name]
		arms, names = append(arms, arm), append(names, name)
	}
	if len(arms) == 1 {
		return best, nil
	}
	const rounds = 4
	records, err := t.rounds(arms, rounds)
	if err != nil {
		return best, err
	}
	for i := range t.Procs {
		t.expectProcs(arms[i+1].GOMAXPROCS, records[i+1])
	}
	base, err := t.group(arms[0], records[0])
	if err != nil {
		return best, err
	}
	winner, least := 0, 1.0
	for i := 1; i < len(arms); i++ {
		arm, err := t.group(arms[i], records[i])
		if err != nil {
			return best, err
		}
		c := stat.Compare(base, arm, costMetric, 1)
		if c.Pairs == rounds && c.Ratio < least && c.Hi < 1 {
			winner, least = i, c.Ratio
		}
	}
	t.result.Variant = names[winner]
	return arms[winner], nil
}

// rounds runs each configuration once a round, in an order shuffled anew.
func (t *tuning) rounds(arms []cell.Config, n int) ([][]*cell.Record, error) {
	rng := rand.New(rand.NewPCG(t.Seed, uint64(t.block)))
	out := make([][]*cell.Record, len(arms))
	for range n {
		for _, i := range rng.Perm(len(arms)) {
			rec, err := t.measure(arms[i], t.block)
			if err != nil {
				return nil, err
			}
			rec.Cell.Block = t.block
			out[i] = append(out[i], rec)
		}
		t.block++
	}
	return out, nil
}

// proven are the metrics that an answer shows beside the objective.
func (t *tuning) proven() []string {
	out := []string{cell.WallTime, cell.TotalCPU, cell.RSSPeak, cell.GCCPUTotal, cell.GCPauseTotal}
	if isServed(t.Base) {
		out = []string{P99.metric(true), P999.metric(true), cell.TotalCPU, cell.RSSPeak, cell.GCCPUTotal}
	}
	if name := t.Objective.costName(isServed(t.Base)); !slices.Contains(out, name) {
		out = append([]string{name}, out...)
	}
	return out
}

// group makes a group of package stat of records in rounds.
func (t *tuning) group(c cell.Config, records []*cell.Record) (*stat.Group, error) {
	g := &stat.Group{Config: c, Key: c.Key(), Records: records, Series: map[string]stat.Series{}}
	add := func(metric string, block int, value float64) {
		s := g.Series[metric]
		g.Series[metric] = stat.Series{Metric: metric, Blocks: append(s.Blocks, block), Values: append(s.Values, value)}
	}
	for _, rec := range records {
		cost, err := t.Objective.cost(rec)
		if err != nil {
			return nil, err
		}
		add(costMetric, rec.Cell.Block, cost)
		all, err := stat.Metrics(rec)
		if err != nil {
			return nil, err
		}
		for _, metric := range t.proven() {
			if v, ok := all[metric]; ok {
				add(metric, rec.Cell.Block, v)
			}
		}
	}
	g.Series[t.Objective.costName(isServed(c))] = g.Series[costMetric]
	return g, nil
}

// guard is the metric that must not suffer where memory is saved.
func (t *tuning) guard() string {
	if isServed(t.Base) {
		return cell.TotalCPU
	}
	return cell.WallTime
}

// retest sets the best against the default in fresh rounds, with a second copy
// of the default that shows what equal runs differ by, and gives the verdict.
func (t *tuning) retest(best cell.Config, pairs int) error {
	twin := t.Base
	twin.Twin = true
	arms := []cell.Config{t.Base, best, twin}
	records, err := t.rounds(arms, pairs)
	if err != nil {
		return err
	}
	var groups [3]*stat.Group
	for i := range arms {
		if groups[i], err = t.group(arms[i], records[i]); err != nil {
			return err
		}
	}
	compare := func(metric string) stat.Comparison {
		aa := stat.Compare(groups[0], groups[2], metric, 1)
		return stat.Compare(groups[0], groups[1], metric, max(aa.Ratio, 1/aa.Ratio))
	}
	for _, metric := range t.proven() {
		c := compare(metric)
		if strings.HasPrefix(metric, "1/") {
			c = compare(costMetric) // what its name says of direction is of the inverse
		}
		if c.Pairs == 0 {
			continue
		}
		t.result.Gains = append(t.result.Gains, Gain{Metric: metric, Ratio: Interval{c.Ratio, c.Lo, c.Hi}, Default: c.AValue,
			Tuned: c.BValue,
			Pairs: c.Pairs, Verdict: string(c.Verdict), Floor: c.Floor})
	}
	t.result.Outcome, t.result.Reason = verdict(t.Objective, t.Tolerance, compare(costMetric), compare(t.guard()))
	return t.bound(records[0], records[1])
}

// bound corrects the outcome by what is allowed of memory and latency: what
// breaks it is not recommended, and what keeps it where the default does not is.
func (t *tuning) bound(base, tuned []*cell.Record) error {
	was, err := t.broken(base)
	if err != nil {
		return err
	}
	is, err := t.broken(tuned)
	switch {
	case err != nil:
		return err
	case is != "" && t.result.Outcome == Recommended:
		t.result.Outcome, t.result.Reason = Inconclusive, "in fresh runs the setting breaks a bound: "+is
	case is == "" && was != "":
		t.result.Outcome, t.result.Reason = Recommended,
			"it keeps within what is allowed, which the default does not: "+was+"; "+t.result.Reason
	}
	return nil
}

// broken says which bound most of the runs break; "" if none.
func (t *tuning) broken(records []*cell.Record) (string, error) {
	var peaks, p99s []float64
	for _, rec := range records {
		peaks = append(peaks, rec.Metrics[cell.RSSPeak])
		if t.MaxP99 == 0 {
			continue
		}
		p99, err := p99Of(rec)
		if err != nil {
			return "", err
		}
		p99s = append(p99s, p99.Seconds())
	}
	switch {
	case t.MaxPeakBytes > 0 && median(peaks) > t.MaxPeakBytes:
		return fmt.Sprintf("peak memory %s, %s allowed", bytesText(median(peaks)), bytesText(t.MaxPeakBytes)), nil
	case t.MaxP99 > 0 && median(p99s) > t.MaxP99.Seconds():
		return fmt.Sprintf("99th percentile %v, %v allowed", seconds(median(p99s)), t.MaxP99), nil
	}
	return "", nil
}

// verdict judges the re-test. What saves memory must also cost no more of the
// guard, wall or CPU time, than the tolerance allows.
func verdict(o Objective, tolerance float64, main, guard stat.Comparison) (outcome, reason string) {
	switch {
	case main.Verdict == stat.Better && o == RSS && guard.Lo > 1+tolerance:
		return DefaultGood, "it saves memory, and is slower by more than the tolerance: " + guard.Reason
	case main.Verdict == stat.Better && o == RSS && guard.Hi > 1+tolerance:
		return Inconclusive, fmt.Sprintf("it saves memory, but may be slower by more than the tolerance: time %.3f [%.3f, "+
			"%.3f] of the default's", guard.Ratio, guard.Lo, guard.Hi)
	case main.Verdict == stat.Better:
		return Recommended, main.Reason
	case main.Verdict == stat.Worse:
		return DefaultGood, "fresh runs show it worse than the default: " + main.Reason
	case main.Verdict == stat.NoDifference && main.Lo > 1-tolerance:
		return DefaultGood, fmt.Sprintf("fresh runs exclude a gain of %.0f %%: %s", 100*tolerance, main.Reason)
	}
	return Inconclusive, "fresh runs neither prove nor exclude the gain: " + main.Reason
}
