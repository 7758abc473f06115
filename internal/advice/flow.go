package advice

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

// flows gives the sites the step that takes them to the heap, as the compiler has it: it compiles
// the packages of the heaviest ones again. What does not build stays without, and that of which
// the compiler says different things: of several expressions that are spelled alike, or of
// several functions that the code is inlined into and that make much of it.
func (x *explainer) flows(sites []Explained) {
	const most = 100 // sites
	sites = sites[:min(most, len(sites))]
	var pkgs []string
	for _, e := range sites {
		if u := x.units[absolute(x.base, e.File)]; u != nil && e.Callee == "" && !slices.Contains(pkgs, u.PkgPath) {
			pkgs = append(pkgs, u.PkgPath)
		}
	}
	if len(pkgs) == 0 {
		return
	}
	dir, err := compiled(x.ctx, x.dir, pkgs...)
	if err != nil {
		return
	}
	defer os.RemoveAll(dir)
	all, _ := facts(dir, func(f *Fact) bool {
		return f.Message != "" && (strings.HasPrefix(f.Code, "escape") || f.Code == "leak")
	})
	said := map[place][]*Fact{}
	for i := range all {
		at := all[i].at(-1)
		at.file = below(at.file)
		said[at] = append(said[at], &all[i])
	}
	for i := range sites { // what append needs is on the heap because it grows
		if e := &sites[i]; e.Callee == "" && e.Kind != life.Append.String() {
			x.flow(e, said)
		}
	}
}

// flow gives a site its step, and the place that decides where that is another one.
func (x *explainer) flow(e *Explained, said map[place][]*Fact) {
	own := place{absolute(x.base, e.File), e.Line}
	type step struct {
		text string
		at   place
	}
	weights, all := map[step]int64{}, int64(0)
	for _, f := range said[place{below(own.file), e.Line}] {
		if f.Code == "leak" || !named(e.What, shortened(f.Message)) || f.inlined() != e.inlined {
			continue
		}
		weight := int64(1)
		if e.inlined {
			weight = e.cause.through(f.outer())
		}
		text, at := x.leaked(f, said)
		weights[step{text, at}] += weight
		all += weight
	}
	const most = 0.95
	var it step
	for s, weight := range weights {
		if weight > 0 && float64(weight) >= most*float64(all) {
			it = s
		}
	}
	if it.text == "" {
		return
	}
	at := it.at
	same := below(at.file) == below(own.file)
	if e.Flow = fmt.Sprintf("%s, line %d", it.text, at.line); !same {
		e.Flow = it.text + ", " + x.spell(at)
	}
	if strings.HasSuffix(it.text, "(return)") && at.line != e.Line && x.returns(at) > 1 {
		e.Flow = it.text // it has the first one, whichever the value takes
		return
	}
	if e.Verdict != Look {
		return
	}
	if e.Decides = x.spell(at); same && at.line == e.Line {
		e.Decides = ""
	}
}

// leaked is the step that decides a flow: where that hands the value to a function of the package, the
// one by which it leaves the parameter there, if it is the only one.
func (x *explainer) leaked(f *Fact, said map[place][]*Fact) (text string, at place) {
	const most = 4 // functions
	for range most {
		text, at = f.decides()
		callee := x.called(at)
		if callee == nil || !strings.HasSuffix(text, "(call parameter)") {
			break
		}
		p := callee.Prog.Fset.Position(callee.Pos())
		leaks := slices.DeleteFunc(slices.Clone(said[place{below(p.Filename), p.Line}]), func(f *Fact) bool {
			return f.Code != "leak" || f.inlined() || !strings.Contains(f.Message, "leaks to {heap}")
		})
		if len(leaks) != 1 {
			break
		}
		f = leaks[0]
	}
	return text, at
}

// called is the one function of the package that a line calls by its name; nil for none.
func (x *explainer) called(at place) (callee *ssa.Function) {
	p := x.pkg(frame{place: at})
	if p == nil {
		return nil
	}
	for _, fn := range p.Funcs {
		for _, b := range fn.Blocks {
			for _, i := range b.Instrs {
				call, ok := i.(ssa.CallInstruction)
				if !ok || p.Fset.Position(call.Pos()).Line != at.line || p.Fset.Position(call.Pos()).Filename != at.file {
					continue
				}
				of := call.Common().StaticCallee()
				if _, builtin := call.Common().Value.(*ssa.Builtin); builtin {
					continue
				}
				if of == nil || of.Pkg != fn.Pkg || callee != nil {
					return nil
				}
				callee = of
			}
		}
	}
	return callee
}

// returns is how many lines of a function return something else than constants, of which one is named.
func (x *explainer) returns(at place) int {
	p := x.pkg(frame{place: at})
	if p == nil {
		return 0
	}
	for _, fn := range p.Funcs {
		lines := map[int]bool{}
		for _, b := range fn.Blocks {
			ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
			varies := func(v ssa.Value) bool { _, constant := v.(*ssa.Const); return !constant }
			if ok && slices.ContainsFunc(ret.Results, varies) {
				lines[p.Fset.Position(ret.Pos()).Line] = true
			}
		}
		if lines[at.line] && p.Fset.Position(fn.Pos()).Filename == at.file {
			return len(lines)
		}
	}
	return 0
}

// through is how much is made on the ways to what allocates that pass a line.
func (c *cause) through(at place) (bytes int64) {
	for _, w := range c.ways() {
		if slices.ContainsFunc(w.frames, func(f frame) bool {
			return f.line == at.line && below(f.file) == below(at.file)
		}) {
			bytes += max(w.Bytes, 1)
		}
	}
	return bytes
}

// named reports whether an expression begins with what an escape message is about.
func named(what, message string) bool {
	rest, ok := strings.CutPrefix(what, message)
	next, _ := utf8.DecodeRuneInString(rest)
	return ok && message != "" && !unicode.IsLetter(next) && !unicode.IsDigit(next) && next != '_' && next != '.'
}

// absolute undoes relative.
func absolute(base, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(base, name)
}

// shortened is what an escape message is about, up to where it is spelled in the
// compiler's own way.
func shortened(message string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(message, "moved to heap: "), " escapes to heap")
	name = strings.TrimPrefix(name, "&") // of a literal
	name = strings.TrimSuffix(name, " literal")
	name, _, _ = strings.Cut(name, "{")
	name, _, _ = strings.Cut(name, "(")
	return name
}
