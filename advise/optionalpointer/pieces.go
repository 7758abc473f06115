package optionalpointer

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// wide is large for hints: who holds the part by value knows how often it is
// there.
const wide = 192

// pieces reports, as hints, what is allocated to be pointed to by a field, an
// element of a slice or map, or a result, where its value could be there
// instead. What is in said is left out.
func pieces(p *check.Pass, said map[ast.Node]bool) {
	for cur := range p.Root.Preorder((*ast.UnaryExpr)(nil), (*ast.CallExpr)(nil)) {
		e := cur.Node().(ast.Expr)
		if said[e] || p.HeatAt(cur) == check.Cold {
			continue
		}
		t := made(p, e)
		if t == nil {
			library(p, cur, e)
			assembled(p, cur, e)
			returned(p, cur, e)
			continue
		}
		st, ok := t.Underlying().(*types.Struct)
		if !ok || p.Size(st) > wide || p.Size(st) == 0 {
			continue
		}
		switch parent := cur.Parent().Node().(type) {
		case *ast.KeyValueExpr:
			if lit, ok := cur.Parent().Parent().Node().(*ast.CompositeLit); ok && parent.Value == e {
				element(p, cur, lit, parent.Key, t)
			}
		case *ast.CompositeLit:
			element(p, cur, parent, nil, t)
		case *ast.AssignStmt:
			for i, rhs := range parent.Rhs {
				if rhs == e && len(parent.Lhs) == len(parent.Rhs) {
					place(p, cur, parent.Lhs[i], t)
				}
			}
		case *ast.CallExpr:
			if p.Builtin(parent) == "append" && parent.Args[0] != e && data(p, t) {
				say(p.Needs(check.Estimate, p.Size(st) > words), cur, p.Seen(check.NamedOf(t).Obj()), "a "+name(t)+" is allocated to be appended by its address; a slice of values holds it itself")
			}
		case *ast.ReturnStmt:
			returned(p, cur, e)
		}
	}
}

// words is the size up to which a slice of values that grows takes no more than
// one of pointers and the values apart; beyond it, its capacity must be told.
const words = 24

// say reports the piece at cur; elsewhere is whether other packages see what
// would hold the value.
func say(p *check.Pass, cur inspector.Cursor, elsewhere bool, message string) {
	p.Needs(check.Interface, elsewhere).Hint(cur.Node(), p.HeatAt(cur), message)
}

func name(t types.Type) string {
	if named := check.NamedOf(t); named != nil {
		return named.Obj().Name()
	}
	return "struct"
}

// made returns the struct that e allocates: &T{}, new(T), or &v of a local
// variable that holds one.
func made(p *check.Pass, e ast.Expr) types.Type {
	ptr, ok := types.Unalias(p.TypeOf(e)).(*types.Pointer)
	if !ok {
		return nil
	}
	if _, ok := ptr.Elem().Underlying().(*types.Struct); !ok || check.IsNamed(ptr, "time", "Time") {
		return nil
	}
	switch e := e.(type) {
	case *ast.UnaryExpr:
		if e.Op == token.AND && (literal(e) != nil || p.Local(p.Var(e.X))) {
			return ptr.Elem()
		}
	case *ast.CallExpr:
		if p.Builtin(e) == "new" && p.Info.Types[e.Args[0]].IsType() {
			return ptr.Elem()
		}
	}
	return nil
}

// element reports the piece at cur as what a literal holds.
func element(p *check.Pass, cur inspector.Cursor, lit *ast.CompositeLit, key ast.Expr, t types.Type) {
	switch u := p.TypeOf(lit).Underlying().(type) {
	case *types.Struct:
		if id, ok := key.(*ast.Ident); ok {
			field, _ := p.Info.Uses[id].(*types.Var)
			part(p, cur, field, p.TypeOf(lit), t)
			return
		}
		for i, elt := range lit.Elts {
			if elt == cur.Node() && i < u.NumFields() {
				part(p, cur, u.Field(i), p.TypeOf(lit), t)
			}
		}
	case *types.Slice, *types.Map:
		if data(p, t) {
			say(p, cur, p.Seen(check.NamedOf(t).Obj()), "a "+name(t)+" is allocated to be listed by its address; hold the values themselves")
		}
	}
}

