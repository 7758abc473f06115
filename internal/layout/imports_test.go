package layout

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/isobar-go/isobar"

// ranks gives every package its place: a package imports only packages of a
// lower rank, and those of its own that peers lists. A package that is not
// here does not belong to the module.
var ranks = map[string]int{
	"internal/invariant": 0, "internal/cgroup": 0, "internal/procpin": 0, "internal/gctest": 0, "internal/offheap": 1, "internal/base/poll": 1, "internal/base/block": 2,
	"arena": 3, "slab": 3, "pool": 2, "queue": 2, "latency": 2, "gcctl": 2, "memtest": 2,
	"gcctl/gcctlprom": 3, "eventloop": 3, "http11": 3, "http11/http11prom": 4,
	"advise/check": 2, "advise": 4, "advise/golangci": 5, "advise/internal/registry": 4, "advise/internal/replay": 5, // and each check: see rank
	"internal/cell": 2, "internal/tick": 2, "internal/gctrace": 2,
	"internal/host": 3, "internal/stat": 3, "internal/httpload": 3,
	"internal/workload": 4, "internal/strategy": 4, "internal/ingress": 4, "internal/plan": 4, "internal/store": 4,
	"internal/runner": 5, "internal/claim": 5, "internal/report": 5, "internal/report/sample": 6,
	"internal/tuner": 6, "internal/advisor": 6, "internal/fleet": 6, "monitor": 4, "monitor/monitorprom": 5, "test/prometheus/program": 6, "internal/watch": 6, "internal/gcphase": 3, "internal/web": 6,
	"cmd/isobar": 7, "cmd/isobar-vet": 7,
	"internal/layout": 8,
}

// rank returns the rank of a package. Every directory of advise is a check.
func rank(pkg string) (int, bool) {
	if r, ok := ranks[pkg]; ok {
		return r, true
	}
	dir, name := path.Split(pkg)
	return 3, dir == "advise/" && name != "internal"
}

var libraries = []string{"arena", "slab", "pool", "queue", "latency", "gcctl", "eventloop", "http11", "memtest", "monitor"}

// never lists imports that rank alone would allow.
var never = map[string][]string{
	"internal/store":    {"internal/runner", "internal/workload", "internal/strategy"},
	"internal/stat":     {"internal/runner", "internal/workload", "internal/strategy"},
	"internal/claim":    {"internal/runner", "internal/workload", "internal/strategy"},
	"internal/report":   {"internal/runner", "internal/workload", "internal/strategy", "internal/store"},
	"internal/web":      {"internal/runner", "internal/workload", "internal/strategy"},
	"internal/workload": {"internal/strategy", "internal/ingress"},
	"internal/strategy": {"internal/workload"},
	"internal/ingress":  {"internal/workload"},
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
		from, ok := rank(pkg)
		if !ok {
			t.Errorf("%s: package %s has no rank: add it to the table in this test and to docs/design.md", file, pkg)
			return
		}
		to, inModule := strings.CutPrefix(imported, module+"/")
		if !inModule || to == pkg { // external tests import their own package
			return
		}
		toRank, ok := rank(to)
		switch {
		case !ok:
			t.Errorf("%s imports %s, which has no rank", file, to)
		case toRank >= from:
			t.Errorf("%s (rank %d) imports %s (rank %d): imports go to lower ranks only", file, from, to, toRank)
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

func TestLibrariesNeedOnlyTheStandardLibrary(t *testing.T) {
	allowed := map[string]bool{
		module + "/internal/invariant": true, module + "/internal/procpin": true, module + "/internal/offheap": true,
		module + "/internal/cgroup": true, // by gcctl
		module + "/internal/gctest": true, // by tests
		"golang.org/x/sys/unix":     true, "golang.org/x/sys/windows": true, "golang.org/x/sys/cpu": true,
	}
	for _, lib := range append([]string{"internal/invariant", "internal/cgroup", "internal/procpin", "internal/offheap", "internal/base/poll", "internal/base/block"}, libraries...) {
		allowed[module+"/"+lib] = true
	}
	imports(t, func(pkg, file, imported string) {
		for _, lib := range libraries {
			if pkg != lib {
				continue
			}
			first, _, _ := strings.Cut(imported, "/")
			if strings.Contains(first, ".") && !allowed[imported] {
				t.Errorf("%s imports %s: public libraries need only the standard library and golang.org/x/sys", file, imported)
			}
		}
	})
}

// TestChecksNeedOnlyAnalysis holds what package advise, public but no library
// of the kit, may import: go/analysis and what comes with it.
func TestChecksNeedOnlyAnalysis(t *testing.T) {
	imports(t, func(pkg, file, imported string) {
		if pkg != "advise" && !strings.HasPrefix(pkg, "advise/") {
			return
		}
		if strings.HasSuffix(file, "_test.go") && imported == module+"/internal/invariant" {
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
