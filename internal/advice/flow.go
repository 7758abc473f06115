package advice

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

// inlinable is the code of the compiler's facts about functions that can be inlined.
const inlinable = "canInlineFunction"

// escaping reports whether a fact says that something goes to the heap.
func escaping(f *Fact) bool { return strings.HasPrefix(f.Code, "escape") }

// anyColumn is the column of a spot that stands for all inlined code of a line: profiles tell no more of it.
const anyColumn = -1

// escapes are the compiler's facts by spot; the file of a spot is its name and its directory's.
type escapes map[spot][]*Fact

// spotOf returns a position as a key of escapes.
func spotOf(at token.Position) spot { return spot{place{below(at.Filename), at.Line}, at.Column} }

// escapes compiles packages with a go command and an overlay. lang holds compiler flags, args those
// of the command and the packages. back returns the original column of a spot in the compiled text.
// The compiler names its output by the last part of a file's name alone, so of two files with the same
// name, in the package and among inlined code, one is lost: files of sites are compiled apart.
func (x *explainer) escapes(ctx context.Context, files overlay, back func(spot) int, lang, verb string,
	args ...string) (escapes, error) {
	dir, err := compiled(ctx, x.Dir, lang, files.apart(x.apart), verb, args...)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	all, err := facts(dir, explains(), func(f *Fact) bool { return f.Message != "" })
	said := escapes{}
	for i := range all {
		f := &all[i]
		if back != nil {
			f.Range.Start.Character = back(f.where(-1))
			for step := range f.RelatedInformation {
				f.RelatedInformation[step].Location.Range.Start.Character = back(f.where(step))
			}
		}
		at := f.at(-1, anywhere)
		at.file = below(at.file)
		said[at] = append(said[at], f)
		if f.inlined() {
			at.column = anyColumn
			said[at] = append(said[at], f)
		}
	}
	return said, err
}

// explains returns a function that reports whether a line of the compiler may be a fact that explains a site. Most of
// what the compiler writes are leaks; of several from one spot, two are as good as all: none is the way.
func explains() func(file string, line []byte) bool {
	leaks := map[string]int{} // by file, and what stands before the code
	return func(file string, line []byte) bool {
		at, fact, _ := bytes.Cut(line, []byte(`"code":"`))
		is := func(code string) bool { return bytes.HasPrefix(fact, []byte(code)) }
		if !is("leak") {
			return is("escape") || is(inlinable)
		}
		if !bytes.Contains(fact, []byte("leaks to ")) || bytes.Contains(fact, []byte("leaks to ~r")) {
			return false
		}
		if !bytes.Contains(fact, []byte("inlineLoc")) { // no copy
			leaks[file+string(at)]++
		}
		return leaks[file+string(at)] <= 2
	}
}

// setApart sets which files are compiled apart, those of sites, and returns their packages.
func (x *explainer) setApart(sites []Explained) (pkgs []string) {
	x.apart = nil
	for _, e := range sites {
		for _, file := range x.copied(&e) {
			u := x.units[file]
			if u == nil || len(e.spots) == 0 || slices.Contains(x.apart, file) {
				continue
			}
			if x.apart = append(x.apart, file); !slices.Contains(pkgs, u.PkgPath) {
				pkgs = append(pkgs, u.PkgPath)
			}
		}
	}
	return pkgs
}

