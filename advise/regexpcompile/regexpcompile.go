// Package regexpcompile is an allocation check: see Check.
package regexpcompile

import (
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags patterns that are compiled in each call.
var Check = check.New(check.Check{
	Name:     "regexpcompile",
	Exercise: 12,
	Severity: check.Advice,
	Doc: `regexp.MustCompile of a constant pattern in a function

The same pattern is compiled again in each call: parsing, a program, tables. A package
variable is compiled once, at start-up; sync.OnceValue puts it off until it is needed. A strings.Replacer of
constants likewise.`,
	When: "always, unless the function runs once.",
	WhenNot: "patterns that callers give, not all of them constants (cache those, with a bound); init, main and " +
		"sync.Once; results that are kept in a package variable or a field; tests.",
	Measured: "14,571 ns, 61 allocations -> 498 ns, 0 (Go 1.26.8)",
	Run:      run,
	Hoists:   "the pattern",
})

func run(p *check.Pass) {
	p.Calls("regexp", []string{"MustCompile", "Compile", "MustCompilePOSIX", "CompilePOSIX", "Match", "MatchReader",
		"MatchString"}, func(cur inspector.Cursor, call *ast.CallExpr, name string) {
		matches := strings.HasPrefix(name, "Match")
		switch pattern := call.Args[0]; {
		case p.Once(cur) || !matches && kept(p, cur):
		case p.IsConst(pattern):
			var edits []analysis.TextEdit
			if name == "MustCompile" {
				edits = hoisted(p, cur, constant.StringVal(p.Info.Types[pattern].Value))
			}
			p.Report(call, "regexp."+name+" compiles the same pattern in each call; compile it once, in a package variable",
				edits...)
		case owned(p, cur, pattern) && matches:
			p.Report(call, "regexp."+name+" compiles the same patterns again; hold them compiled")
		case owned(p, cur, pattern):
			p.Report(call, "regexp."+name+" compiles the same patterns again; hold the compiled one beside the text")
		}
	})
	p.Calls("strings", []string{"NewReplacer"}, func(cur inspector.Cursor, call *ast.CallExpr, _ string) {
		varies := slices.ContainsFunc(call.Args, func(arg ast.Expr) bool { return !p.IsConst(arg) })
		if !varies && !kept(p, cur) && len(call.Args) > 0 && !p.Once(cur) {
			p.Report(call, "strings.NewReplacer prepares the same replacements in each call; do so once, in a package variable")
		}
	})
}

// hoisted moves the pattern to a package variable, if it compiles and the function does
// not change how it matches.
func hoisted(p *check.Pass, cur inspector.Cursor, pattern string) (edits []analysis.TextEdit) {
	decl := check.FuncDecl(cur)
	if _, err := regexp.Compile(pattern); err != nil || decl == nil {
		return nil
	}
	for n := range ast.Preorder(decl) {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Longest" {
			return nil
		}
	}
	name := decl.Name.Name
	edits, _ = p.Hoist(cur, strings.ToLower(name[:1])+name[1:]+"Regexp")
	return edits
}

// owned reports whether the next call compiles the same pattern, as far as can be seen:
// the pattern depends on nothing that the call is given, except fields of it.
func owned(p *check.Pass, cur inspector.Cursor, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		if s := p.Info.Selections[e]; s != nil {
			return s.Kind() == types.FieldVal
		}
	case *ast.IndexExpr:
		return owned(p, cur, e.X)
	}
	for n := range ast.Preorder(e) {
		if id, ok := n.(*ast.Ident); ok {
			if v, isVar := p.Info.Uses[id].(*types.Var); isVar && p.Local(v) && !given(p, cur, v) {
				return false
			}
		}
	}
	return true
}

// given reports whether a local variable only has an owned value: from the loop around
// cur, from its declaration, or, for a parameter, a constant from every caller.
func given(p *check.Pass, cur inspector.Cursor, v *types.Var) bool {
	for at := range cur.Enclosing((*ast.RangeStmt)(nil)) {
		if loop := at.Node().(*ast.RangeStmt); loop.Value != nil && p.Var(loop.Value) == v {
			return owned(p, at, loop.X)
		}
	}
	if values := p.Given(v); len(values) > 0 { // a later assignment overwrites the first
		return len(values) == 1 && !slices.ContainsFunc(p.Uses(v), p.Writes) && owned(p, cur, values[0])
	}
	decl := check.FuncDecl(cur)
	if decl == nil || decl.Name.IsExported() {
		return false
	}
	fn, _ := p.Info.Defs[decl.Name].(*types.Func)
	i := slices.Index(slices.Collect(fn.Signature().Params().Variables()), v)
	return i >= 0 && len(p.Uses(fn)) > 0 && !slices.ContainsFunc(p.Uses(fn), func(use inspector.Cursor) bool {
		call := check.CallOf(use)
		return call == nil || i >= len(call.Args) || !p.IsConst(call.Args[i])
	})
}

// kept reports whether the compiled pattern outlives the call: it is stored in a
// package variable, a field, a map or a composite literal, or returned.
func kept(p *check.Pass, cur inspector.Cursor) bool {
	switch parent := cur.Parent().Node().(type) {
	case *ast.AssignStmt:
		v := p.Var(parent.Lhs[0])
		return !p.Local(v) || slices.ContainsFunc(p.Uses(v), func(use inspector.Cursor) bool {
			switch use.Parent().Node().(type) {
			case *ast.AssignStmt, *ast.ReturnStmt, *ast.KeyValueExpr, *ast.CompositeLit, *ast.UnaryExpr:
				return !p.Writes(use) // a use that assigns replaces the pattern
			}
			return false
		})
	case *ast.KeyValueExpr, *ast.CompositeLit, *ast.ReturnStmt:
		return true
	}
	return false
}
