package advice

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/advise/check"
)

// buffers are the types whose memory grows in methods of theirs, wherever
// these are called from below a line. They are targets by the type's name.
var buffers = []string{"bytes.Buffer", "strings.Builder"}

// allocators are the functions of the runtime, by how their names begin, that
// a CPU profile shows below a line that allocates.
var allocators = slices.AppendSeq([]string{
	"mallocgc", "newobject", "newarray", "intstring", "slicerunetostring", "rawstring", "rawbyteslice",
	"gcWriteBarrier", "gcAssistAlloc",
}, maps.Keys(byRuntime))

// A target is what a finding names of a line: the line itself, with "", or what is
// called there.
type target struct {
	place
	name string
}

// charges are the ways by which what was charged to a target was reached.
type charges map[target][]charged

type charged struct {
	*chain
	literal bool // it is of a function literal at the line
}

// charged gives each way its targets: its line, by what is called there, and, where a
// buffer grows, by that; where the line itself allocates, its caller's line as well.
func (j *joiner) charged() charges {
	all := charges{}
	for _, c := range j.causes {
		function := lastName(c.function)
		literal := inLiteral.MatchString(function)
		for _, w := range c.chains {
			enter := func(at place, name string, literal bool) {
				all[target{at, name}] = append(all[target{at, name}], charged{w, literal})
			}
			enter(c.at, lastName(c.callee), literal)
			switch {
			case c.callee != "":
				for _, b := range buffers {
					if w.grows(b) {
						enter(c.at, b, literal)
					}
				}
			case len(w.frames) > 0:
				caller := w.frames[0].place
				enter(caller, function, false)
				enter(caller, function+":"+strconv.Itoa(c.at.line), false)
			}
		}
	}
	return all
}

// grows reports whether a way passes a method of a buffer below its line.
func (c *chain) grows(buffer string) bool {
	pkg, typ, _ := strings.Cut(buffer, ".")
	prefix := pkg + ".(*" + typ + ")."
	return strings.HasPrefix(c.origin.function, prefix) || slices.ContainsFunc(c.frames[:max(0, c.inside-1)],
		func(f frame) bool { return strings.HasPrefix(f.function, prefix) })
}

// inLiteral matches the last names of function literals.
var inLiteral = regexp.MustCompile(`^(func)?\d+$`)

// allocates reports whether the runtime's function is called by code that
// allocates, without being named there.
func allocates(function string) bool {
	name, ok := strings.CutPrefix(function, "runtime.")
	return ok && slices.ContainsFunc(allocators, func(a string) bool { return strings.HasPrefix(name, a) }) ||
		strings.HasPrefix(function, "internal/runtime/maps.")
}

// to is what the profiles have of the allocations that a finding is about, each target
// of its lines once: the lines themselves where they allocate, and what the flagged
// calls call.
func (all charges) to(f *Finding) (sum Totals) {
	done := map[target]bool{}
	for _, s := range f.Spans {
		if s.Inner {
			continue // counted where it is called from
		}
		for line := s.From; line <= s.To; line++ {
			if s.leavesOut(line) {
				continue
			}
			for _, name := range f.targets(s) {
				if t := (target{place{s.File, line}, name}); !done[t] {
					done[t] = true
					sum.add(all.saved(t, f.Grows, slices.Contains(s.Beside, line)))
				}
			}
		}
	}
	return sum
}

func (s *span) leavesOut(line int) bool {
	return slices.ContainsFunc(s.Without, func(l [2]int) bool { return l[0] <= line && line <= l[1] })
}

// saved is what a target would not allocate without the finding: all of it, or what
// grows there; beside is for a line of which function literals have a part.
func (all charges) saved(t target, grows, beside bool) Totals {
	var sum site
	for _, w := range all[t] {
		if beside && w.literal {
			continue
		}
		sum.merge(&w.site)
	}
	if grows {
		return sum.regrown()
	}
	return sum.Totals
}

// targets names what a span is about in each of its lines. Where lines inside
// the function that is called are named, they are all of it that counts.
func (f *Finding) targets(s span) (names []string) {
	if !s.Beyond {
		names = append(names, "")
	}
	if s.Callee == "" {
		return names
	}
	inner := 0
	for _, in := range f.Spans {
		for line := in.From; in.Inner && line <= in.To; line++ {
			names = append(names, s.Callee+":"+strconv.Itoa(line))
			inner++
		}
	}
	if inner == 0 {
		names = append(names, s.Callee)
	}
	return names
}

// spanAt is the span of the code from pos to end. What the bodies of function
// literals allocate is not of it: the literal is made where it begins.
func spanAt(p *packages.Package, pos, end token.Pos) span {
	from, to := p.Fset.Position(pos), p.Fset.Position(max(pos, end))
	s := span{File: from.Filename, From: from.Line, To: to.Line, Column: from.Column}
	within := false // a literal itself
	for _, file := range p.Syntax {
		if pos < file.FileStart || pos >= file.FileEnd {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil || n.End() < pos || n.Pos() > end {
				return false
			}
			itself := n.Pos() == pos && n.End() == end
			if itself && s.Callee == "" {
				s.Callee, s.Beyond = calleeOf(p.TypesInfo, n)
			}
			switch n := n.(type) {
			case *ast.GoStmt:
				if itself {
					s.To = p.Fset.Position(n.Call.Fun.Pos()).Line
				}
			case *ast.FuncLit:
				if itself {
					s.To = p.Fset.Position(n.Body.Lbrace).Line
				} else if n.Pos() >= pos && n.End() <= end {
					first, last := p.Fset.Position(n.Body.Lbrace).Line, p.Fset.Position(n.Body.Rbrace).Line
					s.Without, s.Beside = append(s.Without, [2]int{first + 1, last - 1}), append(s.Beside, first, last)
					return false
				}
				within = within || !itself
			}
			return true
		})
	}
	if within { // what is of which literal is not known
		s.Beside = nil
	}
	return s
}

// calleeOf returns what n calls, as a target is named: a function, or a type
// whose memory grows. beyond is true where its arguments need no memory for
// it: it takes no list of interfaces to box them for.
func calleeOf(info *types.Info, n ast.Node) (name string, beyond bool) {
	switch n := n.(type) {
	case *ast.Ident:
		return bufferOf(info, n), false
	case *ast.UnaryExpr:
		return bufferOf(info, n.X), false
	case *ast.CallExpr:
		sig, ok := info.TypeOf(n.Fun).(*types.Signature)
		if !ok || info.Types[n.Fun].IsBuiltin() {
			return "", false // a conversion, or memory of its own
		}
		boxes := sig.Variadic() && types.IsInterface(sig.Params().At(sig.Params().Len()-1).Type().(*types.Slice).Elem())
		switch fun := ast.Unparen(n.Fun).(type) {
		case *ast.Ident:
			return fun.Name, !boxes
		case *ast.SelectorExpr:
			if name := bufferOf(info, fun.X); name != "" {
				return name, false
			}
			return fun.Sel.Name, !boxes
		}
	}
	return "", false
}

// bufferOf returns the type of e where that is one of the buffers.
func bufferOf(info *types.Info, e ast.Expr) string {
	t := info.TypeOf(e)
	for _, name := range buffers {
		pkg, typ, _ := strings.Cut(name, ".")
		if t != nil && check.IsNamed(t, pkg, typ) {
			return name
		}
	}
	return ""
}
