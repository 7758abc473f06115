package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// Replace returns an edit that replaces node with text.
func Replace(node ast.Node, text string) analysis.TextEdit {
	return analysis.TextEdit{Pos: node.Pos(), End: node.End(), NewText: []byte(text)}
}

// Insert returns an edit that inserts text before pos.
func Insert(pos token.Pos, text string) analysis.TextEdit {
	return analysis.TextEdit{Pos: pos, End: pos, NewText: []byte(text)}
}

// Import returns the name by which the code at cur refers to the package with the given path, and the
// edits that import it if the file does not. ok is false if the name has another meaning there.
func (c *Code) Import(cur inspector.Cursor, path string) (name string, edits []analysis.TextEdit, ok bool) {
	for at := range cur.Enclosing((*ast.File)(nil)) {
		return Import(c.Pkg, at.Node().(*ast.File), cur.Node().Pos(), path)
	}
	return "", nil, false
}

// Import is [Code.Import] for a position in a file of pkg.
func Import(pkg *types.Package, file *ast.File, pos token.Pos, path string) (name string, edits []analysis.TextEdit,
	ok bool) {
	name = path[strings.LastIndex(path, "/")+1:]
	for _, spec := range file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != path {
			continue
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		obj := lookup(pkg, pos, name)
		_, isPkg := obj.(*types.PkgName)
		return name, nil, isPkg && name != "_" && name != "."
	}
	if lookup(pkg, pos, name) != nil {
		return "", nil, false
	}
	quoted := strconv.Quote(path)
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.IMPORT || len(gen.Specs) == 0 {
			continue
		}
		first := gen.Specs[0].(*ast.ImportSpec)
		at := first.Pos()
		switch {
		case first.Path.Value == `"C"`:
			continue
		case !gen.Lparen.IsValid():
			return name, []analysis.TextEdit{Insert(gen.Pos(), "import "+quoted+"\n")}, true
		case first.Doc != nil:
			at = first.Doc.Pos()
		}
		return name, []analysis.TextEdit{Insert(at, quoted+"\n\t")}, true
	}
	return name, []analysis.TextEdit{Insert(file.Name.End(), "\n\nimport "+quoted)}, true
}

func lookup(pkg *types.Package, pos token.Pos, name string) types.Object {
	scope := pkg.Scope().Innermost(pos)
	if scope == nil {
		return pkg.Scope().Lookup(name)
	}
	_, obj := scope.LookupParent(name, pos)
	return obj
}

// FreeName returns name, with a number appended if needed, such that it is unused in
// the package and was not returned before in this pass.
func (p *Pass) FreeName(pos token.Pos, name string) string {
	taken := map[string]bool{}
	for id, obj := range p.Info.Defs {
		if obj != nil {
			taken[id.Name] = true
		}
	}
	for i, try := 2, name; ; i, try = i+1, name+strconv.Itoa(i) {
		if !taken[try] && !p.given[try] && lookup(p.Code.Pkg, pos, try) == nil && !token.IsKeyword(try) {
			p.given[try] = true
			return try
		}
	}
}

// Hoist returns the edits that move the expression at cur to a package variable before
// the function around it. ok is false if the expression refers to anything local, or if
// the user turned off such fixes.
func (p *Pass) Hoist(cur inspector.Cursor, name string) (edits []analysis.TextEdit, ok bool) {
	e := cur.Node().(ast.Expr)
	decl := FuncDecl(cur)
	if decl == nil || p.check.hoist == nil || !*p.check.hoist {
		return nil, false
	}
	for at := range cur.Preorder((*ast.Ident)(nil)) {
		obj := p.Info.Uses[at.Node().(*ast.Ident)]
		pkg, isPkg := obj.(*types.PkgName)
		if obj != nil && DeclaredIn(obj, decl) || isPkg && pkg.Name() == "." {
			return nil, false
		}
	}
	name, before := p.FreeName(cur.Node().Pos(), name), decl.Pos()
	if decl.Doc != nil {
		before = decl.Doc.Pos()
	}
	return []analysis.TextEdit{Insert(before, "var "+name+" = "+p.Source(e)+"\n\n"), Replace(e, name)}, true
}

// Title returns name with an upper-case first letter.
func Title(name string) string {
	n := min(1, len(name))
	return strings.ToUpper(name[:n]) + name[n:]
}

// FuncDecl returns the function declaration around cur, or nil.
func FuncDecl(cur inspector.Cursor) *ast.FuncDecl {
	for at := range cur.Enclosing((*ast.FuncDecl)(nil)) {
		return at.Node().(*ast.FuncDecl)
	}
	return nil
}

// NoInline reports whether decl has the directive go:noinline.
func NoInline(decl *ast.FuncDecl) bool {
	return decl.Doc != nil && slices.ContainsFunc(decl.Doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:noinline")
	})
}

// OnlyReturns returns the expression that decl returns, or nil if decl does anything else.
func OnlyReturns(decl *ast.FuncDecl) ast.Expr {
	if decl == nil || decl.Body == nil || len(decl.Body.List) != 1 {
		return nil
	}
	if ret, ok := decl.Body.List[0].(*ast.ReturnStmt); ok && len(ret.Results) == 1 {
		return ret.Results[0]
	}
	return nil
}

// Func returns the innermost function declaration or literal around cur, cur itself
// excluded, and its body.
func Func(cur inspector.Cursor) (inspector.Cursor, *ast.BlockStmt) {
	for at := range cur.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		if at.Node() == cur.Node() {
			continue
		}
		switch n := at.Node().(type) {
		case *ast.FuncDecl:
			return at, n.Body
		case *ast.FuncLit:
			return at, n.Body
		}
	}
	return inspector.Cursor{}, nil
}
