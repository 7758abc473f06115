package layout

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/isobar-go/isobar"

// wings gives every package its place: the first prefix that fits is its wing.
// A package outside of them does not belong to the module.
var wings = []struct{ prefix, wing string }{
	{"internal/base/", "base"}, {"internal/gc/", "gc"}, {"internal/lab/", "lab"}, {"internal/study/", "study"},
	{"internal/tune", "tune"}, {"internal/advice", "advice"}, {"internal/heap", "heap"}, {"internal/live", "live"}, {"internal/fleet", "fleet"},
	{"internal/show", "show"}, {"internal/session", "session"}, {"internal/web", "web"}, {"internal/layout", "layout"},
	{"cmd/", "cmd"}, {"test/", "cmd"},
	{"arena", "kit"}, {"slab", "kit"}, {"pool", "kit"}, {"queue", "kit"}, {"latency", "kit"}, {"eventloop", "kit"},
	{"gcctl", "kit"}, {"http11", "kit"}, {"memtest", "kit"}, {"monitor", "kit"}, {"advise", "advise"},
}

// below lists the wings that a wing may import, beside itself; kit is the public
// libraries. docs/design.md has the picture.
var below = map[string][]string{
	"base":    {},
	"kit":     {"base"},
	"advise":  {"base"},
	"gc":      {"base"},
	"lab":     {"base", "kit", "gc"},
	"show":    {"base", "kit", "lab"},
	"study":   {"base", "kit", "gc", "lab", "show"},
	"tune":    {"base", "gc", "lab", "show"},
	"advice":  {"base", "advise", "lab", "show", "heap"},
	"heap":    {"base", "show"},
	"live":    {"base", "kit", "gc", "show"},
	"fleet":   {"base", "kit", "lab"},
	"session": {"base", "kit", "lab", "study", "show", "tune", "fleet"},
	"web":     {"base", "kit", "lab", "study", "show", "advice", "heap", "live", "fleet", "session"},
	"cmd":     {"base", "kit", "advise", "gc", "lab", "show", "study", "tune", "advice", "heap", "live", "fleet", "session", "web"},
	"layout":  {"base"},
}

// wingOf returns the wing of a package.
func wingOf(pkg string) (string, bool) {
	for _, w := range wings {
		root := strings.TrimSuffix(w.prefix, "/")
		if pkg == root || strings.HasPrefix(pkg, root+"/") {
			return w.wing, true
		}
	}
	return "", false
}

var libraries = []string{"arena", "slab", "pool", "queue", "latency", "gcctl", "eventloop", "http11", "memtest", "monitor"}

// never lists imports that the wings alone would allow.
var never = map[string][]string{
	"internal/lab/store":     {"internal/lab/runner", "internal/lab/workload", "internal/lab/strategy"},
	"internal/lab/stat":      {"internal/lab/runner", "internal/lab/workload", "internal/lab/strategy"},
	"internal/study/claim":   {"internal/lab/runner", "internal/lab/workload", "internal/lab/strategy"},
	"internal/show/text":     {"internal/lab/runner", "internal/lab/workload", "internal/lab/strategy", "internal/lab/store"},
	"internal/show/plot":     {"internal/lab/runner", "internal/lab/workload", "internal/lab/strategy", "internal/lab/store"},
	"internal/show/page":     {"internal/lab/runner", "internal/lab/workload", "internal/lab/strategy", "internal/lab/store"},
	"internal/web":           {"internal/lab/runner", "internal/lab/workload", "internal/lab/strategy"},
	"internal/lab/workload":  {"internal/lab/strategy"},
	"internal/lab/strategy":  {"internal/lab/workload"},
	"internal/study/ingress": {"internal/lab/workload"},
}

