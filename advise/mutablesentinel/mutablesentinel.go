// Package mutablesentinel is a check for a correctness trap: see Check.
package mutablesentinel

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags writes to the fields of an error that all callers share.
var Check = check.New(check.Check{
	Name:     "mutablesentinel",
	Severity: check.Trap,
	Doc: `a field of a package-level error that a function writes to

The variable is shared by all goroutines: a race, and one caller's details in another's
error. Wrap the sentinel in an error of its own (fmt.Errorf with %w, or a struct made for the case).`,
	When:    "always.",
	WhenNot: "init functions; errors held in local variables.",
	Run:     run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.AssignStmt)(nil), (*ast.IncDecStmt)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				target(p, cur, lhs)
			}
		case *ast.IncDecStmt:
			target(p, cur, n.X)
		}
	}
}

func target(p *check.Pass, cur inspector.Cursor, lhs ast.Expr) {
	sel, ok := ast.Unparen(lhs).(*ast.SelectorExpr)
	if !ok {
		return
	}
	if s := p.Info.Selections[sel]; s == nil || s.Kind() != types.FieldVal {
		return
	}
	v := p.Var(check.Base(sel.X))
	if v == nil {
		return
	}
	if p.Local(v) {
		v = alias(p, v)
	}
	if v == nil || p.Local(v) || v.IsField() || !check.IsError(v.Type()) {
		return
	}
	decl := check.FuncDecl(cur)
	if decl == nil || decl.Recv == nil && decl.Name.Name == "init" {
		return
	}
	p.Report(lhs, v.Name()+" is shared by all who return it; make an error of its own for the details")
}

// alias returns the package variable that the local pointer v is first assigned, or nil.
func alias(p *check.Pass, v *types.Var) *types.Var {
	given := p.Given(v)
	if _, ok := v.Type().Underlying().(*types.Pointer); !ok || len(given) == 0 {
		return nil
	}
	return p.Var(check.Base(given[0]))
}
