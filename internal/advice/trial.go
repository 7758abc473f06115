package advice

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// What trials take.
const (
	trialTime  = "20ms" // of one run of a benchmark
	oneTrial   = 2 * time.Minute
	worthTrial = 0.005 // the share of a finding
)

// try lays the fix of each finding that weighs over the module, alone, and counts what the benchmarks that
// run it allocate. What saves nothing there, or breaks a test, is no remedy, and its finding goes; what nothing
// can measure stays a candidate. It is a short form of Verify: the tests are those of the package.
func (r *Result) try(ctx context.Context, c Config) {
	if !c.Try {
		return
	}
	tried, err := trials(ctx, c, r.Findings)
	if err != nil && ctx.Err() == nil {
		r.Evidence.Notes = append(r.Evidence.Notes, "not all fixes were tried: "+err.Error())
	}
	for i := range r.Evidence.Account.Sites {
		e := &r.Evidence.Account.Sites[i]
		got, ok := tried[e.fixed]
		decides := ""
		for _, f := range e.fixes {
			if other := tried[f.key()]; other.Outcome == Kept && (got.Outcome != Kept || f.key() == e.fixed) {
				got, ok, e.Remedy, e.Check, e.Fix, e.fixed = other, true, f.Message, f.Check, true, f.key()
				if f.Line != e.Line {
					decides = fmt.Sprintf("%s:%d", f.File, f.Line)
				}
			}
		}
		switch {
		case !ok:
		case got.Outcome == Kept:
			e.Verdict, e.Tried, e.Decides = Remedy, got.Figures, decides
			e.Remedy += "; tried: " + saving(got.Figures)
		case got.Outcome == Dropped && len(got.Figures) == 0: // it does not build, as more has to change with it
			e.Fix = false
		case got.Outcome == Dropped:
			e.settle()
		}
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.unsure && tried[f.key()].Outcome != Kept })
	if c.Prove {
		return
	}
	all := len(r.Findings)
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return tried[f.key()].Outcome == Dropped })
	if n := all - len(r.Findings); n > 0 {
		r.Evidence.Notes = append(r.Evidence.Notes, text.Plural(n, "finding")+" left out: the fix was tried, and saves "+
			"nothing in these benchmarks or breaks a test")
	}
}

// trials tries the fixes of findings, the heaviest first, until their time ends.
func trials(ctx context.Context, c Config, findings []Finding) (map[string]Verified, error) {
	tried := map[string]Verified{}
	findings = slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool {
		return len(f.Edits) == 0 || f.Severity == check.Trap.String() || f.Share.weight() < worthTrial
	})
	if len(findings) == 0 {
		return tried, nil
	}
	c.Race, c.Blocks, c.BenchTime = false, fewestBlocks, trialTime
	v, err := newVerifier(ctx, c)
	if err != nil {
		return nil, err
	}
	defer v.remove()
	v.base = map[string][]*benchfmt.Result{} // counts, which alone decide, do not depend on when it ran
	within, cancel := c.within(ctx, 2)
	defer cancel()
	var all []*remedy
	for _, f := range findings {
		all = append(all, v.mechanical(f))
	}
	err = v.findJudges(within, all)
	slices.SortStableFunc(all, func(a, b *remedy) int {
		return cmp.Or(len(a.finding.after)-len(b.finding.after),
			cmp.Compare(b.finding.Share.weight(), a.finding.Share.weight()))
	})
	done := 0
	for ; err == nil && done < len(all); done++ {
		m := all[done]
		if slices.ContainsFunc(m.finding.after, func(key string) bool { return tried[key].Outcome == Kept }) {
			continue
		}
		v.say(fmt.Sprintf("trying fix %d of %d: %s:%d", done+1, len(all), m.finding.File, m.finding.Line))
		if tried[m.finding.key()], err = v.trial(within, m); err != nil {
			break
		}
	}
	return tried, c.ended(ctx, err, fmt.Sprintf("%d of %d were tried", len(all)-done, len(all)))
}

// trial judges one remedy by itself.
func (v *verifier) trial(ctx context.Context, r *remedy) (got Verified, err error) {
	within, cancel := context.WithTimeout(ctx, oneTrial)
	defer cancel()
	got.Outcome = Dropped
	if err = v.prepare(within, r); err != nil || r.broken != nil {
		return got, err
	}
	if err = v.measure(within, r, &got); err == nil && got.Outcome == Kept && !v.passes(within, r.with, r) &&
		v.passes(within, v.command, r) && !v.passes(within, r.with, r) { // twice: a test may fail by chance
		got.Outcome = Dropped
	}
	got.Figures = slices.DeleteFunc(got.Figures, func(f Figure) bool { return f.Metric == "time/op" })
	switch {
	case within.Err() != nil:
		got.Outcome = Unproven
	case got.Outcome == Unproven && len(got.Figures) > 0: // equal runs differ as much as it saves
		got.Outcome = Dropped
	}
	return got, ctx.Err()
}

// passes reports whether the tests of a remedy's packages pass.
func (v *verifier) passes(ctx context.Context, in command, r *remedy) bool {
	failed, err := v.test(ctx, in, r.pkgs, "-short")
	return err == nil && len(failed) == 0
}

// cpus matches how many CPUs a benchmark has, behind its name.
var cpus = regexp.MustCompile(`-\d+$`)

// saving is what the benchmark that saves most allocates without a fix, and with it.
func saving(figures []Figure) string {
	best := (&Verified{Figures: figures}).best()
	if best == nil {
		return ""
	}
	var counts []string
	for _, f := range figures {
		if f.Package == best.Package && f.Benchmark == best.Benchmark && f.Metric != "time/op" &&
			(f.Verdict == string(stat.Better) || f.Verdict == string(stat.Worse)) {
			counts = append(counts, fmt.Sprintf("%.0f -> %.0f %s", f.Before, f.After, f.Metric))
		}
	}
	return strings.Join(counts, ", ") + " in Benchmark" + cpus.ReplaceAllString(best.Benchmark, "")
}
