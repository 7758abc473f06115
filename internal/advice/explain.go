package advice

import (
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
	"github.com/isobar-go/isobar/internal/show/text"
)

// An explainer finds the code that allocated, and what becomes of the memory.
type explainer struct {
	Config
	base     string
	units    map[string]*unit // by the absolute name of a file
	findings map[place][]*Finding
	src      texts
	measured sightings
	apart    []string // files of sites, to compile under names of their own
	causes   map[causeKey]*cause
	early    map[place]bool // as in joiner
}

func newExplainer(c Config, units []*unit, base string, findings []Finding) *explainer {
	x := &explainer{Config: c, base: base, units: map[string]*unit{}, findings: map[place][]*Finding{}, src: texts{}}
	if x.life == nil {
		x.life = newLifetimes(newCache(c), units)
	}
	for _, u := range units {
		for _, f := range u.Files {
			for _, name := range f.names() {
				x.units[name] = u
			}
		}
	}
	for i := range findings {
		for _, s := range findings[i].Spans {
			for l := s.From; l <= s.To; l++ {
				at := place{s.File, l}
				if !slices.Contains(x.findings[at], &findings[i]) {
					x.findings[at] = append(x.findings[at], &findings[i])
				}
			}
		}
	}
	return x
}

// pkg returns the SSA of the package of a frame, or nil.
func (x *explainer) pkg(f frame) *life.Package {
	if u := x.units[f.file]; u != nil {
		return x.life.of(u.Package)
	}
	return nil
}

// sitesAt returns the sites at a place, whose file may have a name from another build.
func sitesAt(p *life.Package, at place) []*life.Site {
	if sites := p.At(at.file, at.line); len(sites) > 0 {
		return sites
	}
	for _, f := range p.Files {
		if name := p.Fset.Position(f.Package).Filename; below(name) == below(at.file) {
			return p.At(name, at.line)
		}
	}
	return nil
}

// below returns a file's name with that of its directory.
func below(name string) string {
	name = filepath.ToSlash(name)
	return path.Join(path.Base(path.Dir(name)), path.Base(name))
}

// explain splits a cause into the expressions that made it, and gives each its verdict.
func (x *explainer) explain(c *cause) []*Explained {
	p := x.pkg(frame{place: c.at, function: c.function})
	if c.callee != "" || p == nil {
		var called *life.Site
		if p != nil {
			called = callAt(p, c.at, lastName(c.callee))
		}
		return []*Explained{x.part(c, p, called, &c.site)}
	}
	type group struct {
		made []*life.Site
		site
	}
	var groups []*group
	for _, size := range slices.Sorted(maps.Keys(c.sizes)) {
		made := choose(p, c.at, c.leaf, size)
		i := slices.IndexFunc(groups, func(g *group) bool { return slices.Equal(g.made, made) })
		if i < 0 {
			i, groups = len(groups), append(groups, &group{made: made})
		}
		groups[i].charge(*c.sizes[size], size)
	}
	if len(groups) == 0 { // sizes are unknown
		groups = append(groups, &group{choose(p, c.at, c.leaf, 0), c.site})
	}
	var out []*Explained
	for _, g := range groups {
		out = append(out, x.oneOf(c, p, g.made, &g.site))
	}
	return out
}

// oneOf describes and judges what one or several expressions made: those that fit the
// size of the objects. If they differ, no remedy is proven.
func (x *explainer) oneOf(c *cause, p *life.Package, made []*life.Site, t *site) *Explained {
	if len(made) == 0 {
		return x.part(c, p, nil, t)
	}
	if len(made) == 1 {
		(&subject{x: x, c: c, p: p, s: made[0], t: t}).apart()
	}
	out := x.part(c, p, made[0], t)
	what, lives, alike, leads := []string{out.What}, []string{out.Lifetime}, true, []string{out.led()}
	for _, s := range made[1:] {
		o := x.part(c, p, s, t)
		alike = alike && o.Lifetime == out.Lifetime && o.bare() == out.bare()
		if o.Kind != out.Kind {
			o.What = o.Kind + " " + o.What
		}
		what, lives, leads = append(what, o.What), append(lives, o.Lifetime), append(leads, o.led())
		out.spots, out.Open = append(out.spots, o.spots...), out.Open || o.Open
	}
	out.What, out.Lifetime = strings.Join(slices.Compact(what), " or "), strings.Join(slices.Compact(lives), ", or ")
	leads = slices.DeleteFunc(slices.Compact(leads), func(lead string) bool { return lead == "" })
	if len(leads) > 1 && alike && strings.HasPrefix(out.Remedy, unproven) {
		out.Remedy = strings.Join(append([]string{out.bare()}, leads...), "; ")
	}
	if !alike { // cannot tell which of them would help
		out.Verdict, out.Remedy = Look, strings.Join(append([]string{unproven}, leads...), "; ")
		out.Check, out.Fix, out.fixed, out.Decides = "", false, "", ""
		out.fixes = nil
	}
	return out
}

