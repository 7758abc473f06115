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

	elsewhere bool // the code has a path on which somebody keeps what benchmarks saw die

	how func(*mender) bool // writes the fix of the remedy; nil for none
}

// judge gives the subject its verdict, if a remedy is known, and the name of the check whose subject it is.
func (k *subject) judge() {
	if !k.outside() {
		switch k.s.Kind {
		case life.Closure, life.MethodValue, life.Go:
			k.e.Check = "closurecapture"
		case life.Literal, life.New, life.Variable:
			if of, ok := k.s.Type.Underlying().(*types.Struct); ok && of.NumFields() == 1 && k.life.kind == escaped {
				k.e.Check = "pointerwrapper"
			}
		case life.Append:
			if call, ok := k.s.Node.(*ast.CallExpr); ok && !call.Ellipsis.IsValid() && k.regrows() {
				k.propose((*mender).capacity, "prealloc", "make room for %s elements as the first is appended%s", k.length(),
					k.besides())
			}
		}
	}
	k.found()
}

// outside reports whether a callee outside of the packages makes the memory.
func (k *subject) outside() bool { return k.s == nil || k.c.callee != "" }

// dies reports whether nobody keeps the memory: neither was it seen, nor does the code
// have a path on which somebody does.
func (k *subject) dies() bool {
	return k.life.kind == died && !k.life.mixed && !k.elsewhere
}

// change sets a remedy, which is a candidate until it was tried.
func (k *subject) change(name, text string, args ...any) {
	k.e.Verdict, k.e.Check, k.e.Remedy = Candidate, name, fmt.Sprintf(text, args...)
}

// propose sets a remedy that has a mechanical fix.
func (k *subject) propose(how func(*mender) bool, name, text string, args ...any) {
	k.how = how
	k.change(name, text, args...)
}

// named is a type as a package writes it.
func named(in *types.Package, t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == in {
			return ""
		}
		return p.Name()
	})
}

// proposals are the changes of which only a trial tells whether they save, by kinds of what the packages make: what
// proposes them where the code has what they rest on.
var proposals = map[life.Kind][]func(*mender){
	life.Variable: {(*mender).pooled, (*mender).together}, life.Concat: {(*mender).keyed},
	life.Append: {(*mender).framed, func(m *mender) { m.room(false) }, func(m *mender) { m.room(true) }},
	life.Make:   {(*mender).framed, (*mender).scratch, (*mender).pooled}, life.Convert: {(*mender).framed},
	life.Literal: {(*mender).pooled}, life.New: {(*mender).pooled},
	life.MapGrow: {(*mender).spacious},
}

// others are the fixes that are proposed beside the remedy, the first that saves in its place.
func (k *subject) others() (all []Finding) {
	if !k.x.Try || k.outside() {
		return nil
	}
	var before []string
	if k.e.fixed != "" {
		before = append(before, k.e.fixed)
	}
	for _, propose := range proposals[k.s.Kind] {
		e, other := *k.e, *k
		e.Fix, e.Check, e.Verdict = false, "", ""
		other.e, other.how = &e, nil
		if m := other.mender(); m != nil {
			propose(m)
		}
		if edits := other.mend(); edits != nil {
			f := other.mended(edits)
			f.unsure, f.after = true, slices.Clone(before)
			all, before = append(all, f), append(before, f.key())
		}
	}
	return all
}

// regrows reports whether the rounds of a loop outgrow what it begins with, so that a
// capacity saves a part of the memory that counts: the sizes of the profile say how much.
// How many rounds there are has to cost nothing to ask; a number of them counts only where the loop ends by it, and a
// text has fewer than bytes.
func (k *subject) regrows() bool {
	g := k.growth
	if g.Rounds == nil || g.Loop == nil || g.Sized || g.Begin == nil && (g.Field != "" || !k.local()) {
		return false
	}
	of := k.p.Info.TypeOf(g.Rounds)
	return !check.IsString(of) && !(check.IsInteger(of) && g.Loop.Left()) && plain(k.p.Info, g.Rounds) && k.t.outgrown()
}

