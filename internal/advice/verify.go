package advice

import (
	"context"
	"fmt"
	"slices"

	"github.com/isobar-go/isobar/advise/check"
)

// VerifyConfig says how to prove fixes.
type VerifyConfig struct {
	Dir        string // as in Config
	Patterns   []string
	Bench      string // which benchmarks may judge, as of go test; empty for all
	Race       bool   // run the tests under the race detector
	Blocks     int    // interleaved repetitions of both sides
	BenchTime  string // of one repetition, as of go test
	AcceptTime bool   // keep what saves time alone, too
	Progress   func(string)
}

// What becomes of a fix.
const (
	Kept     = "kept"     // its tests pass and its benchmarks allocate less
	Dropped  = "dropped"  // see the reason
	Unproven = "unproven" // no benchmark runs its line, nor a test that could be made one
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
	source  map[string][]byte   // original text by original name
	kept    map[string][]change // by original name
	old     map[string]string   // binaries without the remedy on trial, by package
	sound   map[string]error    // by package: do its tests pass without any remedy?
	unvet   map[string]bool     // packages that go vet complains of without any remedy
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
		if len(f.fix) > 0 {
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
		VerifyConfig: c, scratch: s, patch: patch, source: map[string][]byte{}, kept: map[string][]change{},
		old: map[string]string{}, sound: map[string]error{}, unvet: map[string]bool{},
	}
	if c.Race {
		if _, err := s.run(ctx, "go", "list", "-race", "errors"); err != nil {
			s.remove()
			return nil, fmt.Errorf("advise: verify: %w; use --race=false to run the tests without the race detector", err)
		}
	}
	return v, nil
}

// verify tries the remedies in their order.
func (v *verifier) verify(ctx context.Context, remedies []*remedy) (*Verification, error) {
	if err := v.findReach(ctx, remedies); err != nil {
		return nil, err
	}
	out := &Verification{Fixes: []Verified{}, Patch: v.patch}
	for i, r := range remedies {
		v.Progress(fmt.Sprintf("fix %d of %d: %s:%d %s", i+1, len(remedies), r.finding.File, r.finding.Line, r.finding.Check))
		got := Verified{Finding: r.finding}
		if err := v.try(ctx, r, &got); err != nil {
			return nil, err
		}
		out.Fixes = append(out.Fixes, got)
	}
	out.Text = v.patch.String()
	return out, nil
}

