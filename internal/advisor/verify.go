package advisor

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

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

// A verifier tries fixes one after another. Files that fixes were kept for
// stay changed in the scratch copy, so that each is judged beside those.
type verifier struct {
	VerifyConfig
	*scratch
	patch   *Patch
	tests   []*testPackage
	reached reach
	source  map[string][]byte   // original text by original name
	kept    map[string][]change // by original name
	old     map[string]string   // binaries without the fix on trial, by package
	sound   map[string]error    // by package: do its tests pass without any fix?
	unvet   map[string]bool     // packages that go vet complains of without any fix
	builds  int
}

// Verify tries the fixes of the findings, each alone and in their order, in a
// copy of the module: it must build, pass vet and the tests of its package,
// and let the benchmarks that run it allocate less. The original is only read.
func Verify(ctx context.Context, c VerifyConfig, findings []Finding) (*Verification, error) {
	patch, err := newPatch(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	c.Progress("copying the module")
	s, err := newScratch(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	v := &verifier{
		VerifyConfig: c, scratch: s, patch: patch, source: map[string][]byte{}, kept: map[string][]change{},
		old: map[string]string{}, sound: map[string]error{}, unvet: map[string]bool{},
	}
	if c.Race {
		if _, err := s.run(ctx, "go", "list", "-race", "errors"); err != nil {
			return nil, fmt.Errorf("advise: verify: %w; use --race=false to run the tests without the race detector", err)
		}
	}
	fixes := slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return len(f.fix) == 0 })
	if err := v.findReach(ctx, fixes); err != nil {
		return nil, err
	}
	out := &Verification{Fixes: []Verified{}, Patch: patch}
	for i, f := range fixes {
		c.Progress(fmt.Sprintf("fix %d of %d: %s:%d %s", i+1, len(fixes), f.File, f.Line, f.Check))
		got := Verified{Finding: f}
		if err := v.try(ctx, &got); err != nil {
			return nil, err
		}
		out.Fixes = append(out.Fixes, got)
	}
	for name, changes := range v.kept {
		text, err := edited(name, v.source[name], changes)
		if err != nil {
			return nil, fmt.Errorf("advise: verify: %w", err)
		}
		patch.files[name] = contents{v.source[name], text}
	}
	out.Text = patch.String()
	return out, nil
}