// place reports the piece at cur as what is assigned to lhs.
func place(p *check.Pass, cur inspector.Cursor, lhs ast.Expr, t types.Type) {
	switch lhs := ast.Unparen(lhs).(type) {
	case *ast.SelectorExpr:
		if s := p.Info.Selections[lhs]; s != nil && s.Kind() == types.FieldVal {
			part(p, cur, s.Obj().(*types.Var), s.Recv(), t)
		}
	case *ast.IndexExpr:
		if data(p, t) {
			say(p, cur, p.Seen(check.NamedOf(t).Obj()), "a "+name(t)+" is allocated to be held by its address; hold the values themselves")
		}
	}
}

// library reports a field that is given the pointer which a constructor of the
// library returns, where the type works by value.
func library(p *check.Pass, cur inspector.Cursor, e ast.Expr) {
	_, inBytes := p.IsCall(e, "bytes", "NewBuffer", "NewBufferString", "NewReader")
	_, inStrings := p.IsCall(e, "strings", "NewReader")
	_, reflected := p.IsCall(e, "reflect", "Value.MapRange")
	if !inBytes && !inStrings && !reflected {
		return
	}
	name := ""
	switch parent := cur.Parent().Node().(type) {
	case *ast.KeyValueExpr:
		lit, ok := cur.Parent().Parent().Node().(*ast.CompositeLit)
		key, named := parent.Key.(*ast.Ident)
		if !ok || !named || parent.Value != e {
			return
		}
		if field, _ := p.Info.Uses[key].(*types.Var); field == nil || !field.IsField() || types.IsInterface(field.Type()) || seen(p, lit) && key.IsExported() {
			return
		}
		name = key.Name
	case *ast.AssignStmt:
		sel, ok := parent.Lhs[0].(*ast.SelectorExpr)
		if !ok || len(parent.Lhs) != 1 || p.Info.Selections[sel] == nil || types.IsInterface(p.TypeOf(sel)) {
			return
		}
		name = sel.Sel.Name
	default:
		return
	}
	say(p, cur, false, name+" is an allocation of its own; hold it by value, and Reset it")
}

// assembled reports a part that a constructor makes, where it is assigned to a
// field that holds nothing else.
func assembled(p *check.Pass, cur inspector.Cursor, e ast.Expr) {
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 || assign.Rhs[0] != e {
		return
	}
	sel, ok := assign.Lhs[0].(*ast.SelectorExpr)
	if !ok {
		return
	}
	s := p.Info.Selections[sel]
	if s == nil || s.Kind() != types.FieldVal || types.IsInterface(s.Type()) {
		return
	}
	outer := check.NamedOf(s.Recv())
	if outer == nil || outer.Obj().Pkg() != p.Code.Pkg {
		return
	}
	if lits := constructed(p, outer, e); lits != nil {
		p.Needs(check.Interface, sel.Sel.IsExported() && p.Seen(outer.Obj())).ReportWith(assign, lits, min(p.HeatAt(cur), check.Warm), sel.Sel.Name+" is an allocation of its own; where nothing else holds it, hold it by value")
	}
}

// part reports the piece at cur as the field of outer, where nothing but pieces
// of its own is ever put there.
func part(p *check.Pass, cur inspector.Cursor, field *types.Var, outer, t types.Type) {
	named := check.NamedOf(outer)
	if field == nil || named == nil || named.Obj().Pkg() == nil || types.IsInterface(field.Type()) || !owns(p, field) {
		return
	}
	other := named.Obj().Pkg() != p.Code.Pkg
	if first, _, _ := strings.Cut(named.Obj().Pkg().Path(), "/"); other && (!strings.Contains(first, ".") || check.Elsewhere(named.Obj(), p.Code.Pkg)) {
		return
	}
	if inner := check.NamedOf(t); inner == nil || inner.Obj() == named.Obj() || inner.Obj().Pkg() == named.Obj().Pkg() && refers(t.Underlying().(*types.Struct), named, inner, 0) {
		return
	}
	say(p, cur, other || field.Exported() && p.Seen(named.Obj()), field.Name()+" is an allocation of its own; where nothing else holds it, hold it by value, or in a table beside")
}

