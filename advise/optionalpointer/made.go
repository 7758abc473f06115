package optionalpointer

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

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
	case *ast.CompositeLit: // of which the type, and the &, is left out
		return ptr.Elem()
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

// literal returns the composite literal that e takes the address of.
func literal(e ast.Expr) *ast.CompositeLit {
	u, ok := ast.Unparen(e).(*ast.UnaryExpr)
	if !ok || u.Op != token.AND {
		return nil
	}
	lit, _ := ast.Unparen(u.X).(*ast.CompositeLit)
	return lit
}

// library reports a field that is given the pointer which a constructor of the
// library returns, where the type works by value.
func library(p *check.Pass, cur inspector.Cursor, e ast.Expr) {
	_, inBytes := p.IsCall(e, "bytes", "NewBuffer", "NewBufferString", "NewReader")
	_, inStrings := p.IsCall(e, "strings", "NewReader")
	_, reflected := p.IsCall(e, "reflect", "Value.MapRange")
	_, cond := p.IsCall(e, "sync", "NewCond")
	_, list := p.IsCall(e, "container/list", "New")
	if !inBytes && !inStrings && !reflected && !cond && !list {
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
	switch {
	case cond:
		say(p, cur, false, name+" is an allocation of its own; hold it by value, and set its L")
	case list:
		say(p, cur, false, name+" is an allocation of its own; hold it by value, its zero value is an empty list")
	default:
		say(p, cur, false, name+" is an allocation of its own; hold it by value, and Reset it")
	}
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
	if s == nil || s.Kind() != types.FieldVal {
		return
	}
	if types.IsInterface(s.Type()) {
		again(p, cur, sel, e)
		return
	}
	outer := check.NamedOf(s.Recv())
	if outer == nil || outer.Obj().Pkg() != p.Code.Pkg {
		return
	}
	if lits := constructed(p, outer, e); lits != nil {
		p.Needs(check.Interface, sel.Sel.IsExported() && p.Seen(outer.Obj())).ReportWith(e, lits, min(p.HeatAt(cur), check.Warm), sel.Sel.Name+" is an allocation of its own; where nothing else holds it, hold it by value")
	}
}

// again reports what a method of the package makes for a field of an interface
// type, where a method of what has the field puts one after the other there.
func again(p *check.Pass, cur inspector.Cursor, sel *ast.SelectorExpr, e ast.Expr) {
	decl := check.FuncDecl(cur)
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || decl == nil || decl.Recv == nil || len(decl.Recv.List[0].Names) == 0 {
		return
	}
	recv, _ := p.Info.Defs[decl.Recv.List[0].Names[0]].(*types.Var)
	if recv == nil || p.Var(sel.X) != recv || p.HeatAt(cur) == check.Cold {
		return
	}
	fn := p.Callee(call)
	if fn == nil {
		return
	}
	var lits []ast.Node
	for _, m := range implementations(p, fn) {
		made := madeBy(p, m, 2)
		if made == nil {
			return
		}
		lits = append(lits, made...)
	}
	if lits != nil {
		p.ReportWith(cur.Parent().Node(), lits, check.Warm, sel.Sel.Name+" is an allocation of its own each time; keep one of each kind in what holds it, set it anew, and let "+sel.Sel.Name+" refer to it")
	}
}

// implementations returns fn, or where it is a method of an interface those of
// the types of this package that have it.
func implementations(p *check.Pass, fn *types.Func) (all []*types.Func) {
	recv := fn.Signature().Recv()
	if recv == nil || !types.IsInterface(recv.Type()) {
		return []*types.Func{fn}
	}
	iface := recv.Type().Underlying().(*types.Interface)
	scope := p.Code.Pkg.Scope()
	for _, name := range scope.Names() {
		tn, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || types.IsInterface(tn.Type()) {
			continue
		}
		ptr := types.NewPointer(tn.Type())
		if !types.Implements(ptr, iface) {
			continue
		}
		if m, _, _ := types.LookupFieldOrMethod(ptr, true, p.Code.Pkg, fn.Name()); m != nil {
			if m, ok := m.(*types.Func); ok {
				all = append(all, m)
			}
		}
	}
	return all
}

// built returns the literals that e is made by, where it calls a function of this
// package that returns pointers to such.
func built(p *check.Pass, e ast.Expr) []ast.Node {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return nil
	}
	return madeBy(p, p.Callee(call), 1)
}

