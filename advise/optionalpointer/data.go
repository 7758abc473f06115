package optionalpointer

import (
	"go/ast"
	"go/types"
	"math"

	"github.com/isobar-go/isobar/advise/check"
)

// small reports whether inner could lie inside outer: a struct of this package
// of moderate size that does not refer to outer.
func small(p *check.Pass, outer *types.Named, inner *ast.CompositeLit) bool {
	named := check.NamedOf(p.TypeOf(inner))
	if named == nil || named.Obj().Pkg() != p.Code.Pkg || named.TypeParams().Len() > 0 || outer.TypeParams().Len() > 0 {
		return false
	}
	st, ok := named.Underlying().(*types.Struct)
	return ok && p.Size(st) <= large && !refers(st, outer, named, 0)
}

// refers reports whether st, or a struct within it, has pointers to one of the types
// or lists of them.
func refers(st *types.Struct, outer, self *types.Named, depth int) bool {
	for f := range st.Fields() {
		t := f.Type()
		if s, ok := t.Underlying().(*types.Slice); ok {
			t = s.Elem()
		}
		named := check.NamedOf(t)
		if named == nil {
			continue
		}
		if named.Obj() == outer.Obj() || named.Obj() == self.Obj() {
			return true
		}
		if sub, ok := f.Type().Underlying().(*types.Struct); ok && depth < 3 && named.Obj().Pkg() == outer.Obj().Pkg() && refers(sub, outer, self, depth+1) {
			return true
		}
	}
	return false
}

// locks reports whether a value of type t holds a lock or an atomic.
func locks(t types.Type) bool {
	if named, ok := types.Unalias(t).(*types.Named); ok && named.Obj().Pkg() != nil {
		if path := named.Obj().Pkg().Path(); path == "sync" || path == "sync/atomic" {
			return true
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return locks(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if locks(f.Type()) {
				return true
			}
		}
	}
	return false
}

// data reports whether t is a small struct of the module that only holds data:
// without locks, without methods that need its address, and without pointers
// to its like.
func data(p *check.Pass, t types.Type) bool {
	return plain(p, t) && !refers(t.Underlying().(*types.Struct), check.NamedOf(t), check.NamedOf(t), 0)
}

// movable reports whether t is a struct of the module, without locks and without
// pointers to its like: data but for its methods, which may change it.
func movable(p *check.Pass, t types.Type) bool {
	named := check.NamedOf(t)
	return named != nil && p.SameModule(named.Obj()) && !locks(t) && !refers(t.Underlying().(*types.Struct), named, named, 0)
}

// plain reports whether t is of the module, without locks, and without methods
// that need its address.
func plain(p *check.Pass, t types.Type) bool {
	named := check.NamedOf(t)
	if named == nil || named.Obj().Pkg() == nil || locks(t) {
		return false
	}
	if value(named) {
		return true
	}
	if !p.SameModule(named.Obj()) {
		return false
	}
	for m := range named.Methods() {
		if _, pointer := m.Signature().Recv().Type().(*types.Pointer); pointer && !reads(p, m, map[*types.Func]bool{}) {
			return false
		}
	}
	return true
}

// value reports whether named is a struct of the library that is meant as a
// value, though methods for decoding take its address.
func value(named *types.Named) bool {
	switch named.Obj().Pkg().Path() {
	case "image", "image/color", "net/netip":
		_, isStruct := named.Underlying().(*types.Struct)
		name := named.Obj().Name()
		return isStruct && (named.Obj().Pkg().Path() != "image" || name == "Point" || name == "Rectangle")
	}
	return false
}

// reads reports whether the method m, of a pointer, only reads fields, itself
// and through other methods, so that it may as well be one of the value.
func reads(p *check.Pass, m *types.Func, seen map[*types.Func]bool) bool {
	if seen[m] {
		return true
	}
	seen[m] = true
	_, decl := p.Decl(m)
	if decl == nil || len(decl.Recv.List[0].Names) == 0 {
		return decl != nil
	}
	recv, _ := p.Info.Defs[decl.Recv.List[0].Names[0]].(*types.Var)
	if recv == nil {
		return true // _
	}
	for _, use := range p.Uses(recv) {
		if star, ok := use.Parent().Node().(*ast.StarExpr); ok && star.X == use.Node() && !p.Writes(use.Parent()) {
			continue // a copy
		}
		if _, compared := use.Parent().Node().(*ast.BinaryExpr); compared {
			continue // with nil, which a flag of the value may say
		}
		sel, ok := use.Parent().Node().(*ast.SelectorExpr)
		if !ok || p.Info.Selections[sel] == nil {
			return false
		}
		if s := p.Info.Selections[sel]; s.Kind() != types.FieldVal {
			fn, _ := s.Obj().(*types.Func)
			call, called := use.Parent().Parent().Node().(*ast.CallExpr)
			if fn == nil || !called || call.Fun != sel || !reads(p, fn, seen) {
				return false
			}
			continue
		}
		at := use.Parent()
		for ; !p.Writes(at); at = at.Parent() {
			switch at.Parent().Node().(type) {
			case *ast.SelectorExpr, *ast.IndexExpr, *ast.ParenExpr:
				continue
			}
			break
		}
		if p.Writes(at) {
			return false
		}
	}
	return true
}

// unwritten reports whether nothing in this package writes into a small struct
// once it is made, but through the variable that it is made in.
func unwritten(p *check.Pass, t types.Type) bool {
	return size(p, t) <= large/2 && plain(p, t) && kept(p, t, true)
}

// kept reports whether nothing in this package changes the fields of a struct once it
// is made, where need be but through the variable that it is made in.
func kept(p *check.Pass, t types.Type, butWhereMade bool) bool {
	st := t.Underlying().(*types.Struct)
	for f := range st.Fields() {
		for _, use := range p.Uses(f) {
			sel, ok := use.Parent().Node().(*ast.SelectorExpr)
			if ok && p.Writes(use.Parent()) && !(butWhereMade && p.Local(p.Var(sel.X)) && assignedPiece(p, p.Var(sel.X))) {
				return false
			}
		}
	}
	return true
}

// size is that of a value of type t; what depends on a type parameter counts as an
// interface does.
func size(p *check.Pass, t types.Type) int64 {
	if n := p.Size(t); n != math.MaxInt64 {
		return n
	}
	switch u := types.Unalias(t).(type) {
	case *types.TypeParam:
		return 16
	case *types.Named:
		return size(p, u.Underlying())
	case *types.Array:
		return u.Len() * size(p, u.Elem())
	case *types.Struct:
		n := int64(0)
		for f := range u.Fields() {
			n += size(p, f.Type())
		}
		return n
	}
	return math.MaxInt64
}