// owns reports whether all that is put into field in this package is nil or
// made for it.
func owns(p *check.Pass, field *types.Var) bool {
	fresh := func(e ast.Expr) bool {
		return made(p, ast.Unparen(e)) != nil || p.Info.Types[e].IsNil()
	}
	for _, use := range p.Uses(field) {
		switch parent := use.Parent().Node().(type) {
		case *ast.KeyValueExpr:
			if parent.Key == use.Node() && !fresh(parent.Value) {
				return false
			}
		case *ast.SelectorExpr:
			assign, ok := use.Parent().Parent().Node().(*ast.AssignStmt)
			if !ok {
				continue
			}
			for i, lhs := range assign.Lhs {
				if lhs == parent && (len(assign.Lhs) != len(assign.Rhs) || !fresh(assign.Rhs[i])) {
					return false
				}
			}
		}
	}
	return true
}

// returned reports a small struct, number, text or time whose address is
// returned or passed for want of a way to say that there is none.
func returned(p *check.Pass, cur inspector.Cursor, e ast.Expr) {
	ret, isReturn := cur.Parent().Node().(*ast.ReturnStmt)
	if assign, ok := cur.Parent().Node().(*ast.AssignStmt); ok {
		if v := p.Var(assign.Lhs[0]); len(assign.Lhs) == 1 && own(p, e) && isResult(p, cur, v) {
			say(p, cur, !p.FreeAround(cur), types.ExprString(e)+" is an allocation for one value; return it itself, with whether it is there")
		}
	}
	if !isReturn {
		if call, ok := cur.Parent().Node().(*ast.CallExpr); ok && call.Fun != e && p.Builtin(call) == "" && own(p, e) {
			if _, helper := e.(*ast.CallExpr); helper {
				say(p, cur, !p.Free(p.Callee(call)), types.ExprString(e)+" is allocated to be passed by its address; pass the value, and whether it is there")
			}
		}
		return
	}
	f, _ := check.Func(cur)
	decl, ok := f.Node().(*ast.FuncDecl)
	if !ok {
		return
	}
	fn, _ := p.Info.Defs[decl.Name].(*types.Func)
	if fn == nil || fn.Signature().Results().Len() != len(ret.Results) {
		return
	}
	for i, result := range ret.Results {
		if result != e || types.IsInterface(fn.Signature().Results().At(i).Type()) {
			continue
		}
		switch t := made(p, e); {
		case t != nil && (p.Size(t) > large/2 || !data(p, t) || !absent(p, f, decl, i)):
		case t != nil:
			say(p, cur, !p.Free(fn), "a "+name(t)+" is allocated to be returned by its address; it is small enough to be returned itself, with whether it is there")
		case own(p, e) && len(decl.Body.List) > 1:
			say(p, cur, !p.Free(fn), types.ExprString(e)+" is an allocation for one value; return it itself, with whether it is there")
		}
	}
}

// isResult reports whether v is a named result of the function around cur.
func isResult(p *check.Pass, cur inspector.Cursor, v *types.Var) bool {
	decl := check.FuncDecl(cur)
	if decl == nil || v == nil {
		return false
	}
	fn, _ := p.Info.Defs[decl.Name].(*types.Func)
	if fn == nil {
		return false
	}
	for r := range fn.Signature().Results().Variables() {
		if r == v {
			return true
		}
	}
	return false
}

// absent reports whether decl returns nil as its result number i somewhere, for
// want of a value.
func absent(p *check.Pass, f inspector.Cursor, decl *ast.FuncDecl, i int) bool {
	for cur := range f.Preorder((*ast.ReturnStmt)(nil)) {
		ret := cur.Node().(*ast.ReturnStmt)
		if g, _ := check.Func(cur); g.Node() == decl && i < len(ret.Results) && p.Info.Types[ret.Results[i]].IsNil() {
			return true
		}
	}
	return false
}

// data reports whether t is a small struct of the package that only holds data:
// without locks, without methods that need its address, and without pointers
// to its like.
func data(p *check.Pass, t types.Type) bool {
	named := check.NamedOf(t)
	if named == nil || named.Obj().Pkg() != p.Code.Pkg || locks(t) {
		return false
	}
	for m := range named.Methods() {
		if _, pointer := m.Signature().Recv().Type().(*types.Pointer); pointer {
			return false
		}
	}
	return !refers(t.Underlying().(*types.Struct), named, named, 0)
}