// flows adds the steps that take sites to the heap, as the compiler has them: it compiles the packages of the
// heaviest sites again. A site gets none if its package does not build, or if the compiler says different things: of
// several expressions that are spelled alike, or of several functions that inline the code and make much of the
// memory. The compiler names one way of each to the heap; without that way, it names the next.
func (x *explainer) flows(ctx context.Context, sites []Explained) error {
	const most, proofs, long = 100, 40, 30 * time.Second // sites; compilations, and how long they take
	const trying = 8                                     // of the budget, to try fixes
	sites = sites[:min(most, len(sites))]
	pkgs := x.setApart(sites)
	if len(pkgs) == 0 {
		return nil
	}
	limit := x.Limit
	if slices.ContainsFunc(sites, func(e Explained) bool { return e.fixed != "" || len(e.fixes) > 0 }) {
		limit = limit.keeping(trying)
	}
	within, cancel := limit.within(ctx, 1)
	defer cancel()
	x.say("compiling the packages, to see why memory is on the heap")
	said, err := x.escapes(within, nil, nil, "", "build", pkgs...)
	if err != nil {
		return x.ended(ctx, within.Err(), "the packages were compiled again")
	}
	tested := x.tested(within, sites, said)
	p := &prover{x: x, ctx: within, said: map[string]escapes{}, left: proofs, by: time.Now().Add(long)}
	for i := range sites {
		e := &sites[i]
		if len(e.spots) == 0 {
			continue
		}
		x.say(fmt.Sprintf("why memory is on the heap: %d of %d, %s:%d", i+1, len(sites), e.File, e.Line))
		var all []way
		first, copies, made := x.way(e, said)
		proven := !e.inlined && len(e.about(said)) == 0
		switch {
		case first.text != "":
			all, proven = p.ways(e, first, made)
		case e.instance(said):
			if first, copies, _ = x.way(e, tested); first.text != "" {
				all = []way{first}
			}
			proven = false
		}
		into := e.intoBenchmark()
		proven = proven && into == ""
		all = x.sized(e, all, into)
		switch {
		case len(all) > 0:
			x.flow(e, all, proven)
		case len(copies) > 1:
			x.flow(e, copies, false)
			e.Flow = "it is inlined, and goes to the heap where its copies do: " + e.Flow
		case e.instead == unproven:
			e.instead += "; no single way to the heap was found"
			if e.Verdict == Look && e.Remedy == unproven {
				e.Remedy = e.instead
			}
		}
		if e.Flow != "" && into != "" {
			e.Flow += "; it is inlined into " + into + ", which decides there"
		}
	}
	return x.ended(ctx, within.Err(), "each way was proven")
}

// sized adds to the ways of a site that the size of its objects takes them to the heap, wherever they are inlined.
func (x *explainer) sized(e *Explained, all []way, into string) []way {
	by := func(size string) way { return way{e.What + " " + size, place{absolute(x.base, e.File), e.Line}} }
	switch {
	case e.unsized():
		return append(slices.DeleteFunc(all, func(w way) bool { return strings.HasSuffix(w.text, unsized) }), by(unsized))
	case e.roomy && into != "": // the benchmark's map may be on the stack
		return []way{by(asked)}
	case e.roomy:
		return append(all, by(asked))
	}
	return all
}

// intoBenchmark returns the benchmark that makes a part of the memory because the
// function is inlined there. It returns "" for none.
func (e *Explained) intoBenchmark() (name string) {
	if !e.inlined {
		return ""
	}
	const part = 0.05
	all, most, direct := int64(0), int64(0), int64(0)
	for _, w := range e.cause.ways() {
		all += w.Bytes
		if w.test != "" {
			if direct += w.Bytes; w.Bytes > most {
				most, name = w.Bytes, w.test
			}
		}
	}
	if float64(direct) < part*float64(all) {
		return ""
	}
	return name
}

// instance reports whether a site is in a generic function without facts, because the
// package has no instance of it.
func (e *Explained) instance(said escapes) bool { return e.generic && len(e.about(said)) == 0 }

// tested returns the compiler's facts about instances that only tests have.
func (x *explainer) tested(ctx context.Context, sites []Explained, said escapes) escapes {
	args := []string{"-c", "-vet=off"}
	for _, e := range sites {
		u := x.units[absolute(x.base, e.File)]
		if e.instance(said) && u != nil && !slices.Contains(args, u.PkgPath) {
			args = append(args, u.PkgPath)
		}
	}
	if len(args) == 2 {
		return nil
	}
	tested, _ := x.escapes(ctx, nil, nil, "", "test", args...) // on failure, nothing is said
	return tested
}

// unsized ends the compiler's text for memory whose size is not constant. The text only
// appears for large elements, but no more than 32 bytes of any such memory stay on the stack.
const (
	unsized = "(non-constant size)"
	asked   = "(the room asked for)" // of a map
)

