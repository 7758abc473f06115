package life

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A HolderKind is what keeps memory beyond the function that made it.
type HolderKind int

const (
	Result    HolderKind = iota // the caller: it is returned
	Field                       // a field or element of what the function did not make
	MapEntry                    // a map of the same kind
	Global                      // a package variable
	Chan                        // the receiver of a channel
	Goroutine                   // another goroutine
	Callee                      // what is called: nothing says that it does not
)

// A Holder is one that keeps memory.
type Holder struct {
	Kind  HolderKind
	Name  string    // Type.field, the variable or the callee
	Index int       // of the result; of the parameter whose memory has the field, or -1
	Pos   token.Pos // the place that decides

	Inside bool // of a result: what it refers to refers to the memory
	Text   bool // the memory may be of a text
	AsText bool // a string holds it: nothing else than a text
	Object bool // of a callee: it is given no text or bytes, but an object, which it may well keep

	Failed bool // of a result: an error that holds the memory, which there is only where something fails

	in   within // where the memory is, as seen from the result or the parameter
	deep bool   // it was put into what that refers to
}

// String says who holds, in words that follow "kept by".
func (h Holder) String() string {
	switch h.Kind {
	case Result:
		if h.Failed {
			return "the caller, in an error"
		}
		return "the caller, as a result"
	case Field, MapEntry:
		if strings.HasPrefix(h.Name, "what ") || strings.HasPrefix(h.Name, "variable ") {
			return h.Name
		}
		return map[HolderKind]string{Field: "field ", MapEntry: "map "}[h.Kind] + h.Name
	case Global:
		return "package variable " + h.Name
	case Chan:
		return "the receiver of a channel, " + h.Name
	case Goroutine:
		return "goroutine " + h.Name
	}
	return h.Name + ", if that keeps it"
}

// A Fate is what becomes of memory after it was made.
type Fate struct {
	Holders []Holder // none: it dies with the call of its function
	Writes  bool     // it is written to after it was made
	Beyond  bool     // it is used beyond the round of the innermost loop that made it
}

// Dies reports whether nobody keeps the memory when its function returns.
func (f *Fate) Dies() bool { return len(f.Holders) == 0 }

// DiesUnless returns the callees that decide whether the memory dies: nil where
// somebody else keeps it, or where it dies for certain.
func (f *Fate) DiesUnless() []Holder {
	for _, h := range f.Holders {
		if h.Kind != Callee {
			return nil
		}
	}
	return f.Holders
}

// Has reports whether there is a holder of a kind.
func (f *Fate) Has(kind HolderKind) bool {
	return slices.ContainsFunc(f.Holders, func(h Holder) bool { return h.Kind == kind })
}

// hold notes a holder, but for strings that cannot refer to the memory.
func (w *walker) hold(h Holder) {
	if h.Text = w.text; h.Text || !h.AsText {
		w.fate.add(h)
	}
}

func (f *Fate) add(h Holder) {
	same := func(g Holder) bool {
		return g.Kind == h.Kind && g.Name == h.Name && g.Index == h.Index && g.Inside == h.Inside &&
			g.AsText == h.AsText && g.Object == h.Object
	}
	if i := slices.IndexFunc(f.Holders, same); i < 0 {
		f.Holders = append(f.Holders, h)
	} else if f.Holders[i].deep = f.Holders[i].deep || h.deep; f.Holders[i].in != h.in {
		f.Holders[i].in = within{}
	}
}

// Fate follows what v refers to: through variables, calls and containers.
func (p *Package) Fate(v ssa.Value) *Fate {
	return p.fate(v, within{depth: itself}, v != nil && isText(v.Type()))
}

// FateInside follows memory that can be reached from v; text says that it may be
// of a text.
func (p *Package) FateInside(v ssa.Value, text bool) *Fate { return p.fate(v, within{}, text) }

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
		return p.Fate(v)
	}
	return p.fate(v, h.in, h.Text)
}

// fate follows v, or what can be reached from it.
func (p *Package) fate(v ssa.Value, in within, text bool) *Fate {
	if v == nil {
		return &Fate{}
	}
	w := &walker{p: p, fn: v.Parent(), text: text, seen: map[step]bool{}, stored: map[back]bool{}}
	if i, ok := v.(ssa.Instruction); ok && i.Block() != nil {
		w.loop = p.Loop(i.Block())
	}
	w.value(v, in)
	return &w.fate
}

// FateIn follows memory that a callee put into what arg refers to: into the
// field, map or element that h names.
func (p *Package) FateIn(arg ssa.Value, h Holder) *Fate {
	w := &walker{p: p, fn: arg.Parent(), text: h.Text, seen: map[step]bool{}, stored: map[back]bool{}}
	h.Index = -1
	w.fate.Beyond = true // the container may be older than the round
	w.storeIn(arg, h, h.in)
	return &w.fate
}

// FateOf follows the memory that v refers to, such as what a map grows by, wherever v
// comes from: h is its holder.
func (p *Package) FateOf(v ssa.Value, h Holder) *Fate {
	h.in.depth = itself
	return p.FateIn(v, h)
}

// A walker follows one value.
type walker struct {
	p      *Package
	fn     *ssa.Function // where it begins
	loop   *Loop         // the innermost one there, or nil
	text   bool          // strings may refer to it
	seen   map[step]bool
	stored map[back]bool
	fate   Fate
}

// A depth is how many references lead from a value to the memory.
type depth int

const (
	deeper depth = iota // any number: what is taken out of the value is followed as well
	itself              // one: the value is a reference to it
	next                // two: the value refers to what holds such a reference
)

