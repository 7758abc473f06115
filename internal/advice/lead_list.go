package advice

import (
	"cmp"
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

func (k *subject) leadMake() string {
	made, ok := k.s.Instr.(*ssa.MakeSlice)
	switch {
	case k.capped():
		return ""
	case k.life.kind <= unproved && ok && zero(made.Len):
		return k.again("one slice, cut to [:0],")
	case k.life.kind <= unproved:
		return k.again("one slice") + "; clear it (Go 1.21) unless all of it is written"
	case k.handed():
		return ofCaller
	}
	return k.givenBack()
}

// capped reports whether the function asks for the capacity of such a list: that of another one may differ.
func (k *subject) capped() bool {
	path := k.path()
	if len(path) < 2 {
		return false
	}
	for n := range ast.Preorder(path[len(path)-2]) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			continue
		}
		fun, _ := ast.Unparen(call.Fun).(*ast.Ident)
		if k.p.Info.Uses[fun] == types.Universe.Lookup("cap") &&
			types.Identical(k.p.Info.TypeOf(call.Args[0]), k.s.Value.Type()) {
			return true
		}
	}
	return false
}

// within reports whether an object on the heap that the function makes gets the value in a field.
func (k *subject) within() bool {
	return slices.ContainsFunc(*k.s.Value.Referrers(), func(use ssa.Instruction) bool {
		set, ok := use.(*ssa.Store)
		if !ok {
			return false
		}
		at, ok := set.Addr.(*ssa.FieldAddr)
		if !ok || !k.p.Origin(at.X).OnlyFresh() {
			return false
		}
		made, here := at.X.(*ssa.Alloc)
		return !here || made.Heap // otherwise it is a value
	})
}

func (k *subject) leadAppend() string {
	room, at, outer := "", k.enclosing(), k.captured()
	if k.growth.Most != nil {
		at = k.p.Stmt(k.growth.Most)
	}
	switch {
	case k.growth.Most == nil && len(k.growth.Cuts) > 0: // each round begins it again
	case at == nil && outer != nil:
		room = "made with room there, where the number of its elements can be told, it does not grow"
	case at == nil && k.joins():
		room = "one slice made with the length of all parts needs no other"
	case at != nil && !k.growth.Sized && (k.growth.Field == "" || k.fresh()) && !k.element():
		room = "make it with room for all rounds of " + k.loop(at) + ", where their number can be told, and most add to it"
	}
	reuse := ""
	switch {
	case k.growth.Field != "", k.capped():
	case outer != nil && returned(outer):
		reuse = ofCaller
	case k.life.kind <= unproved:
		reuse = k.again("one slice, cut to [:0],")
	case k.handed() && k.p.Origin(k.s.Instr.(*ssa.Call).Call.Args[0]).Params == 0:
		reuse = ofCaller
	}
	return either(room, cmp.Or(reuse, k.givenBack()))
}

// zero reports whether a length is the constant 0.
func zero(n ssa.Value) bool {
	c, ok := n.(*ssa.Const)
	return ok && c.Int64() == 0
}

// givenBack says who could put what it is given into a sync.Pool, or returns "".
func (k *subject) givenBack() string {
	switch {
	case k.life.kind != kept:
	case k.life.holder.Kind == life.Goroutine:
		return "from a sync.Pool, to which the goroutine gives it back once nobody uses it, one serves again"
	case k.life.holder.Kind == life.Chan:
		return "from a sync.Pool, to which whoever receives it gives it back once nobody uses it, one serves again"
	}
	return ""
}

// fresh reports whether the function made what has the field that grows.
func (k *subject) fresh() bool { return k.growth.Of != nil && k.p.Origin(k.growth.Of).OnlyFresh() }

// element reports whether what grows is one of many, in a map or list: nobody knows how often each does.
func (k *subject) element() bool {
	from := k.s.Instr.(*ssa.Call).Call.Args[0]
	if of, ok := from.(*ssa.Extract); ok {
		from = of.Tuple
	}
	switch from := from.(type) {
	case *ssa.Lookup:
		return true
	case *ssa.UnOp:
		_, ok := from.X.(*ssa.IndexAddr)
		return ok
	}
	return false
}

// joins reports whether the append adds a whole list to one that has elements, and was made without room for it.
func (k *subject) joins() bool {
	call, ok := k.s.Node.(*ast.CallExpr)
	if !ok || !call.Ellipsis.IsValid() || k.growth.Begin == nil || spare(k.growth.Begin) {
		return false
	}
	switch made := k.growth.Begin.(type) {
	case *ssa.Alloc:
		arr, ok := made.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array)
		return !ok || arr.Len() > 0
	case *ssa.MakeSlice:
		return !zero(made.Len)
	}
	return true
}

// captured is the variable of the function around a literal that the literal appends to, or nil.
func (k *subject) captured() ssa.Value {
	list, ok := k.s.Instr.(*ssa.Call).Call.Args[0].(*ssa.UnOp)
	if !ok || k.s.Func.Parent() == nil {
		return nil
	}
	n := slices.IndexFunc(k.s.Func.FreeVars, func(v *ssa.FreeVar) bool { return v == list.X })
	if made := closure(k.s.Func); made != nil && n >= 0 {
		return made.Bindings[n]
	}
	return nil
}

// returned reports whether its function returns what a variable has.
func returned(variable ssa.Value) bool {
	return slices.ContainsFunc(*variable.Referrers(), func(use ssa.Instruction) bool {
		load, ok := use.(*ssa.UnOp)
		return ok && slices.ContainsFunc(*load.Referrers(), func(use ssa.Instruction) bool {
			if set, ok := use.(*ssa.Store); ok { // of the result, where calls are deferred
				result, ok := set.Addr.(*ssa.Alloc)
				return ok && result != variable && returned(result)
			}
			_, ok := use.(*ssa.Return)
			return ok
		})
	})
}
