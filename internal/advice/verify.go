package advice

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/isobar-go/isobar/advise/check"
)

// VerifyConfig says how to prove fixes.
type VerifyConfig struct {
	Dir        string // as in Config
	Patterns   []string
	Bench      string        // which benchmarks may judge, as of go test; empty for all
	Race       bool          // run the tests under the race detector
	Blocks     int           // interleaved repetitions of both sides
	BenchTime  string        // of one repetition, as of go test
	AcceptTime bool          // keep what saves time alone, too
	Budget     time.Duration // begin nothing after this time, and stop what runs then; 0 for no end
	Profiles   []string      // of benchmarks: they say which of them run a line
	Progress   func(string)
}

// What becomes of a fix.
const (
	Kept     = "kept"     // its tests pass and its benchmarks allocate less
	Dropped  = "dropped"  // see the reason
	Unproven = "unproven" // nothing could be measured, or what was measured does not decide
)

// A Verification is the outcome for each fix, in the order they were tried,
// and the patch of those that were kept.
type Verification struct {
	Fixes []Verified `json:"fixes"`
	Text  string     `json:"patch"`
	Patch *Patch     `json:"-"`
}

// A Verified is one fix with what came of it.
type Verified struct {
	Finding Finding  `json:"finding"`
	Outcome string   `json:"outcome"`
	Reason  string   `json:"reason"`
	Figures []Figure `json:"figures,omitempty"`
	Diff    string   `json:"diff,omitempty"` // the fix by itself
}

// best is the figure that a table shows: the largest saving of allocations or
// bytes, else the time.
func (v *Verified) best() *Figure {
	var best *Figure
	for i := range v.Figures {
		f := &v.Figures[i]
		if f.Benchmark == "" || f.Metric == "time/op" {
			continue
		}
		if best == nil || f.Ratio < best.Ratio {
			best = f
		}
	}
	return best
}

// A verifier tries remedies one after another. Those that were kept stay in the
// scratch copy, so that each is judged beside them.
type verifier struct {
	VerifyConfig
	*scratch
	patch   *Patch // what the kept ones make of the original
	tests   []*testPackage
	reached reach
	timed   map[*remedy][]benchmark // what the profiles say
	ends    time.Time               // of the budget; zero for no end
	search  time.Time               // end of the search for benchmarks: half of it
	suites  map[string]*suite       // what was learned of tests without any remedy, by package
	old     map[string]string       // binaries without the remedy on trial, by package
	module  []*testPackage          // its packages, once they are asked for
	unvet   map[string]bool         // packages that go vet complains of without any remedy
	builds  int
}

// Verify tries the fixes of the findings, each alone and in their order, in a
// copy of the module: it must build, pass vet and the tests of its package,
// and let the benchmarks that run it allocate less. The original is only read.
func Verify(ctx context.Context, c VerifyConfig, findings []Finding) (*Verification, error) {
	v, err := newVerifier(ctx, c)
	if err != nil {
		return nil, err
	}
	defer v.remove()
	var fixes []*remedy
	for _, f := range findings {
		if len(f.Edits) > 0 {
			fixes = append(fixes, v.mechanical(f))
		}
	}
	return v.verify(ctx, fixes)
}

