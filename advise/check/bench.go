package check

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
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
		if err != nil || !bytes.Contains(src, []byte("\nfunc Benchmark")) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil &&
				strings.HasPrefix(fn.Name.Name, "Benchmark") {
				timedIn(fn, names)
			}
		}
	}
	return names
}

// timedIn adds what the loops of a benchmark call.
func timedIn(n ast.Node, names map[string]bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.ForStmt:
			body = n.Body
		case *ast.RangeStmt:
			body = n.Body
		}
		if body == nil {
			return true
		}
		ast.Inspect(body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				switch fun := ast.Unparen(call.Fun).(type) {
				case *ast.Ident:
					names[fun.Name] = true
				case *ast.SelectorExpr:
					names[fun.Sel.Name] = true
				}
			}
			return true
		})
		return true
	})
}
