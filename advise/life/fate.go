package life

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Fate is what becomes of memory after it was made.
type Fate struct {
	Holders []Holder // none: it dies with the call of its function
	Started bool     // a goroutine is given it
	Beyond  bool     // it is used beyond the round of the innermost loop that made it
}

// Dies reports whether nobody keeps the memory when its function returns.
func (f *Fate) Dies() bool { return len(f.Holders) == 0 }

// Has reports whether there is a holder of a kind.
func (f *Fate) Has(kind HolderKind) bool {
	return slices.ContainsFunc(f.Holders, func(h Holder) bool { return h.Kind == kind && h.Outer == "" })
}

// hold notes a holder, but for strings that cannot refer to the memory.
func (w *walker) hold(h Holder) {
	h.Perhaps = h.Perhaps || w.perhaps || h.Kind == Callee
	if w.text || !h.AsText {
		w.fate.add(h)
	}
}

// unsure follows memory to where it may be, or may not.
func (w *walker) unsure(open bool, follow func()) {
	before := w.perhaps
	w.perhaps = before || open
	follow()
	w.perhaps = before
}

// add adds a holder, once; one that is certain takes the place of the same one that is not.
func (f *Fate) add(h Holder) {
	for i := range f.Holders {
		g := &f.Holders[i]
		if g.Kind == h.Kind && g.Name == h.Name && g.Index == h.Index && g.Outer == h.Outer && g.Inside == h.Inside &&
			g.AsText == h.AsText {
			h.deep = h.deep || g.deep
			if h.Perhaps = h.Perhaps && g.Perhaps; !h.Perhaps || h.deep != g.deep {
				*g = h
			}
			return
		}
	}
	f.Holders = append(f.Holders, h)
}

// Fate follows what v refers to: through variables, calls and containers.
func (p *Package) Fate(v ssa.Value) *Fate {
	return p.fate(v, where{depth: itself}, v != nil && isText(v.Type()))
}

// isText reports whether a string may share the memory that a value of type t
// refers to.
func isText(t types.Type) bool {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		if arr, ok := ptr.Elem().Underlying().(*types.Array); ok {
			t = types.NewSlice(arr.Elem())
		}
	}
	return IsString(t) || IsBytes(t)
}

// fate follows v, or what can be reached from it.
func (p *Package) fate(v ssa.Value, in where, text bool) *Fate {
	if v == nil {
		return &Fate{}
	}
	w := p.walker(v.Parent(), text)
	if i, ok := v.(ssa.Instruction); ok && i.Block() != nil {
		w.loop, w.start = p.Loop(i.Block()), i.Block()
	} else if w.fn != nil && len(w.fn.Blocks) > 0 {
		w.start = w.fn.Blocks[0]
	}
	w.value(v, in)
	return &w.fate
}

// FateOf follows memory that what v refers to leads to, such as what a map grows by,
// wherever v comes from: h is its holder.
func (p *Package) FateOf(v ssa.Value, h Holder) *Fate {
	w := p.walker(v.Parent(), true)
	h.Index = -1
	w.fate.Beyond = true // the container may be older than the round
	w.storeIn(v, h, where{depth: itself})
	return &w.fate
}

// A walker follows one value.
type walker struct {
	p       *Package
	fn      *ssa.Function   // where it begins
	loop    *Loop           // the innermost one there, or nil
	start   *ssa.BasicBlock // where the value is made; nil where that is not known
	text    bool            // strings may refer to it
	seen    map[step]bool   // what was followed, and whether the memory is there for certain
	stored  map[step]bool
	perhaps bool // it is not certain that the memory is where it is followed to
	fate    Fate
}

func (p *Package) walker(fn *ssa.Function, text bool) *walker {
	return &walker{p: p, fn: fn, text: text, seen: map[step]bool{}, stored: map[step]bool{}}
}

// A depth is how many references lead from a value to the memory.
type depth int8

const (
	deeper  depth = iota // any number: what is taken out of the value is followed as well
	itself               // one: the value is a reference to it
	deepest = itself + 3
)

// A where says where memory is, as seen from a value that leads to it.
type where struct {
	depth depth
	field string // that leads there; "" where it is not known
}

// above is where the memory is as seen from what refers to the value.
func (in where) above() where {
	if in.depth == deepest {
		in.depth = deeper
	} else if in.depth != deeper {
		in.depth++
	}
	return in
}

