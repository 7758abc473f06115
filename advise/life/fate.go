package life

import (
	"go/token"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Fate is what becomes of memory after it was made.
type Fate struct {
	Holders []Holder // none: it dies with the call of its function
	Writes  bool     // it is written to after it was made
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
	switch h.Doubts = slices.Clone(w.doubts); {
	case h.Kind == Callee:
		asks := w.p.Doubt(does(h.Name), h.Pos)
		if !slices.ContainsFunc(h.Doubts, func(d Doubt) bool { return d.What == asks.What }) { // which leads there
			h.Doubts = append(h.Doubts, asks)
		}
	case len(h.Doubts) == 0 && len(w.branches) > 0:
		h.Doubts = []Doubt{w.p.Doubt("whether that line runs", w.at)}
		if h.branch = len(w.branches) == 1; h.branch {
			w.ends[w.branches[0]] = true
		}
	}
	if h.Text = w.text; h.Text || !h.AsText {
		w.fate.add(h)
	}
}

// does asks about a callee.
func does(callee string) string { return "what " + callee + " does with it" }

// Doubt is a doubt at a place of the package.
func (p *Package) Doubt(what string, pos token.Pos) Doubt {
	at := p.Fset.Position(pos)
	return Doubt{what, at.Filename, at.Line}
}

// perhaps follows memory to where it may be, or may not: a doubt decides.
func (w *walker) perhaps(open bool, d Doubt, follow func()) {
	if open && !slices.Contains(w.doubts, d) {
		w.doubts = append(w.doubts, d)
		defer func() { w.doubts = w.doubts[:len(w.doubts)-1] }()
	}
	follow()
}

// add adds a holder. One that needs fewer doubts takes the place of the same one.
func (f *Fate) add(h Holder) {
	const most = 64 // of the same ones with other doubts
	for i := range f.Holders {
		g := &f.Holders[i]
		if g.Kind != h.Kind || g.Name != h.Name || g.Index != h.Index || g.Outer != h.Outer || g.Inside != h.Inside ||
			g.AsText != h.AsText || (g.given == nil) != (h.given == nil) || g.given != nil && *g.given != *h.given {
			continue
		}
		less, more := within(h.Doubts, g.Doubts), within(g.Doubts, h.Doubts)
		switch {
		case less && more || len(f.Holders) > most && (len(g.Doubts) == 0) == (len(h.Doubts) == 0):
			if g.deep = g.deep || h.deep; g.in != h.in {
				g.in = Where{}
			}
			return
		case less:
			*g = h
			return
		case more:
			return
		}
	}
	f.Holders = append(f.Holders, h)
}

// Fate follows what v refers to: through variables, calls and containers.
func (p *Package) Fate(v ssa.Value) *Fate {
	return p.fate(v, Where{Depth: itself}, v != nil && isText(v.Type()))
}

// isText reports whether a string may share the memory that a value of type t
// refers to.
func isText(t types.Type) bool {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		if arr, ok := ptr.Elem().Underlying().(*types.Array); ok {
			t = types.NewSlice(arr.Elem())
		}
	}
	return isString(t) || isBytes(t)
}

// FateFrom follows the result of a call whose callee holds memory as h says.
func (p *Package) FateFrom(v ssa.Value, h Holder) *Fate {
	if !h.Inside {
		h.in.Depth = itself
	}
	return p.fate(v, h.in, h.Text || !h.Inside && isText(v.Type()))
}

// fate follows v, or what can be reached from it.
func (p *Package) fate(v ssa.Value, in Where, text bool) *Fate {
	if v == nil {
		return &Fate{}
	}
	w := p.walker(v.Parent(), text)
	_, w.asked = v.(*ssa.Parameter)
	if i, ok := v.(ssa.Instruction); ok && i.Block() != nil {
		w.loop, w.start = p.Loop(i.Block()), i.Block()
	} else if w.fn != nil && len(w.fn.Blocks) > 0 {
		w.start = w.fn.Blocks[0]
	}
	w.value(v, in)
	if !around(w.start, w.ends) {
		for i := range w.fate.Holders {
			if h := &w.fate.Holders[i]; h.branch { // one of them holds it
				h.Doubts = nil
			}
		}
	}
	return &w.fate
}

// FateIn follows memory that a callee put into what arg refers to: into the
// field, map or element that h names.
func (p *Package) FateIn(arg ssa.Value, h Holder) *Fate {
	w := p.walker(arg.Parent(), h.Text)
	h.Index = -1
	w.fate.Beyond = true // the container may be older than the round
	w.storeIn(arg, h, h.in)
	return &w.fate
}

// FateOf follows the memory that v refers to, such as what a map grows by, wherever v
// comes from: h is its holder.
func (p *Package) FateOf(v ssa.Value, h Holder) *Fate {
	h.in.Depth = itself
	return p.FateIn(v, h)
}

