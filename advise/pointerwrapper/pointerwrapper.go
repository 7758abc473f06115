// Package pointerwrapper is an allocation check: see Check.
package pointerwrapper

import (
	"go/ast"
	"go/token"
	"go/types"
	"go/version"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags pointers to structs that hold one number or string.
var Check = check.New(check.Check{
	Name:     "pointerwrapper",
	Exercise: 18,
	Severity: check.Advice,
	Doc: `a pointer to a struct of one primitive

A named primitive gives the same type safety without an allocation. From Go 1.26 the
constructor costs nothing where it is inlined and its result goes no further, so only calls whose result escapes, or
of constructors that are not inlined, are flagged there. Pointers to literals of one field of any kind that nothing writes
to are a hint, and so are addresses of a variable of a primitive type, or a struct of one field, that are returned and never nil.`,
	When:     "values are made in a loop and escape.",
	WhenNot:  "types with several fields, with pointer receivers, or whose constructor checks its argument; from Go 1.26 results that stay in the function; start-up code.",
	Measured: "13 to 16 times the time and 1 allocation -> 0 where the call is not inlined; otherwise nothing (Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.UnaryExpr)(nil)) {
		single(p, cur)
		addressed(p, cur)
	}
	for cur := range p.Root.Preorder((*ast.FuncDecl)(nil)) {
		decl := cur.Node().(*ast.FuncDecl)
		fn, ok := p.Info.Defs[decl.Name].(*types.Func)
		if !ok || decl.Recv != nil || !constructor(decl) {
			continue
		}
		named := check.NamedOf(fn.Signature().Results().At(0).Type())
		if named == nil || named.Obj().Pkg() != p.Code.Pkg || !wrapper(named) {
			continue
		}
		inlined := version.Compare(p.GoVersion(decl.Pos()), "go1.26") >= 0 && !noinline(decl)
		for _, use := range p.Uses(fn) {
			call, ok := use.Parent().Node().(*ast.CallExpr)
			if !ok || call.Fun != use.Node() || inlined && p.ExprUse(use.Parent())&(check.Keeps|check.Hands) == 0 {
				continue
			}
			p.Needs(check.Interface, p.Seen(named.Obj())).Report(call, p.HeatAt(use), "each "+named.Obj().Name()+" is an allocation for one "+named.Underlying().(*types.Struct).Field(0).Type().String()+"; declare the type as that, and pass it by value")
		}
	}
}

// single reports, as a hint, the address of a literal of a struct of one field
// that nothing in the package writes to, where it escapes.
func single(p *check.Pass, cur inspector.Cursor) {
	u := cur.Node().(*ast.UnaryExpr)
	lit, ok := u.X.(*ast.CompositeLit)
	if u.Op != token.AND || !ok || len(lit.Elts) != 1 {
		return
	}
	named := check.NamedOf(p.TypeOf(lit))
	if named == nil || named.Obj().Pkg() != p.Code.Pkg && !plainNeighbour(p, named) {
		return
	}
	st, ok := named.Underlying().(*types.Struct)
	if !ok || st.NumFields() != 1 || p.Size(st) > 24 || named.TypeParams().Len() > 0 {
		return
	}
	if p.ExprUse(cur)&(check.Keeps|check.Hands) == 0 {
		return
	}
	for _, use := range p.Uses(st.Field(0)) {
		if _, ok := use.Parent().Node().(*ast.SelectorExpr); ok && p.Writes(use.Parent()) {
			return
		}
	}
	decl := check.FuncDecl(cur)
	if decl == nil || constructor(decl) && wrapper(named) && len(p.Uses(p.Info.Defs[decl.Name])) > 0 {
		return // its callers are flagged
	}
	boxed := !pointerShaped(st.Field(0).Type()) && p.BecomesInterface(cur)
	if boxed && !integer(st.Field(0).Type()) {
		return // which by value needs as much memory
	}
	p = p.Needs(check.Interface, boxed || p.Seen(named.Obj())) // in one, only small numbers need no memory
	if _, pointer := st.Field(0).Type().Underlying().(*types.Pointer); pointer {
		p.Hint(u, p.HeatAt(cur), "each "+named.Obj().Name()+" is an allocation for one pointer; by value it is that pointer, in an interface as well")
	} else if types.IsInterface(st.Field(0).Type()) {
		p.Hint(u, p.HeatAt(cur), "each "+named.Obj().Name()+" is an allocation for one "+st.Field(0).Type().String()+"; pass it by value")
	} else {
		p.Hint(u, p.HeatAt(cur), "each "+named.Obj().Name()+" is an allocation for one "+st.Field(0).Type().String()+"; declare the type as that, with its methods, and pass it by value")
	}
}

// pointerShaped reports whether an interface holds a value of type t without memory
// of its own.
func pointerShaped(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Chan, *types.Signature:
		return true
	}
	return false
}

