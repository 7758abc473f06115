package advice

import (
	"fmt"
	"go/types"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

// span of a lifetime, the shortest first.
type lifeKind int

const (
	died    lifeKind = iota // with a call of a function of the module
	failed                  // the same, but an error that the module returns may hold it
	unclear                 // the analysis loses it
	escaped                 // the module returns it to its users
	kept                    // a field, map, variable, channel or goroutine has it
)

// A lifetime is how long memory lives in the program that was profiled: along
// the calls that led to it, for the most of its bytes.
type lifetime struct {
	kind    lifeKind
	in      string        // died: with the call of this function; escaped: it returns it
	round   bool          // died: with the round of a loop there
	many    bool          // several live at once: the rounds of a loop make them, and they outlive these
	up      int           // how many callers it went up before
	through string        // the field that held it meanwhile
	holder  life.Holder   // kept: by whom
	unless  []life.Holder // if these callees do not keep it
	where   string        // FILE:LINE of the place that decides
	part    float64       // of the bytes; the rest lives longer or shorter
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
	case l.kind == escaped:
		text = "returned by " + l.in + " to its caller outside these packages"
	case l.kind == kept:
		text = "kept by " + l.holder.String()
	default:
		text = "not known: the calls above it could not be followed"
	}
	if l.through != "" && l.kind != kept {
		text += ", held by " + l.through + " until then"
	}
	if len(l.unless) > 0 && l.kind == died {
		text += ", unless " + l.unless[0].Name + " keeps it"
	}
	if l.part > 0 && l.part < 0.95 {
		text += fmt.Sprintf(" (%.0f %% of it)", 100*l.part)
	}
	return text
}

// longer is the longer of two lifetimes.
func (l lifetime) longer(m lifetime) lifetime {
	unless := append(slices.Clone(l.unless), m.unless...)
	if m.kind > l.kind || m.kind == l.kind && m.up > l.up {
		l = m
	}
	l.unless = unless
	return l
}

// waysLimit is how many ways to a site are followed, the heaviest ones.
const waysLimit = 8

// lifetime follows what a site makes along the ways that led to it.
func (x *explainer) lifetime(p *life.Package, s *life.Site, c *cause) lifetime {
	fate := x.fate(p, s, c)
	name := shortName(c.function)
	if fate == nil {
		return lifetime{kind: died, in: shortName(c.callee), part: 1}
	}
	type weighed struct {
		lifetime
		weight int64
	}
	var all []*weighed
	total := int64(0)
	ways := c.ways()
	for _, way := range ways[:min(len(ways), waysLimit)] {
		l := x.along(p, fate, name, way, 0)
		loop := p.Loop(s.Instr.Block()) != nil
		l.round = l.kind == died && l.up == 0 && loop && !fate.Beyond
		l.many = l.many || loop && fate.Beyond && s.Kind != life.Append && s.Kind != life.MapGrow && s.Kind != life.Concat
		weight := max(way.Bytes, way.Objects)
		total += weight
		i := slices.IndexFunc(all, func(w *weighed) bool { return w.String() == l.String() })
		if i < 0 {
			all = append(all, &weighed{l, weight})
		} else {
			all[i].weight += weight
		}
	}
	if len(all) == 0 {
		return lifetime{kind: unclear}
	}
	best := slices.MaxFunc(all, func(a, b *weighed) int { return int(min(1, max(-1, a.weight-b.weight))) })
	best.part = float64(best.weight) / float64(max(1, total))
	return best.lifetime
}

// fate is what becomes of a site's memory in its function; nil where it is of
// the callee alone.
func (x *explainer) fate(p *life.Package, s *life.Site, c *cause) *life.Fate {
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
		if s.Kind != life.Call {
			break
		}
		if grown := buffer(i.Common()); grown != nil && (growsBuffer(c.leaf) || growsBuffer(c.callee)) {
			return p.FateIn(grown, life.Holder{Kind: life.Field, Pos: i.Pos(), Text: true})
		}
		if filled := filled(p, i.Common()); filled != nil {
			return p.FateIn(filled, life.Holder{Kind: life.Field, Pos: i.Pos(), Text: true})
		}
		if !resultRefers(i.Common().Signature()) {
			return nil
		}
		own, inside := p.Fate(s.Value), p.FateInside(s.Value, true)
		if own.Dies() && !inside.Dies() { // it may be the result's own, or what that refers to
			h := inside.Holders[0]
			if h.Kind == life.Result {
				h.Name = "the caller of " + shortName(c.function)
			} else if h.Kind != life.Callee {
				h.Name = h.String()
			}
			return &life.Fate{Holders: []life.Holder{{Kind: life.Callee, Name: h.Name, Index: -1, Pos: h.Pos, Object: true,
				Inside: true}}}
		}
		return own
	}
	return p.Fate(s.Value)
}

// filled is the receiver of a call that puts its result there: a method that writes
// to it, and returns nothing else that refers to memory; nil for none.
func filled(p *life.Package, c *ssa.CallCommon) ssa.Value {
	recv := c.Signature().Recv()
	if c.IsInvoke() || recv == nil || len(c.Args) == 0 {
		return nil
	}
	for r := range c.Signature().Results().Variables() {
		if t := r.Type(); resultType(t) && !types.Identical(t, recv.Type()) {
			return nil
		}
	}
	if use := p.Arg(c, 0); use == nil || !use.Writes {
		return nil
	}
	return c.Args[0]
}

func growsBuffer(function string) bool {
	return strings.HasPrefix(function, "bytes.(*Buffer).") || strings.HasPrefix(function, "bytes.growSlice") ||
		strings.HasPrefix(function, "strings.(*Builder).")
}

