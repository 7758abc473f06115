package advice

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/advise/check"
)

// buffers are the types whose memory grows in their methods, wherever these are called
// below a line. Findings name them by type.
var buffers = []string{"bytes.Buffer", "strings.Builder"}

// allocators are prefixes of the runtime functions that a CPU profile shows below an allocating line.
var allocators = slices.AppendSeq([]string{
	"mallocgc", "newobject", "newarray", "rawstring", "rawbyteslice", "moveSlice", "gcWriteBarrier", "gcAssistAlloc",
}, maps.Keys(byRuntime))

// of returns what the profiles have of the allocations that a finding is about: the
// lines themselves if they allocate, and what the flagged calls call.
func (j *joiner) of(f *Finding) Totals {
	var sum site
	for _, c := range j.causes {
		for _, w := range c.chains {
			if f.about(c, w) {
				sum.merge(&w.site)
			}
		}
	}
	if f.Grows {
		return sum.regrown()
	}
	sum.Objects, sum.Bytes, sum.CPU = sum.Objects-f.apart.Objects, sum.Bytes-f.apart.Bytes, sum.CPU-f.apart.CPU
	return sum.Totals
}

// about reports whether a finding is about a cause that is reached one way.
func (f *Finding) about(c *cause, w *chain) bool {
	return slices.ContainsFunc(f.Spans, func(s span) bool {
		switch {
		case s.Inner: // counted where it is called from
			return false
		case s.holds(frame{place: c.at, function: c.function}) && c.callee == "":
			return !s.Beyond
		case s.holds(frame{place: c.at, function: c.function}):
			return s.Callee == lastName(c.callee) || w.grows(s.Callee)
		}
		return c.callee == "" && len(w.frames) > 0 && s.holds(w.frames[0]) && s.Callee == lastName(c.function) && f.inner(c)
	})
}

// holds reports whether code lies in a span, outside of function literals that begin there.
func (s *span) holds(at frame) bool {
	return s.File == at.file && s.From <= at.line && at.line <= s.To && literals(at.function) <= s.Literals
}

// inner reports whether a line of a called function counts: if the finding names lines
// of it, only these do.
func (f *Finding) inner(c *cause) bool {
	named := false
	for _, s := range f.Spans {
		if s.Inner && s.holds(frame{place: c.at, function: c.function}) {
			return true
		}
		named = named || s.Inner
	}
	return !named
}

// grows reports whether a way passes a method of the given buffer below its line.
func (c *chain) grows(buffer string) bool {
	pkg, typ, ok := strings.Cut(buffer, ".")
	if !ok {
		return false
	}
	prefix := pkg + ".(*" + typ + ")."
	return strings.HasPrefix(c.origin.function, prefix) || slices.ContainsFunc(c.frames[:max(0, c.inside-1)],
		func(f frame) bool { return strings.HasPrefix(f.function, prefix) })
}

// inLiteral matches the last part of the names of function literals.
var inLiteral = regexp.MustCompile(`^(func)?\d+$`)

// literals returns how many nested function literals the code of a function lies in.
// Parts of the name before the declared function name the one that it was inlined into.
func literals(function string) (n int) {
	for _, part := range slices.Backward(strings.Split(untyped(function), ".")) {
		if !inLiteral.MatchString(part) {
			break
		}
		n++
	}
	return n
}

// allocates reports whether a function of the runtime is called by code that allocates
// without naming it.
func allocates(function string) bool {
	name, ok := strings.CutPrefix(function, "runtime.")
	return ok && slices.ContainsFunc(allocators, func(a string) bool { return strings.HasPrefix(name, a) }) ||
		strings.HasPrefix(function, "internal/runtime/maps.")
}

// spanAt returns the span of the code from pos to end. It excludes the bodies of
// function literals: a literal is made where it begins.
func spanAt(p *packages.Package, pos, end token.Pos) span {
	from, to := p.Fset.Position(pos), p.Fset.Position(max(pos, end))
	s := span{File: from.Filename, From: from.Line, To: to.Line, Column: from.Column, Start: from.Offset, End: to.Offset}
	for _, file := range p.Syntax {
		if pos < file.FileStart || pos >= file.FileEnd {
			continue
		}
		path, _ := astutil.PathEnclosingInterval(file, pos, end)
		for _, n := range path {
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
				} else {
					s.Literals++
				}
			}
		}
	}
	return s
}

// calleeOf returns what n calls, without package and receiver: a function, or a type
// whose memory grows. beyond is true if the call needs no memory for its arguments: it
// takes no list of interfaces to box them for.
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

// bufferOf returns the type of e if it is one of the buffers, else "".
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
