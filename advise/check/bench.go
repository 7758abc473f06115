package check

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Timed returns the names of the functions and methods that the benchmarks in a
// directory call in the loops that they time. It reads syntax, as most drivers of
// analyzers do not load the tests of a package with it.
func Timed(dir string) map[string]bool {
	names := map[string]bool{}
	tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return names
	}
	for _, name := range tests {
		src, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(src, []byte("*testing.")) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt:
				if n.Cond != nil && times(n.Cond) {
					calls(n.Body, foreign(f), names)
				}
			case *ast.RangeStmt:
				if times(n.X) {
					calls(n.Body, foreign(f), names)
				}
			}
			return true
		})
	}
	return names
}

// times reports whether e bounds a loop that a benchmark times: b.N, b.Loop, or
// Next of a *testing.PB.
func times(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			x, _ := sel.X.(*ast.Ident)
			found = found || x != nil && (x.Name == "b" && (sel.Sel.Name == "N" || sel.Sel.Name == "Loop") ||
				x.Name == "pb" && sel.Sel.Name == "Next")
		}
		return !found
	})
	return found
}

// foreign returns the names of the packages that a file of tests imports beside
// the one that it tests.
func foreign(f *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, imp := range f.Imports {
		name := strings.Trim(path.Base(imp.Path.Value), `"`)
		if imp.Name != nil {
			name = imp.Name.Name
		}
		names[name] = name+"_test" != f.Name.Name
	}
	return names
}

// calls adds what the body of a loop calls, but for functions of foreign packages.
func calls(body ast.Node, foreign, names map[string]bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch fun := ast.Unparen(call.Fun).(type) {
		case *ast.Ident:
			names[fun.Name] = true
		case *ast.SelectorExpr:
			if x, ok := fun.X.(*ast.Ident); !ok || !foreign[x.Name] {
				names[fun.Sel.Name] = true
			}
		}
		return true
	})
}
