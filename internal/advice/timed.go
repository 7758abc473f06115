package advice

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// timings know what benchmarks time, from their source files.
type timings struct {
	files map[string][]timedDecl       // by name
	parts map[string]map[string]string // benchmarks by the names that they use, by directory
}

func newTimings() *timings {
	return &timings{map[string][]timedDecl{}, map[string]map[string]string{}}
}

// benchmark returns the benchmark that a stack belongs to. What a benchmark lets
// testing run has a stack of its own: then the test function at its beginning tells.
func (t *timings) benchmark(stack []profile.Line) (bench, bool) {
	part := bench{}
	for _, f := range slices.Backward(stack) {
		_, name, _ := strings.Cut(path.Base(untyped(f.Function.Name)), ".")
		name, _, _ = strings.Cut(name, ".")
		pkg := strings.TrimSuffix(packageOf(f.Function.Name), "_test")
		if strings.HasPrefix(name, "Benchmark") {
			return bench{pkg, name}, true
		}
		if part.pkg == "" && strings.HasSuffix(f.Function.Filename, "_test.go") {
			part = bench{pkg, t.partsOf(filepath.Dir(f.Function.Filename))[name]}
		}
	}
	return part, part.name != ""
}

// partsOf maps each function of a directory's tests to the benchmark that comes to name it, if only one does.
func (t *timings) partsOf(dir string) map[string]string {
	if known, ok := t.parts[dir]; ok {
		return known
	}
	named := map[string][]string{} // by function or variable: the names it uses
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, d := range f.Decls {
			for _, name := range declared(d) {
				named[name] = append(named[name], identifiers(d)...)
			}
		}
	}
	parts := map[string]string{}
	for name := range named {
		if !strings.HasPrefix(name, "Benchmark") {
			continue
		}
		seen, pending := map[string]bool{}, []string{name}
		for len(pending) > 0 {
			next := pending[0]
			if pending = pending[1:]; seen[next] || next == "_" {
				continue
			}
			seen[next] = true
			pending = append(pending, named[next]...)
			if _, other := parts[next]; other {
				parts[next] = ""
			} else {
				parts[next] = name
			}
		}
	}
	t.parts[dir] = parts
	return parts
}

// declared returns the names of the functions and variables in a declaration.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if vars, ok := spec.(*ast.ValueSpec); ok {
				for _, id := range vars.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}

func identifiers(n ast.Node) (names []string) {
	for n := range ast.Preorder(n) {
		if id, ok := n.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
	}
	return names
}

// prepares reports whether a sample of a benchmark belongs to code outside the loop that it times: to
// the preparation of each run. A stack that does not reach the benchmark, or a benchmark without such
// a loop, tells nothing. Before any benchmark, the test program prepares itself.
func (t *timings) prepares(stack []profile.Line, benchmarks bool) bool {
	outside := false
	for _, f := range stack {
		switch name := f.Function.Name; {
		case name == "testing.(*B).runN":
			return outside
		case benchmarks && (name == "main.main" || name == "runtime.doInit1"):
			return true
		}
		here := func(l lines) bool { return l.from <= f.Line && f.Line <= l.to }
		for _, decl := range t.of(f.Function.Filename) {
			if here(decl.lines) {
				if slices.ContainsFunc(decl.timed, here) && !slices.ContainsFunc(decl.stopped, here) {
					return false
				}
				outside = true
			}
		}
	}
	return false
}

// timed yields the allocating stacks of a profile of benchmarks or tests, and what they
// allocate; no preparation.
func (t *timings) timed(p *profile.Profile) iter.Seq2[[]profile.Line, Totals] {
	return func(yield func([]profile.Line, Totals) bool) {
		for s, made := range totals(p) {
			stack := frames(s)
			if made.Objects > 0 && !t.prepares(stack, true) && !yield(stack, made) {
				return
			}
		}
	}
}