// bare is the remedy without the lead.
func (e *Explained) bare() string { return strings.TrimSuffix(e.Remedy, "; "+e.lead) }

// led is the lead with what it is about.
func (e *Explained) led() string {
	if e.lead == "" {
		return ""
	}
	return "of " + e.What + ": " + e.lead
}

// byRuntime maps prefixes of the runtime functions that profiles show below a line to
// the kind of site that calls them.
var byRuntime = map[string]life.Kind{
	"convT": life.Box, "growslice": life.Append, "makeslice": life.Make, "concatstring": life.Concat,
	"slicebytetostring": life.Convert, "slicerunetostring": life.Convert, "intstring": life.Convert,
	"stringtoslice": life.Convert, "makemap": life.Map, "mapassign": life.MapGrow,
	"newproc": life.Go, "deferproc": life.Defer, "makechan": life.Channel,
}

// byKind returns the sites whose kind calls a runtime function; none if the function is
// unknown and leaf "".
func byKind(sites []*life.Site, leaf string) []*life.Site {
	name, _ := strings.CutPrefix(leaf, "runtime.")
	return matching(sites, func(s *life.Site) bool {
		object := strings.HasPrefix(name, "newobject") || strings.HasPrefix(name, "mallocgc")
		if object && fixedSize(s) > 0 && s.Kind != life.Box {
			return true
		}
		for begin, kind := range byRuntime {
			if s.Kind == kind && strings.HasPrefix(name, begin) {
				return kind != life.Convert || calls(name, s.Instr.(*ssa.Convert))
			}
		}
		return false
	})
}

// calls reports whether a conversion calls a runtime function, which is named after what it converts: for example,
// slicebytetostring.
func calls(name string, c *ssa.Convert) bool {
	spelled := func(t types.Type) string {
		list, ok := t.Underlying().(*types.Slice)
		switch {
		case !ok && life.IsString(t):
			return "string"
		case !ok:
			return "int"
		case types.Identical(list.Elem().Underlying(), types.Typ[types.Rune]):
			return "slicerune"
		}
		return "slicebyte"
	}
	return strings.Replace(name, "to", "", 1) == spelled(c.X.Type())+spelled(c.Type())
}

// movesSlice begins the names of the runtime functions that move a slice, begun on the
// stack by append, to the heap. This happens elsewhere than at the append.
const movesSlice = "runtime.moveSlice"

// choose returns the sites of a line that may allocate objects of a size: a single one
// if the size tells.
func choose(p *life.Package, at place, leaf string, size int64) []*life.Site {
	if strings.HasPrefix(leaf, movesSlice) {
		return nil
	}
	candidates := sitesAt(p, at)
	begins := func(s *life.Site) bool { return s.From == at.line }
	fit := func(s *life.Site) bool { return fits(s, size) }
	if of := byKind(candidates, leaf); len(of) > 0 {
		return prefer(prefer(of, begins), fit)
	}
	own := matching(candidates, func(s *life.Site) bool { return s.Kind != life.Call && s.Kind != life.Defer })
	if len(own) == 0 { // a deferred call in a loop keeps its receiver and arguments
		own = matching(candidates, func(s *life.Site) bool { return s.Kind == life.Defer })
	}
	of := matching(own, fit)
	if len(of) == 0 { // or sizes of variables that share a closure's cell, or with headers
		of = prefer(own, func(s *life.Site) bool { // the allocator may put it into one block with others
			want := fixedSize(s)
			return want > 0 && size >= want && float64(size) <= 1.25*float64(want)+16
		})
	}
	if of = prefer(of, begins); len(of) == 1 {
		return of
	}
	lasting := matching(of, func(s *life.Site) bool { // the compiler keeps on the stack what dies and has a fixed size
		return fixedSize(s) == 0 || s.Value == nil || !p.Fate(s.Value).Dies() || p.Fate(s.Value).Started
	})
	if len(lasting) > 0 {
		return lasting
	}
	return prefer(of, func(s *life.Site) bool { return s.Kind != life.Variadic })
}