// besides says what adds to the list beside the rounds of the innermost loop, or returns "".
func (k *subject) besides() (text string) {
	loop := k.growth.Loop
	if at := k.p.Stmt(k.growth.Most); k.growth.Most != loop && at != nil {
		text = ", or for those of all rounds of " + k.loop(at)
	}
	for _, use := range *k.s.Value.Referrers() {
		list, ok := use.(*ssa.Phi)
		if !ok || list.Block() != loop.Head {
			continue
		}
		for _, use := range *list.Referrers() {
			call, ok := use.(*ssa.Call)
			if !ok || loop.Has(call.Block()) || len(call.Call.Args) == 0 || call.Call.Args[0] != list {
				continue
			}
			if of, ok := call.Call.Value.(*ssa.Builtin); ok && of.Name() == "append" {
				return text + ", and for what " + k.x.position(k.p, call.Pos()) + " appends"
			}
		}
	}
	return text
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

// consumer is the function that the value is an argument of, or "".
func (k *subject) consumer() string {
	for _, c := range takers(k.s.Value) {
		switch fn := c.StaticCallee(); {
		case fn != nil:
			return shortName(fn.String())
		case c.IsInvoke():
			return named(k.p.Pkg, c.Value.Type()) + "." + c.Method.Name()
		}
	}
	return ""
}

// apart takes the expression out of the shares of findings on its line that are about another one.
func (k *subject) apart() {
	for _, f := range k.x.findings[k.c.at] {
		holds := func(s span) bool {
			return !s.Inner && !s.Beyond && s.holds(frame{place: k.c.at, function: k.c.function})
		}
		if !f.Grows && slices.ContainsFunc(f.Spans, holds) && !k.flagged(f) {
			f.apart.add(k.t.Totals)
		}
	}
}

// found takes up what a check has found of the expression: its fix is a candidate where there is no
// other. What the lifetime disproves is left.
func (k *subject) found() {
	reuse := []string{"bufferpercall", "stringconv", "byteconv", "resultslice"}
	for _, f := range k.x.findings[k.c.at] {
		other := k.e.Verdict != "" && f.Check != k.e.Check
		if f.Severity == check.Trap.String() || other || !k.flagged(f) {
			continue
		}
		k.e.Check = f.Check
		if slices.Contains(reuse, f.Check) && !k.dies() {
			continue
		}
		if f.Fix {
			k.e.Fix, k.e.fixed = true, f.key()
		}
		converts := f.Check == "stringconv" || f.Check == "byteconv" // an argument, not what the callee makes
		sure := f.Caveat == "" && !strings.Contains(f.Message, "where ") && !strings.Contains(f.Message, "unless ")
		if k.e.Verdict == "" && (f.Fix || sure && !(converts && k.outside())) {
			k.change(f.Check, "%s", f.Text())
		} else if f.Fix && f.Caveat != "" {
			k.e.Remedy += "; " + string(f.Caveat)
		}
	}
}

// flagged reports whether a finding is about the expression, and not about another one of the
// line.
func (k *subject) flagged(f *Finding) bool {
	if !slices.ContainsFunc(k.c.ways(), func(w *chain) bool { return f.about(k.c, w) }) {
		return false
	}
	if k.outside() || k.s.Node == nil { // about tells by what is called
		return true
	}
	from, to := k.p.Fset.Position(k.s.Node.Pos()).Offset, k.p.Fset.Position(k.s.Node.End()).Offset
	within := k.s.Kind != life.Append && k.s.Kind != life.MapGrow // which grow whatever is made for their arguments
	return slices.ContainsFunc(f.Spans, func(s span) bool {
		return s.holds(frame{place: k.c.at, function: k.c.function}) &&
			(s.Start <= from && to <= s.End || within && s.Callee == "" && from <= s.Start && s.End <= to)
	})
}
