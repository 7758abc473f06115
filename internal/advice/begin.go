package advice

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

// Origins go back to where what grows was made: through assignments, what functions of the package return, and
// parameters, which the callers on the measured stacks give. They do not tell calls on the stacks
// from each other.
type origins struct {
	x     *explainer
	c     *cause
	seen  map[ssa.Value]bool
	given map[ssa.Value]bool // parameters that it was followed to
	at    []string           // the places
	by    []string           // the benchmarks that give it, and as which parameters
	made  bool               // something was made at one of them
	open  bool               // there are others, which are not known
}

// from goes back from a value; at is where the code has it, for one without a place of its own.
func (b *origins) from(p *life.Package, v ssa.Value, at token.Pos) {
	if c, empty := v.(*ssa.Const); empty && c.IsNil() && at.IsValid() {
		b.at = append(b.at, b.x.position(p, at))
		return
	}
	if _, ok := v.(*ssa.Parameter); ok {
		b.given[v] = true
	}
	if b.seen[v] {
		return
	}
	b.seen[v] = true
	switch v := v.(type) {
	case *ssa.Phi:
		for _, e := range v.Edges {
			b.from(p, e, v.Pos())
		}
	case *ssa.Slice:
		b.from(p, v.X, v.Pos())
	case *ssa.ChangeType:
		b.from(p, v.X, v.Pos())
	case *ssa.Extract:
		if call, ok := v.Tuple.(*ssa.Call); ok {
			b.returned(p, call, v.Index)
		} else {
			b.open = true
		}
	case *ssa.Call:
		b.returned(p, v, 0)
	case *ssa.Parameter:
		b.callers(v)
	case *ssa.MakeSlice, *ssa.MakeMap, *ssa.Alloc, *ssa.Convert:
		b.made, b.at = true, append(b.at, b.x.position(p, v.Pos()))
		b.open = b.open || !v.Pos().IsValid()
	default: // a field, an element, a variable that others set
		b.open = true
	}
}

// returned goes on with what a call returns.
func (b *origins) returned(p *life.Package, call *ssa.Call, result int) {
	if of, ok := call.Call.Value.(*ssa.Builtin); ok && of.Name() == "append" {
		b.from(p, call.Call.Args[0], token.NoPos)
		return
	}
	fn := call.Call.StaticCallee()
	if fn == nil || fn.Pkg != call.Parent().Pkg || len(fn.Blocks) == 0 {
		if to := appendedTo(call.Common()); to != nil {
			b.from(p, to, call.Pos())
			return
		}
		b.made, b.at = true, append(b.at, b.x.position(p, call.Pos()))
		return
	}
	for _, v := range fn.Params { // whose arguments this call has
		defer func(was bool) {
			if b.seen[v] = was; b.given[v] {
				b.made = true
				b.from(p, call.Call.Args[slices.Index(fn.Params, v)], call.Pos())
			}
		}(b.seen[v])
		b.seen[v] = true
	}
	for _, block := range fn.Blocks {
		if ret, ok := block.Instrs[len(block.Instrs)-1].(*ssa.Return); ok && result < len(ret.Results) {
			if c, empty := ret.Results[result].(*ssa.Const); !empty || !c.IsNil() { // with an error, mostly
				b.from(p, ret.Results[result], ret.Pos())
			}
		}
	}
}

// appendedTo is the slice that a function of another package returns with more behind it, as those that are called
// Append do; nil for others.
func appendedTo(c *ssa.CallCommon) ssa.Value {
	fn, args := c.StaticCallee(), c.Args
	if fn != nil && c.Signature().Recv() != nil {
		args = args[1:]
	}
	if fn == nil || !strings.HasPrefix(fn.Name(), "Append") || len(args) == 0 {
		return nil
	}
	results := c.Signature().Results()
	if _, slice := args[0].Type().Underlying().(*types.Slice); !slice || results.Len() == 0 ||
		!types.Identical(results.At(0).Type(), args[0].Type()) {
		return nil
	}
	return args[0]
}

// callers goes on with the arguments that the callers on the stacks have for a parameter.
func (b *origins) callers(v *ssa.Parameter) {
	index, known := slices.Index(v.Parent().Params, v), false
	for _, w := range b.c.ways() {
		for _, at := range w.frames {
			p := b.x.pkg(at)
			for _, call := range b.x.calls(at.place) {
				if fn := call.Common().StaticCallee(); fn != nil && fn.String() == v.Parent().String() {
					known = true
					b.made = true
					b.from(p, call.Common().Args[index], call.Pos())
				}
			}
		}
	}
	b.open = !b.benchmarks(v) && !known || b.open
}

// benchmarks notes those that call the function of a parameter, and reports whether nobody else does.
func (b *origins) benchmarks(v *ssa.Parameter) bool {
	syntax, position := v.Parent().Syntax(), v.Parent().Prog.Fset.Position
	if syntax == nil {
		return false
	}
	from, to := position(syntax.Pos()), position(syntax.End())
	all := true
	for _, w := range b.c.ways() {
		last := append([]frame{w.origin}, w.frames...)[len(w.frames)]
		if strings.Contains(w.beyond, ".Benchmark") && below(last.file) == below(from.Filename) &&
			from.Line <= last.line && last.line <= to.Line {
			b.by = append(b.by, shortName(w.beyond)+" as "+v.Name())
		} else {
			all = false
		}
	}
	return all
}

// grows is what a site adds to; nil for a site that does not grow.
func (k *subject) grows() ssa.Value {
	switch i := k.s.Instr.(type) {
	case *ssa.Call:
		if k.s.Kind == life.Append {
			return i.Call.Args[0]
		}
	case *ssa.MapUpdate:
		return i.Map
	}
	return nil
}

// begun says where what grows begins; "" where one of the places is not known.
func (k *subject) begun() string {
	v := k.grows()
	if v == nil {
		return ""
	}
	const most = 4
	b := &origins{x: k.x, c: k.c, seen: map[ssa.Value]bool{}, given: map[ssa.Value]bool{}}
	b.from(k.p, v, token.NoPos)
	slices.Sort(b.at)
	slices.Sort(b.by)
	switch at, by := slices.Compact(b.at), slices.Compact(b.by); {
	case b.open || len(at)+len(by) == 0:
		if load, ok := v.(*ssa.UnOp); ok {
			if _, ok := load.X.(*ssa.IndexAddr); ok {
				return "each element of the list grows on its own"
			}
		}
		return ""
	case len(by) > 0 && len(at)+len(by) <= most:
		if len(at) > 0 {
			by[0] = "what begins at " + strings.Join(at, " or ") + ", or " + by[0]
		}
		return "it grows what is given by " + strings.Join(by, " or ")
	case len(at) > most:
		return "what grows begins at many places: " + strings.Join(at[:most], ", ") + " and others"
	case !b.made && len(at) == 1:
		return "what grows is declared at " + at[0]
	default:
		return "what grows begins at " + strings.Join(at, " or ")
	}
}