// A walker follows one value.
type walker struct {
	p      *Package
	fn     *ssa.Function      // where it begins
	loop   *Loop              // the innermost one there, or nil
	text   bool               // strings may refer to it
	asked  bool               // it begins with a parameter: callers ask what becomes of that
	seen   map[step][][]Doubt // the doubts with which it was followed
	stored map[back][][]Doubt
	doubts []Doubt // that lead to where memory is followed, from the value; none where that is proved
	at     token.Pos
	fate   Fate

	start    *ssa.BasicBlock          // where the value is made; nil where that is not known
	branches []*ssa.BasicBlock        // that are followed now, and need not run
	ends     map[*ssa.BasicBlock]bool // of these, those where somebody holds the memory
}

func (p *Package) walker(fn *ssa.Function, text bool) *walker {
	return &walker{p: p, fn: fn, text: text, seen: map[step][][]Doubt{}, stored: map[back][][]Doubt{},
		ends: map[*ssa.BasicBlock]bool{}}
}

// A depth is how many references lead from a value to the memory.
type depth int8

const (
	deeper  depth = iota // any number: what is taken out of the value is followed as well
	itself               // one: the value is a reference to it
	deepest = itself + 3
)

// A Where says where memory is, as seen from a value that leads to it.
type Where struct {
	Depth depth
	Path  [2]string // the fields that lead there, as far as they are known, the first first
	Dyn   string    // the type of the value in the interface that leads there; "" where it is not known
}

// above is where the memory is as seen from what refers to the value.
func (in Where) above() Where {
	if in.Depth == deepest {
		in.Depth = deeper
	} else if in.Depth != deeper {
		in.Depth++
	}
	return in
}

// below is where the memory is as seen from what the value refers to.
func (in Where) below() Where {
	if in.Depth > itself {
		in.Depth--
	}
	return in
}

// behind is where the memory is as seen from a struct that has the value in a field.
func (in Where) behind(field string) Where {
	if in.Path[1] != "" { // which is lost
		in.Depth = deeper
	}
	in.Path = [2]string{field, in.Path[0]}
	return in
}

// A step is a value that is followed.
type step struct {
	v  ssa.Value
	in Where
}

// visit reports whether a step is to be followed: the first time, and again with doubts
// that do not include those of a time before. A walk that takes long no longer tells
// fields apart.
func (w *walker) visit(v ssa.Value, in *Where) bool {
	const many = 4000
	if len(w.seen) > many {
		*in = Where{}
	}
	if !w.sure() && *in != (Where{}) && !w.fewer(w.seen[step{v, Where{}}]) {
		return false
	}
	return visit(w, w.seen, step{v, *in})
}

func visit[K comparable](w *walker, seen map[K][][]Doubt, at K) bool {
	if !w.fewer(seen[at]) {
		return false
	}
	if w.sure() {
		seen[at] = [][]Doubt{{}}
	} else if len(w.doubts) == 0 {
		seen[at] = [][]Doubt{{{}}}
	} else {
		seen[at] = append(seen[at], slices.Clone(w.doubts))
	}
	return true
}

// fewer reports whether the doubts that lead here do not include those of a time before.
// That a line need not run is the least of them. While summaries are worked out, which
// name one, all doubts are the same.
func (w *walker) fewer(before [][]Doubt) bool {
	most := 4 // times
	if !w.p.done {
		most = 1
	}
	if w.sure() {
		return len(before) == 0 || len(before[0]) > 0
	}
	return len(before) < most && !slices.ContainsFunc(before, func(ds []Doubt) bool {
		return len(ds) == 0 || ds[0] == Doubt{} || within(ds, w.doubts)
	})
}

// sure reports whether the memory is for certain where it is followed to.
func (w *walker) sure() bool { return len(w.doubts) == 0 && len(w.branches) == 0 }

func (w *walker) value(v ssa.Value, in Where) {
	if v == nil || !w.text && isString(v.Type()) || !w.visit(v, &in) {
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
		b := instr.Block()
		if _, phi := instr.(*ssa.Phi); phi || instr.Parent() != w.fn || !w.around(b) || slices.Contains(w.branches, b) {
			w.use(v, instr, in)
			continue
		}
		if w.branches = append(w.branches, b); len(w.branches) == 1 && len(w.doubts) == 0 {
			w.at = position(instr)
		}
		w.use(v, instr, in)
		w.branches = w.branches[:len(w.branches)-1]
	}
}

// position is where an instruction is, or the next one of its block that has a place.
func position(instr ssa.Instruction) token.Pos {
	all := instr.Block().Instrs
	for _, next := range all[slices.Index(all, instr):] {
		if next.Pos().IsValid() {
			return next.Pos()
		}
	}
	return token.NoPos
}

// around reports whether the function can go on behind a block without having run it.
func (w *walker) around(b *ssa.BasicBlock) bool {
	way := [2]*ssa.BasicBlock{w.start, b}
	skips, ok := w.p.skips[way]
	if !ok {
		skips = around(w.start, map[*ssa.BasicBlock]bool{b: true})
		w.p.skips[way] = skips
	}
	return skips
}

