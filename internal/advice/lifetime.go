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

// span of a lifetime, the shortest first.
type lifeKind int

const (
	died     lifeKind = iota // with a call of a function
	failed                   // the same, but an error that the module returns may hold it
	unproved                 // one place decides
	escaped                  // the module returns it to its users
	kept                     // a field, map, variable, channel or goroutine has it
)

// A lifetime is how long memory lives in the program that was profiled: along
// the calls that led to it, for the most of its bytes.
type lifetime struct {
	kind    lifeKind
	in      string      // died: with the call of this function; escaped: it returns it; open: as died, if nobody keeps it
	round   bool        // died: with the round of a loop there
	many    bool        // several live at once: the rounds of a loop make them, and they outlive these
	unseen  bool        // one call made several, and nobody looked how many of them live at once
	up      int         // how many callers of the line's function it went up before
	inside  bool        // it dies before a call from the line, of a function outside, returns
	through string      // the field that held it meanwhile
	holder  life.Holder // kept, open: by whom
	where   string      // FILE:LINE of the place that decides
	open    string      // open: what decides there
	too     []string    // who else keeps it
	part    float64     // of the bytes
	rest    []lifetime  // of the others, where they live longer or shorter

	doubts []life.Doubt // of one flow: what has to come true
}

func (l lifetime) String() string {
	text := ""
	switch {
	case l.kind == died && l.round:
		text = "dies in the round of a loop in " + l.in
	case l.kind == died:
		text = "dies with the call of " + l.in
	case l.kind == failed:
		text = "dies with the call of " + l.in + ", unless the error that it returns holds it"
	case l.kind == unproved:
		text = fmt.Sprintf("not known: %s decides%s; at least until %s returns", l.open,
			strings.TrimSuffix(", at "+l.where, ", at "), l.in)
	case l.kind == escaped:
		text = "returned by " + l.in + " to its caller outside these packages"
	case l.kind == kept:
		text = l.held()
	}
	if through, _, _ := strings.Cut(l.through, ","); through != "" && l.kind != kept {
		text += ", held by " + through + " until then"
	}
	for _, other := range l.too {
		if l.kind != unproved {
			text += ", and " + other
		}
	}
	if l.part > 0 && l.part < 0.95 {
		text += fmt.Sprintf(" (%.0f %% of it)", 100*l.part)
	}
	for _, other := range l.rest {
		text += "; " + other.String()
	}
	return text
}

// held says who keeps the memory, or would.
func (l lifetime) held() string {
	switch {
	case l.kind == escaped:
		return "returned by " + l.in
	case l.holder.Kind == life.Result:
		return "returned by " + cmp.Or(l.holder.Outer, l.holder.Name)
	case l.holder.Again:
		return "kept by " + l.holder.String() + " until that is set again"
	}
	return "kept by " + l.holder.String()
}

// perhaps says who may keep the memory, of a lifetime that only the code tells.
func (l lifetime) perhaps() string {
	switch l.kind {
	case unproved:
		return l.open + " decides"
	case failed:
		return "an error that " + l.in + " returns may hold it"
	}
	return "it may be " + l.held()
}

// longer is the longer of two lifetimes; several may keep it one after the other.
func (l lifetime) longer(m lifetime) lifetime {
	if m.kind > l.kind || m.kind == l.kind && m.up > l.up {
		l, m = m, l
	}
	for _, too := range append([]string{m.held()}, m.too...) {
		if l.kind > failed && m.kind > failed {
			l.also(too)
		}
	}
	return l
}

// also notes another holder.
func (l *lifetime) also(too string) {
	const most = 4
	if len(l.too) < most && too != l.held() && !slices.Contains(l.too, too) {
		l.too = append(slices.Clip(l.too), too)
	}
}

// decide is the lifetime that all flows of memory give it. What may keep it is no doubt
// where somebody keeps it for certain, and what would let go of it in the packages none
// at all: it is taken to be so.
func (x *explainer) decide(ends []lifetime) lifetime {
	flows := make([]life.Flow, len(ends))
	for i, e := range ends {
		flows[i].Span = min(int(e.kind), int(escaped)) // who keeps it makes no other verdict
		if e.kind > failed {
			flows[i].Doubts = e.doubts
		}
	}
	of, doubt := life.Decides(flows)
	l := lifetime{up: -1}
	for _, e := range ends {
		if len(e.doubts) == 0 || e.kind <= failed && (doubt == nil || !slices.Contains(e.doubts, *doubt)) {
			l = l.longer(e)
		}
	}
	if doubt == nil {
		return l
	}
	o := lifetime{kind: unproved, in: l.in, up: l.up, many: l.many, holder: ends[of].holder, through: ends[of].through,
		open: doubt.What, where: x.spell(place{doubt.File, doubt.Line})}
	if ends[of].kind == escaped {
		o.holder = life.Holder{Kind: life.Result, Name: ends[of].in}
	}
	for i, e := range ends {
		known := func(f lifetime) bool { return f.kind > failed && f.held() == e.held() }
		if e.kind <= failed || e.held() == o.held() || slices.ContainsFunc(ends[:i], known) {
			continue
		}
		text := e.held()
		if !slices.Contains(e.doubts, *doubt) {
			text += " (" + x.spell(place{e.doubts[0].File, e.doubts[0].Line}) + ")"
		}
		o.also(text)
	}
	return o
}

