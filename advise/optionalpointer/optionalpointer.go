// Package optionalpointer is an allocation check: see Check.
package optionalpointer

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags structs that are allocated together with a small one that they
// point to.
var Check = check.New(check.Check{
	Name:     "optionalpointer",
	Exercise: 9,
	Severity: check.Advice,
	Doc: `a struct allocated together with a small struct that a field points to

Two allocations, and one more pointer for the collector to follow. Where most have the
part, hold it by value; where few have it, keep those in a table beside. Fields that are set to the address of a number, a
text or a time of their own are a hint, and of a map; so are sync.NewCond and list.New, whose types work by value.`,
	When:     "many such structs live at a time.",
	WhenNot:  "parts above 128 bytes, parts that others share, types that refer to themselves; start-up code and error paths. Parts that hold a lock are a hint: what holds them must not be copied then. So are parts that a constructor makes, or that are handed on; small structs of data alone whose addresses are collected in slices and maps, returned, sent, or passed through interfaces; what a method puts into an interface field time and again; parts of up to 1,024 bytes that are made together with all that hold them; structs with methods that change them whose addresses are appended or listed, or returned to those who keep them in a variable, iterators above all; copies made to return their addresses; values of type parameters; what a constructor of another package of the module makes for a field; what is put into an element of container/list; and pointers to numbers, texts and times that are returned or passed.",
	Measured: "195 ns, 2 allocations -> 123 ns, 1 (by value, Go 1.26.8)",
	Run:      run,
})

// large is the size from which holding the part by value wastes too much.
const large = 128

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.KeyValueExpr)(nil), (*ast.AssignStmt)(nil), (*ast.CompositeLit)(nil)) {
		apart(p, cur)
	}
	said := map[ast.Node]bool{}
	defer func() { pieces(p, said) }()
	for cur := range p.Root.Preorder((*ast.UnaryExpr)(nil)) {
		lit := literal(cur.Node().(ast.Expr))
		if lit == nil {
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
			if made := constructed(p, outer, kv.Value); inner == nil && key != nil && made != nil {
				said[kv.Value] = true
				p.Needs(check.Interface, p.Seen(outer.Obj()) && key.IsExported()).ReportWith(kv.Value, made, min(p.HeatAt(cur), check.Warm), outer.Obj().Name()+" and its "+key.Name+" are allocated apart; where nothing else holds "+key.Name+", hold it by value")
			}
			if inner == nil || key == nil || !small(p, outer, inner) || !alwaysFresh(p, key) {
				continue
			}
			heat := p.HeatAt(cur)
			if locks(p.TypeOf(inner)) {
				heat = min(heat, check.Warm)
			}
			said[kv.Value] = true
			p.Needs(check.Interface, p.Seen(outer.Obj()) && key.IsExported()).Report(kv, heat, outer.Obj().Name()+" and its "+key.Name+" are allocated apart; hold "+key.Name+" by value, or in a table beside")
		}
	}
}

// apart reports, as hints, fields that are set to the address of a number, a
// text, a time or a small array of its own.
func apart(p *check.Pass, cur inspector.Cursor) {
	switch n := cur.Node().(type) {
	case *ast.KeyValueExpr:
		if lit, ok := cur.Parent().Node().(*ast.CompositeLit); ok {
			if _, isStruct := p.TypeOf(lit).Underlying().(*types.Struct); isStruct && ownPart(p, n.Value) {
				key, _ := n.Key.(*ast.Ident)
				p.Needs(check.Interface, key == nil || key.IsExported() && seen(p, lit)).ReportWith(n, begins(p, n.Value), min(p.HeatAt(cur), check.Warm), types.ExprString(n.Key)+" is an allocation of its own; hold it by value, with a field or a value of it that says whether it is there")
			}
		}
	case *ast.CompositeLit:
		if _, isStruct := p.TypeOf(n).Underlying().(*types.Struct); !isStruct {
			return
		}
		for _, elt := range n.Elts {
			if ownPart(p, elt) {
				p.Needs(check.Interface, seen(p, n)).ReportWith(elt, begins(p, elt), min(p.HeatAt(cur), check.Warm), types.ExprString(elt)+" is an allocation of its own; hold it by value, with a field or a value of it that says whether it is there")
			}
		}
	case *ast.AssignStmt:
		for i, lhs := range n.Lhs {
			sel, ok := lhs.(*ast.SelectorExpr)
			if ok && p.Info.Selections[sel] != nil && len(n.Lhs) == len(n.Rhs) && ownPart(p, n.Rhs[i]) {
				p.Needs(check.Interface, sel.Sel.IsExported() && seen(p, sel.X)).ReportWith(n, begins(p, n.Rhs[i]), min(p.HeatAt(cur), check.Warm), sel.Sel.Name+" is an allocation of its own; hold it by value, with a field or a value of it that says whether it is there")
			}
		}
	}
}