// unsized reports whether most objects of a site would be on the heap for their size alone.
func (e *Explained) unsized() bool {
	const most = 32
	late := []string{life.Make.String(), life.Convert.String(), life.Concat.String()}
	return e.object == 0 && e.Size > most && slices.Contains(late, e.Kind)
}

// locate records where the compiler has an expression, if the compiler explains what the expression makes, and where
// the function around it begins.
func (e *Explained) locate(p *life.Package, s *life.Site) {
	at, fn := p.Fset.Position(p.Spot(s)), outermost(s.Func)
	begins := fn.Pos()
	if decl, ok := fn.Syntax().(*ast.FuncDecl); ok && decl.Recv != nil {
		begins = decl.Recv.Opening
	}
	e.begins, e.generic = p.Fset.Position(begins), fn.TypeParams().Len() > 0
	if at.Line > 0 {
		e.spots = append(e.spots, spotOf(at))
	}
}

// copied returns the files that may compile the code of a site: its own, and those of callers.
func (x *explainer) copied(e *Explained) []string {
	files := []string{absolute(x.base, e.File)}
	if e.inlined {
		for _, w := range e.cause.ways() {
			if len(w.frames) > 0 {
				files = append(files, w.frames[0].file)
			}
		}
	}
	return files
}

// about returns the facts about what a site makes. What is made to be boxed, or passed
// in a list, may share its spot.
func (e *Explained) about(said escapes) (all []*Fact) {
	boxing, listing := e.Kind == life.Box.String(), e.Kind == life.Variadic.String()
	closure := e.Kind == life.Closure.String() // of a loop: a variable #state1 has the same spot
	boxed := func(f *Fact) bool {
		text, _ := f.decides()
		return strings.HasSuffix(text, "(interface-converted)")
	}
	for _, s := range e.spots {
		for _, f := range said[s] {
			list := strings.HasPrefix(f.Message, "... argument")
			state := closure && strings.HasPrefix(f.Message, "#")
			if escaping(f) && list == listing && !(boxing && boxed(f)) && !state && (e.call.line == 0 || f.passes(e.call)) {
				all = append(all, f)
			}
		}
	}
	if !boxing && slices.ContainsFunc(all, boxed) {
		all = slices.DeleteFunc(all, func(f *Fact) bool { return !boxed(f) })
	}
	return all
}

// copies reports whether a fact is about a copy of a site in code that inlines its function.
func (e *Explained) copies(f *Fact) bool {
	if e.call.line > 0 {
		return f.where(-1).line != e.call.line || below(f.file) != below(e.call.file)
	}
	return f.inlined()
}

// way returns the only way of a site to the heap, the zero way if the compiler names several; the heaviest
// ways of inlined copies, if these are most of it; and the weight of all that the compiler says. If only
// tests, which are not compiled, inline the code, the way is that of the function itself.
func (x *explainer) way(e *Explained, said escapes) (it way, copies []way, all int64) {
	weights, about := map[way]int64{}, e.about(said)
	inlined := e.inlined && slices.ContainsFunc(e.cause.ways(), func(w *chain) bool {
		return len(w.frames) > 0 && w.test == ""
	})
	for _, f := range about {
		if e.copies(f) != inlined {
			continue
		}
		weight := int64(1)
		if inlined {
			weight = e.cause.through(f.where(-1).place)
		}
		weights[x.leaked(f, said)] += weight
		all += weight
	}
	const most, few = 0.95, 4
	for s, weight := range weights {
		if weight > 0 && float64(weight) >= most*float64(all) {
			it = s
		}
		if weight > 0 {
			copies = append(copies, s)
		}
	}
	if !inlined || float64(all) < most*float64(e.cause.through(place{})) {
		copies = nil
	}
	slices.SortFunc(copies, func(a, b way) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), strings.Compare(a.at.file, b.at.file), a.at.line-b.at.line)
	})
	return it, copies[:min(few, len(copies))], all
}

