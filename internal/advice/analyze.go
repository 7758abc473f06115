package advice

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/types"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/advise/check"
)

// A unit is one package: the go command's data, and what was found.
type unit struct {
	*packages.Package
	outcome
	skipped string // why it was not checked
}

// An outcome is what is kept of a package after it was checked.
type outcome struct {
	Files    []file
	Findings []Finding
}

// A file is what profiles are compared with.
type file struct {
	Name      string
	Lines     int
	Generated bool
	Sources   []string // files that //line names, which the profile and the compiler name instead
	Funcs     []function
	Literals  []function // in full, as profiles name those that are not inlined
}

// names returns the name of the file, and of the existing files that //line names.
func (f *file) names() []string {
	return append(slices.DeleteFunc(slices.Clone(f.Sources), func(name string) bool { return !exists(name) }), f.Name)
}

// A function is one of a file.
type function struct {
	Name string
	Line int // of the word func
}

// collectAt is our GOGC while packages are checked: with 50, a package of 50,000 lines takes
// an eighth more memory, which is more than staticcheck takes, and a fifth less time.
const collectAt = 35

// analyze loads the packages and runs the checks on each, as many at a time as there
// are processors. It keeps only their outcomes.
func analyze(ctx context.Context, c Config) ([]*unit, error) {
	pkgs, err := load(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, ch := range c.Checks {
		ch.ReportAll(true)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(collectAt))
	units := make([]*unit, len(pkgs))
	for i, p := range pkgs {
		units[i] = &unit{Package: p}
	}
	store := newCache(c)
	var next atomic.Int64 // hands each unit to one goroutine, which owns it until Wait
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(units)) {
		wg.Go(func() {
			s := newSession(c.overlay)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(units) || ctx.Err() != nil {
					return
				}
				units[i].examine(s, store, c.Checks)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := problems(units); err != nil {
		return nil, err
	}
	store.shrink(cacheLimit)
	return units, nil
}

// examine fills in the outcome, from the cache if nothing has changed. It checks what
// the compiler accepts even if some types are unknown here, such as those from C.
func (u *unit) examine(s *session, store *cache, checks []*check.Check) {
	if len(u.Errors) > 0 {
		u.skipped = reason(u.Errors)
		return
	}
	key := store.key("findings", u.Package)
	if known := stored[outcome](store, key); known != nil {
		u.outcome = *known
		return
	}
	checked, broken := s.check(u.Package, sourceFiles(u.Package))
	if len(broken) > 0 && u.ExportFile == "" {
		u.skipped = reason(broken)
		return
	}
	found, err := diagnoses(checked, checks)
	if err != nil {
		u.skipped = err.Error()
		return
	}
	u.Findings = found
	for _, f := range checked.Syntax {
		u.Files = append(u.Files, describe(checked, f))
	}
	store.put(key, &u.outcome)
}

// diagnoses runs the checks on a package. It returns an error if a check panics.
func diagnoses(p *packages.Package, checks []*check.Check) (found []Finding, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a check stopped: %v", r)
		}
	}()
	var analyzers []*analysis.Analyzer
	byName := map[string]*check.Check{}
	for _, ch := range checks {
		analyzers = append(analyzers, ch.Analyzer)
		byName[ch.Name] = ch
	}
	// sequential: a panic must happen here
	graph, err := checker.Analyze(analyzers, []*packages.Package{p}, &checker.Options{Sequential: true})
	if err != nil {
		return nil, err
	}
	for _, act := range graph.Roots {
		if act.Err != nil {
			return nil, fmt.Errorf("%s: %w", act.Analyzer.Name, act.Err)
		}
		for _, d := range act.Diagnostics {
			found = append(found, diagnose(p, d, byName[act.Analyzer.Name]))
		}
	}
	return found, nil
}

func describe(p *packages.Package, f *ast.File) file {
	at := p.Fset.File(f.FileStart)
	out := file{Name: at.Name(), Lines: at.LineCount(), Generated: ast.IsGenerated(f)}
	for line := range at.LineCount() {
		name := p.Fset.Position(at.LineStart(line + 1)).Filename
		if name != out.Name && !slices.Contains(out.Sources, name) {
			out.Sources = append(out.Sources, name)
		}
	}
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			out.Funcs = append(out.Funcs, function{fn.Name.Name, p.Fset.Position(fn.Pos()).Line})
			if obj, ok := p.TypesInfo.Defs[fn.Name].(*types.Func); ok {
				out.literals(p, fn, check.FuncName(obj)+".func")
			}
		}
	}
	return out
}

// literals adds the function literals in a node, of names with a prefix.
func (f *file) literals(p *packages.Package, in ast.Node, prefix string) {
	n := 0
	ast.Inspect(in, func(node ast.Node) bool {
		lit, ok := node.(*ast.FuncLit)
		if !ok {
			return true
		}
		n++
		name := fmt.Sprint(prefix, n)
		f.Literals = append(f.Literals, function{name, p.Fset.Position(lit.Pos()).Line})
		f.literals(p, lit.Body, name+".")
		return false
	})
}

// diagnose returns what a check reports as a finding, with the absolute name of its file.
func diagnose(p *packages.Package, d analysis.Diagnostic, c *check.Check) Finding {
	pos, end := p.Fset.Position(d.Pos), p.Fset.Position(max(d.Pos, d.End))
	out := Finding{
		File: pos.Filename, Line: pos.Line, Column: pos.Column, EndLine: end.Line, Function: functionAt(p, d.Pos),
		Check: c.Name, Exercise: c.Exercise, Severity: d.Category, Message: d.Message,
		Pkg: p.PkgPath, Spans: []span{spanAt(p, d.Pos, d.End)}, Edits: edits(p, d),
		Grows: c.Grows,
	}
	out.Fix = out.Edits != nil
	first := &out.Spans[0]
	if c.Own {
		first.Callee, first.Beyond = "", false
	}
	_, method, _ := strings.Cut(out.Function, ".")
	recursive := first.Callee == cmp.Or(method, out.Function)
	for _, rel := range d.Related {
		if caveat := check.CaveatOf(rel.Message); caveat != "" {
			out.Caveat = caveat
			continue
		}
		s := spanAt(p, rel.Pos, rel.End)
		s.Inner = first.Callee != "" && (recursive || functionAt(p, rel.Pos) != out.Function)
		out.Spans = append(out.Spans, s)
	}
	return out
}
