package life

import (
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// call follows v as an argument of a call. A goroutine that the function waits for is one.
func (w *walker) call(v ssa.Value, call ssa.CallInstruction, in Where) {
	c := call.Common()
	if name := starts(call); name != "" {
		waits := w.p.waits(call, true)
		if !waits {
			w.perhaps(w.p.waits(call, false), w.p.Doubt("whether "+funcName(w.fn)+" waits for "+name, call.Pos()), func() {
				w.hold(Holder{Kind: Goroutine, Name: name, Index: -1, Pos: call.Pos()})
			})
		}
		w.fate.Started, w.fate.Beyond = true, true // it runs while the next round does
		if _, ok := call.(*ssa.Go); !ok || !waits {
			return
		}
	}
	if b, ok := c.Value.(*ssa.Builtin); ok {
		w.builtin(v, b.Name(), call, in)
		return
	}
	if c.IsInvoke() && c.Value == v {
		w.receiver(call, in)
	}
	for n, arg := range c.Args {
		if arg != v {
			continue
		}
		given := w.parameter(c, n, in)
		use := w.p.exactly(c, n, in, w.text)
		if use == nil && given == nil {
			use = w.p.argUse(c, n, in.Depth != itself)
		}
		if use == nil {
			w.fate.Writes = w.fate.Writes || !isString(v.Type())
			w.hold(Holder{Kind: Callee, Name: calleeName(c), Index: n, Pos: call.Pos(), given: given})
			continue
		}
		w.perhaps(opaque(c), w.p.Doubt(does(calleeName(c)), call.Pos()), func() {
			w.apply(use, v, call, c.Args, in)
		})
	}
}

// receiver follows v into a method that an interface names.
func (w *walker) receiver(call ssa.CallInstruction, in Where) {
	c := call.Common()
	use, methods := Use{}, w.p.methods(c)
	for i, fn := range methods {
		if s := w.p.summaries[fn]; s != nil && len(s.Params) > 0 && in.Depth == itself {
			use.merge(s.Params[0].Self, "", i == 0)
		} else if s != nil && len(s.Params) > 0 {
			use.merge(s.Params[0].Inside, "", i == 0)
		}
	}
	for n := range c.Signature().Results().Len() { // one that is not known is taken not to keep its receiver
		if n < 32 && len(methods) == 0 && refersLike(c.Signature().Results().At(n).Type()) {
			enter(&use.Within, &use.Open.Within, 1<<n, true)
		}
	}
	w.apply(&use, c.Value, call, append([]ssa.Value{c.Value}, c.Args...), in)
}

// opaque reports whether a call is of reflection, whose values lead to what their
// types do not say.
func opaque(c *ssa.CallCommon) bool {
	fn := static(c)
	if fn == nil {
		return false
	}
	obj, ok := fn.Object().(*types.Func)
	return ok && obj.Pkg() != nil && strings.HasPrefix(obj.Pkg().Path()+"/", "reflect/")
}

// apply follows what a callee does with an argument. args are what its parameters are.
func (w *walker) apply(use *Use, v ssa.Value, call ssa.CallInstruction, args []ssa.Value, in Where) {
	c := call.Common()
	w.fate.Writes = w.fate.Writes || use.Writes
	w.keeps(use, c, call.Pos())
	for _, g := range use.Calls {
		if g.Result > 0 {
			w.ranged(call, g)
		} else if g.Param < len(args) {
			w.give(args[g.Param], g, call.Pos())
		}
	}
	d := w.p.deeper(use.Doubt, c, call.Pos())
	for j, arg := range args {
		if bit := uint32(1) << j; j < 32 && use.Into&bit != 0 && arg != v {
			w.perhaps(use.Open.Into&bit != 0, d, func() { w.storeIn(arg, use.into(j, call.Pos()), use.Here) })
		}
	}
	for r := range min(32, c.Signature().Results().Len()) {
		bit, to := uint32(1)<<r, Where{}
		if use.Returns&bit != 0 && types.Identical(c.Signature().Results().At(r).Type(), v.Type()) {
			to = in
		}
		if use.Within&bit != 0 {
			w.perhaps(use.Open.Within&bit != 0, d, func() { w.result(call, r, use.There) })
		} else if use.Returns&bit != 0 {
			w.perhaps(use.Open.Returns&bit != 0, d, func() { w.result(call, r, to) })
		}
	}
}

// keeps notes who keeps an argument of a call. Of a callee in the standard library, the
// call decides, not a line there.
func (w *walker) keeps(use *Use, c *ssa.CallCommon, pos token.Pos) {
	for _, k := range use.Keeps {
		name := k.Name
		if k.Kind == Callee && (k.Doubt == Doubt{} || foreign(c)) {
			name = calleeName(c)
		}
		w.perhaps(k.Open, w.p.deeper(k.Doubt, c, pos), func() {
			w.hold(Holder{Kind: k.Kind, Name: name, Index: -1, Pos: pos, AsText: k.AsText})
		})
	}
}

// deeper is the doubt of a callee's own code, or what that does, where there is none.
func (p *Package) deeper(d Doubt, c *ssa.CallCommon, pos token.Pos) Doubt {
	if d == (Doubt{}) || foreign(c) {
		return p.Doubt(does(calleeName(c)), pos)
	}
	return d
}

// foreign reports whether a callee is of the standard library.
func foreign(c *ssa.CallCommon) bool {
	fn := static(c)
	if fn == nil {
		return false
	}
	obj, ok := fn.Object().(*types.Func)
	return ok && standard(obj)
}

// parameter tells which parameter of a function is called, or of a literal that it
// returns, where a use of the function's memory is followed. nil for other calls.
func (w *walker) parameter(c *ssa.CallCommon, arg int, in Where) *Given {
	x, ok := c.Value.(*ssa.Parameter)
	if !ok || !w.asked || c.IsInvoke() {
		return nil
	}
	g := &Given{Param: slices.Index(x.Parent().Params, x), Arg: arg, Here: in}
	if x.Parent() == w.fn {
		return g
	}
	made := w.p.closures[x.Parent()]
	if made == nil || made.Parent() != w.fn {
		return nil
	}
	for pending := []ssa.Value{made}; len(pending) > 0; pending = pending[1:] {
		for _, instr := range *pending[0].Referrers() {
			switch i := instr.(type) {
			case *ssa.ChangeType:
				pending = append(pending, i)
			case *ssa.Return:
				g.Result = 1 + slices.Index(i.Results, pending[0])
			}
		}
	}
	if g.Result == 0 {
		return nil
	}
	return g
}

// ranged follows memory into the bodies of loops over the iterator that a call returns.
func (w *walker) ranged(call ssa.CallInstruction, g Given) {
	name := "the loop body over " + calleeName(call.Common())
	if call.Value() == nil || call.Common().Signature().Results().Len() != 1 {
		w.hold(Holder{Kind: Callee, Name: name, Index: -1, Pos: call.Pos()})
		return
	}
	for _, instr := range *call.Value().Referrers() {
		switch i := instr.(type) {
		case *ssa.DebugRef:
		case ssa.CallInstruction:
			if c := i.Common(); c.Value == call.Value() && g.Param < len(c.Args) {
				w.give(c.Args[g.Param], g, i.Pos())
			} else {
				w.hold(Holder{Kind: Callee, Name: calleeName(c), Index: -1, Pos: i.Pos()})
			}
		default:
			w.hold(Holder{Kind: Callee, Name: name, Index: -1, Pos: call.Pos()})
		}
	}
}

// give follows memory into a function value that a callee calls.
func (w *walker) give(to ssa.Value, g Given, pos token.Pos) {
	for {
		if change, ok := to.(*ssa.ChangeType); ok {
			to = change.X
			continue
		}
		break
	}
	c := &ssa.CallCommon{Value: to}
	fn := c.StaticCallee()
	if fn != nil && (fn.Parent() != nil || fn.Synthetic != "") && g.Arg < len(fn.Params) {
		w.value(fn.Params[g.Arg], g.Here)
		return
	}
	unknown := Holder{Kind: Callee, Name: valueName(to), Index: g.Arg, Pos: pos, given: w.parameter(c, g.Arg, g.Here)}
	if fn != nil {
		unknown.Name = funcName(fn)
	}
	sum := w.p.callee(c)
	if sum == nil || g.Arg >= len(sum.Params) || unknown.given != nil {
		w.hold(unknown)
		return
	}
	use := &sum.Params[g.Arg].Self
	if g.Here.Depth != itself {
		use = &sum.Params[g.Arg].Inside
	}
	w.keeps(use, c, pos)
	if use.Returns|use.Within|use.Into != 0 || len(use.Calls) > 0 {
		w.hold(unknown)
	}
}

// builtin follows v into a builtin function.
func (w *walker) builtin(v ssa.Value, name string, call ssa.CallInstruction, in Where) {
	args := call.Common().Args
	switch name {
	case "append":
		if args[0] == v {
			w.fate.Writes = true
			w.value(call.Value(), in)
		} else if in.Depth != itself && holdsMore(v) { // the elements of the list, not the list
			w.value(call.Value(), in)
		}
	case "copy":
		if args[0] == v {
			w.fate.Writes = true
		} else if in.Depth != itself && holdsMore(v) {
			w.storeIn(args[0], Holder{Kind: Field, Index: -1, Pos: call.Pos()}, in)
		}
	case "clear":
		w.fate.Writes = true
	case "ssa:wrapnilchk", "String", "StringData", "Slice", "SliceData", "Add", "min", "max":
		w.value(call.Value(), in)
	}
}

// holdsMore reports whether the elements of a list refer to memory, too.
func holdsMore(v ssa.Value) bool {
	s, ok := v.Type().Underlying().(*types.Slice)
	return ok && refers(s.Elem(), 0)
}

// argUse is what a call does with argument n; nil where that is unknown.
func (p *Package) argUse(c *ssa.CallCommon, n int, inside bool) *Use {
	if use := contract(c, n); use == pooled && inside {
		return reads // what is put into a pool is taken to hold nothing that is still needed
	} else if use != nil {
		return use
	}
	sum := p.callee(c)
	if sum == nil || n >= len(sum.Params) {
		return nil
	}
	if inside {
		return &sum.Params[n].Inside
	}
	return &sum.Params[n].Self
}

// exactly is what a callee does with memory that lies behind a known field of argument n;
// nil where its code is not at hand, or while it is asked.
func (p *Package) exactly(c *ssa.CallCommon, n int, in Where, text bool) *Use {
	fn := static(c)
	if fn == nil || in.Path[0] == "" && in.Dyn == "" || !p.done || contract(c, n) != nil {
		return nil
	}
	if obj, ok := fn.Object().(*types.Func); ok && fn.Pkg != p.SSA && obj.Pkg() != nil && p.Built != nil {
		if p = p.Built(obj.Pkg().Path()); p == nil {
			return nil
		}
		name := obj.Origin().FullName()
		i := slices.IndexFunc(p.Funcs, func(f *ssa.Function) bool {
			obj, ok := f.Object().(*types.Func)
			return ok && obj.FullName() == name
		})
		if i < 0 {
			return nil
		}
		fn = p.Funcs[i]
	}
	if len(fn.Blocks) == 0 || n >= len(fn.Params) {
		return nil
	}
	asked := question{fn.Params[n], in, text}
	use, ok := p.asked[asked]
	if !ok {
		p.asked[asked] = nil
		use = &Use{}
		use.grow(p.fate(fn.Params[n], in, text), n)
		p.asked[asked] = use
	}
	return use
}

// A question is about memory that a parameter leads to.
type question struct {
	param *ssa.Parameter
	in    Where
	text  bool
}

// callee is the summary of what is called, or nil. Of a function value it is all
// that functions of the package with its type do that are used as values; of a
// method of an interface that the package declares, what its types do.
func (p *Package) callee(c *ssa.CallCommon) *Summary {
	if fn := static(c); fn != nil {
		return p.Summary(fn)
	}
	if !c.IsInvoke() {
		return p.choice(p.taken[methodKey("", c.Signature())])
	}
	return p.choice(p.methods(c))
}

// imported is what another package says of a function; nil where it says nothing.
func (p *Package) imported(fn *types.Func) *Summary {
	if fn.Pkg() == nil || fn.Pkg() == p.Pkg || p.Source.Facts == nil {
		return nil
	}
	facts := p.Source.Facts(fn.Pkg().Path())
	if facts == nil {
		return nil
	}
	return facts.Funcs[fn.Origin().FullName()]
}

// choice is the summary of a call that may be of any of some functions.
func (p *Package) choice(candidates []*ssa.Function) *Summary {
	if len(candidates) == 0 {
		return nil
	}
	all := &Summary{}
	for i, fn := range candidates {
		s := p.summaries[fn]
		if s == nil {
			return nil
		}
		params, recv := s.Params, ""
		if fn.Signature.Recv() != nil { // an invoke and a bound method have it apart
			params, recv = params[min(1, len(params)):], "what the receiver of "+funcName(fn)+" refers to"
		}
		all.merge(params, s, recv, i == 0)
	}
	return all
}

// methods returns the methods of the package's types that an invoke may call,
// where the interface is the package's own.
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

// methodKey tells functions apart by name and by the types of their parameters and results.
func methodKey(name string, sig *types.Signature) string {
	for _, vars := range []*types.Tuple{sig.Params(), sig.Results()} {
		name += "("
		for v := range vars.Variables() {
			name += types.TypeString(v.Type(), nil) + ","
		}
	}
	return name + strconv.FormatBool(sig.Variadic())
}

// merge adds a function that may be the one that is called, and its parameters without
// the receiver, which recv names. Its bits of parameters count that.
func (s *Summary) merge(params []Param, of *Summary, recv string, first bool) {
	for i, q := range params {
		if i == len(s.Params) {
			s.Params = append(s.Params, Param{})
		}
		s.Params[i].Self.merge(q.Self, recv, first)
		s.Params[i].Inside.merge(q.Inside, recv, first)
	}
	s.Results = mergeOrigins(s.Results, of.Results, recv != "")
	s.Reached = mergeOrigins(s.Reached, of.Reached, recv != "")
}

func mergeOrigins(all, more []Origin, recv bool) []Origin {
	for i, r := range more {
		if i == len(all) {
			all = append(all, Origin{})
		}
		if recv {
			r.Shared, r.Params = r.Shared || r.Params&1 != 0, r.Params>>1
		}
		all[i].merge(r)
	}
	return all
}

// merge adds what another function may do, which is called instead: what not all do is
// open.
func (u *Use) merge(v Use, recv string, first bool) {
	v.Keeps, v.Calls = slices.Clone(v.Keeps), slices.Clone(v.Calls)
	if recv != "" {
		calls := v.Calls[:0]
		for _, g := range v.Calls {
			switch {
			case g.Result > 0: // whose parameters are of another function
				calls = append(calls, g)
			case g.Param > 0:
				calls = append(calls, Given{g.Param - 1, 0, g.Arg, g.Here})
			default: // it calls its receiver
				v.keep(Keep{Kind: Callee, Name: recv, Open: true})
			}
		}
		v.Calls = calls
		if v.Into&1 != 0 {
			v.keep(Keep{Kind: Field, Name: recv, Open: v.Open.Into&1 != 0, Doubt: v.Doubt})
		}
		v.Into, v.Deep, v.Open.Into = v.Into>>1, v.Deep>>1, v.Open.Into>>1
	}
	if first {
		*u = v
		return
	}
	for _, l := range [][2][]Keep{{u.Keeps, v.Keeps}, {v.Keeps, u.Keeps}} {
		for i := range l[0] {
			k := &l[0][i]
			if !k.Open && !slices.ContainsFunc(l[1], func(m Keep) bool { return k.same(m) && !m.Open }) {
				k.Open, k.Doubt = true, Doubt{}
			}
		}
	}
	for _, k := range v.Keeps {
		u.keep(k)
	}
	for _, g := range v.Calls {
		if !slices.Contains(u.Calls, g) {
			u.Calls = append(u.Calls, g)
		}
	}
	if u.Returns != v.Returns || u.Within != v.Within || u.Into != v.Into { // the choice decides
		u.Doubt = Doubt{}
	}
	u.Open.Returns |= v.Open.Returns | u.Returns ^ v.Returns
	u.Open.Within |= v.Open.Within | u.Within ^ v.Within
	u.Open.Into |= v.Open.Into | u.Into ^ v.Into
	if v.Within != 0 {
		u.There = same(u.Within, u.There, v.There)
	}
	if v.Into != 0 {
		u.Here, u.Name = same(u.Into, u.Here, v.Here), same(u.Into, u.Name, v.Name)
		u.Again = u.Again || v.Again
	}
	u.Writes, u.Deep = u.Writes || v.Writes, u.Deep|v.Deep
	u.Returns, u.Within, u.Into = u.Returns|v.Returns, u.Within|v.Within, u.Into|v.Into
}

// inRuntime reports whether a function is of the runtime, whose code is not followed.
func inRuntime(fn *ssa.Function) bool {
	obj, ok := fn.Object().(*types.Func)
	if !ok || obj.Pkg() == nil {
		return false
	}
	path := obj.Pkg().Path()
	return path == "runtime" || strings.HasPrefix(path, "internal/runtime/")
}

// moves is the summary of a function without a body. Where it is of the standard
// library, it moves references between what its arguments and results refer to, and
// keeps none. nil for other ones.
func moves(fn *ssa.Function) *Summary {
	if obj, ok := fn.Object().(*types.Func); !ok || !standard(obj) {
		return nil
	}
	holds := func(t types.Type) bool {
		if p, ok := t.Underlying().(*types.Pointer); ok && !describes(p.Elem()) {
			t = p.Elem()
		}
		return refers(t, 0)
	}
	params := slices.Collect(fn.Signature.Params().Variables())
	if recv := fn.Signature.Recv(); recv != nil {
		params = append([]*types.Var{recv}, params...)
	}
	use, all := Use{Writes: true}, Origin{Fresh: true}
	sum := &Summary{Params: make([]Param, len(params)), Results: make([]Origin, fn.Signature.Results().Len())}
	for r := range min(32, len(sum.Results)) {
		if holds(fn.Signature.Results().At(r).Type()) {
			use.Within |= 1 << r
		}
	}
	for n, p := range params[:min(32, len(params))] {
		if holds(p.Type()) {
			all.Params |= 1 << n
		}
	}
	for n := range sum.Params {
		mine := Use{Writes: true}
		if all.Params&(1<<n) != 0 {
			mine = use
			mine.Into = all.Params &^ (1 << n)
		}
		sum.Params[n] = Param{mine, mine}
	}
	for r := range sum.Results {
		sum.Results[r] = all
	}
	return sum
}
