// Package optionalpointer is an allocation check: see Check.
package optionalpointer

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags structs that are allocated together with a small struct that they point to.
var Check = check.New(check.Check{
	Name:     "optionalpointer",
	Exercise: 9,
	Severity: check.Advice,
	Doc: `a struct allocated together with a small struct that a field points to

Two allocations, and one more pointer for the collector to follow. Where most have the part, hold it by
value; where few have it, keep those in a table beside.`,
	When: "many such structs live at the same time; if the part has a lock, the struct is never copied.",
	WhenNot: "parts above 128 bytes, parts that others share, types that refer to themselves; start-up code and error " +
		"paths.",
	Measured: "195 ns, 2 allocations -> 123 ns, 1 (by value, Go 1.26.8)",
	Run:      run,
})

// large is the size in bytes above which a part held by value wastes too much.
const large = 128

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.UnaryExpr)(nil)) {
		lit := literal(cur.Node().(ast.Expr))
		if lit == nil || p.Cold(cur) {
			continue
		}
		outer := check.NamedOf(p.TypeOf(lit))
		if outer == nil || outer.Obj().Pkg() != p.Code.Pkg {
			continue
		}
		for _, elt := range lit.Elts {
			kv, ok := elt.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			key, _ := kv.Key.(*ast.Ident)
			inner := literal(kv.Value)
			if inner == nil || key == nil || !small(p, outer, inner) || !alwaysFresh(p, key) {
				continue
			}
			p.Needs(check.Interface, p.Seen(outer.Obj()) && key.IsExported()).Report(kv, outer.Obj().Name()+" and its "+
				key.Name+" are allocated apart; hold "+key.Name+" by value, or in a table beside")
		}
	}
}

// alwaysFresh reports whether the field that key names only ever holds nil or a struct
// of its own, and is never passed on.
func alwaysFresh(p *check.Pass, key *ast.Ident) bool {
	field, ok := p.Info.Uses[key].(*types.Var)
	if !ok || !field.IsField() || field.Embedded() {
		return false
	}
	return !slices.ContainsFunc(p.Uses(field), func(use inspector.Cursor) bool { return !freshAt(p, use) })
}

// freshAt reports whether one use of a field only reads it, or sets it to nil or to a new struct.
func freshAt(p *check.Pass, use inspector.Cursor) bool {
	own := func(e ast.Expr) bool { return literal(e) != nil || p.Info.Types[e].IsNil() }
	switch parent := use.Parent().Node().(type) {
	case *ast.KeyValueExpr:
		return parent.Key != use.Node() || own(parent.Value)
	case *ast.SelectorExpr:
		switch outer := use.Parent().Parent().Node().(type) {
		case *ast.SelectorExpr, *ast.BinaryExpr, *ast.StarExpr:
			return true
		case *ast.AssignStmt:
			i := slices.Index(outer.Lhs, ast.Expr(parent))
			set := i < 0 || len(outer.Lhs) == len(outer.Rhs) && own(outer.Rhs[i])
			return set && !slices.Contains(outer.Rhs, ast.Expr(parent))
		}
		return false
	}
	return true
}

// small reports whether inner can be held by value in outer: a struct of this package,
// at most large, with no fields that refer to outer or to itself.
func small(p *check.Pass, outer *types.Named, inner *ast.CompositeLit) bool {
	named := check.NamedOf(p.TypeOf(inner))
	if named == nil || named.Obj().Pkg() != p.Code.Pkg || named.TypeParams().Len() > 0 || outer.TypeParams().Len() > 0 {
		return false
	}
	st, ok := named.Underlying().(*types.Struct)
	if !ok || p.Size(st) > large {
		return false
	}
	for f := range st.Fields() {
		t := f.Type()
		if s, ok := t.Underlying().(*types.Slice); ok {
			t = s.Elem()
		}
		if to := check.NamedOf(t); to != nil && (to.Obj() == outer.Obj() || to.Obj() == named.Obj()) {
			return false
		}
	}
	return true
}

// literal returns the composite literal that e takes the address of.
func literal(e ast.Expr) *ast.CompositeLit {
	u, ok := ast.Unparen(e).(*ast.UnaryExpr)
	if !ok || u.Op != token.AND {
		return nil
	}
	lit, _ := ast.Unparen(u.X).(*ast.CompositeLit)
	return lit
}
