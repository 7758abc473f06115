package optionalpointer

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// wide is large for hints: who holds the part by value knows how often it is
// there.
const wide = 192

// whole is large for a part that is made together with what holds it: one
// allocation takes the place of two, whatever their size.
const whole = 1024

// words is the size up to which a slice of values that grows takes no more than
// one of pointers and the values apart; beyond it, its capacity must be told.
const words = 24

// pieces reports, as hints, what is allocated to be pointed to by a field, an
// element of a slice or map, or a result, where its value could be there
// instead. What is in said is left out.
func pieces(p *check.Pass, said map[ast.Node]bool) {
	for cur := range p.Root.Preorder((*ast.UnaryExpr)(nil), (*ast.CallExpr)(nil), (*ast.CompositeLit)(nil)) {
		e := cur.Node().(ast.Expr)
		if lit, ok := e.(*ast.CompositeLit); ok && lit.Type != nil {
			continue // its address may be taken around it
		}
		if said[e] || p.HeatAt(cur) == check.Cold {
			continue
		}
		t := made(p, e)
		if t == nil {
			library(p, cur, e)
			assembled(p, cur, e)
			collected(p, cur, e)
			imported(p, cur, e)
			returned(p, cur, cur, e)
			continue
		}
		st, ok := t.Underlying().(*types.Struct)
		limit := int64(wide)
		if together(cur) {
			limit = whole
		}
		if !ok || size(p, st) > limit || size(p, st) == 0 {
			continue
		}
		if !put(p, cur, cur, t) {
			variable(p, cur, t)
		}
	}
}

// together reports whether the piece at cur is a field of a literal whose address
// is taken: both are made at once.
func together(cur inspector.Cursor) bool {
	if _, ok := cur.Parent().Node().(*ast.KeyValueExpr); !ok {
		return false
	}
	u, ok := cur.Parent().Parent().Parent().Node().(*ast.UnaryExpr)
	return ok && u.Op == token.AND
}

// put reports the piece at cur where the expression at, which is it or a
// variable that holds it, is put somewhere.
func put(p *check.Pass, cur, at inspector.Cursor, t types.Type) bool {
	e := at.Node().(ast.Expr)
	switch parent := at.Parent().Node().(type) {
	case *ast.KeyValueExpr:
		if lit, ok := at.Parent().Parent().Node().(*ast.CompositeLit); ok && parent.Value == e {
			element(p, cur, e, lit, parent.Key, t)
			return true
		}
	case *ast.CompositeLit:
		element(p, cur, e, parent, nil, t)
		return true
	case *ast.AssignStmt:
		for i, rhs := range parent.Rhs {
			if rhs == e && len(parent.Lhs) == len(parent.Rhs) {
				return place(p, cur, parent.Lhs[i], t)
			}
		}
	case *ast.CallExpr:
		switch {
		case parent.Fun == e:
		case p.Builtin(parent) == "append" && parent.Args[0] != e:
			switch {
			case data(p, t):
				say(p.Needs(check.Estimate, size(p, t) > words), cur, p.Seen(check.NamedOf(t).Obj()), "a "+name(t)+" is allocated to be appended by its address; a slice of values holds it itself")
			case movable(p, t):
				say(p, cur, true, "a "+name(t)+" is allocated to be appended by its address; a slice of values holds it itself, where nothing else holds the address and methods are called on the element")
			}
			return true
		case listed(p, parent, e):
			if data(p, t) {
				say(p, cur, !p.Free(p.Callee(parent)), "a "+name(t)+" is allocated to be listed by its address; pass the values themselves")
			}
			return true
		case p.Builtin(parent) == "" && hidden(p, parent) && size(p, t) <= large/2 && data(p, t) && takes(p, parent, e):
			say(p, cur, p.Seen(check.NamedOf(t).Obj()), "a "+name(t)+" is allocated to be passed by its address to what is called through an interface or a variable; pass the value")
			return true
		case unwritten(p, t) && takes(p, parent, e) && keptBy(p, parent, e):
			say(p, cur, !p.Free(p.Callee(parent)), "a "+name(t)+" is allocated to be passed by its address to "+p.Callee(parent).Name()+", which keeps it; pass the value")
			return true
		case inNode(p, parent, e):
			say(p, cur, false, "a "+name(t)+" and the element of the list that holds it are allocated apart; with the links in the "+name(t)+" itself, one allocation is enough")
			return true
		}
	case *ast.SendStmt:
		if parent.Value == e && size(p, t) <= wide && data(p, t) && types.Identical(p.TypeOf(parent.Chan).Underlying().(*types.Chan).Elem(), p.TypeOf(e)) {
			say(p, cur, p.Seen(check.NamedOf(t).Obj()), "a "+name(t)+" is allocated to be sent by its address; a channel of values holds it itself")
		}
		return true
	case *ast.ReturnStmt:
		returned(p, cur, at, e)
		return true
	}
	return false
}

