package advice

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
)

// confined reports whether nobody has the memory when the block of the variable ends: no value of it goes elsewhere,
// or, with the memory itself alone, what lies in it may. What is found in a loop must not be used beyond the round.
func (s *scratch) confined(itself bool) bool {
	values := map[ssa.Value]bool{}
	for _, b := range s.s.Func.Blocks {
		for _, instr := range b.Instrs {
			if ref, ok := instr.(*ssa.DebugRef); ok && ref.Object() == s.v {
				for _, v := range had(ref.X, s.v.Type()) {
					values[v] = true
				}
			}
		}
	}
	if len(values) == 0 {
		return false
	}
	return !slices.ContainsFunc(slices.Collect(maps.Keys(values)), func(v ssa.Value) bool {
		if c, ok := v.(*ssa.Const); ok {
			return !c.IsNil()
		}
		fate := s.p.Fate(v)
		if !itself {
			fate = s.p.FateWithin(v)
		}
		return !fate.Dies() || fate.Started || fate.Beyond && s.loop != nil && itself
	})
}

// had are the values by which a variable of a type has memory: itself, as closures share it or its address is taken,
// or what is put into it.
func had(v ssa.Value, t types.Type) (values []ssa.Value) {
	at, variable := v.(*ssa.Alloc)
	switch t.Underlying().(type) {
	case *types.Slice, *types.Map, *types.Pointer, *types.Interface:
		if !variable || !types.Identical(at.Type().(*types.Pointer).Elem(), t) {
			return []ssa.Value{v}
		}
		for _, use := range *at.Referrers() {
			if store, ok := use.(*ssa.Store); ok && store.Addr == at {
				values = append(values, store.Val)
			}
		}
	default:
		if variable {
			return []ssa.Value{v}
		}
	}
	return values
}

// plain reports whether no use of the variable, a slice that grows, gives its memory another name, or tells an empty
// one from nil.
func (s *scratch) plain() bool {
	for id, obj := range s.p.Info.Uses {
		if obj == s.v && !s.plainUse(id) {
			return false
		}
	}
	return true
}

func (s *scratch) plainUse(e ast.Expr) bool {
	path, _ := astutil.PathEnclosingInterval(s.file, e.Pos(), e.End())
	i := slices.Index(path, ast.Node(e)) + 1
	within := slices.Index(path, ast.Node(s.s.Func.Syntax()))
	literal := func(n ast.Node) bool { _, ok := n.(*ast.FuncLit); return ok }
	if i == 0 || within < i || slices.ContainsFunc(path[:within], literal) {
		return false
	}
	switch n := path[i].(type) {
	case *ast.RangeStmt:
		return n.X == e
	case *ast.SliceExpr:
		return n.X == e && s.plainUse(n)
	case *ast.IndexExpr:
		return n.X == e && s.plainElement(n, path[i+1])
	case *ast.AssignStmt:
		if len(n.Lhs) != 1 || n.Tok != token.ASSIGN || !s.self(n.Lhs[0]) {
			return false
		}
		call, _ := n.Rhs[0].(*ast.CallExpr)
		cut, sliced := n.Rhs[0].(*ast.SliceExpr)
		return s.builtin(n.Rhs[0]) == "append" && s.self(call.Args[0]) || sliced && s.self(cut.X) &&
			!check.HasPointers(s.p.Info.TypeOf(e).Underlying().(*types.Slice).Elem())
	case *ast.CallExpr:
		return s.plainArgument(e, n, path[i+1])
	}
	return false
}

// self reports whether e is the variable.
func (s *scratch) self(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && s.p.Info.Uses[id] == s.v
}

// plainElement reports whether an element is read or set, and its address not taken.
func (s *scratch) plainElement(n *ast.IndexExpr, up ast.Node) bool {
	of := s.p.Info.TypeOf(n).Underlying()
	switch up := up.(type) {
	case *ast.UnaryExpr:
		return up.Op != token.AND
	case *ast.SliceExpr:
		_, array := of.(*types.Array)
		return !array
	case *ast.SelectorExpr: // whose method could keep its receiver, or whose field's address is taken
		_, pointer := of.(*types.Pointer)
		_, dynamic := of.(*types.Interface)
		return pointer || dynamic
	case *ast.IndexExpr, *ast.ParenExpr:
		_, array := of.(*types.Array)
		return !array
	}
	return true
}

// plainArgument reports whether a call measures, copies or reads a list.
func (s *scratch) plainArgument(e ast.Expr, n *ast.CallExpr, up ast.Node) bool {
	switch s.builtin(n) {
	case "len", "cap", "copy", "clear":
		return true
	case "append":
		assign, ok := up.(*ast.AssignStmt)
		return n.Args[0] != e && n.Ellipsis.IsValid() || s.self(e) && ok && len(assign.Lhs) == 1 && s.self(assign.Lhs[0])
	case "":
		if s.p.Info.Types[n.Fun].IsType() {
			return check.IsString(s.p.Info.TypeOf(n))
		}
		return n.Fun != e && !slices.ContainsFunc(resultsOf(s.p.Info.TypeOf(n)), check.HasPointers)
	}
	return false
}