// flow records the ways by which a site reaches the heap, and the deciding places if they are elsewhere. Unless it is
// proven that the site stays on the stack without these ways, there may be others, and no place decides.
func (x *explainer) flow(e *Explained, ways []way, proven bool) {
	own := absolute(x.base, e.File)
	var texts, places []string
	for _, w := range ways {
		where := fmt.Sprintf("line %d", w.at.line)
		same := below(w.at.file) == below(own)
		if !same {
			where = x.spell(w.at)
		}
		texts = append(texts, w.text+", "+where)
		if !same || w.at.line != e.Line || len(ways) > 1 {
			places = append(places, x.spell(w.at))
		}
	}
	e.Flow = strings.Join(texts, "; ")
	switch {
	case !proven:
		e.Flow += "; there may be other ways"
	case len(ways) > 1:
		e.Flow += "; each by itself"
	}
	if proven && len(ways) == 1 && strings.HasSuffix(ways[0].text, unsized) && e.Measured == 0 { // nobody keeps it
		e.Lifetime, e.Open = lifetime{in: e.Function}.String(), false
	}
	if proven && (e.Verdict == Look || e.Fix && x.Try) { // a fix may save nothing
		e.Decides = strings.Join(slices.Compact(places), ", ")
	}
}

// leaked returns the step that decides a flow. If that step passes the value to a function of the
// packages, it is the step by which the value leaves the parameter there, if there is only one.
func (x *explainer) leaked(f *Fact, said escapes) (it way) {
	const most = 4 // functions
	for range most {
		text, step := f.decides()
		at := f.at(step, func(s spot) bool { return x.units[s.file] != nil })
		if it.text != "" && x.units[at.file] == nil {
			break
		}
		how := strings.LastIndex(text, " (")
		hidden := strings.HasPrefix(text, ".") || strings.ContainsAny(text, "~#") // the line does not show it
		if (hidden || f.at(step, anywhere) != at) && how > 0 {
			text = strings.TrimSpace(x.src.line(at.file, at.line)) + text[how:]
		}
		it = way{text, at.place}
		callee := x.called(at)
		if callee == nil || !strings.HasSuffix(it.text, "(call parameter)") {
			break
		}
		var leaks []*Fact
		for _, v := range callee.Params {
			for _, f := range said[spotOf(callee.Prog.Fset.Position(v.Pos()))] {
				if f.Code == "leak" && !f.inlined() && !result(callee, f) {
					leaks = append(leaks, f)
				}
			}
		}
		if len(leaks) != 1 {
			break
		}
		f = leaks[0]
	}
	return it
}

// result reports whether a parameter only leaks to a result of its function, as a fact about it has it.
func result(fn *ssa.Function, leak *Fact) bool {
	_, to, _ := strings.Cut(leak.Message, "leaks to ")
	to, _, _ = strings.Cut(to, " ")
	return slices.ContainsFunc(slices.Collect(fn.Signature.Results().Variables()), func(r *types.Var) bool {
		return r.Name() == to
	})
}

// called returns the function of the same package that is called by name at a spot, or nil.
func (x *explainer) called(at spot) *ssa.Function {
	p := x.pkg(frame{place: at.place})
	if p == nil {
		return nil
	}
	for _, s := range p.At(at.file, at.line) {
		call, ok := s.Instr.(ssa.CallInstruction)
		if !ok {
			continue
		}
		of, pos := call.Common().StaticCallee(), p.Fset.Position(call.Pos())
		if of != nil && of.Pkg == p.SSA && pos.Line == at.line && pos.Column == at.column {
			return of
		}
	}
	return nil
}

// through returns the bytes that code of the packages makes on the ways that pass a line; all bytes if the line is 0.
func (c *cause) through(at place) (bytes int64) {
	for _, w := range c.ways() {
		if at.line == 0 || w.test == "" && slices.ContainsFunc(w.frames, func(f frame) bool {
			return f.line == at.line && below(f.file) == below(at.file)
		}) {
			bytes += max(w.Bytes, 1)
		}
	}
	return bytes
}

// absolute undoes relative.
func absolute(base, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(base, name)
}
