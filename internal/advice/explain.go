package advice

import (
	"cmp"
	"context"
	"go/ast"
	"go/printer"
	"go/token"
	"go/types"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/advise/life"
	"golang.org/x/tools/go/ssa"
)

// An explainer finds the code that allocated, and what becomes of it.
type explainer struct {
	ctx      context.Context
	dir      string
	base     string
	units    map[string]*unit // by the absolute name of a file
	life     *lifetimes
	findings map[place][]*Finding
}

func newExplainer(ctx context.Context, c Config, units []*unit, base string, findings []Finding) *explainer {
	x := &explainer{ctx: ctx, dir: c.Dir, base: base, units: map[string]*unit{}, life: c.life,
		findings: map[place][]*Finding{}}
	if x.life == nil {
		x.life = newLifetimes(newCache(c), units)
	}
	for _, u := range units {
		for _, f := range u.Files {
			x.units[f.Name] = u
		}
	}
	for i := range findings {
		for _, s := range findings[i].spans {
			for l := s.From; l <= s.To; l++ {
				at := place{s.File, l}
				x.findings[at] = append(x.findings[at], &findings[i])
			}
		}
	}
	return x
}

// pkg returns the SSA of the package of a file, or nil.
func (x *explainer) pkg(file string) *life.Package {
	u := x.units[file]
	if u == nil {
		return nil
	}
	return x.life.of(u.Package)
}

// has reports whether a package is one of those that are explained.
func (x *explainer) has(p *types.Package) bool {
	return p != nil && slices.ContainsFunc(slices.Collect(maps.Values(x.units)), func(u *unit) bool {
		return u.PkgPath == p.Path()
	})
}

// A part is what one expression of a cause allocated.
type part struct {
	Explained
	totals, saved Totals
	mended        Finding // that stands for its remedy, where that has a fix of its own
}

// explain splits a cause by the expressions that made it, and gives each its
// verdict.
func (x *explainer) explain(c *cause) []*part {
	bySite := map[*life.Site]*site{}
	var order []*life.Site
	var candidates []*life.Site
	p := x.pkg(c.at.file)
	if p != nil {
		candidates = p.At(c.at.file, c.at.line)
	}
	for size, t := range c.sizes {
		s := choose(candidates, c, size)
		if bySite[s] == nil {
			bySite[s] = &site{sizes: map[int64]*Totals{}}
			order = append(order, s)
		}
		bySite[s].sizes[size] = t
		bySite[s].add(*t)
	}
	if len(c.sizes) == 0 {
		s := choose(candidates, c, 0)
		bySite[s], order = &site{Totals: c.Totals}, append(order, s)
	}
	var out []*part
	for _, s := range order {
		out = append(out, x.part(c, p, s, bySite[s]))
	}
	return out
}

// byRuntime are the functions of the runtime that CPU profiles show below a line,
// and what of the line calls them.
var byRuntime = []struct {
	function string
	kind     life.Kind
}{
	{"convT", life.Box}, {"growslice", life.Append}, {"makeslice", life.Make}, {"concatstring", life.Concat},
	{"slicebytetostring", life.Convert}, {"stringtoslice", life.Convert}, {"makemap", life.Map}, {"mapassign",
		life.MapGrow},
	{"newproc", life.Go}, {"deferproc", life.Defer}, {"makechan", life.Channel},
}

// choose returns the site of a line that allocates objects of a size; nil for
// none.
func choose(candidates []*life.Site, c *cause, size int64) *life.Site {
	if c.callee != "" {
		return chooseCall(candidates, c.callee)
	}
	for _, e := range byRuntime {
		if i := slices.IndexFunc(candidates, func(s *life.Site) bool { return s.Kind == e.kind }); i >= 0 &&
			strings.HasPrefix(c.leaf, "runtime."+e.function) {
			return candidates[i]
		}
	}
	var sized, open, call *life.Site
	for _, s := range candidates {
		switch want := fixedSize(s); {
		case s.Kind == life.Call || s.Kind == life.Defer:
			if call == nil {
				call = s
			}
		case want > 0 && size >= want && float64(size) <= 1.25*float64(want)+16:
			if sized == nil || fits(want, size) < fits(fixedSize(sized), size) {
				sized = s
			}
		case open == nil && want == 0 && (size == 0 || size >= elementSize(s)):
			open = s
		}
	}
	if best := cmp.Or(sized, open); best != nil {
		return best
	}
	for _, s := range candidates { // sizes of variables that share a closure's cell, or headers
		if s.Kind != life.Call {
			return s
		}
	}
	return call
}

