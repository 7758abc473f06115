package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/inspector"
)

// BecomesInterface reports whether the expression at cur becomes an interface where
// it stands.
func (c *Code) BecomesInterface(cur inspector.Cursor) bool {
	e := cur.Node().(ast.Expr)
	var to types.Type
	switch n := cur.Parent().Node().(type) {
	case *ast.ParenExpr:
		return c.BecomesInterface(cur.Parent())
	case *ast.AssignStmt:
		if i := slices.Index(n.Rhs, e); i >= 0 && n.Tok == token.ASSIGN {
			to = c.TypeOf(n.Lhs[i])
		}
	case *ast.ValueSpec:
		if n.Type != nil {
			to = c.TypeOf(n.Type)
		}
	case *ast.CallExpr:
		to = c.parameterOf(n, slices.Index(n.Args, e))
	case *ast.ReturnStmt:
		to = c.resultOf(cur, slices.Index(n.Results, e))
	case *ast.SendStmt:
		if ch, ok := c.TypeOf(n.Chan).Underlying().(*types.Chan); ok {
			to = ch.Elem()
		}
	case *ast.CompositeLit:
		to = c.elementOf(n, slices.Index(n.Elts, e))
	case *ast.KeyValueExpr:
		lit, ok := cur.Parent().Parent().Node().(*ast.CompositeLit)
		if id, field := n.Key.(*ast.Ident); ok && field && n.Value == e && c.Info.Uses[id] != nil {
			if v, ok := c.Info.Uses[id].(*types.Var); ok && v.IsField() {
				to = v.Type()
				break
			}
		}
		if ok && n.Value == e {
			to = c.elementOf(lit, -1)
		}
	}
	if to == nil || !types.IsInterface(to) {
		return false
	}
	_, generic := types.Unalias(to).(*types.TypeParam)
	return !generic
}

// parameterOf is the type that argument number i of a call becomes.
func (c *Code) parameterOf(call *ast.CallExpr, i int) types.Type {
	switch {
	case i < 0:
		return nil
	case c.Info.Types[call.Fun].IsType():
		return c.TypeOf(call.Fun)
	case c.Builtin(call) == "append" && i > 0:
		if s, ok := c.TypeOf(call.Args[0]).Underlying().(*types.Slice); ok {
			return s.Elem()
		}
		return nil
	}
	sig, ok := c.TypeOf(call.Fun).Underlying().(*types.Signature)
	if !ok {
		return nil
	}
	last := sig.Params().Len() - 1
	if sig.Variadic() && i >= last && !call.Ellipsis.IsValid() {
		return sig.Params().At(last).Type().(*types.Slice).Elem()
	}
	if i > last {
		return nil
	}
	return sig.Params().At(i).Type()
}

// resultOf is the type of result number i of the function around cur.
func (c *Code) resultOf(cur inspector.Cursor, i int) types.Type {
	f, body := Func(cur)
	if body == nil || i < 0 {
		return nil
	}
	var sig *types.Signature
	switch n := f.Node().(type) {
	case *ast.FuncDecl:
		if fn, ok := c.Info.Defs[n.Name].(*types.Func); ok {
			sig = fn.Signature()
		}
	case *ast.FuncLit:
		sig, _ = c.TypeOf(n).(*types.Signature)
	}
	if sig == nil || i >= sig.Results().Len() {
		return nil
	}
	return sig.Results().At(i).Type()
}

// elementOf is the type of the elements of a literal, of a struct that of its
// field number i.
func (c *Code) elementOf(lit *ast.CompositeLit, i int) types.Type {
	switch t := c.TypeOf(lit).Underlying().(type) {
	case *types.Slice:
		return t.Elem()
	case *types.Array:
		return t.Elem()
	case *types.Map:
		return t.Elem()
	case *types.Struct:
		if i >= 0 && i < t.NumFields() {
			return t.Field(i).Type()
		}
	}
	return nil
}