// around reports whether a way from a block leads around all ends, to where one leads from
// these, too. What returns early does not.
func around(from *ssa.BasicBlock, ends map[*ssa.BasicBlock]bool) bool {
	if from == nil || len(ends) == 0 || ends[from] {
		return false
	}
	stop := maps.Clone(ends)
	stop[from] = true
	var behind []*ssa.BasicBlock
	for b := range ends {
		behind = append(behind, b.Succs...)
	}
	after := reached(stop, behind...)
	for b := range reached(stop, from.Succs...) {
		if after[b] {
			return true
		}
	}
	return false
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
func (w *walker) use(v ssa.Value, instr ssa.Instruction, in Where) {
	switch i := instr.(type) {
	case *ssa.Phi, *ssa.ChangeType, *ssa.ChangeInterface, *ssa.SliceToArrayPointer, *ssa.MultiConvert:
		w.value(instr.(ssa.Value), in)
	case *ssa.MakeInterface:
		in.Dyn = dynamic(i.X.Type())
		w.value(i, in)
	case *ssa.TypeAssert:
		if !types.IsInterface(i.AssertedType) {
			if is := dynamic(i.AssertedType); is != "" && in.Dyn != "" && is != in.Dyn {
				return
			}
			in.Dyn = ""
		}
		w.value(i, in)
	case *ssa.FieldAddr:
		w.part(i, i.X.Type(), i.Field, in, i.Pos())
	case *ssa.Field:
		w.part(i, i.X.Type(), i.Field, in, i.Pos())
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
	case *ssa.Range:
		w.value(i, in)
	case *ssa.UnOp:
		if i.Op == token.MUL || i.Op == token.ARROW {
			w.taken(i, in)
		}
	case *ssa.Store, *ssa.MapUpdate, *ssa.Send, *ssa.Select:
		w.put(v, instr, in)
	case *ssa.Return:
		w.returned(v, i, in)
	case *ssa.MakeClosure:
		w.value(i, Where{})
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
// into, or notes that it is written to.
func (w *walker) put(v ssa.Value, instr ssa.Instruction, in Where) {
	switch i := instr.(type) {
	case *ssa.Store:
		if i.Addr == v {
			w.fate.Writes = true
		}
		if i.Val == v {
			w.store(v, i.Addr, Field, i.Pos(), in)
		}
	case *ssa.MapUpdate:
		if i.Map == v {
			w.fate.Writes = true
		}
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
func (w *walker) taken(v ssa.Value, in Where) {
	if in.Depth != itself && refers(v.Type(), 0) {
		w.value(v, in.below())
	}
}

// part follows field number n of a struct, or of what points to one, where the memory
// may lie behind it.
func (w *walker) part(v ssa.Value, of types.Type, n int, in Where, pos token.Pos) {
	st, name := structOf(of), fieldName(of, n)
	_, pointer := of.Underlying().(*types.Pointer)
	open := false
	switch {
	case st == nil || in.Depth == itself && pointer: // a part of the memory itself
	case in.Path[0] == name:
		in.Path = [2]string{in.Path[1]}
	default:
		others := 0
		for i := range st.NumFields() {
			if in.Path[0] != "" && fieldName(of, i) == in.Path[0] {
				return
			}
			if i != n && refers(st.Field(i).Type(), 0) {
				others++
			}
		}
		open = others > 0
	}
	if st == nil || in.Depth == itself || refers(st.Field(n).Type(), 0) {
		w.perhaps(open, w.p.Doubt("whether field "+name+" leads to it", pos), func() { w.value(v, in) })
	}
}

// dynamic names the type of a value in an interface, "" where that depends on a type
// parameter.
func dynamic(t types.Type) string {
	switch u := types.Unalias(t).(type) {
	case *types.Pointer:
		if name := dynamic(u.Elem()); name != "" {
			return "*" + name
		}
		return ""
	case *types.Named:
		if u.TypeArgs().Len() > 0 || u.TypeParams().Len() > 0 {
			return ""
		}
		return types.TypeString(u, nil)
	case *types.Basic:
		return u.Name()
	}
	return ""
}

// element follows a part of a tuple or an array, where that may refer to memory.
func (w *walker) element(e ssa.Value, in Where) {
	if refers(e.Type(), 0) {
		w.value(e, in)
	}
}

// returned notes a result; that of a function literal goes to its callers.
func (w *walker) returned(v ssa.Value, ret *ssa.Return, in Where) {
	fn := ret.Parent()
	for n, r := range ret.Results {
		if r != v {
			continue
		}
		if fn == w.fn {
			w.hold(Holder{Kind: Result, Index: n, Pos: ret.Pos(), Name: fn.Name(), Inside: in.Depth != itself,
				Failed: in.Depth != itself && isError(fn.Signature.Results().At(n).Type()), in: in})
			continue
		}
		if fn.Parent() == nil && fn.Synthetic == "" { // a literal put it into a variable of the function around
			w.hold(Holder{Kind: Result, Outer: fn.Name(), Index: n, Pos: ret.Pos(), Inside: in.Depth != itself, in: in})
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
func (w *walker) result(c ssa.CallInstruction, n int, in Where) {
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
