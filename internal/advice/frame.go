package advice

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// mostFrame bounds the array that a slice begins in, in bytes: a goroutine's stack begins with 2 KiB.
const mostFrame = 1024

// framed proposes that a slice which dies with its call begins in an array of the function, so that only what outgrows
// that is on the heap. Where somebody keeps it after all, so is the array, and nothing is saved.
func (m *mender) framed() {
	list, ok := m.s.Value.Type().Underlying().(*types.Slice)
	if m.p.Sizes == nil || !m.dies() || !ok || life.Parametrized(list.Elem()) || m.p.Sizes.Sizeof(list.Elem()) == 0 {
		return
	}
	sizes := m.t.sizes
	if m.s.Kind == life.Append {
		if !m.fills() {
			return
		}
		m.s, sizes = m.first()
	}
	var most int64
	for size := range maps.Keys(sizes) {
		if size <= mostFrame {
			most = max(most, size)
		}
	}
	if n := most / m.p.Sizes.Sizeof(list.Elem()); n > 0 {
		array := fmt.Sprintf("[%d]%s", n, named(m.p.Pkg, list.Elem()))
		m.propose(func(m *mender) bool { return m.frame(array) }, "bufferpercall",
			"begin in an array of the function, %s: only what is longer is on the heap", array)
	}
}

// frame puts an array before the statement that makes a slice, or the bytes of a text.
func (m *mender) frame(array string) bool {
	if m.s.Kind == life.Append {
		return m.frameGrown(array)
	}
	call, ok := m.s.Node.(*ast.CallExpr)
	stmt := m.stmt()
	if !ok || !m.straight(stmt) {
		return false
	}
	of, last := call.Args[0], call.Args[len(call.Args)-1]
	bytes := types.Identical(m.s.Value.Type().Underlying(), types.NewSlice(types.Typ[types.Byte]))
	added, part := m.text(last), ""
	switch {
	case m.s.Kind == life.Make:
		added = fmt.Sprintf("make(%s, %s)", m.text(of), added)
		if len(call.Args) == 2 && elements(m.s.Value) {
			break
		}
		if !m.plainInt(call.Args[1]) || !m.plainInt(last) {
			return false
		}
		part = fmt.Sprintf("[:%s:%s]", m.text(call.Args[1]), m.text(last))
	case check.IsString(m.p.Info.TypeOf(of)) && bytes:
		of = call.Fun
	default:
		return false
	}
	list := m.inArray(stmt, array, m.text(of))
	m.put(call.Pos(), call.End(), fmt.Sprintf("append(%s, %s...)%s", list, added, part))
	return list != ""
}

// frameGrown puts an array before the statement that declares a slice, to which nothing else is assigned.
func (m *mender) frameGrown(array string) bool {
	v := m.grown(m.s.Node)
	if v == nil || !types.Identical(v.Type(), m.s.Value.Type()) { // *v, which may begin more than once
		return false
	}
	path, _ := astutil.PathEnclosingInterval(m.file, v.Pos(), v.Pos())
	i := slices.IndexFunc(path, isStmt)
	if _, given := m.uses(v); given || !m.fills() || v.IsField() || i < 0 || slices.ContainsFunc(path[:i], isField) {
		return false
	}
	switch stmt := path[i].(type) {
	case *ast.AssignStmt, *ast.DeclStmt:
		list := m.inArray(stmt.(ast.Stmt), array, named(m.p.Pkg, v.Type()))
		if list == "" || !m.listed(stmt.(ast.Stmt)) {
			return false
		}
		if m.growth.Begin == nil {
			return m.fill(list)
		}
		if assign, ok := stmt.(*ast.AssignStmt); ok && len(assign.Rhs) == 1 && m.empty(assign.Rhs[0]) {
			m.put(assign.Rhs[0].Pos(), assign.Rhs[0].End(), list)
			return true
		}
	}
	return false
}

// empty reports whether an expression makes an empty slice.
func (m *mender) empty(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return len(e.Elts) == 0
	case *ast.CallExpr:
		fun, _ := e.Fun.(*ast.Ident)
		made := m.p.Info.Uses[fun] == types.Universe.Lookup("make") && len(e.Args) == 2
		if !made {
			return false
		}
		length := m.p.Info.Types[e.Args[1]].Value
		return length != nil && length.String() == "0"
	}
	return false
}

func isStmt(n ast.Node) bool { _, ok := n.(ast.Stmt); return ok }

func isField(n ast.Node) bool { _, ok := n.(*ast.Field); return ok }

// inArray declares an array before a statement, and returns an empty slice of it; "" where the type has no name there.
func (m *mender) inArray(before ast.Stmt, array, of string) string {
	list := m.s.Value.Type()
	if !nameable(m.p.Source, list.Underlying().(*types.Slice).Elem(), before.Pos()) {
		return ""
	}
	name := m.free(fmt.Sprint("room", m.s.From))
	m.put(before.Pos(), before.Pos(), "var "+name+" "+array+"\n")
	if strings.HasPrefix(of, "[]") {
		return name + "[:0]"
	}
	return of + "(" + name + "[:0])"
}
