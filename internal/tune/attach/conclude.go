package attach

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/internal/tune"
)

// sameMemory is the largest ratio at which memory counts as the same.
const sameMemory = 1.05

// grown is the least share of its earlier memory that a restarted server should take.
const grown = 0.75

// choose returns at most three arms worth proving: those that the rounds so far show ahead in
// what the three choices promise, otherwise the closest one.
func (t *tuning) choose() []*Arm {
	base := t.arms[0]
	cpu, bytes := stat.Median(base.CPU), stat.Median(base.Bytes)
	best := func(key func(*Arm) float64, than float64, allowed func(*Arm) bool) *Arm {
		var found *Arm
		for _, a := range t.arms[1:] {
			if a.Refused == "" && key(a) < than && allowed(a) && (found == nil || key(a) < key(found)) {
				found = a
			}
		}
		return found
	}
	byCPU := func(a *Arm) float64 { return stat.Median(a.CPU) }
	byBytes := func(a *Arm) float64 { return stat.Median(a.Bytes) }
	within := func(a *Arm) bool { return byBytes(a) <= t.MaxBytes }
	var out []*Arm
	for _, a := range []*Arm{
		best(byCPU, cpu, within),
		best(byCPU, cpu, func(a *Arm) bool { return byBytes(a) <= sameMemory*bytes }),
		best(byBytes, bytes, func(a *Arm) bool { return byCPU(a) <= (1+2*t.Tolerance)*cpu }),
	} {
		if a != nil && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	if closest := best(byCPU, math.Inf(1), within); len(out) == 0 && closest != nil {
		return []*Arm{closest}
	}
	return out
}

// conclude derives the answer from fresh rounds of today's setting, which comes
// first, and of the chosen ones.
func (t *tuning) conclude(fresh []*Arm) {
	r := t.answer
	r.Objective, r.Tolerance = tune.CPU, t.Tolerance
	r.Base = config(fresh[0].GC)
	r.Setting, r.Outcome = r.Base, tune.DefaultGood
	r.Reason = fmt.Sprintf("in %d blocks of each setting none kept within %d MiB", exploring, int64(t.MaxBytes)/mib)
	if short := t.arms[0].short(t.block); short != "" {
		r.Outcome, r.Reason = tune.Inconclusive, short
	}
	// Only a handler knows LiveBytes, and its server was not restarted.
	if took, before := stat.Median(t.arms[0].Bytes), r.Today.ResidentBytes; r.Today.LiveBytes == 0 &&
		took < grown*float64(before) {
		r.Doubts = append(r.Doubts, fmt.Sprintf("under today's setting the restarted server takes %d MiB, and took %d MiB "+
			"before: it was measured before its state had grown, which changes memory and CPU time: give a longer --settle",
			int64(took)/mib, before/mib))
	}
	base := groupOf(fresh[0])
	for _, a := range fresh[1:] {
		if len(a.Bytes) == 0 {
			continue // refused in the fresh rounds
		}
		arm := groupOf(a)
		cpu, memory := stat.Compare(base, arm, cell.TotalCPU, 1), stat.Compare(base, arm, cell.RSSPeak, 1)
		c := tune.Choice{Setting: config(a.GC),
			PeakBytes: tune.Interval{Mid: stat.Median(a.Bytes), Lo: slices.Min(a.Bytes), Hi: a.Most},
			CPU:       tune.RatioOf(cpu), Memory: tune.RatioOf(memory), Cost: tune.RatioOf(cpu),
			Gains: []tune.Gain{tune.NewGain(cell.TotalCPU, cpu), tune.NewGain(cell.RSSPeak, memory)}}
		c.Outcome, c.Name, c.Reason = t.judge(c, cpu, memory)
		if short := cmp.Or(a.short(t.block), fresh[0].short(t.block)); short != "" {
			c.Outcome, c.Reason = tune.Inconclusive, short
		}
		r.Choices = append(r.Choices, c)
	}
	slices.SortFunc(r.Choices, func(a, b tune.Choice) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.CPU.Mid, b.CPU.Mid))
	})
	named := map[string]bool{}
	r.Choices = slices.DeleteFunc(r.Choices, func(c tune.Choice) bool { // what is not proven is listed once by a name
		again := named[c.Name] && c.Outcome != tune.Recommended
		named[c.Name] = true
		return again
	})
	if len(r.Choices) > 0 {
		first := r.Choices[0]
		r.Outcome, r.Reason = first.Outcome, first.Reason
		if first.Outcome == tune.Recommended {
			r.Setting, r.Gains = first.Setting, first.Gains
			used := first.PeakBytes.Hi
			if mapped := r.Today.MappedBytes; mapped > 0 { // only a handler knows what a limit bounds
				used = max(used-float64(r.Today.beside()), float64(mapped))
			}
			r.GuardBytes = tune.Guard(r.Setting.GC, r.Base.GC, used)
		}
	}
	r.Headline = r.Sentence()
}