// imports parses every file of the module, tests and all platforms included,
// and calls visit for each import. Parsing beats go list here: the test cache
// notices the files that a test opens.
func imports(t *testing.T, visit func(pkg, file, imported string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" || base == "bench" || base == "examples") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(base, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			visit(path.Dir(rel), rel, imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImportsGoOneWay(t *testing.T) {
	seen := 0
	imports(t, func(pkg, file, imported string) {
		seen++
		from, ok := wingOf(pkg)
		if !ok {
			t.Errorf("%s: package %s is in no wing: add it to the table in this test and to docs/design.md", file, pkg)
			return
		}
		to, inModule := strings.CutPrefix(imported, module+"/")
		if !inModule || to == pkg { // external tests import their own package
			return
		}
		wing, ok := wingOf(to)
		switch {
		case !ok:
			t.Errorf("%s imports %s, which is in no wing", file, to)
		case wing != from && !slices.Contains(below[from], wing):
			t.Errorf("%s imports %s: %s may import only %v", file, to, from, below[from])
		}
		for _, forbidden := range never[pkg] {
			if to == forbidden {
				t.Errorf("%s imports %s: running and reporting share only the store, workloads and strategies only an interface", file, to)
			}
		}
	})
	if seen < 50 {
		t.Errorf("only %d imports seen: is the module root right?", seen)
	}
}

// TestWingsSayWhatTheyImport compares the line Imports in the package documentation
// of each wing with the table below.
func TestWingsSayWhatTheyImport(t *testing.T) {
	line := regexp.MustCompile(`(?m)^Imports: ([a-z, ]+)\.`)
	for _, w := range wings {
		if !strings.HasPrefix(w.prefix, "internal/") || w.wing == "layout" {
			continue
		}
		dir := filepath.Join("..", "..", filepath.FromSlash(w.prefix))
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		said := []string{}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if m := line.FindStringSubmatch(f.Doc.Text()); m != nil {
				said = append(said, m[1])
			}
		}
		want := strings.Join(below[w.wing], ", ")
		if want == "" {
			want = "none"
		}
		if len(said) != 1 || said[0] != want {
			t.Errorf("%s: its documentation has the lines Imports %q, want one: %s", w.prefix, said, want)
		}
	}
}

func TestLibrariesNeedOnlyTheStandardLibrary(t *testing.T) {
	allowed := map[string]bool{
		"golang.org/x/sys/unix": true, "golang.org/x/sys/windows": true, "golang.org/x/sys/cpu": true,
	}
	for _, lib := range libraries {
		allowed[module+"/"+lib] = true
	}
	imports(t, func(pkg, file, imported string) {
		for _, lib := range libraries {
			if pkg != lib {
				continue
			}
			first, _, _ := strings.Cut(imported, "/")
			if strings.Contains(first, ".") && !allowed[imported] && !strings.HasPrefix(imported, module+"/internal/base/") {
				t.Errorf("%s imports %s: public libraries need only the standard library and golang.org/x/sys", file, imported)
			}
		}
	})
}

// TestMonitorLinksNoLibrary holds that a program that mounts the live page pays
// for no other library of the kit than the histograms.
func TestMonitorLinksNoLibrary(t *testing.T) {
	links := map[string][]string{}
	imports(t, func(pkg, file, imported string) {
		if to, inModule := strings.CutPrefix(imported, module+"/"); inModule && !strings.HasSuffix(file, "_test.go") {
			links[pkg] = append(links[pkg], to)
		}
	})
	reached, rest := map[string]bool{}, []string{"monitor"}
	for len(rest) > 0 {
		pkg := rest[0]
		rest = rest[1:]
		if !reached[pkg] {
			reached[pkg] = true
			rest = append(rest, links[pkg]...)
		}
	}
	if !reached["latency"] {
		t.Errorf("monitor links %v, want latency among them: does this test follow imports?", reached)
	}
	for _, lib := range libraries {
		if lib != "monitor" && lib != "latency" && reached[lib] {
			t.Errorf("monitor links %s; its Stats should have the method Figures instead", lib)
		}
	}
}

// TestChecksNeedOnlyAnalysis holds what package advise, public but no library
// of the kit, may import: go/analysis and what comes with it.
func TestChecksNeedOnlyAnalysis(t *testing.T) {
	imports(t, func(pkg, file, imported string) {
		if pkg != "advise" && !strings.HasPrefix(pkg, "advise/") {
			return
		}
		if strings.HasSuffix(file, "_test.go") && imported == module+"/internal/base/invariant" {
			return
		}
		if pkg == "advise/golangci" && imported == "github.com/golangci/plugin-module-register/register" {
			return // nobody but golangci-lint imports that package
		}
		first, _, _ := strings.Cut(imported, "/")
		if strings.Contains(first, ".") && !strings.HasPrefix(imported, "golang.org/x/tools/go/") && !strings.HasPrefix(imported, module+"/advise") {
			t.Errorf("%s imports %s: checks need only the standard library and golang.org/x/tools/go", file, imported)
		}
	})
}

func TestPeersStayOutOfGoMod(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, peer := range []string{
		"fasthttp", "hertz", "netpoll", "gnet", "go-eventloop", "ortuman/nuke", "zeropool", "bytebufferpool",
		"bytedance/gopkg", "gogctuner", "hdrhistogram", "xsync",
	} {
		if strings.Contains(strings.ToLower(string(mod)), peer) {
			t.Errorf("go.mod requires %s: peers belong in bench/go.mod", peer)
		}
	}
}
