package advice

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

// partOf returns the struct type and the field that take the address of what a site makes,
// where the function makes both, and the part could be a value there: other packages do not
// see the field, nothing else is stored in it, nobody compares it with nil, and the struct
// is not copied. holder is "" for none.
func partOf(p *life.Package, s *life.Site) (holder, field string) {
	const most = 1024 // bytes that moving by value may copy
	if _, ok := s.Type.Underlying().(*types.Struct); !ok || s.Size > most {
		return "", ""
	}
	var at *ssa.FieldAddr
	for _, instr := range *s.Value.Referrers() {
		st, ok := instr.(*ssa.Store)
		if !ok || st.Val != s.Value {
			continue
		}
		to, ok := st.Addr.(*ssa.FieldAddr)
		if !ok || at != nil {
			return "", ""
		}
		at = to
	}
	if at == nil {
		return "", ""
	}
	owner, made := at.X.(*ssa.Alloc)
	if !made || !owner.Heap {
		return "", ""
	}
	named, ok := types.Unalias(pointee(owner)).(*types.Named)
	if !ok {
		return "", ""
	}
	f := named.Underlying().(*types.Struct).Field(at.Field)
	_, pointer := f.Type().(*types.Pointer)
	if !pointer || f.Exported() && named.Obj().Exported() || !alone(p, at, named) {
		return "", ""
	}
	return named.Obj().Name(), f.Name()
}

func pointee(v ssa.Value) types.Type {
	if ptr, ok := v.Type().Underlying().(*types.Pointer); ok {
		return ptr.Elem()
	}
	return v.Type()
}

// alone reports whether one place alone stores into a field, and all that is done with the
// field would hold for a value, too.
func alone(p *life.Package, at *ssa.FieldAddr, holder types.Type) bool {
	for _, fn := range p.Funcs {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				switch i := instr.(type) {
				case *ssa.FieldAddr:
					if i != at && i.Field == at.Field && types.Identical(pointee(i.X), holder) && !onlyRead(i) {
						return false
					}
				case *ssa.UnOp:
					if i.Op == token.MUL && types.Identical(i.Type(), holder) {
						return false // it is copied
					}
				}
			}
		}
	}
	return true
}

// onlyRead reports whether a field is only loaded, and what was loaded not compared.
func onlyRead(f *ssa.FieldAddr) bool {
	for _, use := range *f.Referrers() {
		load, ok := use.(*ssa.UnOp)
		if _, debug := use.(*ssa.DebugRef); debug {
			continue
		}
		if !ok {
			return false
		}
		for _, of := range *load.Referrers() {
			if _, compares := of.(*ssa.BinOp); compares {
				return false
			}
		}
	}
	return true
}
