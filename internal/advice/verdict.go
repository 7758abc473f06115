package advice

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// A subject is one expression that allocates, and all that is known of it.
type subject struct {
	x      *explainer
	c      *cause
	p      *life.Package
	s      *life.Site // nil for a call whose expression is not known
	t      *site
	e      *Explained
	life   lifetime
	growth life.Growth

	// who keeps it by the code, where benchmarks saw it die; nil for nobody
	elsewhere *lifetime

	grows bool // the remedy saves all but the first allocation
	part  bool // the remedy saves objects, not their bytes
	idle  bool // what is said of the call leaves the memory as it is
}

// rules say what can be done about each kind. A rule names a remedy only where it has
// checked what the remedy needs.
var rules = map[life.Kind]func(*subject){
	life.Literal: (*subject).object, life.Variable: (*subject).object, life.Make: (*subject).slice,
	life.Append: (*subject).appended, life.Map: (*subject).mapped, life.MapGrow: (*subject).mapped,
	life.Concat: (*subject).joined, life.Convert: (*subject).converted, life.Box: (*subject).boxed,
	life.Closure: (*subject).closure, life.MethodValue: (*subject).closure, life.Variadic: (*subject).list,
	life.Channel: func(*subject) {}, life.Go: (*subject).goroutine, life.Defer: (*subject).deferred,
	life.Call: (*subject).call,
}

// judge gives the subject its verdict.
func (k *subject) judge() {
	k.outgrown()
	if k.s == nil || k.c.callee != "" {
		k.call()
	} else {
		rules[k.s.Kind](k)
	}
	if k.e.Verdict == "" {
		k.stays()
	}
	k.found()
}

// outgrown leaves out what dies of memory that grows, where some of it is kept: these are
// arrays that became too small, and whoever keeps the last one keeps what they held.
func (k *subject) outgrown() {
	dies := func(l lifetime) bool { return l.kind == died }
	if k.s == nil || !slices.Contains([]life.Kind{life.Append, life.MapGrow, life.Concat}, k.s.Kind) || !k.life.mixed {
		return
	}
	all := slices.DeleteFunc(append([]lifetime{k.life}, k.life.rest...), dies)
	if len(all) == 0 {
		return
	}
	k.life = all[0]
	k.life.mixed, k.life.rest = false, all[1:]
}

// dies reports whether nobody keeps the memory: neither was it seen, nor does the code
// have a path on which somebody does.
func (k *subject) dies() bool {
	return k.life.kind == died && !k.life.mixed && k.elsewhere == nil
}

// again reports whether one instance could be used again and again: it dies, and no two
// live at a time. What dies further up is a result that each caller drops.
func (k *subject) again() bool {
	return k.dies() && !k.life.many && !recursive(k.p, k.s.Func) && (k.life.up == 0 || len(k.life.callers) > 0)
}

// change sets a remedy.
func (k *subject) change(name, text string, args ...any) {
	k.e.Verdict, k.e.Check, k.e.Remedy = Remedy, name, fmt.Sprintf(text, args...)
}

// reshape sets a remedy that callers, or other packages, have to follow, too.
func (k *subject) reshape(name, text string, args ...any) {
	k.change(name, text, args...)
	k.e.Verdict = Reshape
}

// noRemedy begins the texts about memory that dies: that nothing is known is no proof that
// nothing can be done.
const noRemedy = "no remedy is known here: "

// stays says why nothing that is known removes it.
func (k *subject) stays() {
	k.e.Verdict, k.e.Decides = Inherent, k.life.where
	l := &k.life
	if l.kind == died && l.mixed {
		for i := range l.rest {
			if l.rest[i].kind != died {
				l = &l.rest[i]
				break
			}
		}
	}
	switch {
	case l.kind == kept:
		k.e.Remedy = l.held()
	case l.kind == escaped:
		k.e.Remedy = l.result()
	case l.kind == unproved:
		k.e.Remedy = "no remedy is known to be safe: " + l.open
	case k.elsewhere != nil:
		k.e.Remedy, k.e.Decides = k.elsewhere.path(), k.elsewhere.where
		if of := k.askers(); of != "" {
			k.e.Verdict = Reshape
			k.e.Remedy = fmt.Sprintf("%s, which get all of it here, only read it: give these a form of %s that makes none; %s",
				of, k.elsewhere.in, k.elsewhere.path())
		}
	case l.up > 0 && len(l.callers) > 0:
		k.e.Remedy = noRemedy + l.result()
	case l.many || k.s != nil && recursive(k.p, k.s.Func):
		k.e.Remedy = noRemedy + "several live at a time while " + l.in + " runs"
	default:
		k.e.Remedy = noRemedy + "it lives while " + l.in + " runs"
	}
}

