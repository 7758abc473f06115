// Package advisor runs the checks of package advise over the packages of a
// module and gathers what they find: sorted, counted, and ready to print as
// JSON or SARIF. It also explains a line by what the compiler says of it.
//
// The checks themselves are in package advise; this one knows the go command,
// files and formats.
package advisor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/advise/check"
)

// Config says what to analyze.
type Config struct {
	Dir      string // where patterns are looked up; empty for the working directory
	Patterns []string
	Checks   []*check.Check
	Profiles []string // pprof files whose samples are joined to the findings
	Env      []string // for the go command, beyond that of this process
}

// A Result is what the checks found, and where they looked.
type Result struct {
	Findings  []Finding `json:"findings"` // by share where there is a profile, then by severity, then by place
	Packages  int       `json:"packages"`
	Files     int       `json:"files"`
	Lines     int       `json:"lines"`
	Generated int       `json:"generated"` // files skipped because they are generated
	Evidence  *Evidence `json:"evidence,omitempty"`

	Verification *Verification `json:"verification,omitempty"` // set by whoever calls Verify
}

// A Finding is one diagnostic.
type Finding struct {
	File     string  `json:"file"` // relative to the directory where it is below it
	Line     int     `json:"line"`
	Column   int     `json:"column"`
	EndLine  int     `json:"end_line"`
	Check    string  `json:"check"`
	Exercise int     `json:"exercise,omitempty"`
	Severity string  `json:"severity"`
	Message  string  `json:"message"`
	Fix      bool    `json:"fix"` // the check can mend it
	Function string  `json:"function,omitempty"`
	Share    *Shares `json:"share,omitempty"` // of what the profiles measured

	spans      []span // the lines that the finding accounts for
	pkg        string // import path
	start, end int    // the bytes of the file that are flagged
	fix        fix    // the edits that mend it; nil for none
}

// A span is a range of lines of a file, by its absolute name.
type span struct {
	file     string
	from, to int
}

// Run loads the packages and runs the checks. Packages that do not compile are
// an error.
func Run(ctx context.Context, c Config) (*Result, error) {
	pkgs, err := load(ctx, c)
	if err != nil {
		return nil, err
	}
	var analyzers []*analysis.Analyzer
	byName := map[string]*check.Check{}
	for _, ch := range c.Checks {
		ch.ReportHints(true)
		analyzers = append(analyzers, ch.Analyzer)
		byName[ch.Name] = ch
	}
	graph, err := checker.Analyze(analyzers, pkgs, nil)
	if err != nil {
		return nil, fmt.Errorf("advise: analyze: %w", err)
	}
	base, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("advise: %w", err)
	}
	r := &Result{Findings: []Finding{}}
	r.count(pkgs)
	seen := map[string]bool{}
	for _, act := range graph.Roots {
		if act.Err != nil {
			return nil, fmt.Errorf("advise: %s: %s: %w", act.Package.PkgPath, act.Analyzer.Name, act.Err)
		}
		for _, d := range act.Diagnostics {
			f := finding(act, d, byName[act.Analyzer.Name], base)
			key := fmt.Sprint(f.File, f.Line, f.Column, f.Check) // a file may be of several packages
			if !seen[key] {
				seen[key] = true
				r.Findings = append(r.Findings, f)
			}
		}
	}
	if len(c.Profiles) > 0 {
		if r.Evidence, err = join(c.Profiles, pkgs, base, r.Findings); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(r.Findings, before)
	return r, nil
}

// before orders findings.
func before(a, b Finding) int {
	if x, y := a.Share.weight(), b.Share.weight(); x != y {
		if x > y {
			return -1
		}
		return 1
	}
	if x, y := rank(a.Severity), rank(b.Severity); x != y {
		return y - x
	}
	if d := strings.Compare(a.File, b.File); d != 0 {
		return d
	}
	return (a.Line-b.Line)*1000 + a.Column - b.Column
}

func rank(severity string) int { return slices.Index([]string{"hint", "advice", "trap"}, severity) }

// load lets the go command find the packages.
func load(ctx context.Context, c Config) ([]*packages.Package, error) {
	patterns := c.Patterns
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	cfg := &packages.Config{
		Context: ctx,
		Dir:     c.Dir,
		Env:     append(os.Environ(), c.Env...),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
			packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule | packages.NeedExportFile,
	}
	pkgs, err := packages.Load(cfg, patterns...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("advise: load: %w; run it inside a module, with packages that 'go list' knows", err)
	}
	if err := problems(pkgs); err != nil {
		return nil, err
	}
	if len(pkgs) == 0 {
		return nil, errors.New("advise: load: no packages match; run it inside a module, with packages that 'go list' knows")
	}
	return pkgs, nil
}

// problems returns an error where a package could not be found or does not
// compile.
func problems(pkgs []*packages.Package) error {
	var listed, compiled []string
	for _, p := range pkgs {
		for _, e := range p.Errors {
			if e.Kind == packages.ListError || e.Kind == packages.UnknownError {
				listed = append(listed, strings.TrimPrefix(e.Error(), "-: "))
			} else {
				compiled = append(compiled, e.Error())
			}
		}
	}
	const shown = 10
	switch {
	case len(compiled) > 0:
		return fmt.Errorf("advise: load: %d errors; mend them first, checks need code that compiles:\n\t%s", len(compiled), strings.Join(compiled[:min(shown, len(compiled))], "\n\t"))
	case len(listed) > 0:
		return fmt.Errorf("advise: load: %s; name packages that 'go list' knows", strings.Join(listed[:min(shown, len(listed))], "; "))
	}
	return nil
}

// count counts files, lines and what was skipped.
func (r *Result) count(pkgs []*packages.Package) {
	r.Packages = len(pkgs)
	for _, p := range pkgs {
		for _, f := range p.Syntax {
			if ast.IsGenerated(f) {
				r.Generated++
				continue
			}
			r.Files++
			r.Lines += p.Fset.File(f.FileStart).LineCount()
		}
	}
}

func finding(act *checker.Action, d analysis.Diagnostic, c *check.Check, base string) Finding {
	fset := act.Package.Fset
	pos, end := fset.Position(d.Pos), fset.Position(max(d.Pos, d.End))
	f := Finding{
		File: relative(base, pos.Filename), Line: pos.Line, Column: pos.Column, EndLine: end.Line,
		Check: c.Name, Exercise: c.Exercise, Severity: d.Category, Message: d.Message, Fix: len(d.SuggestedFixes) > 0,
		spans: []span{{pos.Filename, pos.Line, end.Line}},
	}
	for _, rel := range d.Related {
		from, to := fset.Position(rel.Pos), fset.Position(max(rel.Pos, rel.End))
		f.spans = append(f.spans, span{from.Filename, from.Line, to.Line})
	}
	f.locate(act.Package, d)
	return f
}

func relative(base, name string) string {
	rel, err := filepath.Rel(base, name)
	if err != nil || strings.HasPrefix(rel, "..") {
		return name
	}
	return filepath.ToSlash(rel)
}

// sourceLine returns a line of a file, trimmed, or "".
func sourceLine(name string, line int) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		if n == line {
			return strings.TrimSpace(sc.Text())
		}
	}
	return ""
}