// waysLimit is how many ways to a site are followed, the heaviest ones.
const waysLimit = 16

// climbsLimit is how often one way is followed up from where it is open.
const climbsLimit = 64

// lifetime follows what a site makes along the ways that led to it.
func (x *explainer) lifetime(p *life.Package, s *life.Site, c *cause) lifetime {
	var all spread
	total, ways := 0.0, c.ways()
	for _, way := range ways[:min(len(ways), waysLimit)] {
		x.climbs = 0
		l, weight := x.born(p, s, way), float64(max(way.Bytes, way.Objects, 1))
		l.inside = l.kind <= failed && l.up < way.inside
		l.round, l.up = l.round && !l.inside, max(0, l.up-way.inside)
		total += weight
		all.add(l, weight)
	}
	return all.lifetime(total)
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

// born follows what a site makes up one way; of a call into other packages, from the
// expression there that makes it.
func (x *explainer) born(p *life.Package, s *life.Site, way *chain) lifetime {
	at := way.origin
	if way.inside == 0 {
		return x.bornAt(p, s, way)
	}
	if q := x.pkg(at); q != nil {
		size := int64(0)
		if way.Objects > 0 {
			size = way.Bytes / way.Objects
		}
		var all []lifetime
		for _, s := range choose(q, at.place, "", size) {
			if l := x.bornAt(q, s, way); len(all) == 0 || all[0].String() != l.String() {
				all = append(all, l)
			}
		}
		switch len(all) {
		case 0:
		case 1:
			return all[0]
		default:
			l := all[0].longer(all[1])
			l.kind, l.where, l.open = unproved, x.spell(at.place), "which expression makes it"
			return l
		}
	}
	for i, f := range way.frames[:way.inside] {
		if q := x.pkg(f); q != nil {
			if s := callAt(q, f.place, lastName(at.function)); s != nil {
				fate := madeBy(q, s.Instr.(ssa.CallInstruction), shortName(at.function), i == 0)
				return x.decide(x.along(q, fate, shortName(f.function), way, i+1))
			}
		}
		at = f
	}
	return lifetime{kind: died, in: shortName(at.function), up: way.inside}
}

// bornAt follows what an expression makes, the first of a way.
func (x *explainer) bornAt(p *life.Package, s *life.Site, way *chain) lifetime {
	fate := x.fate(p, s)
	l, loop := x.decide(x.along(p, fate, shortName(way.origin.function), way, 0)), p.Loop(s.Instr.Block()) != nil
	l.round = l.round || l.kind == died && l.up == 0 && loop && !fate.Beyond
	l.many = l.many || loop && fate.Beyond && s.Kind != life.Append && s.Kind != life.MapGrow && s.Kind != life.Concat
	return l
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
			return madeBy(p, i, s.Callee(), true)
		}
	}
	return p.Fate(s.Value)
}

