package life

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// Spot returns the position that the compiler gives when it says why a site is on the heap: the operator of an
// expression, the operand of a conversion, the make of a map that grows. It is not valid if the compiler gives none.
func (p *Package) Spot(s *Site) token.Pos {
	switch s.Kind {
	case Append, Call, Channel, Go, Defer: // always on the heap
		return token.NoPos
	}
	switch n := s.Node.(type) {
	case *ast.CallExpr:
		if s.Kind == Convert && len(n.Args) == 1 {
			return spot(n.Args[0])
		}
	case *ast.CompositeLit:
		if at := p.taken[n]; s.Kind == Literal && at.IsValid() {
			return at
		}
	}
	if grows, ok := s.Instr.(*ssa.MapUpdate); ok {
		made, ok := grows.Map.(*ssa.MakeMap)
		if !ok || Roomy(made) {
			return token.NoPos
		}
		return made.Pos()
	}
	if s.Node == nil {
		return s.Instr.Pos()
	}
	return spot(s.Node)
}

// Roomy reports whether a map may be made with so much room that the runtime allocates it even if it does not escape.
func Roomy(made *ssa.MakeMap) bool {
	const small = 8 // entries that may be on the stack
	n, fixed := made.Reserve.(*ssa.Const)
	return made.Reserve != nil && !(fixed && n.Int64() <= small)
}

// spot returns the position of the operator of n; SSA gives it to calls, literals, operations and indexes too.
func spot(n ast.Node) token.Pos {
	switch n := n.(type) {
	case *ast.CallExpr:
		return n.Lparen
	case *ast.GoStmt:
		return n.Call.Lparen
	case *ast.DeferStmt:
		return n.Call.Lparen
	case *ast.CompositeLit:
		return n.Lbrace
	case *ast.BinaryExpr:
		return n.OpPos
	case *ast.IndexExpr:
		return n.Lbrack
	case *ast.SliceExpr:
		return n.Lbrack
	case *ast.SelectorExpr:
		return n.X.End() // the dot
	case *ast.TypeAssertExpr:
		return n.X.End()
	}
	return n.Pos()
}
