package tune

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// axes tries other values of GOMAXPROCS and other builds with the best setting, in paired rounds.
// It returns the best of all by median ratio.
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
	t.planned += rounds * len(arms)
	records, err := t.rounds(arms, rounds)
	if err != nil {
		return best, err
	}
	for i := range t.Procs {
		t.expectProcs(arms[i+1].GOMAXPROCS, records[i+1])
	}
	results, err := t.compare(arms, records)
	if err != nil {
		return best, err
	}
	winner, least := 0, 1.0
	for i := 1; i < len(arms); i++ {
		c := results[i].by[costMetric]
		if c.Pairs > 0 {
			t.answer.Others = append(t.answer.Others, fmt.Sprintf("%s%s: %s the %s of %s, %s", settingText(arms[i]),
				variantText(names[i]), ratioText(RatioOf(c)), nameOf(t.answer.costName()), settingText(best),
				text.Plural(c.Pairs, "round")))
		}
		if c.Pairs == rounds && c.Ratio < least && c.Hi < 1 {
			winner, least = i, c.Ratio
		}
	}
	t.answer.Variant = names[winner]
	return arms[winner], nil
}

// rounds runs each configuration once per round, in random order. It drops a
// configuration under which the program does not run; the first, the baseline, must
// run. It ends early when the budget does.
func (t *tuning) rounds(arms []cell.Config, n int) ([][]*cell.Record, error) {
	rng := rand.New(rand.NewPCG(t.Seed, uint64(t.block)))
	out, gone := make([][]*cell.Record, len(arms)), make([]bool, len(arms))
	for range n {
		for _, i := range rng.Perm(len(arms)) {
			if gone[i] || slices.Contains(t.failed, arms[i].GC) {
				continue
			}
			if t.spent+t.mean() > t.Budget.Seconds() && t.Pairs == 0 {
				t.block++
				return out, nil
			}
			rec, err := t.measure(arms[i], t.block, "proving "+settingText(arms[i]))
			if t.infeasible(rec) && i > 0 {
				if gone[i] = true; arms[i].GC == arms[0].GC { // a build or a GOMAXPROCS
					t.answer.Doubts = append(t.answer.Doubts, err.Error())
				} else {
					t.drop(arms[i].GC, err)
				}
				continue
			}
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

// proven returns the metrics that an answer shows, including the objective.
func (t *tuning) proven() []string {
	out := []string{cell.WallTime, cell.TotalCPU, cell.RSSPeak, cell.GCCPUTotal, cell.GCPauseTotal}
	if isServed(t.Base) {
		out = []string{P99.metric(true), P999.metric(true), cell.TotalCPU, cell.RSSPeak, cell.GCCPUTotal}
	}
	if name := t.answer.costName(); !slices.Contains(out, name) {
		out = append([]string{name}, out...)
	}
	return out
}

// group makes a stat.Group of records in rounds.
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
		for metric, v := range all {
			add(metric, rec.Cell.Block, v)
		}
	}
	g.Series[t.Objective.costName(isServed(c))] = g.Series[costMetric]
	return g, nil
}

// A compared is a configuration compared with the baseline, by metric.
type compared struct {
	by    map[string]stat.Comparison
	wall  stat.Comparison // of wall time, proven or not
	gains []Gain
	peak  Interval // bytes
}

// equalRuns estimates the ratio that a comparison of two copies of the group would show, from the
// differences between consecutive runs.
func equalRuns(g *stat.Group, metric string) float64 {
	var steps []float64
	values := g.Series[metric].Values
	for i := 1; i < len(values); i++ {
		if values[i] > 0 && values[i-1] > 0 {
			steps = append(steps, math.Abs(math.Log(values[i]/values[i-1])))
		}
	}
	if len(steps) == 0 {
		return 1
	}
	// The median of n ratios of equal runs has 1.25/sqrt(n) times the deviation of
	// one; its mean distance from 1 is 0.8 of that, a step's median 0.67.
	return math.Exp(1.25 * 0.8 / 0.67 * stat.Median(steps) / math.Sqrt(float64(len(values))))
}

// compare compares each configuration with the first, the baseline.
func (t *tuning) compare(arms []cell.Config, records [][]*cell.Record) ([]compared, error) {
	out := make([]compared, len(arms))
	var base *stat.Group
	for i := range arms {
		g, err := t.group(arms[i], records[i])
		if err != nil {
			return nil, err
		}
		if i == 0 {
			base = g
		}
		out[i].by = map[string]stat.Comparison{}
		out[i].peak = spanOf(g.Series[cell.RSSPeak].Values)
		out[i].wall = stat.Compare(base, g, cell.WallTime, equalRuns(base, cell.WallTime))
		for _, metric := range append(t.proven(), costMetric) {
			// The name 1/x has the direction of x, not of its inverse.
			of := metric
			if strings.HasPrefix(metric, "1/") {
				of = costMetric
			}
			c := stat.Compare(base, g, of, equalRuns(base, of))
			out[i].by[metric] = c
			// If the baseline never collected, there is no ratio of the cost of collections.
			if c.Pairs > 0 && metric != costMetric && !math.IsInf(c.Hi, 0) {
				out[i].gains = append(out[i].gains, NewGain(metric, c))
			}
		}
	}
	return out, nil
}

// prove compares the picks with the baseline in fresh rounds, and decides.
func (t *tuning) prove(e explored) error {
	best := t.Base
	if len(e.picks) > 0 {
		best = t.with(e.picks[0].GC)
	}
	best, err := t.axes(best)
	if err != nil {
		return err
	}
	if len(e.picks) == 0 && best.Key() != t.Base.Key() {
		e.picks = []pick{{Fastest, e.model.Expect(best.GC)}}
	}
	if len(e.picks) == 0 {
		t.leave(e)
		return nil
	}
	for {
		arms := []cell.Config{t.Base, best}
		for _, p := range e.picks[1:] {
			arms = append(arms, t.with(p.GC))
		}
		choices, records, err := t.proveAll(e, arms)
		if err != nil {
			return err
		}
		next, err := t.smaller(&choices[0])
		if err != nil {
			return err
		}
		if next == nil {
			t.answer.Choices = choices
			return t.decide(records)
		}
		t.answer.Others = append(t.answer.Others, settingText(best)+": "+choices[0].over)
		e.picks, best = []pick{{Fastest, *next}}, t.with(next.GC)
	}
}

// smaller returns the setting to prove instead of a choice that takes more memory than allowed; nil if the choice
// stands. Of the settings that need less, it is the one that collects least by the model of all runs so far.
func (t *tuning) smaller(top *Choice) (*Prediction, error) {
	left := min(float64(mostRuns-t.answer.Runs), (t.Budget.Seconds()-t.spent)/t.mean())
	if top.over == "" || top.Name == LeastMemory || t.Pairs > 0 || t.races() || left < 2*leastRounds ||
		top.Setting.Key() != t.with(top.Setting.GC).Key() {
		return nil, nil
	}
	m, err := NewModel(t.pilots)
	if err != nil || m.misfit {
		return nil, err
	}
	var all []Prediction
	for _, gc := range t.candidates(m) {
		all = append(all, t.expect(m, gc))
	}
	was, cliff := t.expect(m, top.Setting.GC), m.Cliff()
	best := func(may func(*Prediction) bool) *Prediction {
		return least(all, func(p *Prediction) float64 { return p.work }, func(p *Prediction) bool {
			return p.needs < was.needs && (p.work < 1 || t.MaxPeakBytes > 0) && may(p)
		})
	}
	p := best(func(p *Prediction) bool { return t.eligible(p, cliff, 0) })
	if p == nil && t.MaxPeakBytes == 0 && t.Base.GC.LimitBytes == 0 { // a higher GOGC, which gets a guard
		p = best(func(p *Prediction) bool { return t.usable(p, cliff) && t.allowed(p, 0) })
	}
	return p, nil
}

// leave sets the outcome if there is nothing to prove: a race showed it, or no other
// setting may be tried.
func (t *tuning) leave(e explored) {
	a := t.answer
	given := t.MaxPeakBytes
	open := slices.ContainsFunc(a.Candidates, func(c Candidate) bool {
		return c.Out == "" && c.Cost != nil && c.Cost.Lo < 1-t.Tolerance
	})
	a.Outcome = Inconclusive
	switch {
	case t.unfilled != nil && !open:
		a.Reason = t.short(*t.unfilled, "")
	case a.Reason != "" && !open:
		a.Outcome = DefaultGood
	case a.Reason != "":
		a.Reason += "; nor do they exclude it: --rounds"
	case given > 0 && e.model.Expect(t.Base.GC).PeakBytes.Mid > given:
		all := measuredOf(t.pilots)
		p := slices.MinFunc(all, func(a, b Measured) int { return cmp.Compare(a.PeakBytes.Mid, b.PeakBytes.Mid) })
		a.Reason = fmt.Sprintf("no setting keeps within the memory allowed: the least was %s, with %s: allow more, or "+
			"reduce what is live", bytesText(p.PeakBytes.Mid), settingText(t.with(p.GC)))
	case len(t.Settings) > 0 && !slices.ContainsFunc(t.Settings, func(gc cell.GC) bool { return gc != t.Base.GC }):
		a.Reason = "the only candidate is today's setting: name others (--gogc)"
	default:
		a.Reason = fmt.Sprintf("after %d runs no other setting is expected to run well in the memory allowed, so none was "+
			"compared: allow more (--max-rss; without it, twice today's), or name candidates (--gogc)", a.Runs)
	}
}

// mostRounds is the most rounds of a proof, fewRounds how many a hopeless setting must run.
const mostRounds, fewRounds = 10, 2

// proveAll runs the arms against the first, the baseline, in rounds. Settings that will hardly
// keep their promise leave early, which leaves more rounds to the others; the second, which the
// answer rests on, leaves only after leastRounds. All stay if the user gave the number of rounds.
func (t *tuning) proveAll(e explored, arms []cell.Config) (choices []Choice, records [][]*cell.Record, err error) {
	left, most := t.Pairs*len(arms), max(t.Pairs, mostRounds)
	if t.Pairs == 0 {
		left = min(int((t.Budget.Seconds()-t.spent)/t.mean()), mostRuns-t.answer.Runs)
		for len(arms) > 2 && left < leastRounds*len(arms) {
			arms = arms[:len(arms)-1]
		}
		left = max(left, leastRounds*len(arms))
	}
	records = make([][]*cell.Record, len(arms))
	in := make([]int, len(arms)) // indices of the remaining arms
	for i := range in {
		in[i] = i
	}
	for round := 1; round <= most && len(in) > 1 && left >= len(in); round++ {
		t.planned = t.answer.Runs + left
		var now []cell.Config
		for _, i := range in {
			now = append(now, arms[i])
		}
		got, err := t.rounds(now, 1)
		if err != nil {
			return nil, nil, err
		}
		for k, i := range in {
			records[i] = append(records[i], got[k]...)
		}
		left -= len(in)
		if choices, err = t.choices(e, arms, records); err != nil {
			return nil, nil, err
		}
		if round >= fewRounds {
			if next, err := t.smaller(&choices[0]); err != nil || next != nil {
				return choices, records, err
			}
		}
		if t.Pairs == 0 && round >= fewRounds {
			in = slices.DeleteFunc(in, func(i int) bool {
				return i > 0 && choices[i-1].Outcome == DefaultGood && (i > 1 || round >= leastRounds)
			})
		}
	}
	return choices, records, nil
}

// slack is how far above 1 the ratio of CPU time or memory may reach if a choice
// promises to keep it.
const slack = 0.05

// choice judges whether a setting keeps what its name promises.
func (t *tuning) choice(name string, c cell.Config, r compared) Choice {
	cpu, memory, cost := r.by[cell.TotalCPU], r.by[cell.RSSPeak], r.by[costMetric]
	out := Choice{Name: name, Setting: c, PeakBytes: r.peak, CPU: RatioOf(cpu), Memory: RatioOf(memory),
		Cost: RatioOf(cost), Gains: r.gains, Outcome: Inconclusive}
	switch {
	case cost.Pairs == 0:
		out.Reason = "it did not run in the fresh rounds"
		if !slices.Contains(t.failed, c.GC) {
			out.Reason += ": give a larger --budget"
		}
	case t.MaxPeakBytes == 0 && memory.Ratio > twice*sameMemory:
		out.Reason = fmt.Sprintf("it took %.2f times today's memory, and twice is allowed: --max-rss", memory.Ratio)
	case name == Fastest:
		out.Outcome, out.Reason = verdict(t.Tolerance, cost)
	case name == SameMemory && memory.Ratio > 1+slack:
		out.Reason = fmt.Sprintf("it took %.2f times the memory", memory.Ratio)
	case name == SameMemory:
		out.Outcome, out.Reason = verdict(t.Tolerance, cpu)
	default:
		out.Outcome, out.Reason = verdict(t.Tolerance, memory)
		if out.Outcome == Recommended && cpu.Hi > 1+slack {
			may := "may cost"
			if cpu.Lo > 1 {
				may = "costs"
			}
			out.Outcome = Inconclusive
			out.Reason = fmt.Sprintf("it saves memory, but %s CPU time: %s of today's", may, ratioText(out.CPU, 1+slack))
		}
		if cpu.Lo > 1+slack {
			out.Outcome = DefaultGood
		}
	}
	return out
}

// nothingToSave is the reason why no setting saves time, however much runs vary.
const nothingToSave = "no collection ran under it, so there is no time of the collector to save"

// decide derives the outcome from the choices, those for the objective first.
func (t *tuning) decide(records [][]*cell.Record) error {
	a := t.answer
	own := func(c Choice) bool { return c.Name == t.ownName() || c.Name == SameMemory && t.Objective == CPU }
	rank := func(c Choice) int {
		switch {
		case own(c) && c.Outcome == Recommended:
			return 0
		case own(c):
			return 1
		}
		return 2
	}
	first := a.Choices[0]
	slices.SortStableFunc(a.Choices, func(x, y Choice) int { return rank(x) - rank(y) })
	top := a.Choices[0]
	idle := len(records[0]) > 0 && t.Objective.modelled(isServed(t.Base)) && t.Objective != RSS &&
		!slices.ContainsFunc(records[0], func(r *cell.Record) bool { return len(r.Cycles) > 0 })
	switch {
	case !own(top) && idle:
		a.Outcome, a.Reason = DefaultGood, nothingToSave
		return nil
	case !own(top):
		a.Outcome = Inconclusive
		a.Reason = fmt.Sprintf("no other setting is expected to gain in %s, so none was compared", t.Objective)
		return nil
	}
	if pairs := top.gain(cell.TotalCPU).Pairs; top.Outcome == DefaultGood && pairs < leastRounds {
		top.Outcome = Inconclusive
		top.Reason = fmt.Sprintf("only %d of %d rounds fitted into the budget: give a larger --budget", pairs, leastRounds)
		a.Choices[0] = top
	}
	if idle && top.Outcome == Inconclusive {
		top.Outcome, top.Reason = DefaultGood, nothingToSave
		a.Choices[0] = top
	}
	a.Outcome, a.Reason, a.Gains = top.Outcome, top.Reason, top.Gains
	if top.Setting.Key() == first.Setting.Key() {
		if err := t.bound(records[0], records[1], &top); err != nil {
			return err
		}
		a.Choices[0] = top
	}
	if why := t.unlike(top.Setting.GC); why != "" {
		a.Outcome, a.Reason = Inconclusive, why
		a.Choices[0].Outcome, a.Choices[0].Reason = a.Outcome, a.Reason
	}
	if a.Outcome == Recommended {
		a.Setting = top.Setting
	}
	return nil
}

// keepsBound begins the reason of a choice that is recommended whatever its cost.
const keepsBound = "it keeps the bound that the baseline breaks: "

// bound corrects the outcome for bounds on memory and latency: a setting that breaks one is not
// recommended, and one that keeps a bound broken by the baseline is.
func (t *tuning) bound(base, tuned []*cell.Record, top *Choice) error {
	was, err := t.broken(base)
	if err != nil {
		return err
	}
	is, err := t.broken(tuned)
	switch {
	case err != nil:
		return err
	case is != "" && (top.Outcome == Recommended || was != ""):
		top.Outcome, top.Reason = Inconclusive, "in fresh runs the setting breaks a bound: "+is
	case is == "" && was != "" && len(tuned) > 0:
		top.Outcome, top.Reason = Recommended, keepsBound+was+"; "+top.Reason
	}
	t.answer.Outcome, t.answer.Reason = top.Outcome, top.Reason
	return nil
}

// broken describes the bound that the median run breaks; "" if none.
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
	peak, p99 := stat.Median(peaks), stat.Median(p99s)
	switch {
	case t.MaxPeakBytes > 0 && peak > t.MaxPeakBytes:
		return fmt.Sprintf("peak memory %s, %s allowed", bytesText(peak), bytesText(t.MaxPeakBytes)), nil
	case t.MaxP99 > 0 && p99 > t.MaxP99.Seconds():
		return fmt.Sprintf("99th percentile %v, %v allowed", seconds(p99), t.MaxP99), nil
	}
	return "", nil
}

// Open begins the reason of a choice that more runs may decide.
const Open = "fresh runs neither prove nor exclude the gain: "

// verdict turns a comparison in which less is better into an outcome.
func verdict(tolerance float64, main stat.Comparison) (outcome, reason string) {
	switch {
	case main.Verdict == stat.Better:
		return Recommended, main.Reason
	case main.Verdict == stat.Worse:
		return DefaultGood, "fresh runs show it worse than today's setting: the ratio is " + ratioText(RatioOf(main))
	case main.Verdict == stat.NoDifference && main.Lo > 1-tolerance:
		return DefaultGood, fmt.Sprintf("fresh runs exclude a gain of %.0f %%: the ratio is %s", 100*tolerance,
			ratioText(RatioOf(main), 1-tolerance))
	}
	return Inconclusive, Open + main.Reason
}
