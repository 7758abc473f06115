package advice

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise"
	"github.com/isobar-go/isobar/advise/check"
)

// applied applies all fixes of the findings that do not overlap, and returns the
// changed files and the number of applied fixes.
func applied(t *testing.T, findings []Finding) (files map[string][]byte, fixes int) {
	t.Helper()
	taken := map[string][]change{}
	for _, f := range findings {
		if len(f.Edits) == 0 || overlaps(taken, f.Edits) {
			continue
		}
		fixes++
		for name, changes := range f.Edits {
			taken[name] = append(taken[name], changes...)
		}
	}
	files = map[string][]byte{}
	for name, changes := range taken {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if files[name], err = edited(name, src, changes); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	return files, fixes
}

// overlaps reports whether a change of more overlaps a taken one, apart from imports of
// the same package.
func overlaps(taken map[string][]change, more fix) bool {
	for name, changes := range more {
		for _, c := range changes {
			for _, was := range taken[name] {
				if c.Start < was.End && was.Start < c.End || c.Start == was.Start && !importEdit.MatchString(c.Text) {
					return true
				}
			}
		}
	}
	return false
}

// TestFixesCompile applies every fix of the checks' testdata at once: the result must compile.
func TestFixesCompile(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for _, c := range advise.All() {
		patterns = append(patterns, "./advise/"+c.Name+"/testdata/src/before")
	}
	r, err := Run(context.Background(), Config{Dir: root, Patterns: patterns, Checks: advise.All()})
	if err != nil {
		t.Fatal(err)
	}
	files, fixes := applied(t, r.Findings)
	if fixes < 20 || len(files) < 8 {
		t.Errorf("%d fixes in %d files: the testdata has more", fixes, len(files))
	}
	dir := t.TempDir()
	for name := range maps.Keys(files) {
		siblings, err := filepath.Glob(filepath.Join(filepath.Dir(name), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range siblings {
			text, changed := files[from]
			if !changed {
				if text, err = os.ReadFile(from); err != nil {
					t.Fatal(err)
				}
			}
			put(t, filepath.Join(dir, strings.TrimPrefix(from, root)), text)
		}
	}
	// The go command ignores testdata.
	if err := os.Rename(filepath.Join(dir, "advise"), filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "go.mod"), []byte("module fixed\n\ngo 1.26\n"))
	var packages []string
	for _, c := range advise.All() {
		at := filepath.Join("a", c.Name, "testdata", "src", "before")
		if _, err := os.Stat(filepath.Join(dir, at)); err == nil {
			packages = append(packages, "./"+filepath.ToSlash(at))
		}
	}
	run(t, dir, "go", append([]string{"build"}, packages...)...)
}

// TestFixesKeepModules applies every fix of whole modules at once and runs their tests before
// and after. ISOBAR_FIX_MODULES lists directories of modules; the test does not change them.
func TestFixesKeepModules(t *testing.T) {
	list := os.Getenv("ISOBAR_FIX_MODULES")
	if list == "" {
		t.Skip("takes minutes and modules: set ISOBAR_FIX_MODULES to their directories")
	}
	for _, module := range filepath.SplitList(list) {
		t.Run(filepath.Base(module), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(module)); err != nil {
				t.Fatal(err)
			}
			dir, err := filepath.EvalSymlinks(dir)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Run(context.Background(), Config{Dir: dir, Patterns: []string{"./..."}, Checks: advise.All()})
			if err != nil {
				t.Fatal(err)
			}
			files, fixes := applied(t, r.Findings)
			packages := map[string]bool{}
			for name := range files {
				rel, err := filepath.Rel(dir, filepath.Dir(name))
				if err != nil {
					t.Fatal(err)
				}
				packages["./"+filepath.ToSlash(rel)] = true
			}
			t.Logf("%d fixes in %d files of %d packages", fixes, len(files), len(packages))
			if fixes == 0 {
				return
			}
			tests := append([]string{"test", "-short", "-count=1"}, slices.Sorted(maps.Keys(packages))...)
			before := outcomes(dir, tests)
			for name, text := range files {
				put(t, name, text)
			}
			run(t, dir, "go", "build", "./...")
			after := outcomes(dir, tests)
			for pkg, ok := range before {
				if ok && !after[pkg] {
					t.Errorf("%s: its tests fail with the fixes", pkg)
				}
			}
		})
	}
}

// outcomes runs go test and returns whether each package passed.
func outcomes(dir string, args []string) map[string]bool {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput() // the lines say which failed
	passed := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) >= 2 && (f[0] == "ok" || f[0] == "FAIL" || f[0] == "?") {
			passed[f[1]] = f[0] != "FAIL"
		}
	}
	return passed
}

func put(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// What line directives take from another file, as parser generators write them, has no fix: the next copy would not have it.
func TestFixesUnderLineComments(t *testing.T) {
	text := `package m

func join(parts []string) string {
//line grammar.y:3
	s := ""
	for _, part := range parts {
		s += part
	}
	return s
}
`
	dir := tree(t, map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n", "m.go": text})
	r, err := Run(t.Context(), Config{Dir: dir, Patterns: []string{"."}, Checks: []*check.Check{advise.Lookup("concatloop")}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != 1 || r.Findings[0].Fix || len(r.Skipped) > 0 {
		t.Errorf("findings %v, skipped %v; want one without a fix, and nothing skipped", r.Findings, r.Skipped)
	}
}
