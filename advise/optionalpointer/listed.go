package optionalpointer

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// collected reports what a constructor of this package makes, and a number, text
// or time of its own, where its address is collected in a slice or a map.
func collected(p *check.Pass, cur inspector.Cursor, e ast.Expr) {
	at := cur
	if assign, ok := cur.Parent().Node().(*ast.AssignStmt); ok && len(assign.Lhs) == 1 && p.Local(p.Var(assign.Lhs[0])) {
		if at, ok = only(p, p.Var(assign.Lhs[0])); !ok {
			return
		}
	}
	in := list(p, at)
	if in == nil {
		return
	}
	if own(p, e) {
		named := check.NamedOf(p.TypeOf(e))
		say(p, cur, named != nil && p.Seen(named.Obj()), types.ExprString(e)+" is allocated to be listed by its address; hold the values themselves")
		return
	}
	lits := built(p, e)
	ptr, ok := types.Unalias(p.TypeOf(e)).(*types.Pointer)
	if lits == nil || !ok {
		return
	}
	t := ptr.Elem()
	_, isStruct := t.Underlying().(*types.Struct)
	_, isMap := in.(*types.Map)
	if !isStruct || size(p, t) > wide || !data(p, t) && (isMap || !movable(p, t)) {
		return
	}
	p.Needs(check.Interface, p.Seen(check.NamedOf(t).Obj()) || !data(p, t)).ReportWith(cur.Node(), lits, min(p.HeatAt(cur), check.Warm),
		"a "+name(t)+" is allocated to be listed by its address; hold the values themselves, where nothing else holds the address")
}

// list returns the type of the slice or map of pointers that the expression at cur
// is put into; nil where it is none.
func list(p *check.Pass, cur inspector.Cursor) (in types.Type) {
	e := cur.Node().(ast.Expr)
	switch parent := cur.Parent().Node().(type) {
	case *ast.CallExpr:
		_, insert := p.IsCall(parent, "slices", "Insert")
		if (insert || p.Builtin(parent) == "append") && parent.Args[0] != e {
			in = p.TypeOf(parent).Underlying()
		}
	case *ast.CompositeLit:
		in = p.TypeOf(parent).Underlying()
	case *ast.KeyValueExpr:
		if lit, ok := cur.Parent().Parent().Node().(*ast.CompositeLit); ok && parent.Value == e {
			in = p.TypeOf(lit).Underlying()
		}
	case *ast.AssignStmt:
		for i, rhs := range parent.Rhs {
			if index, ok := ast.Unparen(parent.Lhs[min(i, len(parent.Lhs)-1)]).(*ast.IndexExpr); ok && rhs == e && len(parent.Lhs) == len(parent.Rhs) && parent.Tok == token.ASSIGN {
				in = p.TypeOf(index.X).Underlying()
			}
		}
	}
	var elem types.Type
	switch u := in.(type) {
	case *types.Slice:
		elem = u.Elem()
	case *types.Array:
		elem = u.Elem()
	case *types.Map:
		elem = u.Elem()
	default:
		return nil
	}
	if !types.Identical(elem, p.TypeOf(e)) {
		return nil
	}
	return in
}
