// Package pointerwrapper is an allocation check: see Check.
package pointerwrapper

import (
	"go/ast"
	"go/token"
	"go/types"

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
of constructors that are not inlined, are flagged there.`,
	When: "values are made in a loop and escape.",
	WhenNot: "types with several fields, with pointer receivers, or whose constructor checks its argument; from Go " +
		"1.26 results that stay in the function; start-up code.",
	Measured: "13 to 16 times the time and 1 allocation -> 0 where the call is not inlined; otherwise nothing (Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
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
		inlined := p.AtLeast(decl.Pos(), "go1.26") && !check.NoInline(decl)
		for _, use := range p.Uses(fn) {
			call := check.CallOf(use)
			if call == nil || inlined && p.ExprUse(use.Parent())&(check.Keeps|check.Hands) == 0 ||
				p.Cold(use) {
				continue
			}
			p.Needs(check.Interface, p.Seen(named.Obj())).Report(call, "each "+named.Obj().Name()+
				" is an allocation for one "+named.Underlying().(*types.Struct).Field(0).Type().String()+
				"; declare the type as that, and pass it by value")
		}
	}
}

// constructor reports whether decl does nothing but return &T{v}.
func constructor(decl *ast.FuncDecl) bool {
	u, ok := check.OnlyReturns(decl).(*ast.UnaryExpr)
	if !ok || u.Op != token.AND {
		return false
	}
	_, ok = u.X.(*ast.CompositeLit)
	return ok
}

// wrapper reports whether named is a struct of one primitive without pointer methods.
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
