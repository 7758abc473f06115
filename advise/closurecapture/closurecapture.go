// Package closurecapture is an allocation check: see Check.
package closurecapture

import (
	"go/ast"
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
func captured(p *check.Pass, cur inspector.Cursor, lit *ast.FuncLit) (vars []*types.Var) {
	body, _ := cur.FindNode(lit.Body)
	for at := range body.Preorder((*ast.Ident)(nil)) {
		v, _ := p.Info.Uses[at.Node().(*ast.Ident)].(*types.Var)
		if v == nil || slices.Contains(vars, v) {
			continue
		}
		loop := declaredBy(cur, v)
		if loop != nil && p.Assigned(v, loop) {
			return nil
		}
		if loop != nil {
			vars = append(vars, v)
		}
	}
	return vars
}

// declaredBy returns the body of the loop around cur whose head declares v, or nil.
func declaredBy(cur inspector.Cursor, v *types.Var) *ast.BlockStmt {
	for at := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		var body *ast.BlockStmt
		switch loop := at.Node().(type) {
		case *ast.ForStmt:
			body = loop.Body
		case *ast.RangeStmt:
			body = loop.Body
		default:
			return nil // the function
		}
		if check.DeclaredIn(v, at.Node()) && v.Pos() < body.Pos() {
			return body
		}
	}
	return nil
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