// seen reports whether e is of a type that other packages see, or that is not
// of this one.
func seen(p *check.Pass, e ast.Expr) bool {
	named := check.NamedOf(p.TypeOf(e))
	return named == nil || named.Obj().Pkg() != p.Code.Pkg || p.Seen(named.Obj())
}

// ownPart is own for fields, which may point to a slice of their own as well.
func ownPart(p *check.Pass, e ast.Expr) bool {
	if own(p, e) {
		return true
	}
	ptr, ok := types.Unalias(p.TypeOf(e)).(*types.Pointer)
	u, isAddress := ast.Unparen(e).(*ast.UnaryExpr)
	if !ok || !isAddress || !p.Local(p.Var(u.X)) {
		return false
	}
	_, isSlice := ptr.Elem().Underlying().(*types.Slice)
	return isSlice
}

// own reports whether e is a pointer to something small that is made for it:
// &v of a local variable, new(T), or a call of a function that returns a
// pointer to its argument.
func own(p *check.Pass, e ast.Expr) bool {
	ptr, ok := types.Unalias(p.TypeOf(e)).(*types.Pointer)
	if !ok || !scalar(p, ptr.Elem()) {
		return false
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		return p.Local(p.Var(e.X))
	case *ast.CallExpr:
		if p.Builtin(e) == "new" {
			return true
		}
		return len(e.Args) == 1 && p.Builtin(e) == "" && !p.Info.Types[e.Fun].IsType() && types.Identical(types.Default(p.TypeOf(e.Args[0])), ptr.Elem())
	}
	return false
}

// scalar reports whether t is a number, a text, a time or a small array of
// those, or a type parameter; or a map, a channel or a function, which refer to what they are
// anyway.
func scalar(p *check.Pass, t types.Type) bool {
	if _, param := types.Unalias(t).(*types.TypeParam); param {
		return true
	}
	switch t.Underlying().(type) {
	case *types.Map, *types.Chan, *types.Signature:
		return true
	}
	if array, ok := t.Underlying().(*types.Array); ok {
		return p.Size(array) <= 64 && scalar(p, array.Elem())
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsConstType != 0 || check.IsNamed(t, "time", "Time")
}

// alwaysFresh reports whether the field that key names only ever holds nil or
// a struct of its own, and is never handed on.
func alwaysFresh(p *check.Pass, key *ast.Ident) bool {
	field, ok := p.Info.Uses[key].(*types.Var)
	if !ok || !field.IsField() || field.Embedded() {
		return false
	}
	for _, use := range p.Uses(field) {
		switch parent := use.Parent().Node().(type) {
		case *ast.KeyValueExpr:
			if parent.Key == use.Node() && literal(parent.Value) == nil && !p.Info.Types[parent.Value].IsNil() {
				return false
			}
		case *ast.SelectorExpr:
			switch outer := use.Parent().Parent().Node().(type) {
			case *ast.SelectorExpr, *ast.BinaryExpr, *ast.StarExpr:
			case *ast.AssignStmt:
				for i, lhs := range outer.Lhs {
					if lhs == parent && (len(outer.Lhs) != len(outer.Rhs) || literal(outer.Rhs[i]) == nil && !p.Info.Types[outer.Rhs[i]].IsNil()) {
						return false
					}
				}
				for _, rhs := range outer.Rhs {
					if rhs == parent {
						return false
					}
				}
			default:
				return false
			}
		}
	}
	return true
}
