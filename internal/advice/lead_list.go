package advice

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

func (k *subject) leadMake() string {
	of := k.newHolder()
	made, ok := k.s.Instr.(*ssa.MakeSlice)
	empty := ok && zero(made.Len)
	switch {
	case k.life.kind <= unproved && empty:
		return k.again("one slice, cut to [:0],")
	case k.life.kind <= unproved:
		return k.again("one slice") + "; clear it (Go 1.21) unless all of it is written"
	case of != "":
		return "each " + of + " is new as well: one that serves again, once nobody has it, has this; an array in it serves " +
			"short ones, if no " + of + " is copied"
	case k.life.kind == escaped:
		return k.result()
	case k.life.holder.Kind == life.Field:
		field := k.life.holder.Name
		if at := k.guarded(field); at != "" {
			of, _, _ := strings.Cut(field, ".")
			return "it is made only where " + field + " has none, or too little (" + at + "): a " + of +
				" that serves again has it"
		}
		if k.larger(field) {
			return "with room for all from the beginning, where their number can be told, it is made once"
		}
		cut := "[:n]"
		if empty {
			cut = ""
		}
		switch to, _ := k.assigned(); to := to.(type) {
		case *ast.StarExpr:
			field = "(" + spelled(k.p, to) + ")"
		case *ast.SelectorExpr:
			field = spelled(k.p, to)
		default: // it is filled before it takes the last one's place
			return "the last one, cut to [:0], could serve again, once nobody has it, and if nothing reads it while this is " +
				"filled"
		}
		text := "slices.Grow(" + field + "[:0], n)" + cut + " (Go 1.21) takes the last one's memory, if there is one " +
			"that nobody has"
		if cut != "" {
			text += "; clear it (Go 1.21) unless all of it is written"
		}
		return text
	}
	return k.givenBack()
}

// newHolder is the type of the object on the heap that gets the value in a field, if the function makes it; or "".
func (k *subject) newHolder() string {
	for _, use := range *k.s.Value.Referrers() {
		if set, ok := use.(*ssa.Store); ok {
			at, ok := set.Addr.(*ssa.FieldAddr)
			if !ok || !k.p.Origin(at.X).OnlyFresh() {
				continue
			}
			if made, here := at.X.(*ssa.Alloc); !here || made.Heap { // otherwise it is a value
				of, _, _ := strings.Cut(k.fieldName(at), ".")
				return of
			}
		}
	}
	return ""
}