func integer(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

// plainNeighbour reports whether named is of another package of this module, and
// has no methods that need a pointer.
func plainNeighbour(p *check.Pass, named *types.Named) bool {
	pkg := named.Obj().Pkg()
	if pkg == nil || check.Elsewhere(named.Obj(), p.Code.Pkg) {
		return false
	}
	if first, _, _ := strings.Cut(pkg.Path(), "/"); !strings.Contains(first, ".") {
		return false
	}
	for m := range named.Methods() {
		if _, pointer := m.Signature().Recv().Type().(*types.Pointer); pointer {
			return false
		}
	}
	return true
}

// addressed reports, as a hint, the address of a local variable of a primitive
// type, or of a struct of one field, that is returned, never nil, and that nothing
// writes to once it is.
func addressed(p *check.Pass, cur inspector.Cursor) {
	u := cur.Node().(*ast.UnaryExpr)
	v := p.Var(u.X)
	decl := check.FuncDecl(cur)
	ret, ok := cur.Parent().Node().(*ast.ReturnStmt)
	if u.Op != token.AND || !p.Local(v) || decl == nil || !ok || parameter(p, decl, v) || optional(p, decl, ret, u) {
		return
	}
	named, _ := types.Unalias(v.Type()).(*types.Named)
	if named != nil && (named.TypeParams().Len() > 0 || named.Obj().Pkg() == nil || check.Elsewhere(named.Obj(), p.Code.Pkg) || mutated(p, named)) {
		return
	}
	of := v.Type().Underlying()
	if st, ok := of.(*types.Struct); ok && st.NumFields() == 1 && named.Obj().Pkg() == p.Code.Pkg && p.Size(st) <= 32 {
		for _, use := range p.Uses(st.Field(0)) {
			if sel, ok := use.Parent().Node().(*ast.SelectorExpr); ok && p.Writes(use.Parent()) {
				if _, through := p.TypeOf(sel.X).Underlying().(*types.Pointer); through {
					return
				}
			}
		}
		of = st.Field(0).Type()
	} else if b, ok := of.(*types.Basic); !ok || b.Kind() == types.Invalid {
		return
	}
	seen := named != nil && p.Seen(named.Obj()) || !p.FreeAround(cur)
	p.Needs(check.Interface, seen).Hint(ret, p.HeatOfPath(cur), "each result is an allocation for one "+types.TypeString(of, (*types.Package).Name)+"; return it by value")
}

// parameter reports whether v is a parameter of decl: who takes its address
// makes a pointer on purpose.
func parameter(p *check.Pass, decl *ast.FuncDecl, v *types.Var) bool {
	fn, ok := p.Info.Defs[decl.Name].(*types.Func)
	if !ok {
		return true
	}
	for param := range fn.Signature().Params().Variables() {
		if param == v {
			return true
		}
	}
	return false
}

// optional reports whether decl also returns nil in the place of u, other than
// with an error.
func optional(p *check.Pass, decl *ast.FuncDecl, ret *ast.ReturnStmt, u *ast.UnaryExpr) (found bool) {
	i := slices.Index(ret.Results, ast.Expr(u))
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			last := len(n.Results) - 1
			if i > last || !p.Info.Types[n.Results[i]].IsNil() {
				break
			}
			if i == last || !check.IsError(p.TypeOf(n.Results[last])) || p.Info.Types[n.Results[last]].IsNil() {
				found = true
			}
		}
		return true
	})
	return found
}

// mutated reports whether a method of named writes through its receiver.
func mutated(p *check.Pass, named *types.Named) bool {
	for m := range named.Methods() {
		recv := m.Signature().Recv()
		if _, pointer := recv.Type().(*types.Pointer); pointer && p.VarUse(recv)&check.Writes != 0 {
			return true
		}
	}
	return false
}

// constructor reports whether decl is nothing but return &T{v}.
func constructor(decl *ast.FuncDecl) bool {
	if decl.Body == nil || len(decl.Body.List) != 1 || decl.Type.Results.NumFields() != 1 {
		return false
	}
	ret, ok := decl.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	u, ok := ret.Results[0].(*ast.UnaryExpr)
	if !ok || u.Op != token.AND {
		return false
	}
	_, ok = u.X.(*ast.CompositeLit)
	return ok
}

// wrapper reports whether named is a struct of one primitive, without methods
// that need a pointer.
func wrapper(named *types.Named) bool {
	st, ok := named.Underlying().(*types.Struct)
	if !ok || st.NumFields() != 1 {
		return false
	}
	if _, ok := st.Field(0).Type().Underlying().(*types.Basic); !ok {
		return false
	}
	for m := range named.Methods() {
		if _, pointer := m.Signature().Recv().Type().(*types.Pointer); pointer {
			return false
		}
	}
	return true
}

func noinline(decl *ast.FuncDecl) bool {
	if decl.Doc == nil {
		return false
	}
	for _, c := range decl.Doc.List {
		if strings.HasPrefix(c.Text, "//go:noinline") {
			return true
		}
	}
	return false
}
