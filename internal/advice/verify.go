package advice

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/isobar-go/isobar/advise/check"
)

// The outcomes of a fix.
const (
	Kept     = "kept"     // its tests pass and its benchmarks allocate less
	Dropped  = "dropped"  // see the reason
	Unproven = "unproven" // nothing could be measured, or the measurements do not decide
)

// A Verification holds the outcome of each fix, in the order of trial, and the patch of
// the kept ones.
type Verification struct {
	Fixes []Verified `json:"fixes"`
	Text  string     `json:"patch"`
	Patch *Patch     `json:"-"`
}

// A Verified is one fix with its outcome.
type Verified struct {
	Finding Finding  `json:"finding"`
	Outcome string   `json:"outcome"`
	Reason  string   `json:"reason"`
	Figures []Figure `json:"figures,omitempty"`
	Diff    string   `json:"diff,omitempty"` // the fix by itself
}

// best returns the figure with the largest saving of allocations or bytes beyond noise, or nil.
func (v *Verified) best() *Figure {
	var best *Figure
	for i := range v.Figures {
		f := &v.Figures[i]
		if f.Metric == "time/op" || !f.better() {
			continue
		}
		if best == nil || f.Ratio < best.Ratio {
			best = f
		}
	}
	return best
}

// A verifier tries remedies one after another. It keeps the good ones in the overlay,
// so that each is judged beside them.
type verifier struct {
	Config
	command    // runs in the requested directory, with the kept remedies
	at         *module
	top        *regexp.Regexp // benchmarks that may judge,
	sub        string         // and their parts, with the slash before; "" for all
	tmp        string
	patch      *Patch // what the kept remedies make of the original
	timings    *timings
	searchEnds time.Time         // end of the search for judges: half of the remaining budget
	suites     map[string]*suite // results of tests without any remedy, by package
	built      map[string]string // test binaries, by package and overlay
	module     []*testPackage    // its packages, once requested

	base map[string][]*benchfmt.Result // runs without a remedy that all share, by binary and flags; nil to repeat them
}

// Verify tries the fixes of the findings and hand-written patches, each alone and in order, in an
// overlay of the module: it must build, pass vet and the tests of packages that depend on it, and let
// the benchmarks that run it allocate less. The module is only read. patches are names of files; the
// paths in them are relative to the repository or to the directory of c, and must not be of tests.
func Verify(ctx context.Context, c Config, findings []Finding, patches ...string) (*Verification, error) {
	v, err := newVerifier(ctx, c)
	if err != nil {
		return nil, err
	}
	defer v.remove()
	var all []*remedy
	for _, f := range findings {
		if len(f.Edits) > 0 {
			all = append(all, v.mechanical(f))
		}
	}
	for _, name := range patches {
		m, err := v.byHand(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("advise: patch: %s: %w", name, err)
		}
		all = append(all, m)
		v.Patterns = append(slices.Clone(v.Patterns), m.pkgs...)
	}
	return v.verify(ctx, all)
}

