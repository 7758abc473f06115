package life

import (
	"go/token"
	"go/types"
	"math/bits"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// store follows v into the object that addr belongs to.
func (w *walker) store(v, addr ssa.Value, kind HolderKind, pos token.Pos, in where) {
	w.storeIn(addr, Holder{Kind: kind, Index: -1, Pos: pos, AsText: IsString(v.Type())}, in.above())
}

// storeIn goes back from v to where it comes from. h is the holder if that outlives the
// function; the innermost field on the way names it. in locates the memory as seen from v.
func (w *walker) storeIn(v ssa.Value, h Holder, in where) {
	if b, ok := v.Type().Underlying().(*types.Basic); ok && b.Kind() != types.Uintptr && b.Kind() != types.UnsafePointer {
		return // a string or a number holds nothing
	}
	if !w.visit(w.stored, v, &in) {
		return
	}
	switch x := v.(type) {
	case *ssa.FieldAddr:
		name := fieldName(x.X.Type(), x.Field)
		w.storeIn(x.X, h.named(name), in.behind(name))
	case *ssa.Field:
		name := fieldName(x.X.Type(), x.Field)
		w.storeIn(x.X, h.named(name), in.behind(name))
	case *ssa.Lookup:
		w.storeIn(x.X, h, in.above())
	case *ssa.Next:
		w.storeIn(x.Iter, h, in.above())
	case *ssa.Phi:
		for _, e := range x.Edges {
			w.storeIn(e, h, in)
		}
	case *ssa.UnOp:
		if x.Op == token.MUL {
			field := fieldOf(x.X)
			for _, val := range storedTo(x.X, field, field != "") {
				w.storeIn(val, h, in)
			}
		}
		h.deep = true
		w.storeIn(x.X, h, in.above())
	case *ssa.Global:
		if x.Name() == "dummy" && x.Pkg.Pkg.Path() == "reflect" {
			return // it only makes values escape: nothing is stored
		}
		w.hold(Holder{Kind: Global, Name: x.Name(), Index: -1, Pos: h.Pos, AsText: h.AsText})
	case *ssa.Parameter:
		of := " of " + x.Parent().Name()
		if i := slices.Index(x.Parent().Params, x); i >= 0 && x.Parent() == w.fn {
			h.Index, of = i, ""
		}
		w.hold(h.named("what parameter " + x.Name() + of + " refers to"))
	case *ssa.FreeVar:
		w.captured(x, h, in)
	case *ssa.Call:
		w.storeInCall(x, h, in)
	case *ssa.BinOp: // of a uintptr
		w.hold(h.named("what an unsafe pointer refers to"))
	case *ssa.Const, *ssa.Builtin, *ssa.Function:
	default:
		if from := operand(v); from != nil {
			w.storeIn(from, h, in)
			return
		}
		if h.deep { // made here
			for _, val := range storedTo(v, in.field, false) {
				w.storeIn(val, h, where{})
			}
		}
		w.contained(v, in)
	}
}

// contained follows memory that was put into the local container v.
func (w *walker) contained(v ssa.Value, in where) {
	if i, ok := v.(ssa.Instruction); ok {
		w.leaves(i)
	}
	w.value(v, in)
}

// captured follows memory into a captured variable of the outer function.
func (w *walker) captured(v *ssa.FreeVar, h Holder, in where) {
	made := w.p.closures[v.Parent()]
	n := slices.Index(v.Parent().FreeVars, v)
	if made == nil || n < 0 || n >= len(made.Bindings) {
		w.hold(h.named("variable " + v.Name() + " of the function around"))
		return
	}
	w.fate.Beyond = true
	w.storeIn(made.Bindings[n], h, in)
}

// storeInCall follows memory into what a call returned.
func (w *walker) storeInCall(c *ssa.Call, h Holder, in where) {
	if b, ok := c.Call.Value.(*ssa.Builtin); ok {
		switch b.Name() {
		case "append", "Add", "Slice", "SliceData", "String", "StringData", "ssa:wrapnilchk":
			w.storeIn(c.Call.Args[0], h, in)
		}
		w.contained(c, in)
		return
	}
	sum := w.p.callee(c.Common())
	if calleeName(c.Common()) == "sync.Pool.Get" { // its next user finds the memory there
		w.hold(h.named("what sync.Pool.Get returned"))
		w.contained(c, in)
		return
	}
	if sum == nil || len(sum.Results) == 0 {
		w.hold(Holder{Kind: Callee, Name: calleeName(c.Common()), Index: -1, Pos: h.Pos})
		w.contained(c, in)
		return
	}
	all := Origin{}
	for i := range sum.Results {
		all.merge(sum.origin(i, h.deep))
	}
	if all.Fresh || all.Unknown {
		w.contained(c, in)
	}
	w.unsure(!all.one(), func() {
		if all.Shared {
			w.hold(h.named("what " + calleeName(c.Common()) + " returned"))
		}
		if all.Unknown {
			w.hold(Holder{Kind: Callee, Name: calleeName(c.Common()), Index: -1, Pos: h.Pos})
		}
		for n, arg := range c.Call.Args {
			if n < 32 && all.Params&(1<<n) != 0 {
				w.storeIn(arg, h, where{depth: in.depth})
			}
		}
	})
}

// one reports whether a value has at most one origin.
func (o Origin) one() bool {
	places := bits.OnesCount32(o.Params)
	for _, is := range []bool{o.Fresh, o.Shared, o.Unknown} {
		if is {
			places++
		}
	}
	return places < 2
}

// named returns h with the given name, unless an inner field named it before.
func (h Holder) named(name string) Holder {
	if h.Name == "" {
		h.Name = name
	}
	return h
}

// fieldOf returns the field of a local variable or a parameter that addr points to, or "".
func fieldOf(addr ssa.Value) string {
	if f, ok := addr.(*ssa.FieldAddr); ok {
		switch f.X.(type) {
		case *ssa.Alloc, *ssa.Parameter:
			return fieldName(f.X.Type(), f.Field)
		}
	}
	return ""
}

// storedTo returns the values that are assigned to a local variable, its fields or elements; only to the given field,
// unless that is "". With params it does so of what a parameter points to, which may have other values.
func storedTo(addr ssa.Value, field string, params bool) (vals []ssa.Value) {
	switch addr.(type) {
	case *ssa.FieldAddr, *ssa.IndexAddr:
		return storedTo(operand(addr), field, params)
	case *ssa.Alloc, *ssa.MakeSlice, *ssa.MakeMap:
	case *ssa.Parameter:
		if !params {
			return nil
		}
	default:
		return nil
	}
	var visit func(v ssa.Value)
	visit = func(v ssa.Value) {
		for _, instr := range *v.Referrers() {
			switch i := instr.(type) {
			case *ssa.Store:
				if i.Addr == v {
					vals = append(vals, i.Val)
				}
			case *ssa.MapUpdate:
				if i.Map == v {
					vals = append(vals, i.Value)
				}
			case *ssa.FieldAddr:
				if field == "" || v != addr || fieldName(i.X.Type(), i.Field) == field {
					visit(i)
				}
			case *ssa.IndexAddr:
				if i.X == v {
					visit(i)
				}
			}
		}
	}
	visit(addr)
	return vals
}