// prefer returns the sites for which is holds, or all of them if it holds for none.
func prefer(sites []*life.Site, is func(*life.Site) bool) []*life.Site {
	if some := matching(sites, is); len(some) > 0 {
		return some
	}
	return sites
}

func matching(sites []*life.Site, is func(*life.Site) bool) (out []*life.Site) {
	for _, s := range sites {
		if is(s) {
			out = append(out, s)
		}
	}
	return out
}

// fits reports whether a site may make objects of a size, 0 if that is unknown.
func fits(s *life.Site, size int64) bool {
	const header, large = 8, 512 // of large objects with pointers
	const goroutine = 384        // bytes that the runtime keeps for one, at least
	want := fixedSize(s)
	switch {
	case size == 0:
		return true
	case s.Kind == life.Closure: // it holds unchanging variables by value
		return size >= class(want) && size <= class(8+32*int64(s.Captures()))
	case want > 0:
		tiny := want < tinyBlock && size == tinyBlock && !check.HasPointers(s.Type)
		return tiny || class(want) == size || want > large-header && class(want+header) == size
	case s.Kind == life.Go:
		return size >= goroutine
	case s.Kind == life.Append && s.Size > 0: // its list begins with one element, and doubles
		for n := s.Size; n <= size; n *= 2 {
			if class(n) == size {
				return true
			}
		}
		return size > 256*s.Size
	case s.Kind == life.Make:
		return size >= s.Size
	}
	return true
}

// class returns the size of the block that the allocator uses for n bytes: whole pages
// for large blocks.
func class(n int64) int64 {
	const large, page = 32 << 10, 8 << 10
	if n > large {
		return (n + page - 1) / page * page
	}
	return int64(cap(slices.Grow([]byte(nil), int(n))))
}

// tinyBlock is the size of the runtime's blocks for several objects without pointers.
const tinyBlock = 16

