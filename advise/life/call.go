package life

import (
	"go/types"
	"strconv"

	"golang.org/x/tools/go/ssa"
)

// call follows v as an argument of a call.
func (w *walker) call(v ssa.Value, call ssa.CallInstruction, in where) {
	c := call.Common()
	if name := Starts(call); name != "" {
		w.unsure(waits(w.fn), func() { w.hold(Holder{Kind: Goroutine, Name: name, Index: -1, Pos: call.Pos()}) })
		w.fate.Started, w.fate.Beyond = true, true // it may still run in the next round
		return
	}
	if b, ok := c.Value.(*ssa.Builtin); ok {
		w.builtin(v, b.Name(), call, in)
		return
	}
	if c.IsInvoke() && c.Value == v {
		w.receiver(call, in)
	}
	for n, arg := range c.Args {
		if made, ok := arg.(*ssa.MakeClosure); arg != v || ok && ofRange(made.Fn.(*ssa.Function)) {
			continue // an iterator does not keep the body of the loop over it
		}
		use := w.p.argUse(c, n, in.depth != itself)
		if use == nil {
			w.hold(Holder{Kind: Callee, Name: calleeName(c), Index: n, Pos: call.Pos()})
			continue
		}
		w.apply(use, v, call, in)
	}
}

// receiver follows v as the receiver of an interface method. An unknown method is taken
// not to keep its receiver, but its results may refer to it.
func (w *walker) receiver(call ssa.CallInstruction, in where) {
	c := call.Common()
	if methods := w.p.methods(c); len(methods) > 0 {
		for _, fn := range methods {
			s := w.p.summaries[fn]
			if s != nil && len(s.Params) > 0 && !s.Params[0].of(in.depth != itself).lets() {
				w.hold(Holder{Kind: Callee, Name: calleeName(c), Index: -1, Pos: call.Pos()})
			}
		}
		return
	}
	for n := range c.Signature().Results().Len() {
		if refersLike(c.Signature().Results().At(n).Type()) {
			w.unsure(true, func() { w.result(call, n, where{}) })
		}
	}
}

// of returns the use of what the parameter refers to itself or, if inside is set, of what lies behind that.
func (q *Param) of(inside bool) *Use {
	if inside {
		return &q.Inside
	}
	return &q.Self
}

// apply follows v through what a callee does with it.
func (w *walker) apply(use *Use, v ssa.Value, call ssa.CallInstruction, in where) {
	c := call.Common()
	for _, k := range use.Keeps {
		name := k.Name
		if k.Kind == Callee {
			name = calleeName(c)
		}
		w.unsure(k.Perhaps, func() {
			w.hold(Holder{Kind: k.Kind, Name: name, Index: -1, Pos: call.Pos(), AsText: k.AsText})
		})
	}
	for j, arg := range c.Args {
		if bit := uint32(1) << j; j < 32 && use.Into&bit != 0 && arg != v {
			w.unsure(use.Perhaps.Into&bit != 0, func() { w.storeIn(arg, use.into(j, call.Pos()), where{}) })
		}
	}
	for r := range min(32, c.Signature().Results().Len()) {
		bit, to := uint32(1)<<r, where{}
		if use.Returns&bit != 0 && types.Identical(c.Signature().Results().At(r).Type(), v.Type()) {
			to = in
		}
		if use.Within&bit != 0 {
			w.unsure(use.Perhaps.Within&bit != 0, func() { w.result(call, r, where{}) })
		} else if use.Returns&bit != 0 {
			w.unsure(use.Perhaps.Returns&bit != 0, func() { w.result(call, r, to) })
		}
	}
}

// builtin follows v into a builtin function.
func (w *walker) builtin(v ssa.Value, name string, call ssa.CallInstruction, in where) {
	args := call.Common().Args
	switch name {
	case "append":
		if args[0] == v || in.depth != itself && holdsMore(v) { // or the appended elements lead to it
			w.value(call.Value(), in)
		}
	case "copy":
		if args[0] != v && in.depth != itself && holdsMore(v) {
			w.storeIn(args[0], Holder{Kind: Field, Index: -1, Pos: call.Pos()}, in)
		}
	case "ssa:wrapnilchk", "String", "StringData", "Slice", "SliceData", "Add", "min", "max":
		w.value(call.Value(), in)
	}
}

// holdsMore reports whether v is a slice whose elements can refer to memory.
func holdsMore(v ssa.Value) bool {
	s, ok := v.Type().Underlying().(*types.Slice)
	return ok && refers(s.Elem(), 0)
}

// argUse returns what a call does with argument n, or nil if that is unknown.
func (p *Package) argUse(c *ssa.CallCommon, n int, inside bool) *Use {
	if inside && n == 1 && pools(c) {
		return lets // assume that a pooled object refers to nothing still in use
	}
	if use := contract(c, n); use != nil {
		return use
	}
	if sum := p.callee(c); sum != nil && n < len(sum.Params) {
		return sum.Params[n].of(inside)
	}
	methods := p.methods(c)
	for _, fn := range methods {
		if s := p.summaries[fn]; s == nil || n+1 >= len(s.Params) || !s.Params[n+1].of(inside).lets() {
			return nil
		}
	}
	if len(methods) == 0 {
		return nil
	}
	return lets
}

// callee returns the summary of the function that a call names. It is nil for interface methods, for
// function values and for package reflect, whose values lead to more than their types show.
func (p *Package) callee(c *ssa.CallCommon) *Summary {
	fn := static(c)
	if fn == nil {
		return nil
	}
	if obj, ok := fn.Object().(*types.Func); ok && obj.Pkg() != nil && obj.Pkg().Path() == "reflect" {
		return nil
	}
	return p.Summary(fn)
}

// imported returns the summary of a function of another package, or nil.
func (p *Package) imported(fn *ssa.Function) *Summary {
	obj, ok := fn.Object().(*types.Func)
	if !ok || obj.Pkg() == nil || obj.Pkg() == p.Pkg || p.Source.Facts == nil {
		return nil
	}
	facts := p.Source.Facts(obj.Pkg().Path())
	if facts == nil {
		return nil
	}
	return facts.Funcs[obj.Origin().FullName()]
}

// methods returns the methods of this package that an invoke may call, if the interface
// type belongs to this package too.
func (p *Package) methods(c *ssa.CallCommon) []*ssa.Function {
	if !c.IsInvoke() {
		return nil
	}
	named, ok := types.Unalias(c.Value.Type()).(*types.Named)
	if !ok || named.Obj().Pkg() != p.Pkg {
		return nil
	}
	return p.byName[methodKey(c.Method.Name(), c.Method.Signature())]
}

// methodKey returns a key of a function's name and the types of its parameters and results.
func methodKey(name string, sig *types.Signature) string {
	for _, vars := range []*types.Tuple{sig.Params(), sig.Results()} {
		name += "("
		for v := range vars.Variables() {
			name += types.TypeString(v.Type(), nil) + ","
		}
	}
	return name + strconv.FormatBool(sig.Variadic())
}
