package prealloc

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/isobar-go/isobar/advise/check"
)

// appends returns the statements that let v grow.
func appends(p *check.Pass, v *types.Var) (nodes []ast.Node) {
	for _, use := range p.Uses(v) {
		at := use.Parent()
		if _, ok := at.Node().(*ast.IndexExpr); ok {
			at = at.Parent()
		}
		assign, ok := at.Node().(*ast.AssignStmt)
		if !ok || len(nodes) > 0 && nodes[len(nodes)-1] == assign {
			continue
		}
		if grown, _ := grows(p, assign); grown == v {
			nodes = append(nodes, assign)
		}
	}
	return nodes
}

// grows returns the local variable that assign appends to, or whose entry it
// sets, and what it is.
func grows(p *check.Pass, assign *ast.AssignStmt) (*types.Var, string) {
	if len(assign.Lhs) != 1 || len(assign.Rhs) != 1 || assign.Tok == token.DEFINE {
		return nil, ""
	}
	if index, ok := assign.Lhs[0].(*ast.IndexExpr); ok {
		v := p.Var(index.X)
		if !p.Local(v) || p.IsConst(index.Index) {
			return nil, ""
		}
		if _, isMap := v.Type().Underlying().(*types.Map); !isMap {
			return nil, ""
		}
		return v, "as a map"
	}
	v := p.Var(assign.Lhs[0])
	call, ok := assign.Rhs[0].(*ast.CallExpr)
	if !p.Local(v) || !ok || p.Builtin(call) != "append" || p.Var(call.Args[0]) != v {
		return nil, ""
	}
	return v, "as a slice"
}
