package advice

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// late makes a map as its first entry comes. Nobody is given a nil one: the function reads it, and hands it on
// only where it has entries.
func (m *mender) late() bool {
	if len(m.path) < 2 {
		return false
	}
	assign, ok := m.path[1].(*ast.AssignStmt)
	if !ok || assign.Tok != token.DEFINE || len(assign.Lhs) != 1 || !m.listed(assign) {
		return false
	}
	v, ok := m.p.Info.Defs[assign.Lhs[0].(*ast.Ident)].(*types.Var)
	if !ok || m.assigned(v) {
		return false
	}
	var of ast.Expr
	switch n := m.path[0].(type) {
	case *ast.CompositeLit:
		of = n.Type
		ok = len(n.Elts) == 0
	case *ast.CallExpr:
		of = n.Args[0]
		ok = len(n.Args) == 1
	}
	if !ok || of == nil {
		return false
	}
	m.put(assign.Pos(), assign.End(), "var "+v.Name()+" "+m.text(of))
	begin := fmt.Sprintf("if %[1]s == nil {\n%[1]s = make(%[2]s)\n}\n", v.Name(), m.text(of))
	ast.PreorderStack(m.file, nil, func(n ast.Node, stack []ast.Node) bool {
		if use, is := n.(*ast.Ident); is && m.p.Info.Uses[use] == v {
			ok = ok && m.emptied(use, stack, begin)
		}
		return ok
	})
	return ok
}

// emptied reports whether a use of a map may be one of a nil map, once begin stands before a statement that gives it an
// entry.
func (m *mender) emptied(use *ast.Ident, stack []ast.Node, begin string) bool {
	v, around := m.p.Info.Uses[use], stack[len(stack)-1]
	within := func(n ast.Node) bool { return n.Pos() <= use.Pos() && use.Pos() < n.End() }
	filled := false
	for _, n := range stack {
		switch n := n.(type) {
		case *ast.FuncLit:
			if n.Pos() > v.Pos() {
				return false // which may run at any time
			}
		case *ast.IfStmt:
			cond, _ := n.Cond.(*ast.BinaryExpr)
			filled = filled || n.Pos() > v.Pos() && within(n.Body) && cond != nil && m.text(cond.Y) == "0" &&
				(cond.Op == token.GTR || cond.Op == token.NEQ) && m.text(cond.X) == "len("+use.Name+")"
		}
	}
	switch n := around.(type) {
	case *ast.IndexExpr:
		switch stmt := stack[len(stack)-2].(type) {
		case *ast.AssignStmt:
			if slices.Contains(stmt.Lhs, ast.Expr(n)) {
				m.put(stmt.Pos(), stmt.Pos(), begin)
				return m.listed(stmt)
			}
		case *ast.IncDecStmt:
			m.put(stmt.Pos(), stmt.Pos(), begin)
			return m.listed(stmt)
		case *ast.RangeStmt:
			return stmt.X == n
		}
		return true
	case *ast.RangeStmt:
		return n.X == use
	case *ast.CallExpr:
		fun, _ := n.Fun.(*ast.Ident)
		of, builtin := m.p.Info.Uses[fun].(*types.Builtin)
		filled = filled || builtin && slices.Contains([]string{"len", "delete", "clear"}, of.Name())
	case *ast.UnaryExpr:
		return false
	}
	return filled
}
