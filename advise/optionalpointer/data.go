package optionalpointer

import (
	"go/ast"
	"go/types"

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
		if sub, ok := f.Type().Underlying().(*types.Struct); ok && depth < 3 && named.Obj().Pkg() == outer.Obj().Pkg() &&
			refers(sub, outer, self, depth+1) {
			return true
		}
	}
	return false
}
