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
}

// String says who holds, in words that follow "kept by".
func (h Holder) String() string {
	switch h.Kind {
	case Result:
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
	if !slices.ContainsFunc(f.Holders, same) {
		f.Holders = append(f.Holders, h)
	}
}

// Fate follows what v refers to: through variables, calls and containers.
func (p *Package) Fate(v ssa.Value) *Fate { return p.fate(v, false, v != nil && isText(v.Type())) }

// FateInside follows memory that can be reached from v; text says that it may be
// of a text.
func (p *Package) FateInside(v ssa.Value, text bool) *Fate { return p.fate(v, true, text) }

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

// fate follows v, and where inside is set what can be reached from it, too.
func (p *Package) fate(v ssa.Value, inside, text bool) *Fate {
	if v == nil {
		return &Fate{}
	}
	w := &walker{p: p, fn: v.Parent(), text: text, seen: map[step]bool{}, stored: map[step]bool{}}
	if i, ok := v.(ssa.Instruction); ok && i.Block() != nil {
		w.loop = p.Loop(i.Block())
	}
	w.value(v, inside)
	return &w.fate
}

// FateIn follows memory that a callee put into what arg refers to: into the
// field, map or element that h names.
func (p *Package) FateIn(arg ssa.Value, h Holder) *Fate {
	w := &walker{p: p, fn: arg.Parent(), text: h.Text, seen: map[step]bool{}, stored: map[step]bool{}}
	h.Index = -1
	w.storeIn(arg, h)
	return &w.fate
}

// A walker follows one value.
type walker struct {
	p      *Package
	fn     *ssa.Function // where it begins
	loop   *Loop         // the innermost one there, or nil
	text   bool          // strings may refer to it
	seen   map[step]bool
	stored map[step]bool
	fate   Fate
}

// A step is a value that is followed; inside, it is a container of the one that
// is asked for, and what is taken out of it is followed as well.
type step struct {
	v      ssa.Value
	inside bool
}

func (w *walker) value(v ssa.Value, inside bool) {
	if v == nil || !w.text && isString(v.Type()) || w.seen[step{v, true}] || w.seen[step{v, inside}] {
		return
	}
	w.seen[step{v, inside}] = true
	refs := v.Referrers()
	if refs == nil {
		if g, ok := v.(*ssa.Global); ok {
			w.hold(Holder{Kind: Global, Name: g.Name(), Index: -1, Pos: g.Pos()})
		}
		return
	}
	for _, instr := range *refs {
		w.leaves(instr)
		w.use(v, instr, inside)
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
func (w *walker) use(v ssa.Value, instr ssa.Instruction, inside bool) {
	switch i := instr.(type) {
	case *ssa.Phi, *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MakeInterface, *ssa.SliceToArrayPointer, *ssa.MultiConvert,
		*ssa.FieldAddr, *ssa.Field:
		w.value(instr.(ssa.Value), inside)
	case *ssa.Convert:
		if !copies(i) {
			w.value(i, inside)
		}
	case *ssa.Slice:
		if i.X == v {
			w.value(i, inside)
		}
	case *ssa.IndexAddr:
		if i.X == v {
			w.value(i, inside)
		}
	case *ssa.Index, *ssa.Lookup, *ssa.Next, *ssa.Range:
		w.taken(instr.(ssa.Value), inside)
	case *ssa.Extract:
		w.extracted(i, inside)
	case *ssa.TypeAssert:
		w.value(i, inside)
	case *ssa.UnOp:
		if i.Op == token.MUL || i.Op == token.ARROW {
			w.taken(i, inside)
		}
	case *ssa.Store, *ssa.MapUpdate, *ssa.Send, *ssa.Select:
		w.put(v, instr, inside)
	case *ssa.Return:
		w.returned(v, i, inside)
	case *ssa.MakeClosure:
		w.value(i, true)
		fn := i.Fn.(*ssa.Function)
		for n, b := range i.Bindings {
			if b == v && n < len(fn.FreeVars) {
				w.value(fn.FreeVars[n], inside)
			}
		}
	case ssa.CallInstruction:
		w.call(v, i, inside)
	}
}

// put follows v into the memory, map or channel that an instruction puts it
// into, or notes that it is written to.
func (w *walker) put(v ssa.Value, instr ssa.Instruction, inside bool) {
	switch i := instr.(type) {
	case *ssa.Store:
		if i.Addr == v {
			w.fate.Writes = true
		}
		if i.Val == v {
			w.store(v, i.Addr, Field, i.Pos())
		}
	case *ssa.MapUpdate:
		if i.Map == v {
			w.fate.Writes = true
		}
		if i.Key == v || i.Value == v {
			w.store(v, i.Map, MapEntry, i.Pos())
		}
	case *ssa.Send:
		if i.X == v {
			w.store(v, i.Chan, Chan, i.Pos())
		}
	case *ssa.Select:
		for _, s := range i.States {
			if s.Send == v {
				w.store(v, s.Chan, Chan, s.Pos)
			} else if s.Chan == v && inside {
				w.value(i, true) // whose parts are what it receives
			}
		}
	}
}

// taken follows what is read out of a container.
func (w *walker) taken(v ssa.Value, inside bool) {
	if inside && refers(v.Type(), 0) {
		w.value(v, true)
	}
}

// extracted follows a part of a tuple: of a call, only what may refer to memory.
func (w *walker) extracted(e *ssa.Extract, inside bool) {
	if refers(e.Type(), 0) {
		w.value(e, inside)
	}
}

// returned notes a result; that of a function literal goes to its callers.
func (w *walker) returned(v ssa.Value, ret *ssa.Return, inside bool) {
	fn := ret.Parent()
	for n, r := range ret.Results {
		if r != v {
			continue
		}
		if fn == w.fn {
			w.hold(Holder{Kind: Result, Index: n, Pos: ret.Pos(), Name: fn.Name(), Inside: inside})
			continue
		}
		if fn.Parent() == nil { // a literal put it into a variable of the function around
			w.hold(Holder{Kind: Field, Index: -1, Pos: ret.Pos(), Name: "what " + fn.Name() + " returns"})
			continue
		}
		calls := w.p.callers[fn]
		for _, c := range calls {
			w.result(c, n, true)
		}
		if len(calls) == 0 {
			w.hold(Holder{Kind: Callee, Name: "the caller of the function literal", Index: -1, Pos: ret.Pos()})
		}
	}
}

// result follows result number n of a call.
func (w *walker) result(c ssa.CallInstruction, n int, inside bool) {
	v := c.Value()
	if v == nil {
		return
	}
	if _, ok := v.Type().(*types.Tuple); !ok {
		w.value(v, inside)
		return
	}
	for _, instr := range *v.Referrers() {
		if e, ok := instr.(*ssa.Extract); ok && e.Index == n && refers(e.Type(), 0) {
			w.leaves(e)
			w.value(e, inside)
		}
	}
}

// store follows v into what addr belongs to.
func (w *walker) store(v, addr ssa.Value, kind HolderKind, pos token.Pos) {
	w.storeIn(addr, Holder{Kind: kind, Index: -1, Pos: pos, AsText: isString(v.Type())})
}

// storeIn goes back from an address to what it is a part of. h is the holder, if
// that outlives the function; its name is the last field on the way.
func (w *walker) storeIn(v ssa.Value, h Holder) {
	if w.stored[step{v, h.Name == ""}] {
		return
	}
	w.stored[step{v, h.Name == ""}] = true
	switch x := v.(type) {
	case *ssa.FieldAddr:
		w.storeIn(x.X, h.named(fieldName(x.X.Type(), x.Field)))
	case *ssa.Field:
		w.storeIn(x.X, h.named(fieldName(x.X.Type(), x.Field)))
	case *ssa.IndexAddr:
		w.storeIn(x.X, h)
	case *ssa.Slice:
		w.storeIn(x.X, h)
	case *ssa.Lookup:
		w.storeIn(x.X, h)
	case *ssa.Extract:
		w.storeIn(x.Tuple, h)
	case *ssa.ChangeType:
		w.storeIn(x.X, h)
	case *ssa.ChangeInterface:
		w.storeIn(x.X, h)
	case *ssa.MakeInterface:
		w.storeIn(x.X, h)
	case *ssa.TypeAssert:
		w.storeIn(x.X, h)
	case *ssa.Convert:
		w.storeIn(x.X, h)
	case *ssa.Next:
		w.storeIn(x.Iter, h)
	case *ssa.Range:
		w.storeIn(x.X, h)
	case *ssa.Phi:
		for _, e := range x.Edges {
			w.storeIn(e, h)
		}
	case *ssa.UnOp:
		w.storeIn(x.X, h)
		if x.Op == token.MUL {
			for _, val := range storedTo(x.X) {
				w.storeIn(val, h)
			}
		}
	case *ssa.Global:
		if x.Name() == "dummy" && x.Pkg.Pkg.Path() == "reflect" {
			return // which only tells the compiler that something may escape: nothing is stored
		}
		w.hold(Holder{Kind: Global, Name: x.Name(), Index: -1, Pos: h.Pos, AsText: h.AsText})
	case *ssa.Parameter:
		if i := slices.Index(x.Parent().Params, x); i >= 0 && x.Parent() == w.fn {
			h.Index = i
		}
		w.hold(h.named("what parameter " + x.Name() + " refers to"))
	case *ssa.FreeVar:
		w.captured(x, h)
	case *ssa.Call:
		w.storeInCall(x, h)
	case *ssa.Const, *ssa.Builtin, *ssa.Function:
	default: // made here
		w.contained(v)
	}
}

// contained follows the local container that memory was put into.
func (w *walker) contained(v ssa.Value) {
	if i, ok := v.(ssa.Instruction); ok {
		w.leaves(i)
	}
	w.value(v, true)
}

// captured follows memory into a variable of the function around.
func (w *walker) captured(v *ssa.FreeVar, h Holder) {
	made := w.p.closures[v.Parent()]
	n := slices.Index(v.Parent().FreeVars, v)
	if made == nil || n < 0 || n >= len(made.Bindings) {
		w.hold(h.named("variable " + v.Name() + " of the function around"))
		return
	}
	w.fate.Beyond = true
	w.storeIn(made.Bindings[n], h)
}

// storeInCall follows memory into what a call returned.
func (w *walker) storeInCall(c *ssa.Call, h Holder) {
	if b, ok := c.Call.Value.(*ssa.Builtin); ok {
		if b.Name() == "append" {
			w.storeIn(c.Call.Args[0], h)
		}
		w.contained(c)
		return
	}
	sum := w.p.callee(c.Common())
	if sum == nil || len(sum.Results) == 0 {
		w.hold(Holder{Kind: Callee, Name: calleeName(c.Common()), Index: -1, Pos: h.Pos})
		w.contained(c)
		return
	}
	all := Origin{}
	for _, r := range sum.Results {
		all.merge(r)
	}
	if all.Shared {
		w.hold(h.named("what " + calleeName(c.Common()) + " returned"))
	}
	if all.Unknown {
		w.hold(Holder{Kind: Callee, Name: calleeName(c.Common()), Index: -1, Pos: h.Pos})
	}
	if all.Fresh || all.Unknown {
		w.contained(c)
	}
	for n, arg := range c.Call.Args {
		if all.Params&(1<<n) != 0 && n < 32 {
			w.storeIn(arg, h)
		}
	}
}

func (h Holder) named(name string) Holder {
	if h.Name == "" {
		h.Name = name
	}
	return h
}

// storedTo returns what is assigned to a local variable or its fields.
func storedTo(addr ssa.Value) (vals []ssa.Value) {
	for {
		switch x := addr.(type) {
		case *ssa.FieldAddr:
			addr = x.X
			continue
		case *ssa.IndexAddr:
			addr = x.X
			continue
		}
		break
	}
	alloc, ok := addr.(*ssa.Alloc)
	if !ok {
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
			case *ssa.FieldAddr:
				visit(i)
			case *ssa.IndexAddr:
				if i.X == v {
					visit(i)
				}
			}
		}
	}
	visit(alloc)
	return vals
}

// fieldName is Type.field of a field of t, or of what t points to.
func fieldName(t types.Type, field int) string {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		t = ptr.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok || field >= st.NumFields() {
		return typeName(t)
	}
	return strings.TrimPrefix(typeName(t)+"."+st.Field(field).Name(), ".")
}

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