// findReach finds out which benchmarks run which lines of the packages with
// fixes.
func (v *verifier) findReach(ctx context.Context, fixes []Finding) error {
	all, err := v.benchPackages(ctx, v.Patterns)
	if err != nil {
		return err
	}
	var covered []string
	for _, f := range fixes {
		if !slices.Contains(covered, f.pkg) {
			covered = append(covered, f.pkg)
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
	return v.generate(ctx, fixes)
}

// benchmarksOf returns the benchmarks that run the place of a finding, or one
// that its fix changes.
func (v *verifier) benchmarksOf(f *Finding) []benchmark { return v.placesIn(v.reached, f) }

// placesIn is benchmarksOf for what is in r.
func (v *verifier) placesIn(r reach, f *Finding) []benchmark {
	file := func(name string) string { return path.Join(f.pkg, filepath.Base(name)) }
	found := r.of(file(f.spans[0].File), f.Line, f.Column)
	for name, changes := range f.fix {
		for _, c := range changes {
			if len(found) > 0 || importEdit.MatchString(c.Text) {
				continue
			}
			line, column := position(v.source[name], c.Start)
			found = r.of(file(name), line, column)
		}
	}
	return found
}

// position is the line and column of a byte.
func position(src []byte, offset int) (line, column int) {
	before := string(src[:min(offset, len(src))])
	return strings.Count(before, "\n") + 1, len(before) - strings.LastIndex(before, "\n")
}

// try judges one fix. An error means that verification cannot go on; what is
// wrong with the fix is its outcome.
func (v *verifier) try(ctx context.Context, got *Verified) error {
	f := &got.Finding
	drop := func(reason string) error {
		got.Outcome, got.Reason = Dropped, reason
		return ctx.Err()
	}
	if err := v.read(f); err != nil {
		return drop(err.Error())
	}
	if err := v.baseline(ctx, f.pkg); err != nil {
		return drop("its package fails without the fix: " + err.Error())
	}
	if err := v.apply(f, got); err != nil {
		return drop(err.Error())
	}
	err := v.examine(ctx, f, got)
	if err == nil && got.Outcome == Kept {
		for name, changes := range f.fix {
			v.kept[name] = append(v.kept[name], changes...)
		}
		clear(v.old)
		return nil
	}
	if restored := v.rewrite(f, nil); restored != nil {
		return restored
	}
	return err
}

// examine builds, measures and tests the copy with the fix on trial in it.
func (v *verifier) examine(ctx context.Context, f *Finding, got *Verified) error {
	drop := func(reason string) error {
		got.Outcome, got.Reason = Dropped, reason
		return ctx.Err()
	}
	tool := "vet"
	if v.unvet[f.pkg] {
		tool = "build"
	}
	if _, err := v.run(ctx, "go", tool, f.pkg); err != nil {
		return drop("with it go " + tool + " fails: " + err.Error())
	}
	if f.Severity == check.Trap.String() {
		if err := v.test(ctx, f.pkg); err != nil {
			return drop("with it tests fail: " + err.Error())
		}
		got.Outcome, got.Reason = Kept, "a mistake mended: tests pass, and it need not save anything"
		return nil
	}
	marks := v.benchmarksOf(f)
	if len(marks) == 0 {
		got.Outcome, got.Reason = Unproven, "no benchmark runs the line, and none could be made of a test; it builds, its tests were not run"
		return nil
	}
	contests, err := v.contests(ctx, f, marks)
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
	if err := v.test(ctx, f.pkg); err != nil {
		return drop("with it tests fail: " + err.Error())
	}
	got.Outcome, got.Reason = Kept, reason
	return nil
}

// read takes the original files of a fix and checks that the copy has them.
func (v *verifier) read(f *Finding) error {
	for name := range f.fix {
		if _, ok := v.at(name); !ok {
			return fmt.Errorf("%s is outside the module that was copied", name)
		}
		if v.source[name] != nil {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		v.source[name] = src
	}
	return nil
}

// baseline runs vet and the tests of a package once, without any fix of it.
func (v *verifier) baseline(ctx context.Context, pkg string) error {
	err, known := v.sound[pkg]
	if !known {
		v.Progress("tests of " + pkg + " without fixes")
		_, vet := v.run(ctx, "go", "vet", pkg)
		v.unvet[pkg] = vet != nil
		err = v.test(ctx, pkg)
		v.sound[pkg] = err
	}
	return err
}

func (v *verifier) test(ctx context.Context, pkg string) error {
	args := []string{"test", "-count=1", pkg}
	if v.Race {
		args = slices.Insert(args, 1, "-race")
	}
	_, err := v.run(ctx, "go", args...)
	return err
}

// apply puts a fix beside those kept and notes its own patch.
func (v *verifier) apply(f *Finding, got *Verified) error {
	alone := &Patch{base: v.patch.base, files: map[string]contents{}}
	for name, changes := range f.fix {
		was, err := edited(name, v.source[name], v.kept[name])
		if err != nil {
			return err
		}
		text, err := edited(name, v.source[name], append(slices.Clone(v.kept[name]), changes...))
		if err != nil {
			return fmt.Errorf("%w as one that was kept; run it again after applying the patch", err)
		}
		alone.files[name] = contents{was, text}
	}
	got.Diff = alone.String()
	return v.rewrite(f, f.fix)
}

// rewrite puts the kept fixes and more into the files of f in the copy.
func (v *verifier) rewrite(f *Finding, more fix) error {
	for name := range f.fix {
		text, err := edited(name, v.source[name], append(slices.Clone(v.kept[name]), more[name]...))
		if err != nil {
			return err
		}
		copied, _ := v.at(name)
		if err := os.WriteFile(copied, text, 0o644); err != nil {
			return fmt.Errorf("advise: verify: %w", err)
		}
	}
	return nil
}

// most is how many top-level benchmarks judge a fix: those that run it most
// often.
const most = 4

// contests builds both sides of the benchmarks. The copy holds the fix; the
// side without it is built once for all fixes until one is kept.
func (v *verifier) contests(ctx context.Context, f *Finding, marks []benchmark) ([]contest, error) {
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
		if err := v.rewrite(f, nil); err != nil {
			return nil, err
		}
		v.builds++
		var err error
		if c.old, err = v.build(ctx, c.pkg, v.tmp, "old"+fmt.Sprint(v.builds)+".test"); err != nil {
			return nil, fmt.Errorf("the tests of %s do not build without it: %w", c.pkg.ImportPath, err)
		}
		v.old[c.pkg.ImportPath] = c.old
	}
	return out, v.rewrite(f, f.fix)
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