// askers names the callers that all ways of the profile lead through, where these only read
// what others keep; "" else.
func (k *subject) askers() string {
	var names []string
	for _, w := range k.c.ways() {
		if k.elsewhere.kind != escaped || len(w.trail()) < 2 || w.trail()[1].file == "" {
			return ""
		}
		at := k.x.spell(w.trail()[1].place)
		i := slices.IndexFunc(k.elsewhere.callers, func(e ending) bool { return e.at == at && e.drops })
		if i < 0 {
			return ""
		}
		if name := k.elsewhere.callers[i].caller; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// least is the size in bytes of what is worth keeping for the next time.
const least = 64

// reuse sets the remedy for memory of which one instance is enough: thing is its name.
func (k *subject) reuse(name, thing, reset string) {
	switch {
	case !k.again() || k.life.up > 0 || k.e.Size < least: // a caller may hold two results at a time
	case k.life.round:
		k.change(name, "make %s once, before the loop, and %s in each round", thing, reset)
	default:
		k.change(name, "take %s from a sync.Pool, and %s in each call", thing, reset)
	}
}

// typeOf is the name of what the site makes.
func (k *subject) typeOf() string { return k.named(k.s.Type) }

// named is a type as the package writes it.
func (k *subject) named(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == k.p.Pkg {
			return ""
		}
		return p.Name()
	})
}

func (k *subject) object() {
	if holder, field := partOf(k.p, k.s); holder != "" {
		k.part = true
		k.change("optionalpointer", "hold the %s by value in field %s.%s: both are made together, so one allocation does",
			k.typeOf(), holder, field)
		return
	}
	thing := "one " + k.typeOf()
	if k.s.Kind == life.Variable {
		thing = "variable " + k.e.What
	}
	if k.life.up > 0 && k.dies() && k.valued() {
		k.reshape(sizedName(k.s), "%s: return a value instead of a pointer", k.life.result())
		return
	}
	// what its fields refer to may have been handed out, so it is not used again
	k.reuse(sizedName(k.s), thing, "set it to its zero value")
}

// valued reports whether the object could be returned as a value: a small struct, whose
// pointer no caller compares.
func (k *subject) valued() bool {
	const most = 128 // bytes
	_, is := k.s.Type.Underlying().(*types.Struct)
	compares := slices.ContainsFunc(k.life.callers, func(e ending) bool { return e.compares })
	results := k.s.Func.Signature.Results()
	for i := range results.Len() {
		ptr, ok := results.At(i).Type().(*types.Pointer)
		if ok && types.Identical(ptr.Elem(), k.s.Type) {
			return is && !compares && len(k.life.callers) > 0 && k.s.Size <= most
		}
	}
	return false
}

// sizedName is the check that is about an object of this size.
func sizedName(s *life.Site) string {
	if _, ok := s.Value.Type().Underlying().(*types.Slice); ok {
		return "bufferpercall"
	}
	if st, ok := s.Type.Underlying().(*types.Struct); ok && st.NumFields() == 1 {
		return "pointerwrapper"
	}
	return ""
}

func (k *subject) slice() {
	k.reuse("bufferpercall", "the slice", "cut it to [:0]")
}

func (k *subject) appended() {
	g := k.growth
	if call, ok := k.s.Node.(*ast.CallExpr); ok && call.Ellipsis.IsValid() {
		g.Rounds = nil // which do not tell how many elements they add
	}
	switch {
	case k.regrows(g) && (g.Begin != nil || g.Field == "" && k.local()):
		k.capacity("make(" + k.named(k.s.Value.Type()) + ", 0, " + k.length() + ")")
	case !k.ofCaller():
		k.slice()
	}
}

// regrows reports whether the rounds of a loop outgrow what it begins with, so that a
// capacity saves a part of the memory that counts: the sizes of the profile say how much.
// How many rounds there are has to cost nothing to ask.
func (k *subject) regrows(g life.Growth) bool {
	const least = 0.1
	again := k.t.regrown()
	return g.Loop != nil && g.Rounds != nil && plain(k.p.Info, g.Rounds) && !g.Sized &&
		float64(again.Bytes) >= least*float64(k.t.Bytes) && float64(again.Objects) >= least*float64(k.t.Objects)
}

// capacity sets the remedy of what grows in a loop whose rounds are known.
func (k *subject) capacity(with string) {
	k.grows = true
	k.change("prealloc", "make it with its size before the loop: %s", with)
}

// length is the expression of how often a loop runs.
func (k *subject) length() string {
	over := spelled(k.p, k.growth.Rounds)
	if t := k.p.Info.TypeOf(k.growth.Rounds); t != nil && !check.IsInteger(t) {
		return "len(" + over + ")"
	}
	return over
}

