package advice

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

// branched proposes that only the returns which need a variable on the heap make it, where each is within a branch. Any
// other way through the function then makes none, and no way makes more than before.
func (m *mender) branched() {
	if returns := m.returns(); len(returns) > 0 {
		name := m.s.Node.(*ast.Ident).Name
		m.propose(func(m *mender) bool { return m.copyBefore(returns) }, "closurecapture",
			"copy it where its address is taken, %[1]s := %[1]s before the return at %[2]s: other ways through the function "+
				"leave it on the stack", name, m.x.position(m.p, returns[0].Pos()))
	}
}

// returns are the statements that take the address of a variable, if all are returns within branches: nobody else of
// the function has the address, so a copy made just before one is as good. Nil where others take it.
func (m *mender) returns() (all []*ast.ReturnStmt) {
	id, ok := m.s.Node.(*ast.Ident)
	v, _ := m.p.Info.Defs[id].(*types.Var)
	if !ok || v == nil || v.Kind() == types.ResultVar || locks(v.Type()) {
		return nil
	}
	for _, use := range life.Addressed(m.s.Value) {
		at := use.Pos()
		if made, ok := use.(*ssa.MakeClosure); ok {
			at = made.Fn.Pos()
		}
		path, _ := astutil.PathEnclosingInterval(m.file, at, at)
		i := slices.IndexFunc(path, isStmt)
		if !at.IsValid() || i < 0 || i+1 == len(path) {
			return nil
		}
		ret, ok := path[i].(*ast.ReturnStmt)
		if !ok || !m.listed(ret) || path[i+1] == m.around() {
			return nil
		}
		if _, seen := m.p.Pkg.Scope().Innermost(ret.Pos()).LookupParent(v.Name(), ret.Pos()); seen != v {
			return nil
		}
		if !slices.Contains(all, ret) {
			all = append(all, ret)
		}
	}
	return all
}

// around is what has the statement list that declares the variable; the body of the function for a parameter.
func (m *mender) around() ast.Node {
	for _, n := range m.path {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return n.Body
		case *ast.FuncLit:
			return n.Body
		}
		if listOf(n) != nil {
			return n
		}
	}
	return nil
}

// copyBefore gives each return a variable of its own.
func (m *mender) copyBefore(returns []*ast.ReturnStmt) bool {
	name := m.s.Node.(*ast.Ident).Name
	for _, ret := range returns {
		m.put(ret.Pos(), ret.Pos(), name+" := "+name+"\n")
	}
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