// variable reports the piece at cur where a variable holds it that does
// nothing else with it than to put it somewhere.
func variable(p *check.Pass, cur inspector.Cursor, t types.Type) {
	var lhs ast.Expr
	switch n := cur.Parent().Node().(type) {
	case *ast.AssignStmt:
		if len(n.Lhs) != 1 || !p.Local(p.Var(n.Lhs[0])) {
			return
		}
		lhs = n.Lhs[0]
	case *ast.ValueSpec:
		if len(n.Names) != 1 || len(n.Values) != 1 {
			return
		}
		lhs = n.Names[0]
	default:
		return
	}
	v := p.Var(lhs)
	if at, ok := only(p, v); ok {
		put(p, cur, at, t)
	}
}

// only returns the one use of v that keeps what it holds, where v is a local
// variable that only pieces are assigned to and there is no other such use; or one
// of several that return it.
func only(p *check.Pass, v *types.Var) (at inspector.Cursor, ok bool) {
	if v == nil || !p.Local(v) {
		return at, false
	}
	for _, use := range p.Uses(v) {
		if p.Writes(use) {
			if !assignedPiece(p, v) {
				return at, false
			}
			continue
		}
		if !holds(p, use) {
			continue
		}
		if ok && !(isReturned(at) && isReturned(use)) {
			return at, false
		}
		at, ok = use, true
	}
	return at, ok
}

// holds reports whether the use at cur of a pointer holds on to it. What a field
// of it has is a value of its own.
func holds(p *check.Pass, cur inspector.Cursor) bool {
	if sel, ok := cur.Parent().Node().(*ast.SelectorExpr); ok {
		if s := p.Info.Selections[sel]; s != nil && s.Kind() == types.FieldVal {
			if _, isArray := s.Type().Underlying().(*types.Array); isArray {
				return p.ExprUse(cur.Parent())&check.Keeps != 0
			}
			u, ok := cur.Parent().Parent().Node().(*ast.UnaryExpr)
			return ok && u.Op == token.AND
		}
	}
	return p.ExprUse(cur)&check.Keeps != 0
}

func isReturned(cur inspector.Cursor) bool {
	_, ok := cur.Parent().Node().(*ast.ReturnStmt)
	return ok
}

// hidden reports whether what call calls is not known: a method of an
// interface, or a function that a variable holds.
func hidden(p *check.Pass, call *ast.CallExpr) bool {
	fn := p.Callee(call)
	if fn == nil {
		_, isFunc := p.TypeOf(call.Fun).Underlying().(*types.Signature)
		return isFunc && !p.Info.Types[call.Fun].IsType()
	}
	return fn.Signature().Recv() != nil && types.IsInterface(fn.Signature().Recv().Type())
}

// listed reports whether call takes its argument e as one of a list of pointers.
func listed(p *check.Pass, call *ast.CallExpr, e ast.Expr) bool {
	sig, ok := p.TypeOf(call.Fun).Underlying().(*types.Signature)
	if !ok || !sig.Variadic() || call.Ellipsis.IsValid() || p.Builtin(call) != "" {
		return false
	}
	last := sig.Params().Len() - 1
	list, ok := sig.Params().At(last).Type().(*types.Slice)
	return ok && slices.Index(call.Args, e) >= last && types.Identical(list.Elem(), p.TypeOf(e))
}