// local reports whether what append grows begins empty in this function.
func (k *subject) local() bool {
	o := k.p.Origin(k.s.Instr.(*ssa.Call).Call.Args[0])
	return o.Params == 0 && !o.Shared && !o.Unknown
}

// ofCaller reports whether what append grows is the caller's.
func (k *subject) ofCaller() bool {
	return k.p.Origin(k.s.Instr.(*ssa.Call).Call.Args[0]).Params != 0
}

func (k *subject) mapped() {
	if k.s.Kind == life.MapGrow && k.regrows(k.growth) && k.growth.Begin != nil {
		k.capacity("make(" + k.typeOf() + ", " + k.length() + ")")
		return
	}
	k.reuse("", "the map", "clear it")
}

func (k *subject) joined() {
	if k.growth.Loop != nil && !k.readInRounds(k.s.Value, map[ssa.Value]bool{}) {
		k.grows = true
		k.change("concatloop", "write the pieces to a strings.Builder and take its String after the loop")
	}
}

// readInRounds reports whether the loop that makes a text longer does anything else with it.
func (k *subject) readInRounds(text ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[text] {
		return false
	}
	seen[text] = true
	for _, use := range *text.Referrers() {
		if !k.growth.Loop.Has(use.Block()) {
			continue
		}
		longer := false
		switch use := use.(type) {
		case *ssa.DebugRef:
			continue
		case *ssa.Phi:
			longer = true
		case *ssa.BinOp:
			longer = use.Op == token.ADD && use.X == text
		}
		if !longer || k.readInRounds(use.(ssa.Value), seen) {
			return true
		}
	}
	return false
}

func (k *subject) converted() {
	name, other := "stringconv", "the bytes themselves"
	switch from := k.s.Value.(*ssa.Convert).X.Type(); {
	case check.IsBytes(k.s.Value.Type()):
		name, other = "byteconv", "the string itself"
	case !check.IsBytes(from): // of runes, which no text and no bytes stand for
		return
	}
	switch to, own := k.consumer(); {
	case to != "" && !own && k.life.kind == died:
		k.idle = true
		k.e.Verdict, k.e.Check, k.e.Remedy = Outside, name, to+" is given a copy"
	case to != "" && k.dies() && k.read():
		k.reshape(name, "%s only reads the copy: let it take %s", to, other)
	case to != "" || !k.again() || k.life.up > 0 || k.stored():
	case !check.IsString(k.s.Value.Type()) && k.p.Fate(k.s.Value).Writes:
		k.reuse("bufferpercall", "a slice for the copy", "append the text to its [:0]")
	default:
		k.change(name, "use %s: the copy is only read", other)
	}
}

func (k *subject) boxed() {
	k.e.Check = "boxing"
	to, own := k.consumer()
	switch _, basic := k.s.Type.Underlying().(*types.Basic); {
	case formats(to) && basic:
		k.change("sprintf", "%s boxes %s: %s", to, k.e.What, typed(k.s.Type))
	case to != "" && !own:
		k.e.Verdict, k.idle = Outside, true
		k.e.Remedy = fmt.Sprintf("%s takes an interface: %s is copied to the heap to be one", to, k.e.What)
	case to != "" && k.dies():
		k.reshape("boxing", "%s takes an interface: with a parameter of type %s nothing is boxed", to, k.typeOf())
	}
}

// formats reports whether a function writes text for any value, and nothing else.
func formats(name string) bool {
	return strings.HasPrefix(name, "fmt.Sprint") || strings.HasPrefix(name, "fmt.Fprint") ||
		strings.HasPrefix(name, "fmt.Append")
}

// typed says how to write a value of basic type t without boxing it.
func typed(t types.Type) string {
	if check.IsString(t) {
		return "write the text itself"
	}
	return "append it to a []byte with strconv, or write it typed"
}

// consumer is the function that the value is an argument of, or "", and whether it is of
// the packages, so that it can be changed; of several, one that cannot.
func (k *subject) consumer() (name string, own bool) {
	for _, c := range consumers(k.s.Value, map[ssa.Value]bool{}) {
		switch fn := c.StaticCallee(); {
		case fn != nil:
			name, own = shortName(fn.String()), fn.Pkg == nil || k.x.has(fn.Pkg.Pkg)
		case c.IsInvoke():
			name, own = k.named(c.Value.Type())+"."+c.Method.Name(), k.x.has(c.Method.Pkg())
		default:
			name, own = "the function that is called", true
		}
		if !own {
			return name, false
		}
	}
	return name, own
}