func newVerifier(ctx context.Context, c Config) (*verifier, error) {
	patch, err := newPatch(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	at, err := goEnv(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	top, _, _ := strings.Cut(c.Bench, "/")
	matches, err := regexp.Compile(top)
	if err != nil {
		return nil, fmt.Errorf("advise: bench: %w; want a regular expression", err)
	}
	v := &verifier{
		Config: c, command: command{at.dir, []string{"PWD=" + at.dir}}, at: &at, patch: patch,
		top: matches, sub: c.Bench[len(top):],
		timings: newTimings(), built: map[string]string{}, suites: map[string]*suite{},
	}
	if v.Began.IsZero() {
		v.Began = time.Now()
	}
	if end := v.ends(); !end.IsZero() {
		v.searchEnds = end.Add(-time.Until(end) / 2)
	}
	if c.Race {
		if _, err := v.run(ctx, "go", "list", "-race", "errors"); err != nil {
			return nil, fmt.Errorf("advise: verify: %w; use --race=false to run the tests without the race detector", err)
		}
	}
	if v.tmp, err = os.MkdirTemp("", "isobar-verify-"); err != nil {
		return nil, fmt.Errorf("advise: verify: %w", err)
	}
	return v, nil
}

func (v *verifier) remove() { os.RemoveAll(v.tmp) }

// lay returns a command for which the files are as the patches make them; later patches
// take precedence.
func (v *verifier) lay(patches ...*Patch) (in command, err error) {
	over := overlay{}
	for _, p := range patches {
		for name, c := range p.files {
			if over[name] = ""; c.new == nil {
				continue
			}
			if err := over.add(v.tmp, name, c.new); err != nil {
				return in, fmt.Errorf("advise: verify: %w", err)
			}
		}
	}
	if in, err = over.command(v.at, v.tmp); err != nil {
		return in, fmt.Errorf("advise: verify: %w", err)
	}
	return in, nil
}

// verify tries the remedies in order, until the budget ends.
func (v *verifier) verify(ctx context.Context, remedies []*remedy) (*Verification, error) {
	searching, cancel := v.within(ctx, 1)
	err := v.findJudges(searching, remedies)
	if cancel(); err != nil && (ctx.Err() != nil || !past(v.ends())) {
		return nil, err
	}
	out := &Verification{Fixes: []Verified{}, Patch: v.patch}
	c := v.Config
	for i, r := range remedies {
		head := fmt.Sprintf("fix %d of %d (%d kept): %s:%d %s", i+1, len(remedies), out.Count(Kept), r.finding.File,
			r.finding.Line, r.finding.Check)
		v.Progress = func(step string) { c.say(head + ": " + step) }
		got := Verified{Finding: r.finding}
		if err := v.inTime(ctx, r, &got); err != nil {
			return nil, err
		}
		out.Fixes = append(out.Fixes, got)
	}
	v.Progress = c.Progress
	out.Text = v.patch.String()
	return out, nil
}

// inTime judges one remedy within the budget; if the budget ends first, the remedy is unproven.
func (v *verifier) inTime(ctx context.Context, r *remedy, got *Verified) error {
	within, cancel := v.within(ctx, 1)
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

// try judges one remedy. An error means that verification cannot go on; a fault of the
// remedy is its outcome.
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
	if err := v.prepare(ctx, r); err != nil {
		return err
	}
	if r.broken != nil {
		return drop(r.broken.Error())
	}
	got.Diff = r.alone.String()
	if err := v.examine(ctx, r, got); err != nil || got.Outcome != Kept {
		return err
	}
	v.patch.keep(r.finding.Edits, r.alone)
	v.command = r.with
	return nil
}

// prepare lays a remedy over the module beside the kept ones, unless it is broken.
func (v *verifier) prepare(ctx context.Context, r *remedy) (err error) {
	if r.broken == nil {
		r.alone, r.broken = r.make(ctx)
	}
	if r.broken == nil {
		r.with, err = v.lay(v.patch, r.alone)
	}
	return err
}

// examine builds, measures and tests the module with the remedy on trial.
func (v *verifier) examine(ctx context.Context, r *remedy, got *Verified) error {
	got.Outcome = Dropped
	for _, pkg := range r.pkgs {
		tool := "vet"
		v.say("go vet " + pkg)
		_, err := r.with.run(ctx, "go", tool, pkg)
		if err != nil {
			if _, before := v.run(ctx, "go", tool, pkg); before != nil { // it fails without the remedy, too
				tool = "build"
				_, err = r.with.run(ctx, "go", tool, pkg)
			}
		}
		if err != nil {
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

// measure lets the judges measure the remedy.
func (v *verifier) measure(ctx context.Context, r *remedy, got *Verified) error {
	judges := r.judges()
	if len(judges) == 0 {
		got.Outcome, got.Reason = Unproven, "no benchmark or test that could measure it allocates there; it builds, its "+
			"tests were not run"
		return nil
	}
	contests, err := v.contests(ctx, r, judges)
	if err != nil {
		got.Reason = err.Error()
		return ctx.Err()
	}
	figures, err := v.compare(ctx, contests)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && judges[0].test():
		got.Outcome, got.Reason = Unproven, "no benchmark runs it, and "+judges[0].name+" cannot be repeated as one: "+
			err.Error()
		return nil
	case err != nil:
		got.Reason = err.Error()
		return nil
	}
	got.Figures = figures
	got.Outcome, got.Reason = outcomeOf(figures)
	if judges[0].test() {
		got.Reason += "; no benchmark runs it, so tests were repeated"
	}
	return nil
}

// mostJudges bounds the judges of a remedy, but in trials, where each takes little time: what helps most of them may
// harm the last.
const mostJudges = 4

// contests builds both sides for the judges.
func (v *verifier) contests(ctx context.Context, r *remedy, judges []judge) (out []contest, err error) {
	if v.base == nil {
		judges = judges[:min(mostJudges, len(judges))]
	}
	for _, m := range judges {
		con := contest{judge: m}
		if con.fixed, err = v.build(ctx, r.with, m.pkg); err != nil {
			return nil, fmt.Errorf("with it the tests of %s do not build: %w", m.pkg.ImportPath, err)
		}
		if con.old, err = v.build(ctx, v.command, m.pkg); err != nil {
			return nil, fmt.Errorf("the tests of %s do not build without it: %w", m.pkg.ImportPath, err)
		}
		out = append(out, con)
	}
	return out, nil
}

// build compiles the tests of a package, once per overlay.
func (v *verifier) build(ctx context.Context, in command, p *testPackage) (string, error) {
	key := fmt.Sprint(p.ImportPath, in.env)
	if v.built[key] == "" {
		v.say("building the tests of " + p.ImportPath)
		binary := filepath.Join(v.tmp, fmt.Sprint(len(v.built), ".test"))
		if err := in.compile(ctx, binary, p.ImportPath); err != nil {
			return "", err
		}
		v.built[key] = binary
	}
	return v.built[key], nil
}

// Count returns the number of fixes with the given outcome.
func (v *Verification) Count(outcome string) (n int) {
	for _, f := range v.Fixes {
		if f.Outcome == outcome {
			n++
		}
	}
	return n
}
