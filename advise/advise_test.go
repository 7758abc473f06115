package advise

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/isobar-go/isobar/advise/check"
)

// TestGolden runs every check on the packages of its testdata: before holds
// code to flag, after the same code mended, whennot what looks alike and must
// stay silent. A fix is compared with before.go.golden.
func TestGolden(t *testing.T) {
	for _, c := range All() {
		t.Run(c.Name, func(t *testing.T) {
			c.ReportHints(true)
			defer c.ReportHints(false)
			dir, err := filepath.Abs(filepath.Join(c.Name, "testdata"))
			if err != nil {
				t.Fatal(err)
			}
			analysistest.RunWithSuggestedFixes(t, dir, c.Analyzer, "before", "after", "whennot")
			for _, pkg := range []string{"before", "after", "whennot"} {
				wants := count(t, filepath.Join(dir, "src", pkg), "want `")
				if (pkg == "before") != (wants > 0) {
					t.Errorf("%s has %d expectations", pkg, wants)
				}
			}
		})
	}
}

// count counts a text in the Go files of a directory.
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

// TestMendedCodeIsClean runs all checks on what each of them calls mended: one
// check's remedy is not another's finding.
func TestMendedCodeIsClean(t *testing.T) {
	for _, c := range All() {
		c.ReportHints(true)
		defer c.ReportHints(false)
	}
	for _, c := range All() {
		for _, other := range All() {
			dir, err := filepath.Abs(filepath.Join(c.Name, "testdata"))
			if err != nil {
				t.Fatal(err)
			}
			for _, result := range analysistest.Run(t, dir, other.Analyzer, "after") {
				for _, d := range result.Diagnostics {
					t.Errorf("%s flags the remedy of %s: %s: %s", other.Name, c.Name, result.Pass.Fset.Position(d.Pos), d.Message)
				}
			}
		}
	}
}

func TestExercisesAndTraps(t *testing.T) {
	exercises, traps := map[int]string{}, 0
	for _, c := range All() {
		if c.Exercise == 0 {
			traps++
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

// TestGoldenFilesParse holds that what the fixes made is Go; that it compiles
// is the command's test.
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

// A check that is incomplete must not get as far as a registry.
func TestNewRefusesIncompleteChecks(t *testing.T) {
	for name, c := range map[string]check.Check{
		"no name": {}, "upper case": {Name: "Sprintf"}, "no exercise": {Name: "x", Exercise: 19},
		"no documentation": {Name: "x", Exercise: 1}, "no measurement": {Name: "x", Exercise: 1, Doc: "x", When: "x", WhenNot: "x"},
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