func newVerifier(ctx context.Context, c VerifyConfig) (*verifier, error) {
	patch, err := newPatch(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	c.Progress("copying the module")
	s, err := newScratch(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	v := &verifier{
		VerifyConfig: c, scratch: s, patch: patch,
		old: map[string]string{}, suites: map[string]*suite{}, unvet: map[string]bool{}, timed: map[*remedy][]benchmark{},
	}
	if c.Budget > 0 {
		v.ends = time.Now().Add(c.Budget)
		v.search = v.ends.Add(-c.Budget / 2)
	}
	if c.Race {
		if _, err := s.run(ctx, "go", "list", "-race", "errors"); err != nil {
			s.remove()
			return nil, fmt.Errorf("advise: verify: %w; use --race=false to run the tests without the race detector", err)
		}
	}
	return v, nil
}

// verify tries the remedies in their order, until the budget ends.
func (v *verifier) verify(ctx context.Context, remedies []*remedy) (*Verification, error) {
	if err := v.findReach(ctx, remedies); err != nil {
		return nil, err
	}
	out := &Verification{Fixes: []Verified{}, Patch: v.patch}
	say := v.Progress
	for i, r := range remedies {
		head := fmt.Sprintf("fix %d of %d (%d kept): %s:%d %s", i+1, len(remedies), out.Count(Kept), r.finding.File,
			r.finding.Line, r.finding.Check)
		v.Progress = func(step string) { say(head + ": " + step) }
		got := Verified{Finding: r.finding}
		if err := v.inTime(ctx, r, &got); err != nil {
			return nil, err
		}
		out.Fixes = append(out.Fixes, got)
	}
	v.Progress = say
	out.Text = v.patch.String()
	return out, nil
}

// inTime judges one remedy within the budget: what that ends is unproven.
func (v *verifier) inTime(ctx context.Context, r *remedy, got *Verified) error {
	if v.ends.IsZero() {
		return v.try(ctx, r, got)
	}
	within, cancel := context.WithDeadline(ctx, v.ends)
	defer cancel()
	err := within.Err()
	if err == nil {
		err = v.try(within, r, got)
	}
	if within.Err() != nil && ctx.Err() == nil {
		*got = Verified{Finding: got.Finding, Diff: got.Diff, Outcome: Unproven,
			Reason: fmt.Sprintf("the budget of %v ended before it was decided; give more with --budget", v.Budget)}
		return nil
	}
	return err
}

// findReach finds out which benchmarks run the code of the remedies: profiles of
// benchmarks say it of the lines that they have, coverage of the others.
func (v *verifier) findReach(ctx context.Context, remedies []*remedy) error {
	all, err := v.benchPackages(ctx, v.Patterns)
	if err != nil {
		return err
	}
	if err := v.sampled(ctx, all, remedies); err != nil {
		return err
	}
	var covered []string
	rest := slices.DeleteFunc(slices.Clone(remedies), func(r *remedy) bool { return len(v.timed[r]) > 0 })
	for _, r := range rest {
		for _, pkg := range r.pkgs {
			if !slices.Contains(covered, pkg) {
				covered = append(covered, pkg)
			}
		}
	}
	for _, p := range all {
		if slices.ContainsFunc(covered, p.imports) {
			v.tests = append(v.tests, p)
		}
	}
	wanted := func(ran reach) bool {
		return slices.ContainsFunc(rest, func(r *remedy) bool { return len(r.benchmarks(ran)) > 0 })
	}
	search := coverage{pkgs: v.tests, covered: covered, bench: v.Bench, tmp: v.tmp, wanted: wanted, until: v.search,
		progress: v.Progress}
	if v.reached, err = v.reaching(ctx, search); err != nil || v.Bench != "" {
		return err
	}
	return v.generate(ctx, rest)
}

// benchmarks returns those that time the code of a remedy, the best judges first.
func (v *verifier) benchmarks(r *remedy) []benchmark {
	if timed := v.timed[r]; len(timed) > 0 {
		return timed
	}
	return r.benchmarks(v.reached)
}

// try judges one remedy. An error means that verification cannot go on; what is
// wrong with the remedy is its outcome.
func (v *verifier) try(ctx context.Context, r *remedy, got *Verified) error {
	drop := func(reason string) error {
		got.Outcome, got.Reason = Dropped, reason
		return ctx.Err()
	}
	if r.broken != nil {
		return drop(r.broken.Error())
	}
	var err error
	if r.tests, err = v.baseline(ctx, r.pkgs); err != nil {
		return drop("its package fails without the fix: " + err.Error())
	}
	if r.alone, err = r.make(ctx); err != nil {
		return drop(err.Error())
	}
	got.Diff = r.alone.String()
	if err := v.put(r.alone, true); err != nil {
		return err
	}
	err = v.examine(ctx, r, got)
	if err == nil && got.Outcome == Kept {
		v.patch.keep(r.finding.Edits, r.alone)
		clear(v.old)
		return nil
	}
	if restored := v.put(r.alone, false); restored != nil {
		return restored
	}
	return err
}

// examine builds, measures and tests the copy with the remedy on trial in it.
func (v *verifier) examine(ctx context.Context, r *remedy, got *Verified) error {
	got.Outcome = Dropped
	for _, pkg := range r.pkgs {
		tool := "vet"
		if v.unvet[pkg] {
			tool = "build"
		}
		v.Progress("go " + tool + " " + pkg)
		if _, err := v.run(ctx, "go", tool, pkg); err != nil {
			got.Reason = "with it go " + tool + " fails: " + err.Error()
			return ctx.Err()
		}
	}
	if r.finding.Severity == check.Trap.String() {
		got.Outcome, got.Reason = Kept, "it fixes a mistake, and need not save anything; tests pass"
	} else if err := v.measure(ctx, r, got); err != nil || got.Outcome != Kept {
		return err
	}
	if err := v.stillPass(ctx, r, got); err != nil {
		return err
	}
	return ctx.Err()
}

// measure lets the benchmarks judge the remedy in the copy.
func (v *verifier) measure(ctx context.Context, r *remedy, got *Verified) error {
	marks := v.benchmarks(r)
	if len(marks) == 0 {
		got.Outcome, got.Reason = Unproven, "no benchmark runs the line, and none could be made of a test; it builds, its "+
			"tests were not run"
		return nil
	}
	contests, err := v.contests(ctx, r.alone, marks)
	if err != nil {
		got.Reason = err.Error()
		return ctx.Err()
	}
	test := fromTest(marks[0].name)
	figures, err := v.compare(ctx, contests)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && test != "":
		got.Outcome, got.Reason = Unproven, "no benchmark runs the line, and "+test+" cannot be repeated as one: "+err.Error()
		return nil
	case err != nil:
		got.Reason = err.Error()
		return nil
	}
	got.Figures = figures
	got.Outcome, got.Reason = judge(figures, v.AcceptTime)
	if test != "" {
		got.Reason += "; no benchmark runs it, so one was made of " + test
	}
	return nil
}

// most is how many top-level benchmarks judge a fix: those that run most of it,
// and that most often.
const most = 4

// contests builds both sides of the benchmarks. The copy holds the remedy; the
// side without it is built once for all until one is kept.
func (v *verifier) contests(ctx context.Context, alone *Patch, marks []benchmark) ([]contest, error) {
	marks = marks[:min(most, len(marks))]
	fixed := map[string]string{} // binaries by package
	for _, m := range marks {
		if fixed[m.pkg.ImportPath] != "" {
			continue
		}
		v.Progress("building the benchmarks of " + m.pkg.ImportPath)
		var err error
		if fixed[m.pkg.ImportPath], err = v.build(ctx, m.pkg, fmt.Sprint("fixed", len(fixed))); err != nil {
			return nil, fmt.Errorf("with it the tests of %s do not build: %w", m.pkg.ImportPath, err)
		}
	}
	var out []contest
	for _, m := range marks {
		if v.old[m.pkg.ImportPath] == "" {
			err := v.put(alone, false)
			if err != nil {
				return nil, err
			}
			v.builds++
			if v.old[m.pkg.ImportPath], err = v.build(ctx, m.pkg, fmt.Sprint("old", v.builds)); err != nil {
				return nil, fmt.Errorf("the tests of %s do not build without it: %w", m.pkg.ImportPath, err)
			}
		}
		out = append(out, contest{benchmark: m, old: v.old[m.pkg.ImportPath], fixed: fixed[m.pkg.ImportPath]})
	}
	return out, v.put(alone, true)
}

// Count returns how many fixes had that outcome.
func (v *Verification) Count(outcome string) (n int) {
	for _, f := range v.Fixes {
		if f.Outcome == outcome {
			n++
		}
	}
	return n
}