// fixedSize returns the size of the object that a site makes, or 0 if the code does not tell.
func fixedSize(s *life.Site) int64 {
	switch s.Kind {
	case life.Literal, life.New, life.Variable, life.Box, life.Variadic:
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
func (x *explainer) part(c *cause, p *life.Package, s *life.Site, t *site) *Explained {
	e := &Explained{
		File: relative(x.base, c.at.file), Line: c.at.line, Function: shortName(c.function),
		Source: x.src.line(c.at.file, c.at.line), Objects: t.Objects, totals: t.Totals,
	}
	switch {
	case c.callee != "":
		e.Callee = shortName(c.callee)
		for at := range c.copied {
			if !c.copied[place{}] {
				e.call, e.spots = c.at, append(e.spots, spot{place{below(at.file), at.line}, anyColumn})
			}
		}
	case s != nil:
		e.object = fixedSize(s)
	}
	if e.average(); e.object == 0 {
		e.Unsampled = t.unsampled()
	}
	e.Early = slices.ContainsFunc(c.ways(), func(w *chain) bool { return x.early[w.begins] })
	if ways := c.ways(); len(ways) > 0 {
		e.Through = ways[0].String()
	}
	k := &subject{x: x, c: c, p: p, s: s, t: t, e: e}
	k.life = x.lifetime(p, s, c)
	if s == nil || s.Kind != life.Go { // the heap does not tell that a goroutine runs
		k.known(x.measured.lifetime(c, t))
	}
	e.Kind, e.What = life.Call.String(), e.Callee
	if s != nil {
		if e.What = spelled(p, s.Node); c.callee == "" {
			e.Kind = s.Kind.String()
		}
		if s.Kind != life.MapGrow || k.firstGroup() {
			e.locate(p, s)
		}
		if made, ok := s.Instr.(*ssa.MakeMap); ok {
			e.roomy = life.Roomy(made)
		}
		if s.Kind == life.Defer {
			e.Flow = fmt.Sprintf("deferred in a loop, line %d", c.at.line)
		}
		k.growth = p.Growth(s)
	}
	e.Open = k.life.kind == unproved
	if e.Measured > 0 && k.shared() {
		k.life.inBlock()
	}
	e.Lifetime = k.life.String()
	if e.Measured > 0 {
		e.Lifetime = fmt.Sprintf("in these benchmarks, %s: %s", text.Plural(e.Measured, "object"), e.Lifetime)
	}
	if s == nil && c.callee == "" {
		k.unmatched()
		return e
	}
	k.judge()
	if f := k.mend(); f != nil {
		e.fixes = []Finding{k.mended(f)}
		e.Fix, e.fixed = true, e.fixes[0].key()
	}
	e.fixes = append(e.fixes, k.others()...)
	k.look()
	return e
}

// unmatched says what may have made memory that no expression of the line makes.
func (k *subject) unmatched() {
	k.e.Kind, k.e.Verdict, k.e.Remedy = "unknown", Unknown, "nothing that could be read on the line allocates"
	if strings.HasPrefix(k.c.leaf, movesSlice) {
		k.e.Kind, k.e.What = life.Append.String(), "to a slice that leaves the stack here"
		k.e.Verdict, k.e.Remedy = Look, unproven
	}
	if k.p != nil && waits(k.p, k.c.at) {
		k.e.Kind, k.e.What = "waiting", "goroutine"
		k.e.Verdict, k.e.Remedy = Look, unproven+"; the runtime keeps a record of each channel that a goroutine waits for, "+
			"and uses it again until a collection drops it"
	}
}

// waits reports whether a line sends to a channel or receives from one.
func waits(p *life.Package, at place) (found bool) {
	for _, f := range p.Files {
		if p.Fset.Position(f.Package).Filename != at.file {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectStmt, *ast.SendStmt:
				found = found || p.Fset.Position(n.Pos()).Line == at.line
			case *ast.UnaryExpr:
				found = found || n.Op == token.ARROW && p.Fset.Position(n.Pos()).Line == at.line
			}
			return !found
		})
	}
	return found
}

// known replaces the lifetime from the code by the measured one, if there is one. If
// the code has paths on which somebody keeps the memory, no remedy is proven.
func (k *subject) known(l lifetime, objects int, ok bool) {
	if !ok {
		return
	}
	if l.kind == died && k.life.kind == kept && k.life.holder.Kind >= life.Chan && k.life.holder.Kind <= life.Goroutine {
		// The call waits while the heap is read, other goroutines do not: they may be done with it, or never have run.
		k.life.kind, k.life.open = unproved, "dies with the call of "+l.in+", or is kept by "+k.life.holder.String()
		return
	}
	if l.kind == died && !k.outside() {
		k.elsewhere = k.life.kind != died
		if k.life.kind == kept && k.life.in == l.in && !l.mixed {
			l.unless = k.life.holder.String()
		}
	}
	l.round = k.life.round && l.kind == died && l.in == k.life.in
	k.life, k.e.Measured, k.e.seen = l, objects, 1-l.unmeasured
}

// ofC matches what cgo writes for C.name.
var ofC = regexp.MustCompile(`\(_Cfunc_(\w+)\)|\b_C[a-z]+_(\w+)`)

// spelled returns an expression on one line, shortened.
func spelled(p *life.Package, n ast.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	switch lit := n.(type) {
	case *ast.FuncLit:
		n = lit.Type
	case *ast.RangeStmt:
		return "the body of range " + spelled(p, lit.X)
	case *ast.CompositeLit:
		return spelled(p, lit.Type) + "{…}"
	}
	if printer.Fprint(&b, p.Fset, n) != nil {
		return ""
	}
	const most = 60
	line := ofC.ReplaceAllString(strings.Join(strings.Fields(b.String()), " "), "C.$1$2")
	if runes := []rune(line); len(runes) > most {
		line = string(runes[:most-1]) + "…"
	}
	return line
}
