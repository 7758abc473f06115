package optionalpointer

import (
	"go/ast"
	"go/token"
)

// literal returns the composite literal that e takes the address of.
func literal(e ast.Expr) *ast.CompositeLit {
	u, ok := ast.Unparen(e).(*ast.UnaryExpr)
	if !ok || u.Op != token.AND {
		return nil
	}
	lit, _ := ast.Unparen(u.X).(*ast.CompositeLit)
	return lit
}
