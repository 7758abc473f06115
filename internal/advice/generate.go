package advice

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// generatedPrefix begins the name of a benchmark that is made of a test.
const generatedPrefix = "BenchmarkFrom"

// most tests that are tried, and the benchmarks made of them, for a package.
const (
	mostTests = 200
	mostMade  = 8
	searching = 3 * time.Minute // for the tests of a package
)

// A testFunc is a test whose body can be repeated: one function without
// subtests that takes nothing but its *testing.T.
type testFunc struct {
	name, file     string
	param, testing string // the name of its argument, and of package testing
	body           []byte
}

// generate makes benchmarks, in the copy, for remedies whose place no benchmark
// runs, of tests that do.
func (v *verifier) generate(ctx context.Context, remedies []*remedy) error {
	missing := map[string][]*remedy{}
	var order []string
	for _, m := range remedies {
		if m.broken != nil || len(m.benchmarks(v.reached)) > 0 {
			continue
		}
		for _, pkg := range m.pkgs {
			if missing[pkg] == nil {
				order = append(order, pkg)
			}
			missing[pkg] = append(missing[pkg], m)
		}
	}
	if len(order) == 0 {
		return nil
	}
	pkgs, err := v.testPackages(ctx, order)
	if err != nil {
		return nil // what 'go list' does not know has no tests
	}
	for _, p := range pkgs {
		if past(v.search) {
			break
		}
		if err := v.generateIn(ctx, p, missing[p.ImportPath]); err != nil {
			return err
		}
	}
	return nil
}

// generateIn makes the benchmarks of one package.
func (v *verifier) generateIn(ctx context.Context, p *testPackage, remedies []*remedy) error {
	tests := repeatable(p)
	if len(tests) == 0 {
		return nil
	}
	ran, err := v.testReach(ctx, p, tests)
	if err != nil || len(ran) == 0 {
		return err
	}
	var chosen []string
	for _, m := range remedies {
		places := m.benchmarks(ran) // the test that runs it most often is first
		if len(places) > 0 && !slices.Contains(chosen, places[0].name) && len(chosen) < mostMade {
			chosen = append(chosen, places[0].name)
		}
	}
	made := false
	for _, t := range tests {
		if slices.Contains(chosen, t.name) {
			v.Progress("a benchmark of " + t.name)
			if v.addBenchmark(ctx, p, t) {
				made = true
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	if !made {
		return nil
	}
	if !slices.ContainsFunc(v.tests, func(q *testPackage) bool { return q.ImportPath == p.ImportPath }) {
		v.tests = append(v.tests, p)
	}
	more, err := v.reaching(ctx, coverage{pkgs: []*testPackage{p}, covered: []string{p.ImportPath},
		bench: "^" + generatedPrefix, tmp: v.tmp, progress: v.Progress})
	if err != nil {
		return err
	}
	v.reached.add(more)
	return nil
}

// testReach runs each test once, alone, and records what it runs of its
// package.
func (v *verifier) testReach(ctx context.Context, p *testPackage, tests []testFunc) (reach, error) {
	at, err := v.covering(ctx, p, v.tmp, []string{p.ImportPath})
	if err != nil {
		return nil, ctx.Err() // no test here can judge anything
	}
	r, began := reach{}, time.Now()
	for _, t := range tests[:min(mostTests, len(tests))] {
		if time.Since(began) > searching || past(v.search) {
			break
		}
		v.Progress("what " + t.name + " of " + p.ImportPath + " reaches")
		ran, _, err := at.once(ctx, benchmark{p, t.name, ""}, "-test.run=^"+t.name+"$")
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			r.add(ran)
		}
	}
	return r, nil
}

// addBenchmark puts a benchmark of the test at the end of its file in the copy,
// and takes it out again where it does not compile.
func (v *verifier) addBenchmark(ctx context.Context, p *testPackage, t testFunc) bool {
	src, err := os.ReadFile(t.file)
	if err != nil {
		return false
	}
	text := append(slices.Clone(src), t.benchmark()...)
	if os.WriteFile(t.file, text, 0o644) != nil {
		return false
	}
	if _, err := v.run(ctx, "go", "test", "-c", "-vet=off", "-o", os.DevNull, p.ImportPath); err != nil {
		os.WriteFile(t.file, src, 0o644)
		return false
	}
	return true
}

// benchmark is the body of the test, repeated. Its failures are those of the
// benchmark.
func (t *testFunc) benchmark() string {
	return fmt.Sprintf("\n\nfunc %s%s(benchmark *%s.B) {\n\t%s := benchmark\n\t_ = %[4]s\n\tbenchmark.ReportAllocs()\n"+
		"\tfor benchmark.Loop() {\n\t\tfunc() %s()\n\t}\n}\n",
		generatedPrefix, t.name, t.testing, t.param, t.body)
}

var testName = regexp.MustCompile(`^Test([^a-z].*)?$`)

// repeatable returns the tests of a package that can be repeated.
func repeatable(p *testPackage) (tests []testFunc) {
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		name = filepath.Join(p.Dir, name)
		src, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || fn.Body == nil || !testName.MatchString(fn.Name.Name) {
				continue
			}
			param, pkg, ok := onlyT(fn)
			if !ok || !repeats(fn.Body, param) {
				continue
			}
			from, to := fset.Position(fn.Body.Pos()).Offset, fset.Position(fn.Body.End()).Offset
			if body := src[from:to]; !bytes.Contains(body, []byte("//go:")) {
				tests = append(tests, testFunc{fn.Name.Name, name, param, pkg, body})
			}
		}
	}
	return tests
}

// onlyT returns the name of the argument of fn where that is a *testing.T and
// all there is, and the name of package testing.
func onlyT(fn *ast.FuncDecl) (param, pkg string, ok bool) {
	list := fn.Type.Params.List
	if fn.Type.TypeParams != nil || fn.Type.Results != nil || len(list) != 1 || len(list[0].Names) != 1 {
		return "", "", false
	}
	param = list[0].Names[0].Name
	t, star := strings.CutPrefix(types.ExprString(list[0].Type), "*")
	pkg, ok = strings.CutSuffix(t, ".T")
	return param, pkg, star && ok && token.IsIdentifier(pkg) && param != "_" && param != "benchmark"
}

// once are the methods of a test that only make sense once, or that a
// benchmark has not.
var once = []string{"Run", "Parallel", "Skip", "Skipf", "SkipNow", "Cleanup", "Deadline"}

// repeats reports whether the body calls none of those.
func repeats(body *ast.BlockStmt, param string) bool {
	ok := true
	ast.Inspect(body, func(n ast.Node) bool {
		if sel, is := n.(*ast.SelectorExpr); is && slices.Contains(once, sel.Sel.Name) {
			if id, is := sel.X.(*ast.Ident); is && id.Name == param {
				ok = false
			}
		}
		return ok
	})
	return ok
}

// fromTest returns the test that a benchmark was made of, or "".
func fromTest(benchmark string) string {
	name, ok := strings.CutPrefix(benchmark, generatedPrefix)
	if !ok || !testName.MatchString(name) {
		return ""
	}
	return name
}