// keptBy reports whether call is of a function of this package that keeps its
// argument e, and does not write into what it points to.
func keptBy(p *check.Pass, call *ast.CallExpr, e ast.Expr) bool {
	use, ok := p.ParamUse(p.Callee(call), slices.Index(call.Args, e))
	return ok && use&check.Keeps != 0 && use&check.Writes == 0
}

// inNode reports whether call makes an element of a container/list for e.
func inNode(p *check.Pass, call *ast.CallExpr, e ast.Expr) bool {
	_, ok := p.IsCall(call, "container/list", "List.PushBack", "List.PushFront", "List.InsertBefore", "List.InsertAfter")
	return ok && call.Args[0] == e
}

// takes reports whether call has a parameter of the type of its argument e.
func takes(p *check.Pass, call *ast.CallExpr, e ast.Expr) bool {
	sig, ok := p.TypeOf(call.Fun).Underlying().(*types.Signature)
	if !ok {
		return false
	}
	for i, arg := range call.Args {
		if arg == e && i < sig.Params().Len() {
			return types.Identical(sig.Params().At(i).Type(), p.TypeOf(e))
		}
	}
	return false
}

// say reports the piece at cur; elsewhere is whether other packages see what
// would hold the value.
func say(p *check.Pass, cur inspector.Cursor, elsewhere bool, message string) {
	p.Needs(check.Interface, elsewhere).ReportWith(cur.Node(), begins(p, cur.Node().(ast.Expr)), min(p.HeatAt(cur), check.Warm), message)
}

// begins returns where the local variable of which e is the address begins: there it is
// allocated.
func begins(p *check.Pass, e ast.Expr) []ast.Node {
	u, ok := ast.Unparen(e).(*ast.UnaryExpr)
	if !ok || !p.Local(p.Var(u.X)) {
		return nil
	}
	v := p.Var(u.X)
	return []ast.Node{&ast.Ident{NamePos: v.Pos(), Name: v.Name()}}
}

func name(t types.Type) string {
	if named := check.NamedOf(t); named != nil {
		return named.Obj().Name()
	}
	return "struct"
}

// element reports the piece at cur, which e is or holds, as what a literal
// holds.
func element(p *check.Pass, cur inspector.Cursor, e ast.Expr, lit *ast.CompositeLit, key ast.Expr, t types.Type) {
	switch u := p.TypeOf(lit).Underlying().(type) {
	case *types.Struct:
		if id, ok := key.(*ast.Ident); ok {
			field, _ := p.Info.Uses[id].(*types.Var)
			part(p, cur, field, p.TypeOf(lit), t)
			return
		}
		for i, elt := range lit.Elts {
			if elt == e && i < u.NumFields() {
				part(p, cur, u.Field(i), p.TypeOf(lit), t)
			}
		}
	case *types.Slice, *types.Array, *types.Map:
		switch _, isMap := u.(*types.Map); {
		case data(p, t):
			say(p, cur, p.Seen(check.NamedOf(t).Obj()), "a "+name(t)+" is allocated to be listed by its address; hold the values themselves")
		case !isMap && movable(p, t):
			say(p, cur, true, "a "+name(t)+" is allocated to be listed by its address; hold the values themselves, where nothing else holds the address and methods are called on the element")
		}
	}
}

// place reports the piece at cur as what is assigned to lhs.
func place(p *check.Pass, cur inspector.Cursor, lhs ast.Expr, t types.Type) bool {
	switch lhs := ast.Unparen(lhs).(type) {
	case *ast.SelectorExpr:
		if s := p.Info.Selections[lhs]; s != nil && s.Kind() == types.FieldVal {
			part(p, cur, s.Obj().(*types.Var), s.Recv(), t)
			return true
		}
	case *ast.IndexExpr:
		switch _, isMap := p.TypeOf(lhs.X).Underlying().(*types.Map); {
		case data(p, t):
			say(p, cur, p.Seen(check.NamedOf(t).Obj()), "a "+name(t)+" is allocated to be held by its address; hold the values themselves")
		case !isMap && movable(p, t):
			say(p, cur, true, "a "+name(t)+" is allocated to be held by its address; hold the values themselves, where nothing else holds the address and methods are called on the element")
		}
		return true
	}
	return false
}

