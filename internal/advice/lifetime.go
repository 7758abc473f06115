package advice

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

// A lifeKind says how a lifetime ends.
type lifeKind int

const (
	died     lifeKind = iota // with a call of a function
	unproved                 // it may be kept: a branch or unknown code decides
	escaped                  // it is a result that somebody needs
	kept                     // a field, map, variable, channel or goroutine has it
)

// A lifetime is how long memory lives: as seen for most of its bytes while benchmarks ran; if
// nothing was seen, what is certain within the function that makes it and its callees.
type lifetime struct {
	kind    lifeKind
	in      string      // died: with the call of this function; otherwise the function that makes or returns it
	round   bool        // died: with the round of a loop there
	through string      // the field that held it as a function returned
	callee  string      // died: that function
	late    bool        // died: at the latest, because calls of functions below were not seen
	unless  string      // died: who keeps it on a way that was not seen
	holder  life.Holder // kept: by whom
	open    string      // unproved: who may keep it
	where   string      // unproved: FILE:LINE of the first place that may decide
	too     []string    // who else keeps it
	part    float64     // fraction of the bytes
	mixed   bool        // some of it dies, some does not
	near    bool        // or what shares a block with it is kept
	rest    []lifetime  // of other parts, which live longer or shorter
	grows   bool        // or until it is outgrown

	unmeasured float64 // fraction that benchmarks make on ways without a sample
}

func (l lifetime) String() string {
	text := ""
	switch l.kind {
	case died:
		text = "dies with the call of " + l.in
		if l.round {
			text = "dies in the round of a loop in " + l.in
		}
		if l.late {
			text += ", or before"
		}
		if l.unless != "" {
			text += ", unless " + l.unless + " keeps it"
		}
	case unproved:
		text = l.open
	case escaped:
		text = "returned by " + l.in
	case kept:
		text = "kept by " + l.holder.String()
	}
	switch {
	case l.through != "" && l.kind == escaped:
		text += ", in " + l.through
	case l.through != "" && l.kind != kept:
		text += ", held by " + l.through + " as " + l.callee + " returned"
	}
	for _, other := range l.too {
		text += ", and " + other
	}
	if l.grows {
		text += ", unless it is outgrown before"
	}
	if l.part > 0 && l.part < 0.95 {
		text = "partly " + text
	}
	if l.near {
		text += ", or by what lies in the same 16 bytes"
	}
	for _, other := range l.rest {
		text += "; " + other.String()
	}
	if l.unmeasured >= 0.05 {
		text += fmt.Sprintf("; %.0f %% of its bytes not measured", 100*l.unmeasured)
	}
	return text
}

// inBlock says that each part which somebody keeps may be kept as a neighbour of other memory.
func (l *lifetime) inBlock() {
	l.near, l.rest = l.kind > unproved, slices.Clone(l.rest)
	for i := range l.rest {
		l.rest[i].inBlock()
	}
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

// waysLimit is the number of ways to a site that are measured, heaviest first.
const waysLimit = 16

// lifetime returns what the code proves about how long the memory of a site lives.
func (x *explainer) lifetime(p *life.Package, s *life.Site, c *cause) lifetime {
	name := shortName(c.function)
	unknown := func(what string) lifetime {
		return lifetime{kind: unproved, in: name, open: "not known: " + what}
	}
	if p == nil {
		return unknown("the code could not be read")
	}
	if s == nil && c.callee == "" {
		return unknown("it was not measured")
	}
	if s == nil {
		return unknown("the call of " + shortName(c.callee) + " is not found in the code")
	}
	if c.callee != "" || s.Kind == life.Call {
		callee := cmp.Or(s.Callee(), "a function value")
		if c.callee != "" {
			callee = shortName(c.callee)
		}
		return unknown("it was not measured, and the code of " + callee + " makes it")
	}
	fate, loop := x.fate(p, s), p.Loop(s.Instr.Block()) != nil
	l := x.local(p, fate, name)
	l.round = l.kind == died && loop && !fate.Beyond
	l.grows = l.kind > died && p.Outgrown(s)
	return l
}

// local returns the lifetime of memory in the function that makes it. A result lives as
// long as its callers have it.
func (x *explainer) local(p *life.Package, fate *life.Fate, name string) lifetime {
	l := lifetime{kind: died, in: name}
	var perhaps []string
	for _, h := range fate.Holders {
		switch {
		case h.Kind == life.Result && h.Outer == "":
		case h.Perhaps:
			text := "kept by " + h.String()
			if h.Kind == life.Callee {
				text = "kept by " + h.String() + ", which is given it"
			}
			where := x.position(p, h.Pos)
			perhaps = append(perhaps, fmt.Sprintf("%s (%s)", text, where))
			l.where = cmp.Or(l.where, where)
		case l.kind == died:
			l.kind, l.holder = kept, h
		default:
			l.also(h.String())
		}
	}
	switch {
	case l.kind == kept:
		if fate.Has(life.Result) {
			l.also("the caller, as a result")
		}
	case len(perhaps) > 0:
		slices.Sort(perhaps)
		perhaps = slices.Compact(perhaps)
		const most = 3
		l.kind, l.open = unproved, "may be "+strings.Join(perhaps[:min(most, len(perhaps))], ", or ")
		if fate.Has(life.Result) {
			l.open += ", or returned by " + name
		}
	case fate.Has(life.Result):
		return lifetime{kind: escaped, in: name}
	}
	return l
}

// also adds another holder.
func (l *lifetime) also(too string) {
	const most = 4
	if len(l.too) < most && too != l.holder.String() && !slices.Contains(l.too, too) {
		l.too = append(l.too, too)
	}
}

// position returns a position as FILE:LINE.
func (x *explainer) position(p *life.Package, pos token.Pos) string {
	at := p.Fset.Position(pos)
	return x.spell(place{at.Filename, at.Line})
}

// fate returns what becomes of a site's memory in its function.
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
		return &life.Fate{Holders: []life.Holder{{Kind: life.Goroutine, Name: life.Starts(i), Index: -1, Pos: i.Pos()}}}
	case *ssa.Defer: // which waits for the function's return
		return &life.Fate{Beyond: true}
	}
	return p.Fate(s.Value)
}

// callAt returns the only call of a function at a line, or nil. If none names the
// function, it returns the only call of a literal or function value.
func callAt(p *life.Package, at place, function string) *life.Site {
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
	if len(named) != 1 {
		return nil
	}
	return named[0]
}

// spell returns a place as FILE:LINE; for other modules, the file with its directory's name.
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

// String returns the callers of a way in the packages, nearest first.
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
