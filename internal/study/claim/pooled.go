package claim

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/stat"
)

// A Pooled is the combined result of the published runs for a claim.
type Pooled struct {
	Result
	Runs []RunVerdict // runs of the claim's current experiment and test
	// With names the property that the verdict varies with, if any.
	With string

	pools []*partPool // one per part of the test, if a run has estimates
}

// A RunVerdict is the verdict of one published run on a claim.
type RunVerdict struct {
	Run       int // counted from 0
	Verdict   Verdict
	Tentative bool
}

// A scale transforms estimates so that their errors are about normal.
type scale struct{ to, from func(float64) float64 }

var (
	logarithm = scale{math.Log, math.Exp}
	plain     = scale{func(x float64) float64 { return x }, func(x float64) float64 { return x }}
	// arcsine is the scale of shares: its variance is 1/4n even if all trials or none are
	// hits (Rücker and others, Statistics in Medicine 28, 2009).
	arcsine = scale{
		func(p float64) float64 { return math.Asin(math.Sqrt(p)) },
		func(y float64) float64 { s := math.Sin(min(max(y, 0), math.Pi/2)); return s * s },
	}
)

// A partPool is one part of a test, pooled over the runs.
type partPool struct {
	scale scale
	share bool
	stat.Pooled
}

// error is the standard error of an estimate on the scale.
func (p *partPool) error(e Estimate) float64 {
	if p.share {
		return 1 / math.Sqrt(4*e.trials())
	}
	return (p.scale.to(e.Hi) - p.scale.to(e.Lo)) / (2 * 1.96)
}

// poolPart combines the runs' estimates of a part of a test. The noise floor is that of the
// quietest run; the noise of the others is already in the variance between runs.
func poolPart(t Test, runs []Estimate) (*partPool, Estimate) {
	p := &partPool{scale: logarithm}
	if _, p.share = t.(Share); p.share {
		p.scale = arcsine
	} else if slices.ContainsFunc(runs, func(e Estimate) bool { return e.Lo <= 0 }) {
		p.scale = plain
	}
	var values, errors, floors []float64
	n := 0
	for _, e := range runs {
		values, errors = append(values, p.scale.to(e.Value)), append(errors, p.error(e))
		n += e.N
		if e.Floor > 0 {
			floors = append(floors, e.Floor)
		}
	}
	p.Pooled = stat.Pool(values, errors)
	pooled := Estimate{Value: p.scale.from(p.Mean), Lo: p.scale.from(p.Lo), Hi: p.scale.from(p.Hi), N: n, Floor: 1}
	if len(floors) > 0 {
		pooled.Floor = slices.Min(floors)
	}
	first := runs[0].Value
	if !slices.ContainsFunc(runs, func(e Estimate) bool { return e.Lo != first || e.Hi != first }) {
		pooled.Value, pooled.Lo, pooled.Hi = first, first, first // a count that is always the same
	}
	return p, pooled
}

// Pool combines the findings of the published runs on the claim. If two runs surely decide
// differently, the claim [Varies]. If all that decide agree, their verdict stands.
// Otherwise the pooled estimate decides, like that of a single run.
func (c *Claim) Pool(runs []*PublishedRun) Pooled {
	var p Pooled
	var each [][]Estimate // by run
	for i, run := range runs {
		f, ok := run.finding(c)
		if !ok || c.Untestable != "" {
			continue
		}
		p.Runs = append(p.Runs, RunVerdict{i, f.Verdict, f.Tentative})
		if parts, whole := f.estimates(c); whole {
			each = append(each, parts)
		}
	}
	switch {
	case c.Untestable != "":
		p.Result = Result{Verdict: Untestable, Text: c.Untestable}
		return p
	case len(p.Runs) == 0:
		p.Result = Result{Verdict: NotRun, Text: "no run was published"}
		if !slices.ContainsFunc(runs, func(r *PublishedRun) bool { return r.Machine.CPUs >= c.CPUs }) {
			p.Result = Result{Verdict: Untestable, Text: fmt.Sprintf("it needs %d CPUs or more", c.CPUs)}
		}
		return p
	}
	if len(each) > 0 {
		var parts []Estimate
		for i, test := range c.parts() {
			var of []Estimate
			for _, estimates := range each {
				of = append(of, estimates[i])
			}
			pool, estimate := poolPart(test, of)
			p.pools, parts = append(p.pools, pool), append(parts, estimate)
		}
		p.Result = c.Test.judge(parts)
		p.Parts = parts
	}
	p.settle(runs)
	return p
}

