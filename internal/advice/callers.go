package advice

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

// A dropped is a result that the packages alone can ask for, and that none of its callers keeps.
type dropped struct {
	callers  []string
	beyond   bool // one of them is in another package
	compares bool // a caller compares it, as with nil
	several  bool // the rounds of a loop get one each, and these outlive their rounds
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

// callsLimit is how many functions are read for one result.
const callsLimit = 24

// dropped follows some of the results of a function to its callers, and to theirs where one
// returns them. ok is false where the packages do not name each caller, or one keeps them.
func (x *explainer) dropped(p *life.Package, fn *ssa.Function, results []result, seen map[string]bool,
	d *dropped) bool {
	if seen[fn.String()] {
		return true
	}
	seen[fn.String()] = true
	calls, named := x.callers(p, fn)
	if len(seen) > callsLimit || fn.Parent() != nil || exported(p, fn) || len(calls) == 0 || !named {
		return false
	}
	return !slices.ContainsFunc(calls, func(c located) bool { return !x.drops(c, p.Pkg, results, seen, d) })
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

// drops reports whether nobody keeps what one call of a function of a package returns.
func (x *explainer) drops(c located, of *types.Package, results []result, seen map[string]bool, d *dropped) bool {
	caller := c.call.Parent()
	var further []result
	for _, n := range results {
		fate := c.p.FateOfResult(c.call, n.number, n.inside)
		further = append(further, resultsOf(fate)...)
		d.several = d.several || fate.Beyond && c.p.Loop(c.call.Block()) != nil
		if slices.ContainsFunc(fate.Holders, func(h life.Holder) bool { return h.Kind != life.Result || h.Outer != "" }) {
			return false
		}
	}
	d.compares = d.compares || compared(c.call)
	d.beyond = d.beyond || c.p.Pkg != of
	if len(further) > 0 {
		return x.dropped(c.p, caller, further, seen, d)
	}
	if name := funcName(caller); !slices.Contains(d.callers, name) {
		d.callers = append(d.callers, name)
	}
	return true
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