// benchmarked reports whether a profile has samples of benchmarks.
func benchmarked(p *profile.Profile) bool {
	return slices.ContainsFunc(p.Function, func(f *profile.Function) bool { return f.Name == "testing.(*B).runN" })
}

type lines struct{ from, to int64 }

// A timedDecl is a function of a test file with timed code.
type timedDecl struct {
	lines
	timed   []lines // loops over b.N and b.Loop, and RunParallel; none if b.N is passed on
	stopped []lines // lines in them between StopTimer and StartTimer
}

// of returns the timed functions of a test file, or nil for any other or missing file.
func (t *timings) of(name string) []timedDecl {
	if !strings.HasSuffix(name, "_test.go") {
		return nil
	}
	if known, ok := t.files[name]; ok {
		return known
	}
	var timed []timedDecl
	fset := token.NewFileSet()
	if f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution); err == nil {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				timed = append(timed, timedDeclOf(fset, fn))
			}
		}
	}
	timed = slices.DeleteFunc(timed, func(d timedDecl) bool { return len(d.timed) == 0 })
	t.files[name] = timed
	return timed
}

// timedDeclOf finds what a function times. Nothing is known if it passes on the number of iterations.
func timedDeclOf(fset *token.FileSet, fn *ast.FuncDecl) timedDecl {
	decl := timedDecl{lines: linesOf(fset, fn)}
	for n := range ast.Preorder(fn.Body) {
		switch n := n.(type) {
		case *ast.ForStmt:
			if counts(n.Init) || counts(n.Cond) || counts(n.Post) {
				decl.loop(fset, n.Body)
			}
		case *ast.RangeStmt:
			if counts(n.X) {
				decl.loop(fset, n.Body)
			}
		case *ast.CallExpr:
			if !converts(n) && slices.ContainsFunc(n.Args, isN) {
				return timedDecl{}
			}
			if method(n) == "RunParallel" {
				decl.timed = append(decl.timed, linesOf(fset, n))
			}
		}
	}
	return decl
}

// converts reports whether a call is of a builtin function, or a conversion to a basic type.
func converts(call *ast.CallExpr) bool {
	id, ok := call.Fun.(*ast.Ident)
	return ok && types.Universe.Lookup(id.Name) != nil
}

func linesOf(fset *token.FileSet, n ast.Node) lines {
	return lines{int64(fset.Position(n.Pos()).Line), int64(fset.Position(n.End()).Line)}
}

// loop adds the body of a timed loop, except the lines where, in source order, the
// timer is stopped: before a first start, and from a stop to a start.
func (d *timedDecl) loop(fset *token.FileSet, body *ast.BlockStmt) {
	d.timed = append(d.timed, linesOf(fset, body))
	stop, first := linesOf(fset, body).from, true
	for n := range ast.Preorder(body) {
		e, _ := n.(ast.Expr)
		switch method(e) {
		case "StopTimer":
			stop, first = linesOf(fset, n).from, false
		case "StartTimer":
			if stop > 0 {
				d.stopped = append(d.stopped, lines{stop + 1, linesOf(fset, n).from - 1})
			}
			stop, first = 0, false
		}
	}
	if !first && stop > 0 {
		d.stopped = append(d.stopped, lines{stop + 1, linesOf(fset, body).to})
	}
}

// isN reports whether e is b.N.
func isN(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	_, ok = sel.X.(*ast.Ident)
	return ok && sel.Sel.Name == "N"
}

// counts reports whether a part of the head of a loop uses b.N or b.Loop.
func counts(n ast.Node) bool {
	if n == nil {
		return false
	}
	for n := range ast.Preorder(n) {
		if e, ok := n.(ast.Expr); ok && (isN(e) || method(e) == "Loop") {
			return true
		}
	}
	return false
}

// method returns the name of the method that e calls, or "".
func method(e ast.Expr) string {
	if call, ok := e.(*ast.CallExpr); ok {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			return sel.Sel.Name
		}
	}
	return ""
}
