package advice

import (
	"fmt"
	"go/ast"
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

	// what the code alone says, where a benchmark saw the memory die and the code does not
	// exclude that somebody keeps it; nil else
	doubtful *lifetime

	grows bool // the remedy saves all but the first allocation
	part  bool // the remedy saves objects, not their bytes
	idle  bool // what is said of the call leaves the memory as it is
	tiny  bool // too small for a pool: callers have to hold it
}

// rules say what can be done about each kind.
var rules = map[life.Kind]func(*subject){
	life.Literal: (*subject).object, life.Variable: (*subject).object, life.Make: (*subject).slice,
	life.Append: (*subject).appended, life.Map: (*subject).mapped, life.MapGrow: (*subject).mapped,
	life.Concat: (*subject).joined, life.Convert: (*subject).converted, life.Box: (*subject).boxed,
	life.Closure: (*subject).closure, life.MethodValue: (*subject).closure, life.Variadic: (*subject).list,
	life.Channel: (*subject).channel, life.Go: (*subject).goroutine, life.Defer: (*subject).deferred,
	life.Call: (*subject).call,
}

// judge gives the subject its verdict: by the lifetime of most of its bytes, with what
// holds of those that somebody keeps, or that nobody does, other than these.
func (k *subject) judge() {
	k.outgrown()
	first := k.as(k.life)
	*k.e, k.life, k.grows, k.part, k.idle, k.tiny = *first.e, first.life, first.grows, first.part, first.idle, first.tiny
	for _, l := range first.life.rest {
		if l.class() == first.life.class() {
			continue
		}
		if other := k.as(l); other.e.Remedy != k.e.Remedy {
			k.e.Remedy = fmt.Sprintf("of %.0f %%: %s; of %.0f %%: %s", 100*first.life.part, k.e.Remedy,
				100*l.part, other.e.Remedy)
		}
		break
	}
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

// as is the subject, judged as if its memory lived that long. Where others decide whether
// somebody keeps it, and the verdict depends on that, it says both.
func (k *subject) as(l lifetime) *subject {
	c, e := *k, *k.e
	c.e, c.life, e.Verdict, e.Condition = &e, l, "", ""
	if l.kind != unproved {
		c.rule()
		return &c
	}
	held, free := l, l
	held.kind, free.kind = escaped, died
	if l.returned {
		free.up++
		free.in = "a caller of " + l.in
	}
	needed, drops := k.as(held), k.as(free)
	if needed.e.Verdict == drops.e.Verdict && needed.e.Remedy == drops.e.Remedy {
		return needed
	}
	e.Verdict, e.Check, e.Decides = Open, drops.e.Check, l.where
	e.Remedy = fmt.Sprintf("needed if %s; otherwise: %s", l.needed, drops.e.Remedy)
	return &c
}

// rule judges a subject whose lifetime is known.
func (k *subject) rule() {
	if k.s == nil || k.c.callee != "" {
		k.call()
	} else {
		rules[k.s.Kind](k)
	}
	if k.e.Verdict == "" {
		k.stays()
	}
	if k.e.Verdict == Remedy || k.e.Verdict == Reshape {
		k.conditions()
	}
	k.found()
}

// change sets a remedy: of this function, or of its callers too where memory
// dies further up.
func (k *subject) change(name, text string, args ...any) {
	k.e.Verdict, k.e.Check = Remedy, name
	if k.life.up > 0 || k.tiny {
		k.e.Verdict = Reshape
	}
	k.e.Remedy = fmt.Sprintf(text, args...)
}

// conditions adds what is not proved, and where one sees it.
func (k *subject) conditions() {
	if k.e.Decides == "" {
		k.e.Decides = k.life.where
	}
	switch {
	case k.grows || k.part:
	case k.doubtful != nil:
		k.e.Condition, k.e.Decides = "unless code that no benchmark runs keeps it: "+k.doubtful.String(), k.doubtful.where
	case k.life.mixed:
		k.e.Condition = "only where nobody keeps it"
	case k.life.up > 0 && k.life.beside != "":
		k.e.Condition = "unless another caller of " + k.life.beside + ", or code that no benchmark runs, keeps it"
	case k.life.up > 0 && k.e.Condition == "":
		k.e.Condition = "unless code that no benchmark runs keeps it"
	}
}

// stays says why nothing removes it: somebody keeps what is made.
func (k *subject) stays() {
	k.e.Verdict, k.e.Decides = Inherent, k.life.where
	switch k.life.kind {
	case kept:
		k.e.Remedy = "needed: " + k.life.held()
	case escaped:
		k.e.Remedy = fmt.Sprintf("needed: it is what %s returns to its callers", k.life.in)
	case died:
		k.e.Remedy = "needed while " + k.life.in + " runs"
	}
}

// dies reports whether the memory dies in a function of the module, so that it could be
// used again.
func (k *subject) dies() bool { return k.life.kind == died }

// again says where memory that dies can be kept for the next time: thing is its
// name.
func (k *subject) again(thing, reset string) string {
	const small = 64 // bytes, that a pool costs as much as
	switch recv := k.receiver(); {
	case k.life.many && k.life.kind == died:
		return fmt.Sprintf("several live until %s returns: keep them together, and use them again in its next call",
			k.life.in)
	case recv == "" && k.life.up == 0 && !k.life.round && k.e.Size > 0 && k.e.Size <= small:
		k.tiny = true
		return fmt.Sprintf("too small for a pool: let the callers of %s pass %s in, or hold it in a type that they keep",
			k.life.in, thing)
	case k.life.up > 0:
		return fmt.Sprintf("nobody needs %s after %s: let %s pass it in and use it again", thing, k.life.in, k.life.in)
	case k.life.round:
		return fmt.Sprintf("make %s once, before the loop, and %s in each round", thing, reset)
	case recv != "":
		return fmt.Sprintf("take %s from a sync.Pool, or a field of %s where no two calls overlap, and %s in each call",
			thing, recv, reset)
	}
	return fmt.Sprintf("take %s from a sync.Pool, or let the caller pass it in where no two calls overlap, and %s in "+
		"each call", thing, reset)
}

// receiver is the type of the method around, if that has a pointer receiver.
func (k *subject) receiver() string {
	fn := k.s.Func
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	recv := fn.Signature.Recv()
	if recv == nil {
		return ""
	}
	if ptr, ok := recv.Type().(*types.Pointer); ok {
		return types.TypeString(ptr.Elem(), func(*types.Package) string { return "" })
	}
	return ""
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
	if holder, field, open := k.p.PartOf(k.s); holder != "" {
		k.part = true
		k.change("optionalpointer", "hold the %s by value in field %s.%s: both are made together, so one allocation does",
			k.typeOf(), holder, field)
		k.e.Condition, k.life.up = "if no other value shares it and the field is not compared with nil", 0
		if open {
			k.e.Verdict = Reshape
		}
		return
	}
	if !k.dies() {
		return
	}
	thing := "one " + k.typeOf()
	if k.s.Kind == life.Variable {
		thing = "variable " + k.e.What
	}
	if k.s.Kind == life.Variable && k.doubtful != nil {
		k.change("", "only code that no benchmark runs needs it on the heap: copy it to a variable of its own there")
		return
	}
	// what its fields refer to may have been handed out, so it is not used again
	k.change(sizedName(k.s), "%s", k.again(thing, "set it to its zero value"))
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
	switch {
	case k.dies() && k.life.up > 0:
		k.change("resultslice", "%s", k.again("the slice", "cut it to [:0]"))
	case k.dies():
		k.change("bufferpercall", "%s", k.again("the slice", "cut it to [:0]"))
	}
}

func (k *subject) appended() {
	g := k.growth
	if call, ok := k.s.Node.(*ast.CallExpr); ok && call.Ellipsis.IsValid() {
		g.Rounds = nil // which do not tell how many elements they add
	}
	switch {
	case k.regrows() && (g.Begin != nil || g.Field == "" && k.local()):
		k.capacity("make(" + k.named(k.s.Value.Type()) + ", 0, " + k.length() + ")")
	case k.dies() && k.life.up > 0:
		k.change("resultslice", "%s", k.again("the slice", "cut it to [:0]"))
	case k.dies() && !k.ofCaller():
		k.change("bufferpercall", "%s", k.again("the slice", "cut it to [:0]"))
	case g.Field != "" && (k.life.kind == kept || k.life.kind == escaped):
		k.stays()
		k.e.Remedy += "; where its length is known before, make it with that"
	case g.Field != "":
		k.e.Remedy = fmt.Sprintf("%s grows with what it holds; where it begins again, cut it to [:0] instead of nil", g.Field)
		k.e.Verdict = Inherent
	}
}

// regrows reports whether the rounds of a loop outgrow what it begins with, so that a
// capacity saves a part of the memory that counts: the sizes of the profile say how much.
func (k *subject) regrows() bool {
	const least = 0.1
	g, again := k.growth, k.t.regrown()
	return g.Loop != nil && g.Rounds != nil && !g.Sized && float64(again.Bytes) >= least*float64(k.t.Bytes) &&
		float64(again.Objects) >= least*float64(k.t.Objects)
}

// capacity sets the remedy of what grows in a loop whose rounds are known.
func (k *subject) capacity(with string) {
	k.life.up = 0
	k.grows = true
	k.change("prealloc", "make it with its size before the loop: %s", with)
	if !k.growth.Every {
		k.e.Condition = "if most rounds add to it"
		k.e.Decides = fmt.Sprintf("%s:%d", k.e.File, k.e.Line)
	}
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
	g := k.growth
	switch {
	case k.s.Kind == life.MapGrow && k.regrows() && g.Begin != nil:
		k.capacity("make(" + k.typeOf() + ", " + k.length() + ")")
	case k.dies():
		k.change("", "%s", k.again("the map", "clear it"))
	}
}

func (k *subject) joined() {
	switch {
	case k.growth.Loop != nil:
		k.grows, k.life.up = true, 0
		k.change("concatloop", "write the pieces to a strings.Builder and take its String after the loop")
	case k.dies() && k.life.up == 0:
		k.change("concatloop", "%s", k.again("a []byte for the text", "append the pieces to its [:0]"))
	case k.dies():
		k.change("", "%s takes the text and drops it: let it give the []byte to append to", k.life.in)
	}
}

func (k *subject) converted() {
	if !k.dies() {
		return
	}
	name, other := "stringconv", "the bytes themselves"
	if check.IsBytes(k.s.Value.Type()) {
		name, other = "byteconv", "the string itself"
	}
	switch to, own := k.consumer(); {
	case to != "" && own:
		k.change(name, "let %s take %s, if it only reads the copy", to, other)
		k.e.Verdict = Reshape
		return
	case to != "":
		k.idle = true
		k.e.Verdict, k.e.Check, k.e.Remedy = Outside, name, to+" is given a copy"
		return
	case !check.IsString(k.s.Value.Type()) && k.p.Fate(k.s.Value).Writes:
		k.change("bufferpercall", "%s", k.again("a slice for the copy", "append the text to its [:0]"))
		return
	case k.stored():
		return
	}
	if k.life.up > 0 {
		k.change(name, "nobody needs the copy after %s: hand on %s, so that the callers read it", k.life.in, other)
		return
	}
	k.change(name, "use %s: the copy is only read", other)
}

func (k *subject) boxed() {
	to, own := k.consumer()
	switch {
	case strings.HasPrefix(to, "fmt.") || strings.HasPrefix(to, "log.") || strings.HasPrefix(to, "slog."):
		k.change("sprintf", "%s boxes %s: %s", to, k.e.What, typed(k.s.Type))
	case to != "" && !own:
		k.e.Verdict, k.idle = Outside, true
		k.e.Remedy = fmt.Sprintf("%s takes an interface: %s is copied to the heap to be one", to, k.e.What)
	case k.life.kind == died && to != "":
		k.change("boxing", "give %s a type parameter or a method for %s, so that nothing is boxed", to, k.typeOf())
		k.e.Verdict = Reshape
	case k.life.kind == died:
		k.change("boxing", "hold %s as %s instead of an interface", k.e.What, k.typeOf())
	default:
		k.stays()
		k.e.Check = "boxing"
		k.e.Remedy += fmt.Sprintf(" as an interface: as %s it would need no memory of its own", k.typeOf())
	}
}

// typed says how to write a value of type t without boxing it.
func typed(t types.Type) string {
	if check.IsString(t) {
		return "write the text itself"
	}
	if _, basic := t.Underlying().(*types.Basic); basic {
		return "append it to a []byte with strconv, or write it typed"
	}
	return "write it by a function of its own type"
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
	for _, use := range *k.s.Value.Referrers() {
		if start, ok := use.(*ssa.Go); ok && start.Call.Value == k.s.Value {
			k.goroutine()
			return
		}
	}
	if !k.dies() || k.life.many {
		k.e.Check = "closurecapture"
		return
	}
	k.change("closurecapture", "%s", k.again("the function", "set what it captures"))
}

func (k *subject) list() {
	if k.life.kind != died {
		return
	}
	k.e.Verdict, k.e.Check = Reshape, "boxing"
	k.e.Remedy = fmt.Sprintf("%s takes a list of any: a function with typed parameters needs none",
		k.consumerOr("the callee"))
}

func (k *subject) consumerOr(name string) string {
	if to, _ := k.consumer(); to != "" {
		return to
	}
	return name
}

func (k *subject) channel() {
	if k.dies() {
		k.change("", "%s", k.again("the channel", "drain it"))
	}
}

func (k *subject) goroutine() {
	k.e.Verdict, k.e.Remedy = Reshape, "a goroutine each time: workers that wait on a channel need none"
	k.e.Check = "closurecapture"
}

func (k *subject) deferred() {
	k.change("deferloop", "move the body of the loop into a function of its own, or call at the end of the round")
}

// saves is what the remedy saves at most.
func (k *subject) saves() Totals {
	t := k.t.Totals
	switch {
	case k.e.Verdict == Inherent, k.e.Verdict == Open, k.e.Verdict == Outside && k.idle:
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
			k.e.Verdict, k.e.Check, k.e.Remedy = Remedy, f.Check, f.Message
			if f.Caveat == check.Interface {
				k.e.Verdict = Reshape
			}
		}
	}
}
