package advice

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"go/version"
	"slices"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// pooled proposes that what dies with its call is taken from a sync.Pool, and given back as the call ends.
func (m *mender) pooled() {
	const least = 64 // bytes: for less, a pool may take longer than an allocation
	stmt := m.stmt()
	if !m.sure() || m.x.fate(m.p, m.s).Started || m.e.Size < least || runsOnce(m.s.Func) || m.enclosing() != nil ||
		m.p.Loop(m.s.Instr.Block()) != nil || !isFunc(m.path[len(m.path)-2]) || stmt == nil || !m.listed(stmt) ||
		m.defers(stmt) {
		return
	}
	m.propose(func(m *mender) bool { return m.pool(stmt) }, "bufferpercall",
		"take it from a sync.Pool, and give it back as %s ends: nobody keeps it", shortName(m.c.function))
}

func isFunc(n ast.Node) bool { _, ok := n.(*ast.FuncDecl); return ok }

// defers reports whether a function defers a call before a statement: it would run after the memory is given back.
func (m *mender) defers(stmt ast.Stmt) (found bool) {
	for n := range ast.Preorder(m.path[len(m.path)-2]) {
		call, ok := n.(*ast.DeferStmt)
		found = found || ok && call.Pos() < stmt.Pos()
	}
	return found
}

// pool takes from a pool what a statement makes.
func (m *mender) pool(stmt ast.Stmt) bool {
	if v := m.p.Info.FileVersions[m.file]; v != "" && version.Compare(v, "go1.21") < 0 { // which has clear
		return false
	}
	held := m.free(fmt.Sprint("held", m.s.From))
	switch n := m.s.Node.(type) {
	case *ast.Ident:
		return m.poolVariable(stmt, n, held)
	case *ast.CallExpr:
		list, slice := m.s.Value.Type().Underlying().(*types.Slice)
		switch {
		case !m.straight(stmt):
		case m.s.Kind == life.New:
			m.put(n.Pos(), n.End(), held)
			return m.from(stmt, held, m.s.Type)
		case slice && !slices.ContainsFunc(n.Args[1:], func(e ast.Expr) bool { return !plain(m.p.Info, e) }):
			return m.poolSlice(stmt, n, held, list)
		}
	case *ast.CompositeLit:
		if of, ok := m.path[1].(*ast.UnaryExpr); ok && m.straight(stmt) {
			m.put(of.Pos(), of.End(), held)
			return m.from(stmt, held, m.s.Type, "*"+held+" = "+m.text(n))
		}
	}
	return false
}

// poolSlice puts a slice from a pool in the place of one that make makes.
func (m *mender) poolSlice(stmt ast.Stmt, made *ast.CallExpr, held string, list *types.Slice) bool {
	last := made.Args[len(made.Args)-1]
	of, length, size := m.text(made.Args[0]), m.text(made.Args[1]), m.text(last)
	part := fmt.Sprintf("(*%s)[:%s:%s]", held, length, size)
	if _, unnamed := m.s.Value.Type().(*types.Slice); !unnamed {
		part = of + "(" + part + ")"
	}
	m.put(made.Pos(), made.End(), part)
	kept, least := named(m.p.Pkg, list), size
	if !m.plainInt(last) {
		least = "int(" + size + ")"
	}
	return m.from(stmt, held, list,
		fmt.Sprintf("if *%[1]s == nil || cap(*%[1]s) < %[2]s {\n*%[1]s = make(%[3]s, %[2]s)\n}", held, least, kept),
		fmt.Sprintf("*%[1]s = (*%[1]s)[:%[2]s]", held, size))
}

// poolVariable puts what is held in the place of a variable.
func (m *mender) poolVariable(stmt ast.Stmt, id *ast.Ident, held string) bool {
	v := m.p.Info.Defs[id]
	_, fields := m.s.Type.Underlying().(*types.Struct)
	if names := newNames(stmt); len(names) != 1 || names[0] != id || locks(m.s.Type) {
		return false
	}
	if set, ok := stmt.(*ast.AssignStmt); ok {
		m.put(set.Pos(), set.Rhs[0].Pos(), "*"+held+" = ")
	} else {
		m.put(stmt.Pos(), stmt.End(), "")
	}
	ast.PreorderStack(m.path[len(m.path)-2], nil, func(n ast.Node, stack []ast.Node) bool {
		use, ok := n.(*ast.Ident)
		if !ok || m.p.Info.Uses[use] != v {
			return true
		}
		around := stack[len(stack)-1]
		address, ok := around.(*ast.UnaryExpr)
		_, selects := around.(*ast.SelectorExpr)
		switch {
		case ok && address.Op == token.AND:
			m.put(around.Pos(), around.End(), held)
		case selects && fields:
			m.put(use.Pos(), use.End(), held)
		default:
			m.put(use.Pos(), use.End(), "(*"+held+")")
		}
		return true
	})
	return m.from(stmt, held, m.s.Type)
}

// from puts before a statement what takes an object from a pool of its type, which has only empty ones, and prepares
// it.
func (m *mender) from(stmt ast.Stmt, held string, of types.Type, prepares ...string) bool {
	decl := m.path[len(m.path)-2]
	begins := decl.Pos()
	if doc := decl.(*ast.FuncDecl).Doc; doc != nil {
		begins = doc.Pos()
	}
	sync, imports, ok := check.Import(m.p.Pkg, m.file, stmt.Pos(), "sync")
	if !ok || !nameable(m.p.Source, of, decl.Pos()) || !nameable(m.p.Source, of, stmt.Pos()) {
		return false
	}
	for _, e := range imports {
		m.put(e.Pos, e.End, string(e.NewText))
	}
	pool, kept := m.free(fmt.Sprint("pool", m.s.From)), named(m.p.Pkg, of)
	empty := fmt.Sprintf("*%s = *new(%s)", held, kept)
	if _, slice := of.(*types.Slice); slice {
		empty = "clear(*" + held + ")"
	}
	m.put(begins, begins, fmt.Sprintf("var %s = %s.Pool{New: func() any { return new(%s) }}\n\n", pool, sync, kept))
	text := fmt.Sprintf("%[1]s := %[2]s.Get().(*%[3]s)\ndefer func() {\n%[4]s\n%[2]s.Put(%[1]s)\n}()\n", held, pool,
		kept, empty)
	for _, s := range prepares {
		text += s + "\n"
	}
	m.put(stmt.Pos(), stmt.Pos(), text)
	return true
}

// locks reports whether go vet forbids to copy values of a type.
func locks(t types.Type) bool {
	if types.NewMethodSet(types.NewPointer(t)).Lookup(nil, "Lock") != nil {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if locks(f.Type()) {
				return true
			}
		}
	case *types.Array:
		return locks(u.Elem())
	}
	return false
}