// imported reports a field that only ever holds what the constructor of a type of
// another package of the module returns.
func imported(p *check.Pass, cur inspector.Cursor, e ast.Expr) {
	t := foreign(p, e)
	if t == nil || size(p, t) > wide {
		return
	}
	var field *types.Var
	switch parent := cur.Parent().Node().(type) {
	case *ast.KeyValueExpr:
		if key, ok := parent.Key.(*ast.Ident); ok && parent.Value == e {
			field, _ = p.Info.Uses[key].(*types.Var)
		}
	case *ast.AssignStmt:
		sel, ok := parent.Lhs[0].(*ast.SelectorExpr)
		if s := p.Info.Selections[sel]; ok && len(parent.Lhs) == 1 && s != nil && s.Kind() == types.FieldVal {
			field = s.Obj().(*types.Var)
		}
	}
	if field == nil || !field.IsField() || !types.Identical(field.Type(), p.TypeOf(e)) || !owns(p, field, t) {
		return
	}
	say(p, cur, true, field.Name()+" is an allocation of its own; where nothing else holds it and "+name(t)+" can be set up in place, hold it by value")
}

// foreign returns the struct that e makes, where it calls a constructor, by its name,
// of another package of the module, or a method that copies.
func foreign(p *check.Pass, e ast.Expr) types.Type {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return nil
	}
	fn := p.Callee(call)
	ptr, isPointer := types.Unalias(p.TypeOf(e)).(*types.Pointer)
	if fn == nil || !isPointer || fn.Pkg() == p.Code.Pkg || check.Standard(fn) || check.External(fn, p.Code.Pkg) {
		return nil
	}
	if method := fn.Signature().Recv() != nil; method && fn.Name() != "Clone" && fn.Name() != "Copy" || !method && !strings.HasPrefix(fn.Name(), "New") {
		return nil
	}
	named := check.NamedOf(ptr)
	if named == nil || named.Obj().Pkg() != fn.Pkg() || named.TypeArgs().Len() > 0 {
		return nil
	}
	if _, isStruct := named.Underlying().(*types.Struct); !isStruct {
		return nil
	}
	return ptr.Elem()
}

// constructed returns the literals that e is made by, where it calls a function
// of this package that returns pointers to such, none of them an outer.
func constructed(p *check.Pass, outer *types.Named, e ast.Expr) []ast.Node {
	made := built(p, e)
	for _, lit := range made {
		if named := check.NamedOf(p.TypeOf(lit.(ast.Expr))); named == nil || named.Obj() == outer.Obj() {
			return nil
		}
	}
	return made
}

// madeBy returns the literals whose addresses fn, or what it calls for them,
// returns; nil where it returns anything else.
func madeBy(p *check.Pass, fn *types.Func, depth int) (lits []ast.Node) {
	at, decl := p.Decl(fn)
	if decl == nil || depth == 0 {
		return nil
	}
	for cur := range at.Preorder((*ast.ReturnStmt)(nil)) {
		ret := cur.Node().(*ast.ReturnStmt)
		if f, _ := check.Func(cur); f.Node() != decl {
			continue
		}
		if len(ret.Results) != 1 {
			return nil
		}
		if lit := literal(ret.Results[0]); lit != nil {
			lits = append(lits, lit)
			continue
		}
		call, ok := ast.Unparen(ret.Results[0]).(*ast.CallExpr)
		if !ok || p.Callee(call) == nil {
			return nil
		}
		below := madeBy(p, p.Callee(call), depth-1)
		if below == nil {
			return nil
		}
		lits = append(lits, below...)
	}
	return lits
}