// findReach finds out which benchmarks run which lines of the packages that
// change.
func (v *verifier) findReach(ctx context.Context, remedies []*remedy) error {
	all, err := v.benchPackages(ctx, v.Patterns)
	if err != nil {
		return err
	}
	var covered []string
	for _, r := range remedies {
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
	if v.reached, err = v.reaching(ctx, v.tests, covered, v.Bench, v.tmp, v.Progress); err != nil || v.Bench != "" {
		return err
	}
	return v.generate(ctx, remedies)
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
	for _, pkg := range r.pkgs {
		if err := v.baseline(ctx, pkg); err != nil {
			return drop("its package fails without the fix: " + err.Error())
		}
	}
	alone, err := r.make(ctx)
	if err != nil {
		return drop(err.Error())
	}
	got.Diff = alone.String()
	if err := v.put(alone, true); err != nil {
		return err
	}
	err = v.examine(ctx, r, alone, got)
	if err == nil && got.Outcome == Kept {
		v.keep(r, alone)
		return nil
	}
	if restored := v.put(alone, false); restored != nil {
		return restored
	}
	return err
}

// examine builds, measures and tests the copy with the remedy on trial in it.
func (v *verifier) examine(ctx context.Context, r *remedy, alone *Patch, got *Verified) error {
	drop := func(reason string) error {
		got.Outcome, got.Reason = Dropped, reason
		return ctx.Err()
	}
	for _, pkg := range r.pkgs {
		tool := "vet"
		if v.unvet[pkg] {
			tool = "build"
		}
		if _, err := v.run(ctx, "go", tool, pkg); err != nil {
			return drop("with it go " + tool + " fails: " + err.Error())
		}
	}
	if r.finding.Severity == check.Trap.String() {
		if err := v.testAll(ctx, r.pkgs); err != nil {
			return drop("with it tests fail: " + err.Error())
		}
		got.Outcome, got.Reason = Kept, "a mistake mended: tests pass, and it need not save anything"
		return nil
	}
	marks := r.benchmarks(v.reached)
	if len(marks) == 0 {
		got.Outcome, got.Reason = Unproven, "no benchmark runs the line, and none could be made of a test; it builds, its "+
			"tests were not run"
		return nil
	}
	contests, err := v.contests(ctx, alone, marks)
	if err != nil {
		return drop(err.Error())
	}
	test := fromTest(marks[0].name)
	m, err := v.compare(ctx, contests, v.Blocks, v.BenchTime)
	if err != nil && test != "" && ctx.Err() == nil {
		got.Outcome, got.Reason = Unproven, "no benchmark runs the line, and "+test+" cannot be repeated as one: "+err.Error()
		return nil
	}
	if err != nil {
		return drop(err.Error())
	}
	got.Figures = m.figures()
	keep, reason := judge(got.Figures, v.AcceptTime)
	if test != "" {
		reason += "; no benchmark runs it, so one was made of " + test
	}
	if !keep {
		return drop(reason)
	}
	if err := v.testAll(ctx, r.pkgs); err != nil {
		return drop("with it tests fail: " + err.Error())
	}
	got.Outcome, got.Reason = Kept, reason
	return nil
}

// baseline runs vet and the tests of a package once, without any remedy.
func (v *verifier) baseline(ctx context.Context, pkg string) error {
	err, known := v.sound[pkg]
	if !known {
		v.Progress("tests of " + pkg + " without fixes")
		_, vet := v.run(ctx, "go", "vet", pkg)
		v.unvet[pkg] = vet != nil
		err = v.testAll(ctx, []string{pkg})
		v.sound[pkg] = err
	}
	return err
}

func (v *verifier) testAll(ctx context.Context, pkgs []string) error {
	args := append([]string{"test", "-count=1"}, pkgs...)
	if v.Race {
		args = slices.Insert(args, 1, "-race")
	}
	_, err := v.run(ctx, "go", args...)
	return err
}

// most is how many top-level benchmarks judge a fix: those that run most of it,
// and that most often.
const most = 4

// contests builds both sides of the benchmarks. The copy holds the remedy; the
// side without it is built once for all until one is kept.
func (v *verifier) contests(ctx context.Context, alone *Patch, marks []benchmark) ([]contest, error) {
	var out []contest
	for _, m := range marks[:min(most, len(marks))] {
		i := slices.IndexFunc(out, func(c contest) bool { return c.pkg == m.pkg })
		if i < 0 {
			i = len(out)
			out = append(out, contest{pkg: m.pkg, sub: m.sub})
		}
		out[i].names = append(out[i].names, m.name)
	}
	for i := range out {
		c := &out[i]
		var err error
		if c.fixed, err = v.build(ctx, c.pkg, v.tmp, "fixed"+fmt.Sprint(i)+".test"); err != nil {
			return nil, fmt.Errorf("with it the tests of %s do not build: %w", c.pkg.ImportPath, err)
		}
		c.old = v.old[c.pkg.ImportPath]
	}
	for i := range out {
		c := &out[i]
		if c.old != "" {
			continue
		}
		if err := v.put(alone, false); err != nil {
			return nil, err
		}
		v.builds++
		var err error
		if c.old, err = v.build(ctx, c.pkg, v.tmp, "old"+fmt.Sprint(v.builds)+".test"); err != nil {
			return nil, fmt.Errorf("the tests of %s do not build without it: %w", c.pkg.ImportPath, err)
		}
		v.old[c.pkg.ImportPath] = c.old
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
