package advice

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"math/bits"
	"slices"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

// keyed proposes that a text which is only looked up in maps, or compared, is joined in an array of the function: a
// look-up of m[string(bytes)] copies nothing.
func (m *mender) keyed() {
	const least = 256 // bytes of the array: what is longer may grow twice
	if !isKey(m.s.Value) {
		return
	}
	most := slices.Max(append(slices.Collect(maps.Keys(m.t.sizes)), 1))
	if most > mostFrame {
		return
	}
	n := max(least, int64(1)<<bits.Len64(uint64(most-1)))
	m.propose(func(m *mender) bool { return m.key(n) }, "stringconv", "it is only looked up or compared: join its bytes "+
		"in an array of the function, [%d]byte, and use string(bytes) there, which copies nothing", n)
}

// isKey reports whether a text is only looked up in maps and compared.
func isKey(text ssa.Value) bool {
	return life.Only(text, func(use ssa.Instruction) bool {
		i, ok := use.(*ssa.Lookup)
		return ok && i.Index == text || compares(use)
	})
}

// key joins the bytes of a text in an array that is declared before the statement. A variable that has the text has the
// bytes instead.
func (m *mender) key(n int64) bool {
	all, ok := m.s.Node.(*ast.BinaryExpr)
	i := slices.IndexFunc(m.path, func(n ast.Node) bool { stmt, ok := n.(ast.Stmt); return ok && m.listed(stmt) })
	if !ok || i < 0 || !once(m.path[i]) || slices.ContainsFunc(m.path[:i], isLiteral) {
		return false
	}
	stmt, of := m.path[i].(ast.Stmt), m.s.Value.Type()
	name := m.free(fmt.Sprint("room", m.s.From))
	text := name + "[:0]"
	for n, part := range m.parts(all) {
		if n > 0 && m.leaves(part) { // it may change what the parts before it share memory with
			return false
		}
		text = fmt.Sprintf("append(%s, %s...)", text, m.text(part))
	}
	if !nameable(m.p.Source, of, stmt.Pos()) {
		return false
	}
	m.put(stmt.Pos(), stmt.Pos(), fmt.Sprintf("var %s [%d]byte\n", name, n))
	assign, ok := m.path[min(1, len(m.path)-1)].(*ast.AssignStmt)
	if !ok {
		m.put(all.Pos(), all.End(), fmt.Sprintf("%s(%s)", named(m.p.Pkg, of), text))
		return true
	}
	id, _ := assign.Lhs[0].(*ast.Ident)
	v, ok := m.p.Info.Defs[id].(*types.Var)
	if !ok || assign.Tok != token.DEFINE || len(assign.Lhs) != 1 {
		return false
	}
	m.put(all.Pos(), all.End(), text)
	for use, is := range m.p.Info.Uses {
		if is != v {
			continue
		}
		path, _ := astutil.PathEnclosingInterval(m.file, use.Pos(), use.End())
		if to, ok := path[1].(*ast.AssignStmt); ok && slices.Contains(to.Lhs, ast.Expr(use)) ||
			!nameable(m.p.Source, of, use.Pos()) {
			return false
		}
		m.put(use.Pos(), use.End(), fmt.Sprintf("%s(%s)", named(m.p.Pkg, of), use.Name))
	}
	return true
}

// once reports whether a statement evaluates what stands in it, and in no list of its own, at most once.
func once(stmt ast.Node) bool {
	switch stmt.(type) {
	case *ast.AssignStmt, *ast.ExprStmt, *ast.ReturnStmt, *ast.IfStmt, *ast.SwitchStmt:
		return true
	}
	return false
}

// parts are the texts that an expression joins.
func (m *mender) parts(e ast.Expr) []ast.Expr {
	e = ast.Unparen(e)
	if join, ok := e.(*ast.BinaryExpr); ok && m.p.Info.Types[e].Value == nil {
		return append(m.parts(join.X), m.parts(join.Y)...)
	}
	return []ast.Expr{e}
}

func isLiteral(n ast.Node) bool { _, ok := n.(*ast.FuncLit); return ok }