// settle decides by the verdicts of the runs, unless they leave it to the pooled
// estimate.
func (p *Pooled) settle(runs []*PublishedRun) {
	var sure, all []Verdict
	tentative := false
	for _, r := range p.Runs {
		tentative = tentative || r.Tentative || !r.Verdict.decided()
		if !r.Verdict.decided() {
			continue
		}
		if !slices.Contains(all, r.Verdict) {
			all = append(all, r.Verdict)
		}
		if !r.Tentative && !slices.Contains(sure, r.Verdict) {
			sure = append(sure, r.Verdict)
		}
	}
	pooled := p.Result
	switch {
	case len(p.Runs) == 1:
		p.Verdict, p.Tentative = p.Runs[0].Verdict, p.Runs[0].Tentative
		p.Text = "one run alone: it cannot tell how much runs differ"
	case len(sure) > 1:
		p.Verdict, p.Tentative, p.With = Varies, false, p.with(runs)
		p.Text = "the runs surely decide differently; " + p.With
	case len(all) == 1:
		p.Verdict = all[0]
		p.Tentative = tentative && (pooled.Verdict != all[0] || pooled.Tentative)
		p.Text = fmt.Sprintf("%d runs agree", len(p.Runs))
	case p.pools == nil:
		p.Verdict, p.Tentative, p.Text = Open, false, "the runs disagree, and none is sure"
	default:
		p.Text = fmt.Sprintf("%d runs pooled: %s", len(p.Runs), pooled.Text)
	}
}

// with names the properties of the runs that explain why the sure verdicts vary: each value
// of the property has one verdict, and at least one value has two runs.
func (p *Pooled) with(runs []*PublishedRun) string {
	var names []string
	for _, by := range []struct {
		name string
		of   func(*PublishedRun) string
	}{
		{"machine", func(r *PublishedRun) string { return r.Machine.CPU }},
		{"Go version", func(r *PublishedRun) string { return r.Machine.GoVersion }},
		{"size", func(r *PublishedRun) string { return string(r.Size) }},
		{"day", func(r *PublishedRun) string { return r.Day }},
	} {
		verdicts, often, fixed := map[string]Verdict{}, false, true
		for _, r := range p.Runs {
			if r.Tentative || !r.Verdict.decided() {
				continue
			}
			value := by.of(runs[r.Run])
			have, seen := verdicts[value]
			verdicts[value], often, fixed = r.Verdict, often || seen, fixed && (!seen || have == r.Verdict)
		}
		if len(verdicts) > 1 && often && fixed {
			names = append(names, by.name)
		}
	}
	if len(names) == 0 {
		return "the runs do not tell with what"
	}
	return "it varies with the " + strings.Join(names, " or the ")
}

// Beside compares the result of one more run with the published ones.
func (p *Pooled) Beside(r Result) string {
	if !r.Verdict.decided() || len(p.Runs) == 0 {
		return ""
	}
	beyond := false
	for i, pool := range p.pools {
		if i < len(r.Parts) {
			e := r.Parts[i]
			lo, hi := pool.Next(pool.error(e))
			y := pool.scale.to(e.Value)
			beyond = beyond || y < lo || y > hi
		}
	}
	agrees := p.Verdict == r.Verdict || p.Verdict == Varies &&
		slices.ContainsFunc(p.Runs, func(one RunVerdict) bool { return one.Verdict == r.Verdict })
	switch {
	case agrees && beyond:
		return "agrees, but the figure differs more than runs do"
	case agrees:
		return "agrees"
	case beyond:
		return "differs, more than runs do"
	case len(p.Runs) == 1:
		return "differs; one published run cannot tell how much runs do"
	}
	return "differs, as runs do"
}

// LeaveOneOut compares each published run with the others pooled. Among the claims on which
// both decide, and the others do not vary, it counts those on which the run contradicts them.
func LeaveOneOut(claims []*Claim, runs []*PublishedRun) (contradicted, stated int) {
	for i := range runs {
		others := slices.Delete(slices.Clone(runs), i, i+1)
		for _, c := range claims {
			f, ok := runs[i].finding(c)
			p := c.Pool(others)
			if ok && f.Verdict.decided() && p.Verdict.decided() {
				stated++
				if f.Verdict != p.Verdict {
					contradicted++
				}
			}
		}
	}
	return contradicted, stated
}
