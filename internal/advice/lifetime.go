package advice

import (
	"cmp"
	"fmt"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

// lifeKind is how a lifetime ends.
type lifeKind int

const (
	died     lifeKind = iota // with a call of a function
	unproved                 // code decides that was neither measured nor is part of the function
	escaped                  // an exported function returns it
	kept                     // a field, map, variable, channel or goroutine has it
)

// A lifetime is how long memory lives: what was seen as benchmarks ran, for the most of
// its bytes; where nothing was, what is certain within the function that makes it, with
// what that function calls.
type lifetime struct {
	kind     lifeKind
	in       string      // died: with the call of this function; else the one that makes or returns it
	round    bool        // died: with the round of a loop there
	many     bool        // several live at once: the rounds of a loop make them, and they outlive these
	unseen   bool        // one call made several, and nobody looked how many of them live at once
	up       int         // how many callers of the line's function it went up before
	inside   bool        // it dies before a call from the line, of a function outside, returns
	through  string      // the field that held it meanwhile
	beside   string      // died: a function on the way up, other callers of which were not seen
	holder   life.Holder // kept: by whom
	again    bool        // kept: soon it holds something else
	open     string      // unproved: who decides
	needed   string      // unproved: what has to be so for it to be needed
	returned bool        // unproved: it is a result of the function
	where    string      // FILE:LINE of the place that decides
	too      []string    // who else keeps it
	part     float64     // of the bytes
	mixed    bool        // some of it dies, and some does not
	rest     []lifetime  // of the others, where they live longer or shorter
}

func (l lifetime) String() string {
	text := ""
	switch l.kind {
	case died:
		text = "dies with the call of " + l.in
		if l.round {
			text = "dies in the round of a loop in " + l.in
		}
	case unproved:
		text = l.open
	case escaped:
		text = "returned by " + l.in + ": its callers decide"
	case kept:
		text = l.held()
	}
	if through, _, _ := strings.Cut(l.through, ","); through != "" && l.kind != kept {
		text += ", held by " + through + " until then"
	}
	for _, other := range l.too {
		text += ", and " + other
	}
	if l.part > 0 && l.part < 0.95 {
		text += fmt.Sprintf(" (%.0f %% of it)", 100*l.part)
	}
	beside := l.beside
	for _, other := range l.rest {
		beside, other.beside = cmp.Or(beside, other.beside), ""
		text += "; " + other.String()
	}
	if beside != "" {
		text += "; other callers of " + beside + " decide for themselves"
	}
	return text
}

// held says who keeps the memory.
func (l lifetime) held() string {
	again := ""
	if l.again {
		again = " until that is set again"
	}
	return "kept by " + l.holder.String() + again
}

// class says whether somebody keeps the memory.
func (l lifetime) class() string {
	switch {
	case l.kind == unproved:
		return "open"
	case l.kind > unproved:
		return "kept"
	}
	return "dies"
}

// waysLimit is how many ways to a site are measured, the heaviest ones.
const waysLimit = 16

// lifetime is what the code tells for certain of what a site makes.
func (x *explainer) lifetime(p *life.Package, s *life.Site, c *cause) lifetime {
	name := shortName(c.function)
	unknown := func(what string) lifetime {
		return lifetime{kind: unproved, in: name, open: "unknown: " + what, needed: "somebody keeps it",
			where: x.spell(c.at)}
	}
	if p == nil {
		return unknown("the code could not be read")
	}
	if s == nil {
		return unknown("the call of " + shortName(c.callee) + " is not found in the code")
	}
	call, called := s.Instr.(ssa.CallInstruction)
	var fate *life.Fate
	if c.callee == "" {
		fate = x.fate(p, s)
	} else if called {
		if fate = madeBy(p, call, c.itself()); fate == nil {
			return lifetime{kind: died, in: shortName(c.callee), inside: true}
		}
	}
	l, loop := x.local(p, s.Func, fate, name), p.Loop(s.Instr.Block()) != nil
	if l.where == "" {
		l.where = x.spell(c.at)
	}
	l.round = l.kind == died && loop && !fate.Beyond
	l.many = loop && fate.Beyond && s.Kind != life.Append && s.Kind != life.MapGrow && s.Kind != life.Concat
	return l
}

// itself reports whether the function that a line calls allocates, and none that it calls.
func (c *cause) itself() bool {
	return !slices.ContainsFunc(c.ways(), func(w *chain) bool { return w.inside > 1 })
}

// local is the lifetime of memory in the function that makes it.
func (x *explainer) local(p *life.Package, fn *ssa.Function, fate *life.Fate, name string) lifetime {
	l, returned := lifetime{kind: died, in: name}, false
	var perhaps []string
	for _, h := range fate.Holders {
		text, at := h.String(), p.Fset.Position(h.Pos)
		switch {
		case h.Perhaps && h.Kind == life.Result:
			perhaps = append(perhaps, "returned")
		case h.Perhaps:
			perhaps = append(perhaps, "kept by "+text)
		case h.Kind == life.Result:
			returned = true
			continue
		case l.kind == died:
			l.kind, l.holder = kept, h
		default:
			l.also(text)
			continue
		}
		if l.where == "" && (l.kind == kept) != h.Perhaps {
			l.where = x.spell(place{at.Filename, at.Line})
		}
	}
	switch {
	case l.kind == kept:
		if returned {
			l.also("the caller, as a result")
		}
	case returned:
		return x.returned(p, fn, name)
	case len(perhaps) > 0:
		slices.Sort(perhaps)
		perhaps = slices.Compact(perhaps)
		const most = 3
		might := "may be " + strings.Join(perhaps[:min(most, len(perhaps))], " or ")
		l.kind, l.open, l.needed = unproved, "it "+might, "it "+strings.Replace(might, "may be", "is", 1)
	}
	return l
}

// also notes another holder.
func (l *lifetime) also(too string) {
	const most = 4
	if len(l.too) < most && too != l.holder.String() && !slices.Contains(l.too, too) {
		l.too = append(l.too, too)
	}
}

// returned is the lifetime of what a function returns: others may call an exported one, and
// need what it returns; of others the packages have all callers.
func (x *explainer) returned(p *life.Package, fn *ssa.Function, name string) lifetime {
	if fn == nil {
		return lifetime{kind: escaped, in: name}
	}
	at := p.Fset.Position(fn.Pos())
	l := lifetime{kind: escaped, in: name, where: x.spell(place{at.Filename, at.Line})}
	if exported(p, fn) {
		return l
	}
	l.kind, l.returned, l.open = unproved, true, "returned by "+name+": its callers decide"
	l.needed = "these keep it, or have several at once"
	calls, _ := p.Callers(fn)
	const most = 3
	for i, call := range calls {
		at := p.Fset.Position(call.Pos())
		if i == most {
			l.open += ", …"
			break
		}
		l.open += ", " + x.spell(place{at.Filename, at.Line})
	}
	return l
}

// exported reports whether other packages can call a function by its name.
func exported(p *life.Package, fn *ssa.Function) bool {
	obj, ok := fn.Object().(*types.Func)
	return ok && obj.Exported() && p.Pkg.Name() != "main"
}

// beside names the first function on the way from a line up to where memory died that has
// callers that led to no such memory; "" for none. What it returned may live longer there.
func (x *explainer) beside(c *cause, frames []frame, up int) string {
	for _, f := range frames[:up] {
		p := x.pkg(f)
		if p == nil {
			return shortName(f.function)
		}
		if strings.HasPrefix(f.function, frames[up].function+".") { // a literal of it
			continue
		}
		fn := functionOf(p, f)
		if fn == nil || exported(p, fn) {
			return shortName(f.function)
		}
		calls, all := p.Callers(fn)
		seen := func(call ssa.CallInstruction) bool { return c.through(p, call, f.function) }
		if !all || slices.ContainsFunc(calls, func(call ssa.CallInstruction) bool { return !seen(call) }) {
			return shortName(f.function)
		}
	}
	return ""
}

// through reports whether a way leads from a function through one of its calls.
func (c *cause) through(p *life.Package, call ssa.CallInstruction, function string) bool {
	from := call.Parent().Syntax()
	if from == nil {
		return false
	}
	begin, end := p.Fset.Position(from.Pos()), p.Fset.Position(from.End())
	for _, w := range c.chains {
		trail := w.trail()
		for i, f := range trail[:max(0, len(trail)-1)] {
			if up := trail[i+1]; f.function == function && up.file == begin.Filename && begin.Line <= up.line &&
				up.line <= end.Line {
				return true
			}
		}
	}
	return false
}

// functionOf returns the innermost function around a line, or nil.
func functionOf(p *life.Package, f frame) (found *ssa.Function) {
	for _, fn := range p.Funcs {
		if fn.Syntax() == nil || (fn.Parent() != nil) != (literals(f.function) > 0) {
			continue
		}
		from, to := p.Fset.Position(fn.Syntax().Pos()), p.Fset.Position(fn.Syntax().End())
		if from.Filename == f.file && from.Line <= f.line && f.line <= to.Line {
			found = fn
		}
	}
	return found
}

// fate is what becomes of a site's memory in its function.
func (x *explainer) fate(p *life.Package, s *life.Site) *life.Fate {
	switch i := s.Instr.(type) {
	case *ssa.MapUpdate:
		if made, here := i.Map.(*ssa.MakeMap); here {
			fate := p.Fate(made)
			fate.Beyond = fate.Beyond || p.Loop(made.Block()) != p.Loop(i.Block()) // rounds fill one map
			return fate
		}
		return p.FateOf(i.Map, life.Holder{Kind: life.MapEntry, Pos: i.Pos()})
	case *ssa.Go:
		return &life.Fate{Holders: []life.Holder{{Kind: life.Goroutine, Name: s.Callee(), Index: -1, Pos: i.Pos()}}}
	case *ssa.Defer:
		return &life.Fate{}
	case *ssa.Call:
		if s.Kind == life.Call {
			if fate := madeBy(p, i, true); fate != nil {
				return fate
			}
			return &life.Fate{}
		}
	}
	return p.Fate(s.Value)
}

// madeBy is what becomes of memory that a call makes, whose callee cannot be seen: it may
// be for its results, for what it is given, or for neither. It is the result where the
// callee itself makes it, and gets nothing that could lead to it. nil where the call
// leaves nothing that could hold it.
func madeBy(p *life.Package, call ssa.CallInstruction, itself bool) *life.Fate {
	c := call.Common()
	out, results, given := &life.Fate{}, c.Signature().Results(), c.Args
	if c.IsInvoke() {
		given = append([]ssa.Value{c.Value}, given...)
	}
	ends := 0
	add := func(f *life.Fate) {
		ends++
		out.Holders, out.Beyond = append(out.Holders, f.Holders...), out.Beyond || f.Beyond
	}
	for r := range results.Len() {
		if resultType(results.At(r).Type()) || results.Len() == 1 && results.At(r).Type().String() == "error" {
			add(p.FateOfResult(call, r))
		}
	}
	for _, arg := range given {
		if canHold(arg.Type()) {
			itself = false
			add(p.FateOf(arg, life.Holder{Kind: life.Field, Pos: call.Pos()}))
		}
	}
	if ends == 0 {
		return nil
	}
	for i := range out.Holders {
		out.Holders[i].Perhaps = out.Holders[i].Perhaps || ends > 1 || !itself
	}
	return out
}

// canHold reports whether an argument of type t can lead to what a callee makes.
func canHold(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return !strings.HasPrefix(t.String(), "*internal/abi.")
	case *types.Slice:
		return canHold(u.Elem()) || structured(u.Elem())
	case *types.Map, *types.Interface, *types.Chan:
		return true
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	}
	return structured(t)
}

