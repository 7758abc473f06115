package advise

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/internal/base/invariant"
)

// TestGolden runs every check on the packages of its testdata: before holds code to
// flag, after the same code fixed, whennot similar code that must stay silent. The
// result of a fix is compared with before.go.golden.
func TestGolden(t *testing.T) {
	if invariant.Race {
		t.Skip("type-checks the standard library and has no goroutines: the other build runs it")
	}
	gopath := t.TempDir()
	link := func(dir, as string) {
		at, err := filepath.Abs(dir)
		if err == nil {
			err = os.Symlink(at, filepath.Join(gopath, "src", as))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(gopath, "src"), 0o700); err != nil {
		t.Fatal(err)
	}
	imported, err := filepath.Glob("*/testdata/src/*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range imported {
		link(dir, filepath.Base(dir))
	}
	alike := map[bool][]*check.Check{} // by Lifetimes, of the checks that -run selects
	for _, c := range All() {
		t.Run(c.Name, func(t *testing.T) {
			for _, pkg := range []string{"before", "after", "whennot"} {
				wants := count(t, filepath.Join(c.Name, "testdata", "src", pkg), "want `")
				if (pkg == "before") != (wants > 0) {
					t.Errorf("%s has %d expectations", pkg, wants)
				}
			}
			link(filepath.Join(c.Name, "testdata", "src"), c.Name)
			alike[c.Lifetimes] = append(alike[c.Lifetimes], c)
		})
	}
	for _, checks := range alike {
		analyzeOwn(t, gopath, checks)
	}
}

// analyzeOwn runs checks with the same requirements, each on its own testdata. It loads all
// packages at once, because every load type-checks the imported standard packages again.
func analyzeOwn(t *testing.T, gopath string, checks []*check.Check) {
	var packages []string
	for _, c := range checks {
		c.ReportAll(true)
		defer c.ReportAll(false)
		packages = append(packages, c.Name+"/before", c.Name+"/after", c.Name+"/whennot")
	}
	own := &analysis.Analyzer{Name: "own", Doc: "runs the check that a package is testdata of",
		Requires: checks[0].Analyzer.Requires,
		Run: func(p *analysis.Pass) (any, error) {
			name, _, _ := strings.Cut(p.Pkg.Path(), "/")
			pass := *p
			pass.Analyzer = Lookup(name).Analyzer
			return pass.Analyzer.Run(&pass)
		}}
	// Tests of a package count as a package.
	if got := analysistest.RunWithSuggestedFixes(t, gopath, own, packages...); len(got) < len(packages) {
		t.Errorf("%d packages analyzed, want %d at least", len(got), len(packages))
	}
}

// TestDefault checks that only traps are reported without a profile and without the flag all.
func TestDefault(t *testing.T) {
	for _, action := range analyzed(t, "before") {
		c := Lookup(action.Analyzer.Name)
		for _, d := range action.Diagnostics {
			if c.Severity != check.Trap || d.Category != c.Severity.String() {
				t.Errorf("%s: %s: %s", c.Name, action.Package.Fset.Position(d.Pos), d.Message)
			}
		}
		if own := filepath.Dir(action.Package.GoFiles[0]); c.Severity == check.Trap && len(action.Diagnostics) == 0 &&
			strings.Contains(own, filepath.Join("advise", c.Name, "testdata")) {
			t.Errorf("%s: nothing is flagged in its own package before", c.Name)
		}
	}
}

// analyzed runs all checks on the named testdata package of every check.
func analyzed(t *testing.T, name string) []*checker.Action {
	t.Helper()
	var dirs []string
	for _, c := range All() {
		dirs = append(dirs, "./"+c.Name+"/testdata/src/"+name)
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax | packages.NeedModule}, dirs...)
	if err != nil || len(loaded) != len(dirs) || packages.PrintErrors(loaded) > 0 {
		t.Fatalf("%d of %d packages, %v", len(loaded), len(dirs), err)
	}
	graph, err := checker.Analyze(Analyzers(), loaded, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range graph.Roots {
		if action.Err != nil {
			t.Errorf("%s: %v", action, action.Err)
		}
	}
	if len(graph.Roots) != len(All())*len(dirs) {
		t.Errorf("%d runs, want %d checks on %d packages", len(graph.Roots), len(All()), len(dirs))
	}
	return graph.Roots
}

// count counts the occurrences of text in the Go files of a directory.
func count(t *testing.T, dir, text string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no Go files (%v)", dir, err)
	}
	n := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(string(data), text)
	}
	return n
}