// short says that blocks contain no whole collection; "" if they do.
func (a *Arm) short(block time.Duration) string {
	if len(a.Cycles) == 0 || stat.Median(a.Cycles) >= 1 {
		return ""
	}
	return fmt.Sprintf("most blocks of %v under GOGC=%s saw no whole collection, and so not what it costs: give a larger "+
		"--budget, or tune it under more load", block.Round(100*time.Millisecond), a.GC)
}

// judge returns the outcome, the name of what the choice certainly keeps, and the reason.
func (t *tuning) judge(c tune.Choice, cpu, memory stat.Comparison) (outcome, name, reason string) {
	switch {
	case cpu.Verdict == stat.Better && c.PeakBytes.Mid > t.MaxBytes:
		return tune.DefaultGood, tune.Fastest, fmt.Sprintf("in fresh rounds it takes %d MiB, %d allowed",
			int64(c.PeakBytes.Mid)/mib, int64(t.MaxBytes)/mib)
	case cpu.Verdict == stat.Better && memory.Hi <= sameMemory:
		return tune.Recommended, tune.SameMemory, cpu.Reason
	case cpu.Verdict == stat.Better:
		return tune.Recommended, tune.Fastest, cpu.Reason
	case memory.Verdict == stat.Better && cpu.Hi <= 1+t.Tolerance:
		return tune.Recommended, tune.LeastMemory, memory.Reason
	case memory.Verdict == stat.Better && cpu.Lo > 1+t.Tolerance, cpu.Verdict == stat.Worse:
		return tune.DefaultGood, tune.LeastMemory, "it costs CPU time: " + cpu.Reason
	case memory.Verdict == stat.Better:
		return tune.Inconclusive, tune.LeastMemory, "it saves memory, but may cost CPU time: " + cpu.Reason
	}
	name = tune.Fastest
	switch {
	case memory.Ratio < 1 && cpu.Ratio >= 1:
		name = tune.LeastMemory
	case cpu.Ratio < 1 && memory.Ratio <= sameMemory:
		name = tune.SameMemory
	}
	return tune.Inconclusive, name, tune.Open + cpu.Reason
}

// rank orders choices: proven ones first, then by name.
func rank(c tune.Choice) int {
	n := slices.Index([]string{tune.Recommended, tune.Inconclusive, tune.DefaultGood}, c.Outcome) * 3
	return n + slices.Index([]string{tune.Fastest, tune.SameMemory, tune.LeastMemory}, c.Name)
}

// Write prints the answer.
func (r *Answer) Write(w io.Writer) error {
	if err := r.Answer.Write(w); err != nil {
		return err
	}
	var b strings.Builder
	for _, a := range r.Arms {
		if a.Refused != "" {
			fmt.Fprintf(&b, "  %s was %s\n", a.GC, a.Refused)
		}
	}
	fmt.Fprintf(&b, "server    today GOGC=%s, %s resident", r.Today.Found, text.Bytes(float64(r.Today.ResidentBytes)))
	slow := ""
	if r.Today.LiveBytes > 0 { // it was not restarted, and the runtime returns memory slowly
		fmt.Fprintf(&b, ", %s live", text.Bytes(float64(r.Today.LiveBytes)))
		slow = "; what larger heaps left resident falls slowly"
	}
	per := r.Unit
	if per == "second" {
		per += ", which also falls if the server slows down and its load waits for answers"
	}
	fmt.Fprintf(&b, "; CPU time is per %s; today's setting is restored%s\n", per, slow)
	_, err := io.WriteString(w, b.String())
	return err
}