// consumers are the calls that a value is given to, itself or in the list of last arguments.
func consumers(v ssa.Value, seen map[ssa.Value]bool) (calls []*ssa.CallCommon) {
	if v == nil || v.Referrers() == nil || seen[v] {
		return nil
	}
	seen[v] = true
	for _, use := range *v.Referrers() {
		switch i := use.(type) {
		case ssa.CallInstruction:
			if _, builtin := i.Common().Value.(*ssa.Builtin); !builtin && slices.Contains(i.Common().Args, v) {
				calls = append(calls, i.Common())
			}
		case *ssa.Phi, *ssa.Slice, *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MakeInterface:
			calls = append(calls, consumers(use.(ssa.Value), seen)...)
		case *ssa.Store:
			at, element := i.Addr.(*ssa.IndexAddr)
			if element && i.Val == v {
				if list, ok := at.X.(*ssa.Alloc); ok {
					calls = append(calls, consumers(list, seen)...)
				}
			}
		}
	}
	return calls
}

// read reports whether each function that gets the value looks at its bytes and length alone,
// which a text has as well as a []byte.
func (k *subject) read() bool {
	for _, c := range consumers(k.s.Value, map[ssa.Value]bool{}) {
		fn := c.StaticCallee()
		if fn == nil || len(fn.Blocks) == 0 {
			return false
		}
		for i, arg := range c.Args {
			if arg == k.s.Value && !looked(fn.Params[i]) {
				return false
			}
		}
	}
	return true
}

// looked reports whether a text or []byte is only indexed and measured.
func looked(v ssa.Value) bool {
	return !slices.ContainsFunc(*v.Referrers(), func(use ssa.Instruction) bool {
		switch i := use.(type) {
		case *ssa.Lookup, *ssa.Index, *ssa.DebugRef:
			return false
		case *ssa.IndexAddr:
			return slices.ContainsFunc(*i.Referrers(), func(of ssa.Instruction) bool { _, load := of.(*ssa.UnOp); return !load })
		case *ssa.Call:
			b, ok := i.Call.Value.(*ssa.Builtin)
			return !ok || b.Name() != "len"
		}
		return true
	})
}

// stored reports whether a value is put into memory, a map or a channel.
func (k *subject) stored() bool {
	return slices.ContainsFunc(*k.s.Value.Referrers(), func(use ssa.Instruction) bool {
		switch i := use.(type) {
		case *ssa.MapUpdate, *ssa.Send, *ssa.Select:
			return true
		case *ssa.Store:
			return i.Val == k.s.Value
		}
		return false
	})
}

func (k *subject) closure() {
	k.e.Check = "closurecapture"
	for _, use := range *k.s.Value.Referrers() {
		if start, ok := use.(*ssa.Go); ok && start.Call.Value == k.s.Value {
			k.goroutine()
			return
		}
	}
}

func (k *subject) list() {
	switch to, own := k.consumer(); {
	case to == "" || k.life.kind != died:
	case own && k.dies():
		k.reshape("boxing", "%s takes a list of any: a function with typed parameters needs none", to)
	case !own:
		k.e.Verdict, k.e.Check, k.idle = Outside, "boxing", true
		k.e.Remedy = to + " takes a list of its last arguments"
	}
}

func (k *subject) goroutine() {
	k.reshape("closurecapture", "a goroutine each time: workers that wait on a channel need none")
}

func (k *subject) deferred() {
	k.change("deferloop", "move the body of the loop into a function of its own, or call at the end of the round")
}

// saves is what the remedy saves at most.
func (k *subject) saves() Totals {
	t := k.t.Totals
	switch {
	case k.e.Verdict == Inherent, k.e.Verdict == Outside && k.idle:
		return Totals{}
	case k.grows:
		return k.t.regrown()
	case k.part:
		t.Bytes = 0
	}
	return t
}

// found takes up what a check found at the line: its fix, and for calls its
// words, which know the callee. What the lifetime disproves is left.
func (k *subject) found() {
	reuse := []string{"bufferpercall", "stringconv", "byteconv", "resultslice"}
	for _, f := range k.x.findings[k.c.at] {
		about := f.Check == k.e.Check || k.e.Verdict == Outside && (k.s == nil || k.s.Kind == life.Call)
		if f.Severity == check.Trap.String() || !about || slices.Contains(reuse, f.Check) && !k.dies() {
			continue
		}
		k.e.Fix = k.e.Fix || f.Fix
		if k.e.Verdict == Outside {
			k.e.Verdict, k.e.Check, k.e.Remedy, k.idle = Remedy, f.Check, f.Message, false
			if f.Caveat == check.Interface {
				k.e.Verdict = Reshape
			}
		}
	}
}