// TestMendedCodeIsClean runs all checks on the fixed code of each: no remedy may be the
// finding of another check.
func TestMendedCodeIsClean(t *testing.T) {
	for _, c := range All() {
		c.ReportAll(true)
		defer c.ReportAll(false)
	}
	for _, action := range analyzed(t, "after") {
		for _, d := range action.Diagnostics {
			t.Errorf("%s flags what is mended: %s: %s", action.Analyzer, action.Package.Fset.Position(d.Pos), d.Message)
		}
	}
}

func TestExercisesAndTraps(t *testing.T) {
	exercises, traps := map[int]string{}, 0
	for _, c := range All() {
		if c.Severity == check.Trap {
			traps++
		} else if c.Exercise == 0 {
			continue
		} else if other := exercises[c.Exercise]; other != "" {
			t.Errorf("%s and %s are both of exercise %d", other, c.Name, c.Exercise)
		} else {
			exercises[c.Exercise] = c.Name
		}
		if Lookup(c.Name) != c {
			t.Errorf("Lookup(%q) does not find it", c.Name)
		}
		if !strings.Contains(c.Analyzer.Doc, c.WhenNot) {
			t.Errorf("%s: its documentation does not say where it is silent", c.Name)
		}
	}
	if len(exercises) != 18 || traps < 6 {
		t.Errorf("%d exercises and %d traps, want 18 and at least 6", len(exercises), traps)
	}
	if err := analysis.Validate(Analyzers()); err != nil {
		t.Error(err)
	}
	if Lookup("nothing") != nil {
		t.Error("Lookup finds what is not there")
	}
}

// TestCheckWithoutExercise registers an ordinary check that belongs to none of the
// eighteen exercises.
func TestCheckWithoutExercise(t *testing.T) {
	dummy := check.New(check.Check{
		Name: "aaa", Severity: check.Advice, Doc: "flags functions", When: "always", WhenNot: "never",
		Measured: "1 to 0 allocations",
		Run: func(p *check.Pass) {
			for cur := range p.Root.Preorder((*ast.FuncDecl)(nil)) {
				p.Report(cur.Node(), "a function")
			}
		},
	})
	dummy.ReportAll(true)
	defer func(before []*check.Check) { checks = before }(checks)
	checks = append([]*check.Check{dummy}, checks...)
	all := All()
	at := slices.Index(all, dummy)
	if at < 1 || all[at-1].Exercise == 0 || all[at+1].Exercise != 0 || Lookup("aaa") != dummy {
		t.Errorf("check %d of %d, want it between those with an exercise and those without", at, len(all))
	}
	if err := analysis.Validate(Analyzers()); err != nil {
		t.Error(err)
	}
	if doc := dummy.Analyzer.Doc; !strings.Contains(doc, "Measured: 1 to 0") || strings.Contains(doc, "Exercise") {
		t.Errorf("documentation:\n%s", doc)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "src", "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	const code = "package a\n\nfunc F() {} // want `a function$`\n"
	if err := os.WriteFile(filepath.Join(dir, "src", "a", "a.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	analysistest.Run(t, dir, dummy.Analyzer, "a")
}

// TestGoldenFilesParse checks that the fixes produced valid Go syntax. A test of the
// command checks that it compiles.
func TestGoldenFilesParse(t *testing.T) {
	files, err := filepath.Glob("*/testdata/src/before/*.golden")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d golden files (%v)", len(files), err)
	}
	for _, name := range files {
		if _, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.AllErrors); err != nil {
			t.Error(err)
		}
	}
}

// An incomplete check must not reach the registry.
func TestNewRefusesIncompleteChecks(t *testing.T) {
	nothing := func(*check.Pass) {}
	for name, c := range map[string]check.Check{
		"no name": {}, "upper case": {Name: "Sprintf"}, "no exercise": {Name: "x", Exercise: 19},
		"no documentation": {Name: "x", Exercise: 1}, "no measurement": {Name: "x", Exercise: 1, Doc: "x", When: "x", WhenNot: "x"},
		"measured nowhere": {Name: "x", Severity: check.Advice, Doc: "x", When: "x", WhenNot: "x", Run: nothing},
		"measured trap": {
			Name: "x", Severity: check.Trap, Doc: "x", When: "x", WhenNot: "x", Measured: "x", Run: nothing,
		},
		"not a version": {Name: "x", Severity: check.Trap, Doc: "x", When: "x", WhenNot: "x", Since: "1.26", Run: func(*check.Pass) {}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: New takes it", name)
				}
			}()
			check.New(c)
		}()
	}
}

func TestSeverities(t *testing.T) {
	if got := check.Trap.String() + ", " + check.Severity(77).String(); got != "trap, Severity(77)" {
		t.Error(got)
	}
}
