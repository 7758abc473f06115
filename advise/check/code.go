package check

import (
	"go/ast"
	"go/build"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Code is what the checks of one package share: computed once, then read only,
// apart from memos that belong to it.
type Code struct {
	Root inspector.Cursor
	Info *types.Info
	Pkg  *types.Package

	fset  *token.FileSet
	files map[string]*file
	uses  map[types.Object][]inspector.Cursor // every identifier that refers to an object
	given map[types.Object][]ast.Expr         // what variables are assigned, also when they are declared
	decls map[*types.Func]inspector.Cursor    // functions with bodies
	once  map[*types.Func]bool                // those that run only at start-up or in tests
	asked map[string]bool                     // names of methods of the interfaces that it declares
	flows sync.Map                            // by body: the block of each of its nodes, as asked for
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
				if v := c.Var(lhs); v != nil { // of several results, the call itself
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

// origin is the declared object that an instantiated one stands for.
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

// Given returns what is assigned to v by statements, in order.
func (c *Code) Given(v *types.Var) []ast.Expr { return c.given[v] }

// Decl returns the declaration of fn where it has a body in this package.
func (c *Code) Decl(fn *types.Func) (inspector.Cursor, *ast.FuncDecl) {
	if fn == nil {
		return inspector.Cursor{}, nil
	}
	cur, ok := c.decls[fn.Origin()]
	if !ok {
		return inspector.Cursor{}, nil
	}
	return cur, cur.Node().(*ast.FuncDecl)
}

// NewInfo returns an empty types.Info with all that a check asks for.
func NewInfo() *types.Info {
	return &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
	}
}

// A file is what is known of one source file.
type file struct {
	generated bool
	test      bool
	version   string           // language version, such as go1.26
	ignores   map[int][]string // by line: names of checks to ignore there
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

// toolchain is the newest language version that this build knows.
var toolchain = func() string {
	tags := build.Default.ReleaseTags
	return tags[len(tags)-1]
}()

// Ignore is the comment that silences a check on its line and the next.
const Ignore = "//isobar:ignore"

func newFile(p *analysis.Pass, f *ast.File) *file {
	out := &file{
		generated: ast.IsGenerated(f),
		test:      strings.HasSuffix(p.Fset.File(f.FileStart).Name(), "_test.go"),
		version:   p.TypesInfo.FileVersions[f],
		ignores:   ignores(p.Fset, f),
	}
	if out.version == "" {
		out.version = p.Pkg.GoVersion()
	}
	if out.version == "" {
		out.version = toolchain
	}
	return out
}

// ignores are the names of checks that comments of a file silence, by line.
func ignores(fset *token.FileSet, f *ast.File) map[int][]string {
	out := map[int][]string{}
	for _, group := range f.Comments {
		for _, comment := range group.List {
			rest, ok := strings.CutPrefix(comment.Text, Ignore+" ")
			if !ok {
				continue
			}
			name, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
			if strings.TrimSpace(reason) == "" {
				continue // package advise's directive check says so
			}
			line := fset.Position(comment.Pos()).Line
			for _, n := range strings.Split(name, ",") {
				out[line] = append(out[line], n)
				out[line+1] = append(out[line+1], n)
			}
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