// below is where the memory is as seen from what the value refers to.
func (in where) below() where {
	if in.depth > itself {
		in.depth--
	}
	return in
}

// behind is where the memory is as seen from a struct that has the value in a field.
func (in where) behind(field string) where {
	if in.field != "" { // which is lost
		in.depth = deeper
	}
	in.field = field
	return in
}

// A step is a value that is followed.
type step struct {
	v  ssa.Value
	in where
}

// visit reports whether a step is to be followed: the first time, and again where the
// memory is there for certain, and was not before. A walk that takes long no longer tells
// fields apart.
func (w *walker) visit(seen map[step]bool, v ssa.Value, in *where) bool {
	const many = 4000
	if len(seen) > many {
		*in = where{}
	}
	sure, before := seen[step{v, *in}]
	if before && (sure || w.perhaps) {
		return false
	}
	seen[step{v, *in}] = !w.perhaps
	return true
}

func (w *walker) value(v ssa.Value, in where) {
	if v == nil || !w.text && IsString(v.Type()) || !w.visit(w.seen, v, &in) {
		return
	}
	refs := v.Referrers()
	if refs == nil {
		if g, ok := v.(*ssa.Global); ok {
			w.hold(Holder{Kind: Global, Name: g.Name(), Index: -1, Pos: g.Pos()})
		}
		return
	}
	for _, instr := range *refs {
		w.leaves(instr)
		_, phi := instr.(*ssa.Phi)
		branch := !phi && instr.Parent() == w.fn && w.around(instr.Block())
		w.unsure(branch, func() { w.use(v, instr, in) })
	}
}

// around reports whether the function can go on behind a block without having run it: a way
// leads from the start around it to where one leads from there, too. What returns early
// does not.
func (w *walker) around(b *ssa.BasicBlock) bool {
	if w.start == nil || b == w.start {
		return false
	}
	way := [2]*ssa.BasicBlock{w.start, b}
	skips, ok := w.p.skips[way]
	if !ok {
		after := reached(b.Succs, w.start, b)
		for past := range reached(w.start.Succs, w.start, b) {
			skips = skips || after[past]
		}
		w.p.skips[way] = skips
	}
	return skips
}

// reached returns the blocks to which ways lead from some, themselves included, that pass
// by neither of two others.
func reached(from []*ssa.BasicBlock, not, nor *ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	seen := map[*ssa.BasicBlock]bool{}
	for pending := slices.Clone(from); len(pending) > 0; {
		b := pending[len(pending)-1]
		if pending = pending[:len(pending)-1]; !seen[b] && b != not && b != nor {
			seen[b] = true
			pending = append(pending, b.Succs...)
		}
	}
	return seen
}

// leaves notes a use beyond the round of the loop.
func (w *walker) leaves(instr ssa.Instruction) {
	if _, ok := instr.(*ssa.DebugRef); ok || w.loop == nil || instr.Parent() != w.fn {
		return
	}
	phi, ok := instr.(*ssa.Phi)
	w.fate.Beyond = w.fate.Beyond || !w.loop.Has(instr.Block()) || ok && phi.Block() == w.loop.Head
}

// use follows one use of v.
func (w *walker) use(v ssa.Value, instr ssa.Instruction, in where) {
	switch i := instr.(type) {
	case *ssa.Phi, *ssa.ChangeType, *ssa.ChangeInterface, *ssa.SliceToArrayPointer, *ssa.MultiConvert, *ssa.MakeInterface,
		*ssa.TypeAssert, *ssa.Range:
		w.value(instr.(ssa.Value), in)
	case *ssa.FieldAddr:
		w.part(i, i.X.Type(), i.Field, in)
	case *ssa.Field:
		w.part(i, i.X.Type(), i.Field, in)
	case *ssa.Convert:
		if !copies(i) {
			w.value(i, in)
		}
	case *ssa.Slice:
		if i.X == v {
			w.value(i, in)
		}
	case *ssa.IndexAddr:
		if i.X == v {
			w.value(i, in)
		}
	case *ssa.Lookup:
		if i.X == v {
			w.taken(i, in)
		}
	case *ssa.Next:
		w.taken(i, in)
	case *ssa.Index, *ssa.Extract:
		w.element(instr.(ssa.Value), in)
	case *ssa.UnOp:
		if i.Op == token.MUL || i.Op == token.ARROW {
			w.taken(i, in)
		}
	case *ssa.Store, *ssa.MapUpdate, *ssa.Send, *ssa.Select:
		w.put(v, instr, in)
	case *ssa.Return:
		w.returned(v, i, in)
	case *ssa.Panic:
		w.hold(Holder{Kind: Callee, Name: "who recovers the panic", Index: -1, Pos: i.Pos()})
	case *ssa.MakeClosure:
		w.value(i, where{})
		fn := i.Fn.(*ssa.Function)
		for n, b := range i.Bindings {
			if b == v && n < len(fn.FreeVars) {
				w.value(fn.FreeVars[n], in)
			}
		}
	case ssa.CallInstruction:
		w.call(v, i, in)
	}
}

