// Package regexpcompile is an allocation check: see Check.
package regexpcompile

import (
	"flag"
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"

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
	WhenNot: "patterns that a caller gives (cache those, with a bound); init, main and sync.Once; results that are kept " +
		"in a package variable or a field; tests.",
	Measured: "14,571 ns, 61 allocations -> 498 ns, 0 (Go 1.26.8)",
	Run:      run,
	Flags: func(f *flag.FlagSet) {
		f.BoolVar(&hoist, "hoist", true, "offer to move the pattern to a package variable")
	},
})

// hoist is set by the analyzer's flag before it runs.
var hoist bool

func run(p *check.Pass) {
	p.Calls("regexp", []string{"MustCompile", "Compile", "MustCompilePOSIX", "CompilePOSIX"}, func(cur inspector.Cursor,
		call *ast.CallExpr, name string) {
		value := p.Info.Types[call.Args[0]].Value
		if p.Once(cur) {
			return
		}
		if value == nil && !kept(p, cur) && owned(p, cur, call.Args[0]) {
			p.Report(call, "regexp."+name+
				" compiles the same patterns again; hold the compiled one beside the text")
		}
		if value == nil || value.Kind() != constant.String || kept(p, cur) {
			return
		}
		var edits []analysis.TextEdit
		if hoist && name == "MustCompile" && valid(constant.StringVal(value)) && !longest(cur) {
			edits, _ = p.Hoist(cur, lower(check.FuncDecl(cur))+"Regexp")
		}
		p.Report(call, "regexp."+name+" compiles the same pattern in each call; compile it once, in a package variable",
			edits...)
	})
	replacers(p)
	p.Calls("regexp", []string{"Match", "MatchReader", "MatchString"}, func(cur inspector.Cursor, call *ast.CallExpr,
		name string) {
		switch {
		case p.Once(cur):
		case p.IsConst(call.Args[0]):
			p.Report(call, "regexp."+name+" compiles the same pattern in each call; compile it once, in a package "+
				"variable")
		case owned(p, cur, call.Args[0]):
			p.Report(call, "regexp."+name+" compiles the same patterns again; hold them compiled")
		}
	})
}

// replacers reports constant lists of replacements that are prepared in each
// call, as patterns are.
func replacers(p *check.Pass) {
	p.Calls("strings", []string{"NewReplacer"}, func(cur inspector.Cursor, call *ast.CallExpr, _ string) {
		for _, arg := range call.Args {
			if !p.IsConst(arg) {
				return
			}
		}
		if !kept(p, cur) && len(call.Args) > 0 && !p.Once(cur) {
			p.Report(call, "strings.NewReplacer prepares the same replacements in each call; do so once, in "+
				"a package variable")
		}
	})
}

// owned reports whether a pattern is there before the function is called, and
// likely the same in the next call: a field, or an element of something that is
// not local.
func owned(p *check.Pass, cur inspector.Cursor, e ast.Expr) bool {
	if fixed(p, e) {
		return true
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		s := p.Info.Selections[e]
		return s != nil && s.Kind() == types.FieldVal
	case *ast.IndexExpr:
		return owned(p, cur, e.X)
	case *ast.Ident:
		v := p.Var(e)
		if v == nil || !p.Local(v) {
			return v != nil
		}
		for at := range cur.Enclosing((*ast.RangeStmt)(nil)) {
			if loop := at.Node().(*ast.RangeStmt); loop.Value != nil && p.Var(loop.Value) == v {
				return before(p, cur, loop.X)
			}
		}
	}
	return false
}

// before reports whether what a loop goes over is a field, or declared outside
// the function around cur.
func before(p *check.Pass, cur inspector.Cursor, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		return true
	case *ast.Ident:
		v := p.Var(e)
		around, _ := check.Func(cur)
		return v != nil && (v.Pos() < around.Node().Pos() || v.Pos() > around.Node().End())
	}
	return false
}

// fixed reports whether nothing in e depends on the call: it has no local
// variables.
func fixed(p *check.Pass, e ast.Expr) bool {
	local := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			v, isVar := p.Info.Uses[id].(*types.Var)
			local = local || isVar && p.Local(v)
		}
		return !local
	})
	return !local
}

func valid(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

// kept reports whether the compiled pattern outlives the call: it goes to a
// package variable, a field, a map or a composite literal, or is returned.
func kept(p *check.Pass, cur inspector.Cursor) bool {
	switch parent := cur.Parent().Node().(type) {
	case *ast.AssignStmt:
		if v := p.Var(parent.Lhs[0]); !p.Local(v) {
			return true
		} else {
			for _, use := range p.Uses(v) {
				if p.Writes(use) {
					continue // another pattern takes its place
				}
				switch use.Parent().Node().(type) {
				case *ast.SelectorExpr, *ast.BinaryExpr:
				case *ast.AssignStmt, *ast.ReturnStmt, *ast.KeyValueExpr, *ast.CompositeLit, *ast.UnaryExpr:
					return true
				}
			}
		}
	case *ast.KeyValueExpr, *ast.CompositeLit, *ast.ReturnStmt:
		return true
	}
	return false
}

// longest reports whether the function changes how the pattern matches.
func longest(cur inspector.Cursor) bool {
	decl := check.FuncDecl(cur)
	found := false
	ast.Inspect(decl, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Longest" {
			found = true
		}
		return true
	})
	return found
}

func lower(decl *ast.FuncDecl) string {
	if decl == nil {
		return "the"
	}
	b := []byte(decl.Name.Name)
	if b[0] >= 'A' && b[0] <= 'Z' {
		b[0] += 'a' - 'A'
	}
	return string(b)
}
