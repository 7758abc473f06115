package advice

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A suite is the tests of one package, with their results without any remedy.
type suite struct {
	*testPackage
	skip   []string // tests that fail or are flaky without a remedy
	broken string   // why none can judge: they do not build, or end early
}

// A testRun holds the outcomes of failed packages, by package.
type testRun map[string]*testOutcome

// A testOutcome is what the failed tests of a package did.
type testOutcome struct {
	failed []string // the innermost tests that failed
	lost   bool     // the package failed outside its tests
	output []string // of what failed
}

// baseline runs the tests of all packages of the module that depend on pkgs, each once
// and without any remedy.
func (v *verifier) baseline(ctx context.Context, pkgs []string) ([]*suite, error) {
	var tests []*suite
	var fresh []string
	for _, pkg := range pkgs {
		depend, err := v.dependents(ctx, pkg)
		if err != nil {
			return nil, err
		}
		for _, p := range depend {
			s := v.suites[p.ImportPath]
			if s == nil {
				s = &suite{testPackage: p}
				v.suites[p.ImportPath] = s
				fresh = append(fresh, p.ImportPath)
			}
			if !slices.Contains(tests, s) {
				tests = append(tests, s)
			}
		}
	}
	if len(fresh) > 0 {
		v.say(fmt.Sprintf("tests of %d packages without fixes", len(fresh)))
		ran, err := v.test(ctx, v.command, fresh)
		if err != nil {
			return nil, err
		}
		for _, pkg := range fresh {
			o, s := ran[pkg], v.suites[pkg]
			if o == nil {
				continue
			}
			s.skip = o.failed
			if o.lost {
				s.broken = o.text()
			}
		}
	}
	for _, s := range tests {
		if s.broken != "" && slices.Contains(pkgs, s.ImportPath) {
			return nil, fmt.Errorf("go test: %s", s.broken)
		}
	}
	return tests, nil
}

// dependents returns the packages of the module whose tests may run code of pkg.
func (v *verifier) dependents(ctx context.Context, pkg string) (with []*testPackage, err error) {
	if v.module == nil {
		at := command{v.at.root, v.env}
		if !exists(filepath.Join(v.at.root, "go.mod")) {
			at = v.command // a workspace
		}
		if v.module, err = at.testPackages(ctx, []string{"./..."}); err != nil {
			return nil, err
		}
	}
	runs := map[string]bool{}
	for _, p := range v.module {
		runs[p.ImportPath] = p.ImportPath == pkg || slices.Contains(p.Deps, pkg)
	}
	for _, p := range v.module {
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		imported := slices.Concat(p.TestImports, p.XTestImports)
		if runs[p.ImportPath] || slices.ContainsFunc(imported, func(path string) bool { return runs[path] }) {
			with = append(with, p)
		}
	}
	return with, nil
}