// put follows v into the memory, map or channel that an instruction puts it
// into.
func (w *walker) put(v ssa.Value, instr ssa.Instruction, in where) {
	switch i := instr.(type) {
	case *ssa.Store:
		if i.Val == v {
			w.store(v, i.Addr, Field, i.Pos(), in)
		}
	case *ssa.MapUpdate:
		if i.Key == v || i.Value == v {
			w.store(v, i.Map, MapEntry, i.Pos(), in)
		}
	case *ssa.Send:
		if i.X == v {
			w.store(v, i.Chan, Chan, i.Pos(), in)
		}
	case *ssa.Select:
		for _, s := range i.States {
			if s.Send == v {
				w.store(v, s.Chan, Chan, s.Pos, in)
			} else if s.Chan == v {
				w.taken(i, in) // whose parts are what it receives
			}
		}
	}
}

// taken follows what is read out of a container.
func (w *walker) taken(v ssa.Value, in where) {
	if in.depth != itself && refers(v.Type(), 0) {
		w.value(v, in.below())
	}
}

// part follows field number n of a struct, or of what points to one, where the memory
// may lie behind it.
func (w *walker) part(v ssa.Value, of types.Type, n int, in where) {
	st, names := structOf(of), w.p.fieldNames(of)
	_, pointer := of.Underlying().(*types.Pointer)
	open := false
	switch {
	case st == nil || in.depth == itself && pointer: // a part of the memory itself
	case in.field == names[n]:
		in.field = ""
	default:
		others := 0
		for i := range st.NumFields() {
			if in.field != "" && names[i] == in.field {
				return
			}
			if i != n && refers(st.Field(i).Type(), 0) {
				others++
			}
		}
		open = others > 0
	}
	if st == nil || in.depth == itself || refers(st.Field(n).Type(), 0) {
		w.unsure(open, func() { w.value(v, in) })
	}
}

// element follows a part of a tuple or an array, where that may refer to memory.
func (w *walker) element(e ssa.Value, in where) {
	if refers(e.Type(), 0) {
		w.value(e, in)
	}
}

// returned notes a result; that of a function literal goes to its callers.
func (w *walker) returned(v ssa.Value, ret *ssa.Return, in where) {
	fn := ret.Parent()
	for n, r := range ret.Results {
		if r != v {
			continue
		}
		if fn == w.fn {
			w.hold(Holder{Kind: Result, Index: n, Pos: ret.Pos(), Name: fn.Name(), Inside: in.depth != itself})
			continue
		}
		if fn.Parent() == nil && fn.Synthetic == "" { // a literal put it into a variable of the function around
			w.hold(Holder{Kind: Result, Outer: fn.Name(), Index: n, Pos: ret.Pos(), Inside: in.depth != itself})
			continue
		}
		calls := w.p.callers[fn]
		for _, c := range calls {
			w.result(c, n, in)
		}
		if len(calls) == 0 {
			w.hold(Holder{Kind: Callee, Name: "the caller of the function literal", Index: -1, Pos: ret.Pos()})
		}
	}
}

// result follows result number n of a call.
func (w *walker) result(c ssa.CallInstruction, n int, in where) {
	v := c.Value()
	if v == nil {
		return
	}
	if _, ok := v.Type().(*types.Tuple); !ok {
		w.value(v, in)
		return
	}
	for _, instr := range *v.Referrers() {
		if e, ok := instr.(*ssa.Extract); ok && e.Index == n && refers(e.Type(), 0) {
			w.leaves(e)
			w.value(e, in)
		}
	}
}