// buffer is the argument of a call that is a buffer of the library, or may be one
// behind an interface; nil for none.
func buffer(c *ssa.CallCommon) ssa.Value {
	for _, arg := range c.Args {
		if box, ok := arg.(*ssa.MakeInterface); ok {
			arg = box.X
		}
		switch arg.Type().String() {
		case "*bytes.Buffer", "*strings.Builder", "io.Writer":
			return arg
		}
	}
	if c.IsInvoke() {
		return c.Value
	}
	return nil
}

// resultRefers reports whether a result, but for errors, can refer to memory.
func resultRefers(sig *types.Signature) bool {
	for r := range sig.Results().Variables() {
		if resultType(r.Type()) || sig.Results().Len() == 1 && r.Type().String() == "error" {
			return true
		}
	}
	return false
}

// resultType reports whether a result of type t, not an error, can refer to memory.
func resultType(t types.Type) bool {
	b, basic := t.Underlying().(*types.Basic)
	return (!basic || b.Info()&types.IsString != 0 || b.Kind() == types.UnsafePointer) && t.String() != "error"
}

// along follows a fate from function name up a way, whose first i callers have
// been followed.
func (x *explainer) along(p *life.Package, fate *life.Fate, name string, way *chain, i int) lifetime {
	l := lifetime{kind: died, in: name, up: i}
	for _, h := range fate.Holders {
		where := x.position(p, h)
		switch {
		case h.Kind == life.Callee:
			l.unless = append(l.unless, h)
			l.where = where
		case h.Kind == life.Result || h.Index >= 0 && (h.Kind == life.Field || h.Kind == life.MapEntry):
			l = l.longer(x.climb(h, where, name, way, i))
		default:
			l = l.longer(lifetime{kind: kept, holder: h, where: where, in: name, up: i})
		}
	}
	return l
}

// ofParameter begins the name of a holder that is known as a parameter alone.
const ofParameter = "what parameter "

// keptIn is the lifetime of what h keeps beyond function name.
func keptIn(h life.Holder, name, where string, up int) lifetime {
	if strings.HasPrefix(h.Name, ofParameter) && !strings.Contains(h.Name, " of ") {
		h.Name = strings.Replace(h.Name, " refers to", " of "+name+" refers to", 1)
	}
	return lifetime{kind: kept, holder: h, in: name, up: up, where: where}
}

// climb follows a result, or a field of a parameter, into the caller.
func (x *explainer) climb(h life.Holder, where, name string, way *chain, i int) lifetime {
	if i >= len(way.frames) {
		switch {
		case h.Failed:
			return lifetime{kind: failed, in: name, up: i, where: where}
		case h.Kind == life.Result:
			return lifetime{kind: escaped, in: name, up: i, where: where}
		}
		return keptIn(h, name, where, i)
	}
	f := way.frames[i]
	called := name
	if i := strings.LastIndexByte(called, '.'); i >= 0 {
		called = called[i+1:]
	}
	q := x.pkg(f.file)
	call := callAt(q, f.place, called)
	if call == nil {
		if h.Kind != life.Result {
			return keptIn(h, name, where, i)
		}
		return lifetime{kind: unclear, in: name, up: i, where: where}
	}
	fate, through := &life.Fate{}, ""
	if h.Kind == life.Result {
		fate = resultFate(q, call, h)
	} else if arg := argument(call.Common(), h.Index); arg != nil {
		if strings.HasPrefix(h.Name, ofParameter) {
			h.Name = "" // the caller knows a field or variable
		}
		fate, through = q.FateIn(arg, h), h.Name
	}
	l := x.along(q, fate, shortName(f.function), way, i+1)
	if l.through == "" {
		l.through = through
	}
	loop := q.Loop(call.Block()) != nil
	l.round = l.kind == died && l.up == i+1 && !fate.Beyond && loop
	l.many = l.many || h.Kind == life.Result && loop && fate.Beyond
	return l
}

// callAt returns the call of a function at a line, or nil.
func callAt(p *life.Package, at place, function string) ssa.CallInstruction {
	if p == nil {
		return nil
	}
	var dynamic ssa.CallInstruction
	for _, s := range p.At(at.file, at.line) {
		call, ok := s.Instr.(ssa.CallInstruction)
		if !ok {
			continue
		}
		if s.Callee() == function {
			return call
		}
		if s.Callee() == "" && dynamic == nil {
			dynamic = call
		}
	}
	return dynamic
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
func (x *explainer) position(p *life.Package, h life.Holder) string {
	if !h.Pos.IsValid() {
		return ""
	}
	at := p.Fset.Position(h.Pos)
	return fmt.Sprintf("%s:%d", relative(x.base, at.Filename), at.Line)
}

// majorVersion is the last element of an import path that is not a package's name.
var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// shortName is a function's name as people write it: pkg.Type.Method.
func shortName(function string) string {
	if i := strings.IndexByte(function, '['); i >= 0 {
		function = function[:i]
	}
	name := path.Base(function)
	if version, rest, ok := strings.Cut(name, "."); ok && majorVersion.MatchString(version) {
		name = path.Base(path.Dir(function)) + "." + rest
	}
	return strings.NewReplacer("(*", "", ")", "", "...", "").Replace(name)
}

// String names the callers of a way, the nearest first.
func (c *chain) String() string {
	var names []string
	for _, f := range c.frames[:min(3, len(c.frames))] {
		names = append(names, fmt.Sprintf("%s (%s:%d)", shortName(f.function), filepath.Base(f.file), f.line))
	}
	if len(names) == 0 && c.beyond != "" {
		names = append(names, shortName(c.beyond))
	}
	return strings.Join(names, " < ")
}