// test runs the tests of packages. An error says nothing about any test.
func (v *verifier) test(ctx context.Context, in command, pkgs []string, flags ...string) (testRun, error) {
	args := append([]string{"test", "-json", "-count=1", "-vet=off"}, flags...) // vet runs separately
	if v.Race {
		args = append(args, "-race")
	}
	if end := v.ends(); !end.IsZero() { // an endless test must not use all of it
		args = append(args, "-timeout="+max(time.Second, min(10*time.Minute, time.Until(end)/3)).String())
	}
	out, err := in.run(ctx, "go", append(args, pkgs...)...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	ran, problem := readTests(out)
	if problem != nil || err != nil && len(ran) == 0 {
		return nil, fmt.Errorf("go test: %w", cmp.Or(err, problem))
	}
	return ran, nil
}

// A testEvent is a line of 'go test -json'.
type testEvent struct {
	Action, Package, ImportPath, Test, Output string
	FailedBuild                               string
}

// readTests parses the output of 'go test -json', and returns the packages with a failure.
func readTests(out []byte) (testRun, error) {
	ran := testRun{}
	output := map[[2]string][]string{} // by package and test; compiler output by import path
	for line := range bytes.Lines(out) {
		if !bytes.HasPrefix(line, []byte("{")) {
			continue // output of a program
		}
		var e testEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		at := [2]string{e.Package + e.ImportPath, e.Test}
		switch e.Action {
		case "output", "build-output":
			if text := strings.TrimRight(e.Output, "\n"); text != "" {
				output[at] = append(output[at], text)
			}
		case "fail":
			o := ran[e.Package]
			if o == nil {
				o = &testOutcome{}
				ran[e.Package] = o
			}
			o.add(&e, output)
		}
	}
	return ran, nil
}

// add adds a failure. A test fails after its subtests, a package after its tests.
func (o *testOutcome) add(e *testEvent, output map[[2]string][]string) {
	inner := func(name string) bool { return strings.HasPrefix(name, e.Test+"/") }
	switch {
	case e.Test != "":
		if !slices.ContainsFunc(o.failed, inner) {
			o.failed = append(o.failed, e.Test)
		}
		o.output = append(o.output, output[[2]string{e.Package, e.Test}]...)
	case len(o.failed) == 0:
		o.lost = true
		o.output = append(output[[2]string{e.FailedBuild, ""}], output[[2]string{e.Package, ""}]...)
	}
}

func (o *testOutcome) text() string { return lastLines(strings.Join(o.output, "\n"), 12) }

// pattern returns the argument of -run or -skip for the named tests.
func pattern(names []string) string {
	var each []string
	for _, name := range names {
		parts := strings.Split(name, "/")
		for i, part := range parts {
			parts[i] = "^" + regexp.QuoteMeta(part) + "$"
		}
		each = append(each, strings.Join(parts, "/"))
	}
	return strings.Join(each, "|")
}

// again is how often a failed test runs again with a remedy; without it, twice as often.
const again = 4

// stillPass runs the tests with the remedy. It repeats a failed test on both sides: a test that also
// fails without the remedy has no say. Any other failure becomes the outcome of the remedy.
func (v *verifier) stillPass(ctx context.Context, r *remedy, got *Verified) error {
	pkgs, n := map[string][]string{}, 0 // by what -skip takes
	for _, s := range r.tests {
		if s.broken == "" {
			pkgs[pattern(s.skip)] = append(pkgs[pattern(s.skip)], s.ImportPath)
			n++
		}
	}
	v.say(fmt.Sprintf("tests of %d packages", n))
	ran := testRun{}
	for _, skip := range slices.Sorted(maps.Keys(pkgs)) {
		some, err := v.test(ctx, r.with, pkgs[skip], "-skip="+skip)
		if err != nil {
			got.Outcome, got.Reason = Dropped, "with it tests fail: "+err.Error()
			return ctx.Err()
		}
		maps.Copy(ran, some)
	}
	for _, s := range r.tests {
		if o := ran[s.ImportPath]; o != nil {
			if err := v.confirm(ctx, r, s, o, got); err != nil || got.Outcome != Kept {
				return err
			}
		}
	}
	got.Reason += leftOut(r.tests)
	return nil
}

// confirm repeats the failed tests of a package, and judges the remedy by them.
func (v *verifier) confirm(ctx context.Context, r *remedy, s *suite, o *testOutcome, got *Verified) error {
	kept := *got
	got.Outcome, got.Reason = Dropped, "with it tests fail: "+o.text()
	if o.lost {
		return nil
	}
	v.say(fmt.Sprintf("%s of %s failed: running it again", o.failed[0], s.ImportPath))
	count := func(in command, n int) (failures int, err error) {
		for range n {
			ran, err := v.test(ctx, in, []string{s.ImportPath}, "-run="+pattern(o.failed))
			if err != nil {
				return failures, err
			}
			if ran[s.ImportPath] != nil {
				failures++
			}
		}
		return failures, nil
	}
	with, err := count(r.with, again)
	without := 0
	if err == nil && (with < again || len(o.failed) > 1) { // not clear yet
		without, err = count(v.command, 2*again)
	}
	switch {
	case without > 0:
		s.skip = append(s.skip, o.failed...)
		got.Outcome, got.Reason = kept.Outcome, kept.Reason
	case err == nil && with == 0:
		got.Outcome, got.Reason = Unproven, fmt.Sprintf("%s of %s failed once with it, and passed %d times when it ran "+
			"alone", strings.Join(o.failed, ", "), s.ImportPath, again)
	}
	return ctx.Err()
}

// leftOut says which tests had no say, or returns "".
func leftOut(tests []*suite) string {
	var names []string
	for _, s := range tests {
		if s.broken != "" {
			names = append(names, "all of "+s.ImportPath)
		}
		for _, test := range s.skip {
			names = append(names, s.ImportPath+"."+test)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; left out, as they fail or are flaky without it: " + few(names)
}
