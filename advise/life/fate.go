package life

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Fate says what becomes of memory after its allocation.
type Fate struct {
	Holders []Holder // none: it dies when its function returns
	Started bool     // it is passed to a goroutine
	Beyond  bool     // it is used after the round of the innermost loop that made it
}

// Dies reports whether nobody keeps the memory when its function returns.
func (f *Fate) Dies() bool { return len(f.Holders) == 0 }

// Has reports whether there is a holder of the given kind. Results of outer functions do not count.
func (f *Fate) Has(kind HolderKind) bool {
	return slices.ContainsFunc(f.Holders, func(h Holder) bool { return h.Kind == kind && h.Outer == "" })
}

// hold adds a holder, unless it is a string that cannot refer to the memory.
func (w *walker) hold(h Holder) {
	h.Perhaps = h.Perhaps || w.perhaps || h.Kind == Callee
	if w.text || !h.AsText {
		w.fate.add(h)
	}
}

// unsure calls follow; if open is set, the holders that it finds are not certain.
func (w *walker) unsure(open bool, follow func()) {
	before := w.perhaps
	w.perhaps = before || open
	follow()
	w.perhaps = before
}

// add adds a holder once. A certain holder replaces an equal one that is not certain.
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

// Fate follows what v refers to through variables, calls and containers.
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

// fate follows the memory that lies at in as seen from v. Strings may refer to it if text is set.
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

// FateOf follows the memory that the container v grows by, such as that of a map, whose
// entries may live longer. h is the holder if the container outlives the function.
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
	fn      *ssa.Function   // where the walk starts
	loop    *Loop           // the innermost loop around the start, or nil
	start   *ssa.BasicBlock // the block that makes the value, or nil if unknown
	text    bool            // strings may refer to the memory
	seen    map[step]bool   // values followed, and whether the memory was certain to be there
	stored  map[step]bool
	perhaps bool // the memory may not be where the walk is
	fate    Fate
}

func (p *Package) walker(fn *ssa.Function, text bool) *walker {
	return &walker{p: p, fn: fn, text: text, seen: map[step]bool{}, stored: map[step]bool{}}
}

// A depth is the number of references from a value to the memory.
type depth int8

const (
	deeper  depth = iota // any number: what is read from the value is followed as well
	itself               // one: the value is a reference to it
	deepest = itself + 3
)

// A where locates memory as seen from a value that leads to it.
type where struct {
	depth depth
	field string // the field that leads there; "" if unknown
}

// above locates the memory as seen from what refers to the value.
func (in where) above() where {
	if in.depth == deepest {
		in.depth = deeper
	} else if in.depth != deeper {
		in.depth++
	}
	return in
}

// below locates the memory as seen from what the value refers to.
func (in where) below() where {
	if in.depth > itself {
		in.depth--
	}
	return in
}

// behind locates the memory as seen from a struct that has the value in a field.
func (in where) behind(field string) where {
	if in.field != "" { // the inner field is forgotten
		in.depth = deeper
	}
	in.field = field
	return in
}

// A step is a value to follow and where the memory is.
type step struct {
	v  ssa.Value
	in where
}

// visit reports whether to follow a step: the first time, and again when the memory
// becomes certain to be there. A long walk no longer distinguishes fields.
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

// around reports whether the function can pass block b without running it: a path from
// the start around b meets a path from b. An early return does not count.
func (w *walker) around(b *ssa.BasicBlock) bool {
	if w.start == nil || b == w.start {
		return false
	}
	return w.p.skips.get([2]*ssa.BasicBlock{w.start, b}, func() (skips bool) {
		after := reached(b.Succs, w.start, b)
		for past := range reached(w.start.Succs, w.start, b) {
			skips = skips || after[past]
		}
		return skips
	})
}

// reached returns the blocks that can be reached from the given ones, themselves
// included, on paths that avoid two others.
func reached(from []*ssa.BasicBlock, not, nor *ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	seen := map[*ssa.BasicBlock]bool{not: true, nor: true}
	spread(from, seen, func(b *ssa.BasicBlock) []*ssa.BasicBlock { return b.Succs })
	delete(seen, not)
	delete(seen, nor)
	return seen
}

// leaves records whether instr is a use beyond the round of the loop.
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
	case *ssa.Slice, *ssa.IndexAddr:
		if part := instr.(ssa.Value); operand(part) == v {
			w.value(part, in)
		}
	case *ssa.Lookup:
		if i.X == v {
			w.taken(i, in)
		}
	case *ssa.Next:
		w.taken(i, in)
	case *ssa.Index, *ssa.Extract:
		if part := instr.(ssa.Value); refers(part.Type(), 0) {
			w.value(part, in)
		}
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
				w.taken(i, in) // its parts are what it receives
			}
		}
	}
}

// taken follows v, which was read from a container.
func (w *walker) taken(v ssa.Value, in where) {
	if in.depth != itself && refers(v.Type(), 0) {
		w.value(v, in.below())
	}
}

// part follows v, field n of a struct or of what points to one, if the memory may lie
// behind that field.
func (w *walker) part(v ssa.Value, of types.Type, n int, in where) {
	st, names := structOf(of), w.p.fieldNames(of)
	_, pointer := of.Underlying().(*types.Pointer)
	open := false
	switch {
	case st == nil || in.depth == itself && pointer: // a part of the memory itself
	case in.field == names[n]:
		in.field = ""
	default:
		for i := range st.NumFields() {
			if in.field != "" && names[i] == in.field {
				return
			}
			open = open || i != n && refers(st.Field(i).Type(), 0)
		}
	}
	if st == nil || in.depth == itself || refers(st.Field(n).Type(), 0) {
		w.unsure(open, func() { w.value(v, in) })
	}
}

// returned records a result; the result of a function literal is followed to its callers.
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
		if fn.Parent() == nil && fn.Synthetic == "" { // a literal stored it in a variable of the outer function
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
	switch v := ResultOf(c, n).(type) {
	case nil:
	case *ssa.Extract:
		if refers(v.Type(), 0) {
			w.leaves(v)
			w.value(v, in)
		}
	default:
		w.value(v, in)
	}
}
