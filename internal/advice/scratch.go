package advice

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"go/version"
	"slices"
)

// scratch proposes to make a slice that dies in the round of a loop once, before the loop.
func (m *mender) scratch() {
	call, ok := m.s.Node.(*ast.CallExpr)
	_, slice := m.s.Value.Type().Underlying().(*types.Slice)
	fate := m.p.Fate(m.s.Value)
	if !m.dies() || !ok || !slice || !fate.Dies() || fate.Started || fate.Beyond ||
		slices.ContainsFunc(call.Args[1:], func(n ast.Expr) bool { return !m.plainInt(n) }) {
		return
	}
	loop, stmt := m.p.Loop(m.s.Instr.Block()), m.stmt()
	if loop == nil || !m.straight(stmt) {
		return
	}
	if around := m.p.Stmt(loop); around != nil && m.listed(around) {
		m.propose(func(m *mender) bool { return m.hoist(around, stmt, call) }, "bufferpercall",
			"make the slice once, before the loop, and clear it in each round")
	}
}

// plainInt reports whether an expression is an int that may be evaluated more than once.
func (m *mender) plainInt(e ast.Expr) bool {
	of, ok := m.p.Info.TypeOf(e).Underlying().(*types.Basic)
	return ok && (of.Kind() == types.Int || of.Kind() == types.UntypedInt) && plain(m.p.Info, e)
}

// stmt is the innermost statement around the expression; nil for none.
func (m *mender) stmt() (stmt ast.Stmt) {
	for i := 0; i < len(m.path) && stmt == nil; i++ {
		stmt, _ = m.path[i].(ast.Stmt)
	}
	return stmt
}

// straight reports whether a statement of a list always reaches the expression, and calls nothing before it.
func (m *mender) straight(stmt ast.Stmt) bool {
	switch stmt.(type) {
	case *ast.AssignStmt, *ast.DeclStmt, *ast.ExprStmt, *ast.ReturnStmt:
	default:
		return false
	}
	for n := range ast.Preorder(stmt) {
		around := slices.Contains(m.path, n)
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if around && (n.Op == token.LAND || n.Op == token.LOR) {
				return false
			}
		case *ast.CallExpr:
			if !around && n.Pos() < m.s.Node.Pos() {
				return false
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW && n.Pos() < m.s.Node.Pos() {
				return false
			}
		}
	}
	return m.listed(stmt)
}

// hoist declares the slice before the loop. A round makes it only if it is too small, and clears it.
func (m *mender) hoist(loop, stmt ast.Stmt, call *ast.CallExpr) bool {
	list, of := m.free(fmt.Sprint("kept", m.s.From)), m.text(call.Args[0])
	length, size := m.text(call.Args[1]), m.text(call.Args[len(call.Args)-1])
	clear := fmt.Sprintf("clear(%s[:%s])\n", list, size)
	if v := m.p.Info.FileVersions[m.file]; v != "" && version.Compare(v, "go1.21") < 0 {
		clear = fmt.Sprintf("for i := range %[1]s[:%[2]s] {\n%[1]s[i] = *new(%[3]s)\n}\n", list, size,
			named(m.p.Pkg, m.s.Value.Type().Underlying().(*types.Slice).Elem()))
	}
	m.put(loop.Pos(), loop.Pos(), fmt.Sprintf("var %s %s\n", list, of))
	m.put(stmt.Pos(), stmt.Pos(), fmt.Sprintf("if %[1]s == nil || cap(%[1]s) < %[2]s {\n%[1]s = make(%[3]s, %[2]s)\n}\n",
		list, size, of)+clear)
	m.put(call.Pos(), call.End(), fmt.Sprintf("%s[:%s:%s]", list, length, size))
	return true
}
