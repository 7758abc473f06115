package advice

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/advise/check"
)

// sites tell apart what a line allocates: by what is called from it, "" for
// the line itself.
type sites map[string]*site

// A site is what was charged to one of them.
type site struct {
	Totals
	sizes map[int64]*Totals // by the size of the object, where a profile has it
}

// buffers are the types whose memory grows in methods of theirs, wherever
// these are called from below a line. They are sites by the type's name.
var buffers = []string{"bytes.Buffer", "strings.Builder"}

// allocators are the functions of the runtime, by how their names begin, that
// a CPU profile shows below a line that allocates.
var allocators = []string{
	"mallocgc", "newobject", "newarray", "makeslice", "growslice", "makemap", "mapassign", "makechan", "convT",
	"concatstring", "slicebytetostring",
	"stringtoslice", "intstring", "slicerunetostring", "rawstring", "rawbyteslice", "newproc", "deferproc",
	"gcWriteBarrier", "gcAssistAlloc",
}

// site charges a sample to what allocates at a line. below are the functions
// called from there, the leaf first; above is the rest of the stack, beginning
// with the line.
func (j *joiner) site(s *profile.Sample, value int64, k kind, at place, below []string, above []profile.Line) {
	if len(below) == 0 && k.name == cpu {
		return // it computes
	}
	name := ""
	if len(below) > 0 && !allocates(below[len(below)-1]) {
		name = lastName(below[len(below)-1])
	}
	if inLiteral.MatchString(lastName(above[0].Function.Name)) {
		j.enter(s, value, k, at, byLiteral+name)
	}
	if name != "" {
		j.enter(s, value, k, at, name)
		for _, name := range buffers {
			pkg, typ, _ := strings.Cut(name, ".")
			if slices.ContainsFunc(below, func(f string) bool { return strings.HasPrefix(f, pkg+".(*"+typ+").") }) {
				j.enter(s, value, k, at, name)
			}
		}
		return
	}
	j.enter(s, value, k, at, "")
	if len(above) > 1 { // the caller's line has it, too
		if file, ok := j.files[filepath.ToSlash(above[1].Function.Filename)]; ok {
			name, caller := lastName(above[0].Function.Name), place{file, int(above[1].Line)}
			j.enter(s, value, k, caller, name)
			j.enter(s, value, k, caller, name+":"+strconv.Itoa(at.line))
		}
	}
}

// inLiteral matches the last names of function literals.
var inLiteral = regexp.MustCompile(`^(func)?\d+$`)

// byLiteral begins the names of sites of what function literals do at a line, which
// the sites of the line have as well.
const byLiteral = "func "

// allocates reports whether the runtime's function is called by code that
// allocates, without being named there.
func allocates(function string) bool {
	name, ok := strings.CutPrefix(function, "runtime.")
	return ok && slices.ContainsFunc(allocators, func(a string) bool { return strings.HasPrefix(name, a) }) ||
		strings.HasPrefix(function, "internal/runtime/maps.")
}

func (j *joiner) enter(s *profile.Sample, value int64, k kind, at place, name string) {
	if j.sites[at] == nil {
		j.sites[at] = sites{}
	}
	one := j.sites[at][name]
	if one == nil {
		one = &site{sizes: map[int64]*Totals{}}
		j.sites[at][name] = one
	}
	one.charge(s, value, k)
}

// charge adds a sample, and to what its size is.
func (s *site) charge(sample *profile.Sample, value int64, k kind) {
	*k.total(&s.Totals) += value
	if size := sample.NumLabel["bytes"]; len(size) > 0 {
		if s.sizes[size[0]] == nil {
			s.sizes[size[0]] = &Totals{}
		}
		*k.total(s.sizes[size[0]]) += value
	}
}

// lastName is the name of a function without its package, its receiver and its
// type arguments, which profiles have as [...] or, where it was inlined, in full.
func lastName(function string) string {
	depth, end := 0, len(function)
	for i := end - 1; i >= 0; i-- {
		switch function[i] {
		case ']':
			depth++
		case '[':
			if depth--; depth == 0 && end == len(function) {
				end = i
			}
		case '.':
			if depth == 0 {
				return function[i+1 : end]
			}
		}
	}
	return function[:end]
}

// share is what the profiles have of the allocations that a finding is about,
// each line of its spans once: those of the lines themselves where they allocate,
// and of what the flagged calls call.
func (j *joiner) share(f *Finding) *Shares {
	var sum Totals
	done := map[taken]bool{}
	for _, s := range f.spans {
		if s.Inner {
			continue // counted where it is called from
		}
		for line := s.From; line <= s.To; line++ {
			if !s.leavesOut(line) {
				j.addLine(&sum, f, s, line, done)
			}
		}
	}
	share := sum.of(j.total)
	return &share
}

// A taken is a site that was counted.
type taken struct {
	place
	name string
}

func (s *span) leavesOut(line int) bool {
	return slices.ContainsFunc(s.Without, func(l [2]int) bool { return l[0] <= line && line <= l[1] })
}

// addLine adds what the profiles have of one line of a span, of each site once.
func (j *joiner) addLine(sum *Totals, f *Finding, s span, line int, done map[taken]bool) {
	at := place{s.File, line}
	for _, name := range f.sitesOf(s) {
		t := j.sites[at][name]
		if t == nil || done[taken{at, name}] {
			continue
		}
		done[taken{at, name}] = true
		saved := j.saved(f, s, at, name)
		for _, kind := range kinds {
			*kind.total(sum) += *kind.total(&saved)
		}
	}
}

// saved is what a site would not allocate without the finding.
func (j *joiner) saved(f *Finding, s span, at place, name string) Totals {
	t := j.sites[at][name]
	if f.grows {
		return t.regrown()
	}
	saved := t.Totals
	if other := j.sites[at][byLiteral+name]; other != nil && slices.Contains(s.Beside, at.line) {
		for _, kind := range kinds {
			*kind.total(&saved) -= *kind.total(&other.Totals)
		}
	}
	return saved
}

// sitesOf names the sites of a line that a span is about. Where lines inside
// the function that is called are named, they are all of it that counts.
func (f *Finding) sitesOf(s span) (names []string) {
	if !s.Beyond {
		names = append(names, "")
	}
	if s.Callee == "" {
		return names
	}
	inner := 0
	for _, in := range f.spans {
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

// regrown is what is allocated beyond the first time of what grows there: as
// many objects of each size as grew beyond the size before.
func (s *site) regrown() (t Totals) {
	if len(s.sizes) == 0 {
		return s.Totals // no sizes are known
	}
	all := slices.Sorted(maps.Keys(s.sizes))
	for i, size := range all[1:] {
		n := min(s.sizes[size].Objects, s.sizes[all[i]].Objects)
		t.Objects += n
		t.Bytes += n * all[i] // which the larger one replaces
	}
	if s.Objects > 0 {
		t.CPU = int64(float64(s.CPU) * float64(t.Objects) / float64(s.Objects))
	}
	return t
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

// calleeOf returns what n calls, as a site is named: a function, or a type
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
