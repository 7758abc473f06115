package advice

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

// An ending is what one caller does with a result.
type ending struct {
	caller, at string
	does       string // who has it then
	drops      bool
	leaves     bool // callers that the packages do not name have it
	compares   bool // it asks whether it is nil
	several    bool // the rounds of a loop get one each, and these outlive their rounds
}

// A result is one of a function, by its number: itself, or what it refers to.
type result struct {
	number int
	inside bool
}

// resultsOf are the results among the holders of memory.
func resultsOf(fate *life.Fate) (all []result) {
	for _, h := range fate.Holders {
		if r := (result{h.Index, h.Inside}); h.Kind == life.Result && h.Outer == "" && !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all
}

// endingsLimit is how many calls are read for one result.
const endingsLimit = 24

// endings says what the callers of a function in the packages do with some of its results,
// each read in its code; where one returns them, so do its own callers. One of the endings
// stands for callers that the packages do not name.
func (x *explainer) endings(p *life.Package, fn *ssa.Function, results []result, seen map[string]bool) (all []ending) {
	if seen[fn.String()] || len(seen) > endingsLimit {
		return nil
	}
	seen[fn.String()] = true
	name := funcName(fn)
	add := func(does string) {
		all = append(all, ending{caller: name, at: x.position(p, fn.Pos()), does: does, leaves: true})
	}
	calls, named := x.callers(p, fn)
	switch {
	case fn.Parent() != nil:
		add("is a function literal, whose callers have it")
		return all
	case exported(p, fn) && unexportedReceiver(fn):
		add("is a method of a type that is not exported: whoever has such a value, as an interface, may call it")
	case exported(p, fn):
		add("is exported: callers outside of these packages have it")
	case len(calls) == 0:
		add("is called by no code of these packages by its name")
	case !named:
		add("is called through an interface or a function value, too")
	}
	for _, c := range calls {
		all = append(all, x.ending(c, results, seen)...)
	}
	return all
}

// unexportedReceiver reports whether fn is a method of a type that other packages cannot name.
func unexportedReceiver(fn *ssa.Function) bool {
	recv := fn.Signature.Recv()
	if recv == nil {
		return false
	}
	t := recv.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	return ok && !named.Obj().Exported()
}

// A located is a call, and the package of its code.
type located struct {
	p    *life.Package
	call ssa.CallInstruction
}

// callers are the calls of a function in its package and in those that import it; named is
// set where the package of the function has no others.
func (x *explainer) callers(p *life.Package, fn *ssa.Function) (calls []located, named bool) {
	own, named := p.Callers(fn)
	for _, c := range own {
		calls = append(calls, located{p, c})
	}
	obj, ok := fn.Object().(*types.Func)
	if !ok || !obj.Exported() {
		return calls, named
	}
	for _, path := range x.importers(p.Pkg.Path()) {
		q := x.life.of(x.life.packages[path])
		if q == nil {
			continue
		}
		for _, c := range q.CallersByName(obj.FullName()) {
			calls = append(calls, located{q, c})
		}
	}
	return calls, named
}

// importers are those of the packages that import a path.
func (x *explainer) importers(of string) (paths []string) {
	for path := range x.paths {
		if x.life.packages[path].Imports[of] != nil {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// ending reads one call.
func (x *explainer) ending(c located, results []result, seen map[string]bool) []ending {
	caller := c.call.Parent()
	e := ending{caller: funcName(caller), at: x.position(c.p, c.call.Pos()), does: "keeps nothing of it", drops: true}
	var further []result
	for _, n := range results {
		fate := c.p.FateOfResult(c.call, n.number, n.inside)
		further = append(further, resultsOf(fate)...)
		e.several = e.several || fate.Beyond && c.p.Loop(c.call.Block()) != nil
		for _, h := range fate.Holders {
			if e.drops && (h.Kind != life.Result || h.Outer != "") {
				e.drops, e.does = false, does(h)
			}
		}
	}
	e.compares = compared(c.call)
	if e.drops && len(further) > 0 {
		return x.endings(c.p, caller, further, seen)
	}
	return []ending{e}
}

// does says what a holder means for what was followed to it.
func does(h life.Holder) string {
	switch {
	case h.Kind == life.Callee:
		return "hands it to " + h.String()
	case h.Perhaps:
		return "may keep it: " + h.String()
	}
	return "keeps it: " + h.String()
}

// compared reports whether a result of a call is compared, as with nil.
func compared(call ssa.CallInstruction) bool {
	uses := func(v ssa.Value) bool {
		return v.Referrers() != nil && slices.ContainsFunc(*v.Referrers(), func(use ssa.Instruction) bool {
			b, ok := use.(*ssa.BinOp)
			_, pointer := v.Type().Underlying().(*types.Pointer)
			return ok && b != nil && pointer
		})
	}
	v := call.Value()
	if v == nil || v.Referrers() == nil {
		return false
	}
	return uses(v) || slices.ContainsFunc(*v.Referrers(), func(use ssa.Instruction) bool {
		part, ok := use.(*ssa.Extract)
		return ok && uses(part)
	})
}

// result says what becomes of what a function returns.
func (l *lifetime) result() string {
	var keep, drop []ending
	for _, e := range l.callers {
		if e.drops {
			drop = append(drop, e)
		} else {
			keep = append(keep, e)
		}
	}
	text := "it is the result of " + cmp.Or(l.of, l.in)
	if len(keep) > 0 && len(drop) > 0 {
		text += fmt.Sprintf(", which %d of %d callers drop", len(drop), len(l.callers))
	}
	slices.SortStableFunc(keep, func(a, b ending) int { return cmp.Compare(leaving(a), leaving(b)) })
	for i, e := range append(keep, drop...) {
		const most = 4
		if i == most {
			return text + fmt.Sprintf(", and %d more callers", len(l.callers)-most)
		}
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		text += fmt.Sprintf("%s%s (%s) %s", sep, e.caller, e.at, e.does)
	}
	return text
}

func leaving(e ending) int {
	if e.leaves {
		return 1
	}
	return 0
}

// recursive reports whether a function can come to call itself, through functions that its
// package names.
func recursive(p *life.Package, fn *ssa.Function) bool {
	seen := map[*ssa.Function]bool{}
	pending := slices.Clone(p.Callees(fn))
	for len(pending) > 0 {
		next := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if next == fn {
			return true
		}
		if !seen[next] {
			seen[next] = true
			pending = append(pending, p.Callees(next)...)
		}
	}
	return false
}

// funcName is a function as reports name it.
func funcName(fn *ssa.Function) string {
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	if obj, ok := fn.Object().(*types.Func); ok {
		return shortName(strings.NewReplacer("(*", "", "(", "", ")", "").Replace(obj.FullName()))
	}
	return fn.Name()
}