// larger reports whether the function copies to the value what the field has: that needs both.
func (k *subject) larger(field string) bool {
	is := func(v ssa.Value) bool {
		same, _ := k.continues(v, field, map[ssa.Value]bool{})
		return same
	}
	for _, b := range k.s.Func.Blocks {
		for _, instr := range b.Instrs {
			switch i := instr.(type) {
			case *ssa.Call:
				of, ok := i.Call.Value.(*ssa.Builtin)
				if ok && (of.Name() == "copy" || of.Name() == "append") && is(i.Call.Args[1]) {
					return true
				}
			case *ssa.Store: // an element by itself
				if load, ok := i.Val.(*ssa.UnOp); ok {
					from, read := load.X.(*ssa.IndexAddr)
					to, written := i.Addr.(*ssa.IndexAddr)
					if read && written && to.X == k.s.Value && is(from.X) {
						return true
					}
				}
			}
		}
	}
	return false
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

func (k *subject) leadAppend() string {
	room, at, outer := "", k.enclosing(), k.captured()
	if k.growth.Most != nil {
		at = k.p.Stmt(k.growth.Most)
	}
	switch {
	case at == nil && outer != nil:
		room = "made with room there, where the number of its elements can be told, it does not grow"
	case at == nil && k.joins():
		room = "one slice made with the length of all parts needs no other"
	case at != nil && !k.growth.Sized && (k.growth.Field == "" || k.fresh()) && !k.element():
		room = "make it with room for all rounds of " + k.loop(at) + ", where their number can be told"
	}
	reuse := ""
	switch {
	case k.growth.Field != "" && (k.growth.Cut || k.fresh()): // done, or its object is new, and so is the list
	case k.growth.Field != "":
		reuse = k.fieldRoom()
	case outer != nil && returned(outer):
		reuse = k.result()
	case k.life.kind <= unproved:
		reuse = k.again("one slice, cut to [:0],")
	case k.life.kind == escaped && k.p.Origin(k.s.Instr.(*ssa.Call).Call.Args[0]).Params == 0:
		reuse = k.result()
	}
	return either(room, cmp.Or(reuse, k.givenBack()))
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

// settings are the places of a package that set a field to something else than itself with more behind it.
type settings struct {
	sized token.Pos // of an object that begins with room in the field
	cut   token.Pos // where what was there is cut, so that its memory stays
	made  token.Pos // where another value takes its place
}

// settings finds what the package does to the field that grows.
func (k *subject) settings() (all settings) {
	for _, set := range k.p.Sets(k.growth.Of.Type()) {
		k.set(&all, set, cmp.Or(set.Pos(), set.Parent().Pos()))
	}
	return all
}

// set adds what an instruction sets at a position.
func (k *subject) set(all *settings, set *ssa.Store, pos token.Pos) {
	field := k.growth.Field
	of, _, _ := strings.Cut(field, ".")
	at, is := set.Addr.(*ssa.FieldAddr)
	is = is && k.fieldName(at) == field
	switch {
	case is && k.p.Origin(at.X).OnlyFresh():
		if roomy(set.Val) {
			all.sized = pos
		}
	case is:
		switch same, cut := k.continues(set.Val, field, map[ssa.Value]bool{}); {
		case cut:
			all.cut = pos
		case !same:
			all.made = pos
		}
	case named(k.p.Pkg, set.Val.Type()) == of && !k.p.Origin(set.Addr).OnlyFresh(): // all fields at once
		all.made = pos
	}
}

// roomy reports whether a value is a slice that is made with memory.
func roomy(v ssa.Value) bool {
	if cut, ok := v.(*ssa.Slice); ok {
		_, ok = cut.X.(*ssa.Alloc)
		return ok
	}
	made, ok := v.(*ssa.MakeSlice)
	if !ok {
		return false
	}
	n, isConst := made.Cap.(*ssa.Const)
	return !isConst || n.Int64() > 0
}

// continues reports whether a value is made of what a field has, in the same memory as far as that suffices, and
// whether it was cut before.
func (k *subject) continues(v ssa.Value, field string, seen map[ssa.Value]bool) (same, cut bool) {
	if seen[v] {
		return false, false
	}
	seen[v] = true
	var from []ssa.Value
	switch v := v.(type) {
	case *ssa.UnOp:
		at, ok := v.X.(*ssa.FieldAddr)
		return ok && k.fieldName(at) == field, false
	case *ssa.MakeSlice: // a longer one, by hand
		return k.asks(v.Len, field), false
	case *ssa.Slice:
		from, cut = []ssa.Value{v.X}, v.Low == nil || zero(v.Low)
	case *ssa.Phi:
		from = v.Edges
	case *ssa.Call: // append, and functions such as slices.Grow
		from = v.Call.Args
		if b, ok := v.Call.Value.(*ssa.Builtin); ok && b.Name() == "append" {
			from = from[:1]
		}
	case *ssa.ChangeType:
		from = []ssa.Value{v.X}
	}
	cuts := false
	for _, e := range from {
		of, shorter := k.continues(e, field, seen)
		same, cuts = same || of, cuts || shorter
	}
	return same, same && (cut || cuts)
}

// guarded returns the place of the condition that lets a value be made only where a field has none, or too small a
// one; "" for none.
func (k *subject) guarded(field string) string {
	for b := k.s.Instr.Block(); b != nil; b = b.Idom() {
		over := b.Idom()
		if over == nil || len(over.Instrs) == 0 || len(b.Preds) != 1 {
			continue
		}
		if cond, ok := over.Instrs[len(over.Instrs)-1].(*ssa.If); ok && k.asks(cond.Cond, field) {
			return k.x.position(k.p, cond.Cond.Pos())
		}
	}
	return ""
}

// asks reports whether a condition compares a field, its length or its capacity.
func (k *subject) asks(v ssa.Value, field string) bool {
	switch v := v.(type) {
	case *ssa.BinOp:
		return k.asks(v.X, field) || k.asks(v.Y, field)
	case *ssa.UnOp:
		at, ok := v.X.(*ssa.FieldAddr)
		return ok && k.fieldName(at) == field
	case *ssa.Call:
		of, ok := v.Call.Value.(*ssa.Builtin)
		return ok && (of.Name() == "len" || of.Name() == "cap") && k.asks(v.Call.Args[0], field)
	}
	return false
}

// fieldRoom says how a field that grows could grow less, by what the package does to it.
func (k *subject) fieldRoom() string {
	field := k.growth.Field
	of, _, _ := strings.Cut(field, ".")
	call, at := k.s.Instr.(*ssa.Call), k.enclosing()
	switch is := k.settings(); {
	case is.made.IsValid():
		return "field " + field + ", cut to [:0] in place of made again (" + k.x.position(k.p, is.made) +
			"), keeps its memory, where its object is used again and nobody has the last list"
	case is.cut.IsValid():
		text := "field " + field + " keeps its memory, as " + k.x.position(k.p, is.cut) + " cuts it"
		if _, list := call.Call.Args[1].(*ssa.Slice); list && at == nil { // of the elements that the call names
			text += "; slices.Grow makes room for all at once, where their number can be told"
		}
		if at != nil && (is.cut < at.Pos() || at.End() < is.cut) { // it is not cut in each round
			text += "; slices.Grow makes room for all rounds of " + k.loop(at) + " at once, where that can be told"
		}
		return text
	case is.sized.IsValid():
		return "it begins with room (" + k.x.position(k.p, is.sized) + ")"
	}
	return "each " + of + " begins without it: made with room" + k.madeAt() +
		", or in one that serves again, it grows less"
}

// madeAt says where objects with the field that grows are made, or returns "".
func (k *subject) madeAt() string {
	var at []string
	for _, s := range k.p.Objects(k.growth.Of.Type()) {
		if _, pointer := types.Unalias(s.Type).(*types.Pointer); s.Node == nil || pointer {
			continue
		}
		if where := k.x.position(k.p, s.Node.Pos()); !slices.Contains(at, where) {
			at = append(at, where)
		}
	}
	if len(at) == 0 || len(at) > 3 {
		return ""
	}
	return " where the object is made (" + strings.Join(at, ", ") + ")"
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