func fits(want, size int64) int64 { return size - want }

// elementSize is the size of what a slice holds at least; 0 for other sites.
func elementSize(s *life.Site) int64 {
	if s.Kind == life.Make || s.Kind == life.Append {
		return s.Size
	}
	return 0
}

func chooseCall(candidates []*life.Site, callee string) *life.Site {
	var dynamic, other *life.Site
	for _, s := range candidates {
		switch {
		case named(s, callee):
			return s
		case s.Kind == life.Call && s.Callee() == "" && dynamic == nil:
			dynamic = s
		case other == nil:
			other = s
		}
	}
	return cmp.Or(dynamic, other)
}

// fixedSize is the size of the object that a site makes, 0 where the code does
// not tell it.
func fixedSize(s *life.Site) int64 {
	switch s.Kind {
	case life.Literal, life.Variable, life.Box, life.Variadic:
		return s.Size
	case life.Make:
		if _, array := s.Value.(*ssa.Alloc); array {
			return s.Size // its length is a constant
		}
	case life.Closure, life.MethodValue:
		return int64(8 + 8*s.Captures())
	}
	return 0
}

// part describes and judges one expression.
func (x *explainer) part(c *cause, p *life.Package, s *life.Site, t *site) *part {
	out := &part{totals: t.Totals, saved: t.Totals}
	e := &out.Explained
	e.File, e.Line, e.Function = relative(x.base, c.at.file), c.at.line, shortName(c.function)
	e.Source = sourceLine(c.at.file, c.at.line)
	e.Objects = t.Objects
	if t.Objects > 0 {
		e.Size = math.Round(float64(t.Bytes) / float64(t.Objects))
	}
	if c.callee != "" {
		e.Callee = shortName(c.callee)
	}
	if ways := c.ways(); len(ways) > 0 {
		e.Through = ways[0].String()
	}
	if s == nil && c.callee == "" {
		e.Kind, e.Verdict, e.Lifetime, e.Remedy = "unknown", Unknown, "unknown", unmatched
		return out
	}
	k := &subject{x: x, c: c, p: p, s: s, t: t, e: e, life: lifetime{kind: unclear}}
	if s == nil {
		e.Kind, e.What = life.Call.String(), e.Callee
	} else {
		e.Kind, e.What = s.Kind.String(), spelled(p, s.Node)
		k.life = x.lifetime(p, s, c)
		k.growth = p.Growth(s)
		e.spot, e.entry = spotAt(p, s.Pos()), spotAt(p, begin(s.Func))
	}
	e.Lifetime = k.life.String()
	k.judge()
	if f := k.mend(); f != nil {
		e.Fix = true
		out.mended = k.mended(f)
	}
	out.saved = k.saves()
	return out
}

// spotAt is a place as coverage profiles have it.
func spotAt(p *life.Package, pos token.Pos) spot {
	if !pos.IsValid() {
		return spot{}
	}
	at := p.Fset.Position(pos)
	return spotOf(p.Pkg.Path(), at.Filename, at.Line, at.Column)
}

// begin is where the first statement of a function is.
func begin(fn *ssa.Function) token.Pos {
	var body *ast.BlockStmt
	switch n := fn.Syntax().(type) {
	case *ast.FuncDecl:
		body = n.Body
	case *ast.FuncLit:
		body = n.Body
	}
	if body == nil || len(body.List) == 0 {
		return token.NoPos
	}
	return body.List[0].Pos()
}

// spelled is an expression on one line, shortened.
func spelled(p *life.Package, n ast.Node) string {
	if n == nil || reflect.ValueOf(n).IsNil() {
		return ""
	}
	var b strings.Builder
	switch lit := n.(type) {
	case *ast.FuncLit:
		n = lit.Type
	case *ast.CompositeLit:
		return spelled(p, lit.Type) + "{…}"
	}
	if printer.Fprint(&b, p.Fset, n) != nil {
		return ""
	}
	const most = 60
	line := strings.Join(strings.Fields(b.String()), " ")
	if runes := []rune(line); len(runes) > most {
		line = string(runes[:most-1]) + "…"
	}
	return line
}
