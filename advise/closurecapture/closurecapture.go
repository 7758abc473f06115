// Package closurecapture is an allocation check: see Check.
package closurecapture

import (
	"go/ast"
	"go/token"
	"go/types"
	"go/version"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags closures that are allocated: goroutines that capture variables of
// their loop, and function values that go further than their function.
var Check = check.New(check.Check{
	Name:     "closurecapture",
	Exercise: 7,
	Severity: check.Advice,
	Until:    "go1.26",
	Doc: `a goroutine in a loop that captures the loop's variables

Each round makes a closure, and moves what it captures to the heap. With the values as arguments of the
literal that was fewer allocations once. With Go 1.26 it is more, so the advice is withdrawn there.`,
	When:     "before Go 1.26.",
	WhenNot:  "goroutines whose variables the closure writes to; start-up code and error paths.",
	Measured: "12 allocations -> 22: reversed (10 items, Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.GoStmt)(nil)) {
		goStmt := cur.Node().(*ast.GoStmt)
		lit, ok := ast.Unparen(goStmt.Call.Fun).(*ast.FuncLit)
		if !ok || p.Loop(cur) == nil || p.Cold(cur) {
			continue
		}
		vars := captured(p, cur, lit)
		if len(vars) == 0 {
			continue
		}
		var names []string
		for _, v := range vars {
			names = append(names, v.Name())
		}
		p.Report(goStmt, "the goroutine captures "+strings.Join(names, ", ")+
			" of the loop; pass them as arguments", fix(p, cur, goStmt.Call, lit, vars)...)
	}
}

// captured returns the variables that the loops around cur declare and lit
// reads, in order; none where one of them is written to.
func captured(p *check.Pass, cur inspector.Cursor, lit *ast.FuncLit) []*types.Var {
	var loops []ast.Stmt
	for at := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		loop, ok := at.Node().(ast.Stmt)
		if !ok {
			break // the function
		}
		loops = append(loops, loop)
	}
	var vars []*types.Var
	ok := true
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		id, isIdent := n.(*ast.Ident)
		if !isIdent {
			return true
		}
		v, isVar := p.Info.Uses[id].(*types.Var)
		if !isVar || slices.Contains(vars, v) {
			return true
		}
		for _, loop := range loops {
			header := header(loop)
			if v.Pos() < loop.Pos() || v.Pos() >= header {
				continue
			}
			for _, use := range p.Uses(v) {
				if check.Within(use.Node(), loop) && use.Node().Pos() > header && p.Assigned(v, use.Parent().Node()) {
					ok = false
				}
			}
			vars = append(vars, v)
		}
		return true
	})
	if !ok {
		return nil
	}
	return vars
}

// header is where the body of loop begins.
func header(loop ast.Stmt) token.Pos {
	switch loop := loop.(type) {
	case *ast.RangeStmt:
		return loop.Body.Pos()
	case *ast.ForStmt:
		return loop.Body.Pos()
	}
	return token.NoPos
}

// fix passes the variables as arguments of the same names. Before Go 1.22 that
// would change what the program does.
func fix(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, lit *ast.FuncLit,
	vars []*types.Var) []analysis.TextEdit {
	if version.Compare(p.GoVersion(cur.Node().Pos()), "go1.22") < 0 || lit.Type.Params.NumFields() > 0 {
		return nil
	}
	var params, args []string
	for _, v := range vars {
		named := check.NamedOf(v.Type())
		if named != nil && named.Obj().Pkg() != nil && named.Obj().Pkg() != p.Code.Pkg {
			return nil // its package may not be imported here
		}
		params = append(params, v.Name()+" "+types.TypeString(v.Type(), types.RelativeTo(p.Code.Pkg)))
		args = append(args, v.Name())
	}
	return []analysis.TextEdit{
		check.Insert(lit.Type.Params.Closing, strings.Join(params, ", ")),
		check.Insert(call.Rparen, strings.Join(args, ", ")),
	}
}
