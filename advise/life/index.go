package life

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Sets are the stores to fields of the struct that t is or points to, and of all of one, in the order of the code.
func (p *Package) Sets(t types.Type) []*ssa.Store { return p.sets[nameOf(t)] }

// Objects are the sites that make what t is or points to, or a pointer to that: literals, new and variables.
func (p *Package) Objects(t types.Type) []*Site {
	p.Sites()
	return p.objects[nameOf(t)]
}

// Changed reports whether other code than init sets a package variable.
func (p *Package) Changed(v *ssa.Global) bool { return p.changed[v] }

// Closes reports whether the package closes channels that carry values of a type.
func (p *Package) Closes(elem types.Type) bool {
	return slices.ContainsFunc(p.closed, func(t types.Type) bool { return types.Identical(t, elem) })
}

// setting records a store.
func (p *Package) setting(set *ssa.Store) {
	of := nameOf(set.Val.Type())
	switch at := set.Addr.(type) {
	case *ssa.Global:
		p.changed[at] = p.changed[at] || set.Parent().Name() != "init"
	case *ssa.FieldAddr:
		if owner := nameOf(at.X.Type()); owner != of {
			p.sets[owner] = append(p.sets[owner], set)
		}
	}
	p.sets[of] = append(p.sets[of], set)
}

// NamedOf returns the named type that t is or points to, or nil.
func NamedOf(t types.Type) *types.Named {
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		t = ptr.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}

// nameOf returns the name of the type that t is or points to, one for all instances of a generic type; or nil.
func nameOf(t types.Type) *types.TypeName {
	if named := NamedOf(t); named != nil {
		return named.Obj()
	}
	return nil
}