func structured(t types.Type) bool {
	st, ok := t.Underlying().(*types.Struct)
	for i := 0; ok && i < st.NumFields(); i++ {
		if canHold(st.Field(i).Type()) {
			return true
		}
	}
	return false
}

func growsBuffer(function string) bool {
	return strings.HasPrefix(function, "bytes.(*Buffer).") || strings.HasPrefix(function, "bytes.growSlice") ||
		strings.HasPrefix(function, "strings.(*Builder).")
}

// resultType reports whether a result of type t, not an error, can refer to memory.
func resultType(t types.Type) bool {
	b, basic := t.Underlying().(*types.Basic)
	return (!basic || b.Info()&types.IsString != 0 || b.Kind() == types.UnsafePointer) && t.String() != "error"
}

// callAt returns the one call of a function at a line, or nil: that of a literal or of a
// function value where none names it, or a deferred one that runs as the function
// returns there.
func callAt(p *life.Package, at place, function string) *life.Site {
	if p == nil {
		return nil
	}
	var named, unnamed []*life.Site
	for _, s := range sitesAt(p, at) {
		if _, ok := s.Instr.(ssa.CallInstruction); !ok {
			continue
		}
		callee := s.Callee()
		if callee == function {
			named = append(named, s)
		} else if callee == "" || strings.Contains(callee, "$") && inLiteral.MatchString(function) {
			unnamed = append(unnamed, s)
		}
	}
	if len(named) == 0 {
		named = unnamed
	}
	switch len(named) {
	case 0:
		return p.Deferred(at.file, at.line, function)
	case 1:
		return named[0]
	}
	return nil
}

// spell is a place as FILE:LINE; of other modules, the file below its directory's name.
func (x *explainer) spell(at place) string {
	if at.file == "" {
		return ""
	}
	name := relative(x.base, at.file)
	if filepath.IsAbs(name) {
		name = below(name)
	}
	return fmt.Sprintf("%s:%d", name, at.line)
}

// String names the callers of a way in the packages, the nearest first.
func (c *chain) String() string {
	var names []string
	frames := c.frames[min(c.inside, len(c.frames)):]
	for _, f := range frames[:min(3, len(frames))] {
		names = append(names, fmt.Sprintf("%s (%s:%d)", shortName(f.function), filepath.Base(f.file), f.line))
	}
	if len(names) == 0 && c.beyond != "" {
		names = append(names, shortName(c.beyond))
	}
	return strings.Join(names, " < ")
}