// madeBy is what becomes of memory that a call makes, whose callee cannot be seen: it may
// be for its results, for what it is given, or for neither. It is the result where the
// callee itself makes it, and gets nothing that could lead to it.
func madeBy(p *life.Package, call ssa.CallInstruction, callee string, itself bool) *life.Fate {
	c := call.Common()
	out, results, given := &life.Fate{}, c.Signature().Results(), c.Args
	if c.IsInvoke() {
		given = append([]ssa.Value{c.Value}, given...)
	}
	add := func(f *life.Fate) {
		out.Holders, out.Beyond = append(out.Holders, f.Holders...), out.Beyond || f.Beyond
	}
	ends := 0
	for r := range results.Len() {
		if resultType(results.At(r).Type()) || results.Len() == 1 && results.At(r).Type().String() == "error" {
			ends++
			add(resultFate(p, call, life.Holder{Index: r, Inside: true, Text: true}))
		}
	}
	for _, arg := range given {
		if canHold(arg.Type()) {
			itself = false
			add(p.FateIn(arg, life.Holder{Kind: life.Field, Pos: call.Pos(), Text: true}))
		}
	}
	for i := range out.Holders {
		if h := &out.Holders[i]; len(h.Doubts) == 0 && (ends > 1 || !itself) {
			h.Doubts = []life.Doubt{p.Doubt("what "+callee+" makes it for", call.Pos())}
		}
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

// endsLimit is how many flows are told apart.
const endsLimit = 32

// along follows a fate from function name up a way, whose first i callers have been
// followed, to where each flow ends.
func (x *explainer) along(p *life.Package, fate *life.Fate, name string, way *chain, i int) []lifetime {
	ends := []lifetime{{kind: died, in: name, up: i}}
	for _, h := range fate.Holders {
		for _, e := range x.end(h, x.position(p, h), name, way, i) {
			e.doubts = slices.Concat(h.Doubts, e.doubts)
			known := func(o lifetime) bool {
				return o.kind == e.kind && o.in == e.in && o.up == e.up && o.held() == e.held() && (len(o.doubts) == 0 ||
					slices.Equal(o.doubts, e.doubts))
			}
			if !slices.ContainsFunc(ends, known) && (len(ends) < endsLimit || len(e.doubts) == 0) {
				ends = append(ends, e)
			}
		}
	}
	return ends
}

// goesUp reports whether what h keeps is up to the caller: it is a result, or a part of
// what a parameter leads to.
func goesUp(h life.Holder) bool {
	return h.Kind == life.Result || h.Index >= 0 && (h.Kind == life.Field || h.Kind == life.MapEntry)
}

// end follows what h holds.
func (x *explainer) end(h life.Holder, at place, name string, way *chain, i int) []lifetime {
	if len(h.Doubts) > 0 {
		x.climbs++
	}
	switch {
	case x.climbs > climbsLimit && len(h.Doubts) > 0:
	case h.Outer != "":
		outer := func(f frame) bool { return lastName(f.function) == h.Outer }
		if j := slices.IndexFunc(way.frames[min(i, len(way.frames)):], outer); j >= 0 {
			h.Outer = ""
			return x.climb(h, at, shortName(way.frames[i+j].function), way, i+j+1)
		}
	case goesUp(h):
		return x.climb(h, at, name, way, i)
	}
	return []lifetime{{kind: kept, holder: h, where: x.spell(at), in: name, up: i}}
}

// ofParameter begins the name of a holder that is known as a parameter alone.
const ofParameter = "what parameter "

// climb follows a result, or a field of a parameter, into the caller.
func (x *explainer) climb(h life.Holder, at place, name string, way *chain, i int) []lifetime {
	l := lifetime{kind: kept, holder: h, in: name, up: i, where: x.spell(at)}
	open := func(what string, at place) []lifetime {
		l.doubts = []life.Doubt{{What: what, File: at.file, Line: at.line}}
		return []lifetime{l}
	}
	if i >= len(way.frames) || way.frames[i].apart {
		switch {
		case way.cut && i >= len(way.frames):
			return open("which function is above "+name, at)
		case h.Failed:
			l.kind = failed
		case h.Kind == life.Result:
			l.kind = escaped
		case strings.HasPrefix(h.Name, ofParameter) && !strings.Contains(h.Name, " of "):
			l.holder.Name = strings.Replace(h.Name, " refers to", " of "+name+" refers to", 1)
		}
		return []lifetime{l}
	}
	f := way.frames[i]
	q := x.pkg(f)
	site := callAt(q, f.place, name[strings.LastIndexByte(name, '.')+1:])
	if site == nil {
		return open("the call of "+name, f.place)
	}
	call := site.Instr.(ssa.CallInstruction)
	arg := argument(call.Common(), h.Index)
	if h.Kind != life.Result && arg == nil { // such as the receiver of a method value
		return open("what "+name+" is given", f.place)
	}
	fate, through := resultFate(q, call, h), ""
	if h.Kind != life.Result {
		if strings.HasPrefix(h.Name, ofParameter) {
			h.Name = "" // the caller knows a field or variable
		}
		fate, through = q.FateIn(arg, h), h.Name
	}
	ends, loop := x.along(q, fate, shortName(f.function), way, i+1), q.Loop(call.Block()) != nil
	for j := range ends {
		e := &ends[j]
		e.through = cmp.Or(e.through, through)
		e.round = e.kind == died && e.up == i+1 && !fate.Beyond && loop
		e.many = e.many || h.Kind == life.Result && loop && fate.Beyond
	}
	return ends
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

// resultFate is what becomes of the memory that one result of a call holds.
func resultFate(p *life.Package, call ssa.CallInstruction, h life.Holder) *life.Fate {
	v := call.Value()
	if v == nil {
		return &life.Fate{}
	}
	if _, ok := v.Type().(*types.Tuple); !ok {
		return p.FateFrom(v, h)
	}
	for _, instr := range *v.Referrers() {
		if e, ok := instr.(*ssa.Extract); ok && e.Index == h.Index {
			return p.FateFrom(e, h)
		}
	}
	return &life.Fate{}
}

// argument is what a call passes for parameter n, the receiver first.
func argument(c *ssa.CallCommon, n int) ssa.Value {
	if c.IsInvoke() {
		if n--; n < 0 {
			return c.Value
		}
	}
	if n < 0 || n >= len(c.Args) {
		return nil
	}
	return c.Args[n]
}

// position is where a holder gets hold of it.
func (x *explainer) position(p *life.Package, h life.Holder) place {
	at := p.Fset.Position(h.Pos)
	return place{at.Filename, at.Line}
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
