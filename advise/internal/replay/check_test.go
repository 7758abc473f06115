package replay

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"path"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/advise"
	"github.com/isobar-go/isobar/advise/check"
)

// lines is the range of a finding in the commit's file.
type lines struct{ from, to int }

// findings runs the checks of the commit's exercise on its file in t.
func findings(t *tree, c commit) (found []lines, err error) {
	if _, err := t.file(c.File); err != nil {
		return nil, err
	}
	l := &loader{tree: t, fset: token.NewFileSet(), packages: map[string]*types.Package{}, version: t.version(c.File)}
	dir := path.Dir(c.File)
	files := l.parse(dir, path.Base(c.File), parser.ParseComments|parser.SkipObjectResolution)
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no Go files parse", dir)
	}
	pkg, info := l.check(t.importPath(c.Repository, dir), files, 0)
	var analyzers []*analysis.Analyzer
	for _, ch := range advise.All() {
		if ch.Exercise == c.Exercise {
			analyzers = append(analyzers, ch.Analyzer)
		}
	}
	// even if not everything type-checks
	graph, err := checker.Analyze(analyzers, []*packages.Package{{ID: pkg.Path(), PkgPath: pkg.Path(), Name: pkg.Name(),
		Fset: l.fset, Syntax: files, Types: pkg, TypesInfo: info, TypesSizes: types.SizesFor("gc", "amd64")}},
		&checker.Options{Sequential: true})
	if err != nil {
		return nil, err
	}
	for _, act := range graph.Roots {
		if act.Err != nil {
			return nil, act.Err
		}
		for _, d := range act.Diagnostics {
			for _, r := range append(d.Related, analysis.RelatedInformation{Pos: d.Pos, End: d.End}) {
				if at := l.fset.Position(r.Pos); at.Filename == c.File {
					found = append(found, lines{at.Line, l.fset.Position(max(r.Pos, r.End)).Line})
				}
			}
		}
	}
	return found, nil
}

// depth is how far imports are followed; packages beyond are empty.
const depth = 3

// A loader type-checks packages of a tree.
type loader struct {
	tree     *tree
	fset     *token.FileSet
	version  string
	packages map[string]*types.Package // by import path
}

// parse parses the files of a directory that belong to one package: the package of the
// named file or, without a name, the one that go build takes.
func (l *loader) parse(dir, named string, mode parser.Mode) []*ast.File {
	ctx := build.Default
	ctx.JoinPath = path.Join
	ctx.OpenFile = func(name string) (io.ReadCloser, error) {
		data, err := l.tree.file(name)
		return io.NopCloser(strings.NewReader(string(data))), err
	}
	var files []*ast.File
	pkg := ""
	for _, name := range append([]string{named}, l.tree.dir(dir)...) {
		if !strings.HasSuffix(name, ".go") || len(files) > 0 && name == named {
			continue
		}
		if name != named {
			if ok, err := ctx.MatchFile(dir, name); err != nil || !ok || strings.HasSuffix(name, "_test.go") {
				continue
			}
		}
		full := path.Join(dir, name)
		data, err := l.tree.file(full)
		if err != nil {
			continue
		}
		f, err := parser.ParseFile(l.fset, full, data, mode)
		if f == nil || err != nil && name != named || pkg != "" && f.Name.Name != pkg {
			continue
		}
		pkg = f.Name.Name
		files = append(files, f)
	}
	return files
}

func (l *loader) check(path string, files []*ast.File, level int) (*types.Package, *types.Info) {
	info := check.NewInfo()
	cfg := types.Config{
		GoVersion: l.version, FakeImportC: true, IgnoreFuncBodies: level > 0,
		Importer: importerFunc(func(path string) (*types.Package, error) { return l.load(path, level+1), nil }),
		Error:    func(error) {},
	}
	pkg, _ := cfg.Check(path, l.fset, files, info) // errors leave types unknown
	return pkg, info
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

// load returns the package with an import path, from the standard library or the tree,
// else an empty one.
func (l *loader) load(name string, level int) *types.Package {
	if name == "unsafe" {
		return types.Unsafe
	}
	if pkg := l.packages[name]; pkg != nil {
		return pkg
	}
	pkg := standard(name)
	if first, _, _ := strings.Cut(name, "/"); pkg == nil && level <= depth && strings.Contains(first, ".") {
		var files []*ast.File
		if dir, ok := l.find(name); ok {
			files = l.parse(dir, "", parser.SkipObjectResolution)
		}
		if len(files) > 0 {
			l.packages[name] = empty(name) // ends import cycles, which broken code may have
			pkg, _ = l.check(name, files, level)
		}
	}
	if pkg == nil {
		pkg = empty(name)
	}
	pkg.MarkComplete()
	l.packages[name] = pkg
	return pkg
}

// find returns the directory of an import path: a vendor directory, or the path without
// some of its first elements.
func (l *loader) find(name string) (dir string, ok bool) {
	tries := []string{"vendor/" + name, "cmd/vendor/" + name, "Godeps/_workspace/src/" + name}
	for rest := name; ; {
		_, after, more := strings.Cut(rest, "/")
		if !more {
			break
		}
		rest = after
		tries = append(tries, rest)
	}
	for _, dir := range tries {
		for _, file := range l.tree.dir(dir) {
			if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
				return dir, true
			}
		}
	}
	return "", false
}

var major = regexp.MustCompile(`^v\d+$`)

// empty returns a package of which only the likely name is known.
func empty(name string) *types.Package {
	base := path.Base(name)
	if major.MatchString(base) {
		base = path.Base(path.Dir(name))
	}
	base, _, _ = strings.Cut(strings.TrimPrefix(base, "go-"), ".")
	return types.NewPackage(name, strings.ReplaceAll(base, "-", "_"))
}

var goLine = regexp.MustCompile(`(?m)^go (\d+\.\d+)`)

// version returns the language version of the module around a file; go1.16, as for a
// module that names none, if there is no module.
func (t *tree) version(file string) string {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if data, err := t.file(path.Join(dir, "go.mod")); err == nil {
			if m := goLine.FindSubmatch(data); m != nil {
				return "go" + string(m[1])
			}
		}
		if dir == "." {
			return "go1.16"
		}
	}
}

var moduleLine = regexp.MustCompile(`(?m)^module "?([^"\s]+)`)

// importPath returns the import path of a directory, below that of the module around it
// or, without one, of the repository.
func (t *tree) importPath(repository, dir string) string {
	for root, rest := dir, ""; ; root, rest = path.Dir(root), path.Join(path.Base(root), rest) {
		if data, err := t.file(path.Join(root, "go.mod")); err == nil {
			if m := moduleLine.FindSubmatch(data); m != nil {
				return path.Join(string(m[1]), rest)
			}
		}
		if root == "." {
			return path.Join("github.com", repository, dir)
		}
	}
}

var std = struct {
	sync.Mutex
	importer types.Importer
}{importer: importer.Default()}

// standard returns a package of the standard library, or nil.
func standard(name string) *types.Package {
	std.Lock()
	defer std.Unlock()
	if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") {
		return nil
	}
	pkg, err := std.importer.Import(name)
	if err != nil {
		return nil
	}
	return pkg
}