// Within says where the memory is, as seen from a value that is followed.
type within struct {
	depth depth
	field *types.Var // behind this field alone, of the structs that have it; nil for anywhere
}

// above is where the memory is as seen from what refers to the value.
func (in within) above() within {
	if in.depth == itself {
		return within{next, in.field}
	}
	return within{deeper, in.field}
}

// below is where the memory is as seen from what the value refers to.
func (in within) below() within {
	if in.depth == next {
		in.depth = itself
	}
	return in
}

// A step is a value that is followed.
type step struct {
	v  ssa.Value
	in within
}

func (w *walker) value(v ssa.Value, in within) {
	if v == nil || !w.text && isString(v.Type()) || w.seen[step{v, within{}}] || w.seen[step{v, in}] {
		return
	}
	w.seen[step{v, in}] = true
	refs := v.Referrers()
	if refs == nil {
		if g, ok := v.(*ssa.Global); ok {
			w.hold(Holder{Kind: Global, Name: g.Name(), Index: -1, Pos: g.Pos()})
		}
		return
	}
	for _, instr := range *refs {
		w.leaves(instr)
		w.use(v, instr, in)
	}
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
func (w *walker) use(v ssa.Value, instr ssa.Instruction, in within) {
	switch i := instr.(type) {
	case *ssa.Phi, *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MakeInterface, *ssa.SliceToArrayPointer, *ssa.MultiConvert:
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
	case *ssa.Range, *ssa.TypeAssert:
		w.value(instr.(ssa.Value), in)
	case *ssa.UnOp:
		if i.Op == token.MUL || i.Op == token.ARROW {
			w.taken(i, in)
		}
	case *ssa.Store, *ssa.MapUpdate, *ssa.Send, *ssa.Select:
		w.put(v, instr, in)
	case *ssa.Return:
		w.returned(v, i, in)
	case *ssa.MakeClosure:
		w.value(i, within{})
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
func (w *walker) put(v ssa.Value, instr ssa.Instruction, in within) {
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
func (w *walker) taken(v ssa.Value, in within) {
	if in.depth != itself && refers(v.Type(), 0) {
		w.value(v, in.below())
	}
}

// part follows field number n of a struct, or of what points to one, where the memory
// may lie behind it.
func (w *walker) part(v ssa.Value, of types.Type, n int, in within) {
	if st := structOf(of); in.field != nil && st != nil {
		has := func(i int) bool { return st.Field(i).Origin() == in.field.Origin() }
		for i := range st.NumFields() {
			if has(i) && i != n {
				return
			}
		}
		if has(n) {
			in.field = nil
		}
	}
	w.value(v, in)
}

// element follows a part of a tuple or an array, where that may refer to memory.
func (w *walker) element(e ssa.Value, in within) {
	if refers(e.Type(), 0) {
		w.value(e, in)
	}
}

// returned notes a result; that of a function literal goes to its callers.
func (w *walker) returned(v ssa.Value, ret *ssa.Return, in within) {
	fn := ret.Parent()
	for n, r := range ret.Results {
		if r != v {
			continue
		}
		if fn == w.fn {
			w.hold(Holder{Kind: Result, Index: n, Pos: ret.Pos(), Name: fn.Name(), Inside: in.depth != itself,
				Failed: in.depth != itself && isError(fn.Signature.Results().At(n).Type()), in: in})
			continue
		}
		if fn.Parent() == nil { // a literal put it into a variable of the function around
			w.hold(Holder{Kind: Field, Index: -1, Pos: ret.Pos(), Name: "what " + fn.Name() + " returns"})
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
func (w *walker) result(c ssa.CallInstruction, n int, in within) {
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

// fieldName is Type.field of a field of t, or of what t points to.
func fieldName(t types.Type, field int) string {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		t = ptr.Elem()
	}
	st := structOf(t)
	if st == nil || field >= st.NumFields() {
		return typeName(t)
	}
	return strings.TrimPrefix(typeName(t)+"."+st.Field(field).Name(), ".")
}

// structOf is the struct that t is or points to, or nil.
func structOf(t types.Type) *types.Struct {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		t = ptr.Elem()
	}
	st, _ := t.Underlying().(*types.Struct)
	return st
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// typeName is the name of t or of what it refers to, without packages.
func typeName(t types.Type) string {
	name := types.TypeString(t, func(*types.Package) string { return "" })
	if strings.Contains(name, "struct{") {
		return ""
	}
	return strings.TrimPrefix(name, "*")
}

// calleeName names what is called, as the code has it.
func calleeName(c *ssa.CallCommon) string {
	if c.IsInvoke() {
		return typeName(c.Value.Type()) + "." + c.Method.Name()
	}
	if fn := static(c); fn != nil {
		if obj, ok := fn.Object().(*types.Func); ok {
			return funcName(obj)
		}
		return fn.Name()
	}
	switch v := c.Value.(type) {
	case *ssa.Parameter:
		return v.Name()
	case *ssa.FreeVar:
		return v.Name()
	case *ssa.UnOp:
		if f, ok := v.X.(*ssa.FieldAddr); ok {
			return fieldName(f.X.Type(), f.Field)
		}
	}
	return fmt.Sprintf("a %s", typeName(c.Value.Type()))
}

// funcName is pkg.F or pkg.Type.M.
func funcName(fn *types.Func) string {
	name := fn.Name()
	if recv := fn.Signature().Recv(); recv != nil {
		name = typeName(recv.Type()) + "." + name
	}
	if fn.Pkg() == nil {
		return name
	}
	return fn.Pkg().Name() + "." + name
}