// part reports the piece at cur as the field of outer, where nothing but pieces
// of its own is ever put there.
func part(p *check.Pass, cur inspector.Cursor, field *types.Var, outer, t types.Type) {
	named := check.NamedOf(outer)
	if field == nil || named == nil || named.Obj().Pkg() == nil || types.IsInterface(field.Type()) || !owns(p, field, t) {
		return
	}
	if size(p, t) > wide && !always(p, field, named) {
		return
	}
	other := named.Obj().Pkg() != p.Code.Pkg
	if !p.SameModule(named.Obj()) {
		return
	}
	if inner := check.NamedOf(t); inner == nil || inner.Obj() == named.Obj() || inner.Obj().Pkg() == named.Obj().Pkg() && refers(t.Underlying().(*types.Struct), named, inner, 0) {
		return
	}
	say(p, cur, other || field.Exported() && p.Seen(named.Obj()), field.Name()+" is an allocation of its own; where nothing else holds it, hold it by value, or in a table beside")
}

// always reports whether each literal of outer sets the field, so that none would
// hold it in vain.
func always(p *check.Pass, field *types.Var, outer *types.Named) bool {
	for cur := range p.Root.Preorder((*ast.CompositeLit)(nil)) {
		lit := cur.Node().(*ast.CompositeLit)
		if named := check.NamedOf(p.TypeOf(lit)); named == nil || named.Obj() != outer.Obj() {
			continue
		}
		if !slices.ContainsFunc(lit.Elts, func(elt ast.Expr) bool {
			kv, ok := elt.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, ok := kv.Key.(*ast.Ident)
			return ok && p.Info.Uses[key] == field
		}) {
			return false
		}
	}
	return true
}

// owns reports whether all that is put into field in this package is nil or
// made for it. What comes out of other variables and fields is as good where
// nothing is written into what they point to, so that copies do not differ.
func owns(p *check.Pass, field *types.Var, t types.Type) bool {
	fresh := func(e ast.Expr) bool {
		e = ast.Unparen(e)
		if made(p, e) != nil || foreign(p, e) != nil || p.Info.Types[e].IsNil() {
			return true
		}
		if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
			return unwritten(p, t) // of a variable of a package, copied as well as not
		}
		v := p.Var(e)
		if sel, ok := e.(*ast.SelectorExpr); ok && p.Info.Selections[sel] != nil {
			return unwritten(p, t)
		}
		if !p.Local(v) {
			return false
		}
		if at, ok := only(p, v); ok && at.Node() == e && assignedPiece(p, v) {
			return true
		}
		return unwritten(p, t)
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

// assignedPiece reports whether the local variable v is set to what is made
// for it, and to nothing else.
func assignedPiece(p *check.Pass, v *types.Var) bool {
	f := false
	for cur := range p.Root.Preorder((*ast.AssignStmt)(nil)) {
		assign := cur.Node().(*ast.AssignStmt)
		for i, lhs := range assign.Lhs {
			if p.Var(lhs) != v {
				continue
			}
			if lookUp(p, assign) {
				if ptr, ok := types.Unalias(v.Type()).(*types.Pointer); i != 0 || !ok || !isStruct(ptr.Elem()) || !kept(p, ptr.Elem(), false) {
					return false
				}
				continue
			}
			if len(assign.Lhs) != len(assign.Rhs) || made(p, assign.Rhs[i]) == nil && built(p, assign.Rhs[i]) == nil {
				return false
			}
			f = true
		}
	}
	return f
}

// lookUp reports whether assign reads an entry of a map.
func lookUp(p *check.Pass, assign *ast.AssignStmt) bool {
	if len(assign.Rhs) != 1 {
		return false
	}
	index, ok := ast.Unparen(assign.Rhs[0]).(*ast.IndexExpr)
	if !ok {
		return false
	}
	_, isMap := p.TypeOf(index.X).Underlying().(*types.Map)
	return isMap
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}
