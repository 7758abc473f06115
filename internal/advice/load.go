package advice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/advise/check"
)

// load asks the go command for the matching packages: names, files, and export data of
// all imports; without patterns, for the package of the directory. It parses nothing.
func load(ctx context.Context, c Config) ([]*packages.Package, error) {
	within, cancel := c.within(ctx, 1)
	defer cancel()
	cfg := &packages.Config{
		Context: within,
		Dir:     c.Dir,
		Env:     append(os.Environ(), c.Env...),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypesSizes | packages.NeedModule | packages.NeedExportFile,
	}
	pkgs, err := packages.Load(cfg, c.Patterns...)
	if within.Err() != nil {
		return nil, fmt.Errorf("advise: load: %w", c.ended(ctx, within.Err(), "the packages were loaded"))
	}
	if err != nil {
		return nil, fmt.Errorf("advise: load: %w; run it inside a module, with packages that 'go list' knows", err)
	}
	if len(pkgs) == 0 {
		return nil, errors.New("advise: load: no packages match; run it inside a module, with packages that 'go list' knows")
	}
	return pkgs, nil
}

// problems returns an error if a package could not be found, or none could be checked.
func problems(units []*unit) error {
	var reasons []string
	for _, u := range units {
		switch {
		case u.skipped == "":
		case len(u.GoFiles)+len(u.CompiledGoFiles) == 0:
			return fmt.Errorf("advise: load: %s; name packages that 'go list' knows", u.skipped)
		default:
			reasons = append(reasons, u.PkgPath+": "+u.skipped)
		}
	}
	if len(reasons) < len(units) || len(units) == 0 {
		return nil
	}
	const shown = 10
	return fmt.Errorf("advise: load: none of %d packages could be checked; fix them first:\n\t%s", len(units),
		strings.Join(reasons[:min(shown, len(reasons))], "\n\t"))
}

// reason returns the first error, on one line.
func reason[E error](errs []E) string {
	text := strings.TrimPrefix(errs[0].Error(), "-: ")
	if head, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(head, "# ") { // the package's name
		text = rest
	}
	text = strings.Join(strings.Fields(text), " ")
	if n := len(errs) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// sourceFiles returns the files to run checks on: as written, not as cgo translates them.
func sourceFiles(p *packages.Package) []string {
	for _, name := range p.CompiledGoFiles {
		if !slices.Contains(p.GoFiles, name) {
			return p.GoFiles
		}
	}
	return p.CompiledGoFiles
}

// A session type-checks packages, one after another. It keeps the imports that it
// reads, up to a limit. It belongs to one goroutine.
type session struct {
	fset    *token.FileSet
	imports map[string]*types.Package
	overlay overlay
}

// importLimit is the number of imported packages that a session keeps.
const importLimit = 300

func newSession(o overlay) *session {
	return &session{token.NewFileSet(), map[string]*types.Package{}, o}
}

// check parses and type-checks a package of files. It returns a copy of p with syntax and
// types, and the errors.
func (s *session) check(p *packages.Package, files []string) (*packages.Package, []error) {
	if len(s.imports) > importLimit {
		*s = *newSession(s.overlay)
	}
	var broken []error
	out := &packages.Package{
		ID: p.ID, Name: p.Name, PkgPath: p.PkgPath, Module: p.Module, TypesSizes: p.TypesSizes, Fset: s.fset,
		TypesInfo: check.NewInfo(),
	}
	for _, name := range files {
		src, err := os.ReadFile(cmp.Or(s.overlay[name], name))
		if err != nil {
			broken = append(broken, err)
			continue
		}
		f, err := parser.ParseFile(s.fset, name, src, parser.AllErrors|parser.ParseComments|parser.SkipObjectResolution)
		if list, ok := errors.AsType[scanner.ErrorList](err); ok {
			for _, e := range list {
				broken = append(broken, e)
			}
		} else if err != nil {
			broken = append(broken, err)
		}
		if f != nil {
			out.Syntax = append(out.Syntax, f)
		}
	}
	cfg := types.Config{
		Sizes: p.TypesSizes, FakeImportC: true,
		Importer: importFunc(func(path string) (*types.Package, error) { return s.load(p, path) }),
		Error:    func(err error) { broken = append(broken, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		cfg.GoVersion = "go" + p.Module.GoVersion
	}
	out.Types, _ = cfg.Check(p.PkgPath, s.fset, out.Syntax, out.TypesInfo) // errors are in broken
	return out, broken
}

type importFunc func(path string) (*types.Package, error)

func (f importFunc) Import(path string) (*types.Package, error) { return f(path) }

// load reads the export data of a package that p imports.
func (s *session) load(p *packages.Package, path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	from := p.Imports[path]
	if from == nil {
		return nil, errors.New("the go command does not know it")
	}
	if pkg := s.imports[from.PkgPath]; pkg != nil && pkg.Complete() {
		return pkg, nil
	}
	if from.ExportFile == "" {
		if len(from.Errors) > 0 {
			return nil, errors.New(reason(from.Errors))
		}
		return nil, errors.New("it does not compile")
	}
	f, err := os.Open(from.ExportFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	//lint:ignore SA1019 go list -export of Go 1.26 and 1.27 names archives, in which Read does not find the data
	r, err := gcexportdata.NewReader(f)
	if err != nil {
		return nil, err
	}
	return gcexportdata.Read(r, s.fset, s.imports, from.PkgPath)
}
