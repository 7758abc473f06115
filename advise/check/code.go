package check

import (
	"cmp"
	"go/ast"
	"go/build"
	"go/token"
	"go/types"
	"go/version"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Code holds what the checks of one package share. It is computed once and then
// read-only, except for flows, which is filled on demand.
type Code struct {
	Root inspector.Cursor
	Info *types.Info
	Pkg  *types.Package

	fset  *token.FileSet
	files map[string]*file
	uses  map[types.Object][]inspector.Cursor // every identifier that refers to an object
	given map[types.Object][]ast.Expr         // right-hand sides of assignments to a variable, including :=
	decls map[*types.Func]inspector.Cursor    // functions with bodies
	once  map[*types.Func]bool                // whether a function runs only at start-up or in tests
	asked map[string]bool                     // method names of the interfaces in its source
	flows sync.Map                            // by function body: the block of each node, computed on demand
}

// codeAnalyzer computes the Code of a package for all checks.
var codeAnalyzer = &analysis.Analyzer{
	Name:       "isobarcode",
	Doc:        "work out what the allocation checks share: cold code, uses of values",
	Requires:   []*analysis.Analyzer{inspect.Analyzer},
	ResultType: reflect.TypeFor[*Code](),
	Run: func(p *analysis.Pass) (any, error) {
		c := &Code{
			Root: p.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root(),
			Info: p.TypesInfo, Pkg: p.Pkg, fset: p.Fset,
			files: map[string]*file{},
			uses:  map[types.Object][]inspector.Cursor{},
			given: map[types.Object][]ast.Expr{},
			decls: map[*types.Func]inspector.Cursor{},
			once:  map[*types.Func]bool{},
		}
		for _, f := range p.Files {
			c.files[p.Fset.File(f.FileStart).Name()] = newFile(p, f)
		}
		c.index()
		c.asked = c.askedFor()
		c.settle()
		return c, nil
	},
}

func (c *Code) index() {
	for cur := range c.Root.Preorder((*ast.Ident)(nil), (*ast.AssignStmt)(nil), (*ast.FuncDecl)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.Ident:
			if obj := c.Info.Uses[n]; obj != nil {
				obj = origin(obj)
				c.uses[obj] = append(c.uses[obj], cur)
			}
		case *ast.AssignStmt:
			for i, lhs := range n.Lhs {
				if v := c.Var(lhs); v != nil { // several results: the call itself
					c.given[v] = append(c.given[v], n.Rhs[min(i, len(n.Rhs)-1)])
				}
			}
		case *ast.FuncDecl:
			if fn, ok := c.Info.Defs[n.Name].(*types.Func); ok && n.Body != nil {
				c.decls[fn] = cur
			}
		}
	}
}

// origin returns the generic object that obj instantiates, or obj itself.
func origin(obj types.Object) types.Object {
	switch o := obj.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return obj
}

// Uses returns the identifiers that refer to obj, in order.
func (c *Code) Uses(obj types.Object) []inspector.Cursor { return c.uses[origin(obj)] }

// Given returns the right-hand sides of the assignments to v, in source order.
func (c *Code) Given(v *types.Var) []ast.Expr { return c.given[v] }

// Decl returns the declaration of fn if its body is in this package, else nil.
func (c *Code) Decl(fn *types.Func) (inspector.Cursor, *ast.FuncDecl) {
	if fn != nil {
		if cur, ok := c.decls[fn.Origin()]; ok {
			return cur, cur.Node().(*ast.FuncDecl)
		}
	}
	return inspector.Cursor{}, nil
}

// NewInfo returns a types.Info with empty maps for everything that checks use.
func NewInfo() *types.Info {
	return &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
	}
}

// A file holds the properties of one source file.
type file struct {
	generated bool
	test      bool
	version   string           // language version, such as go1.26
	ignores   map[int][]string // by line: names of the checks to ignore there
}

func (c *Code) file(pos token.Pos) *file {
	f := c.fset.File(pos)
	if f == nil {
		return nil
	}
	return c.files[f.Name()]
}

// GoVersion returns the language version of the file that holds pos.
func (c *Code) GoVersion(pos token.Pos) string {
	if f := c.file(pos); f != nil {
		return f.version
	}
	return toolchain
}

// AtLeast reports whether the language version of the file that holds pos is v, such as "go1.22", or newer.
func (c *Code) AtLeast(pos token.Pos, v string) bool {
	return version.Compare(c.GoVersion(pos), v) >= 0
}

// toolchain is the newest language version that this build knows.
var toolchain = func() string {
	tags := build.Default.ReleaseTags
	return tags[len(tags)-1]
}()

// Ignore is the directive that silences a check on its own line and the next.
const Ignore = "//isobar:ignore"

func newFile(p *analysis.Pass, f *ast.File) *file {
	return &file{
		generated: ast.IsGenerated(f),
		test:      strings.HasSuffix(p.Fset.File(f.FileStart).Name(), "_test.go"),
		version:   cmp.Or(p.TypesInfo.FileVersions[f], p.Pkg.GoVersion(), toolchain),
		ignores:   ignores(p.Fset, f),
	}
}

// ignores returns the names of the checks that comments of f silence, by line.
func ignores(fset *token.FileSet, f *ast.File) map[int][]string {
	out := map[int][]string{}
	for _, group := range f.Comments {
		for _, comment := range group.List {
			words := strings.Fields(comment.Text)
			if len(words) < 3 || words[0] != Ignore {
				continue // the check ignore reports it
			}
			line := fset.Position(comment.Pos()).Line
			names := strings.Split(words[1], ",")
			out[line] = append(out[line], names...)
			out[line+1] = append(out[line+1], names...)
		}
	}
	return out
}

// Ignored reports whether a comment of f silences a check at a line.
func Ignored(fset *token.FileSet, f *ast.File, line int, check string) bool {
	return silenced(ignores(fset, f)[line], check)
}

func silenced(names []string, check string) bool {
	return slices.Contains(names, check) || slices.Contains(names, "all")
}
