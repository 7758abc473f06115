package optionalpointer

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
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
			returned(p, cur, cur, e)
			continue
		}
		st, ok := t.Underlying().(*types.Struct)
		if !ok || p.Size(st) > wide || p.Size(st) == 0 {
			continue
		}
		if !put(p, cur, cur, t) {
			variable(p, cur, t)
		}
	}
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
			if data(p, t) {
				say(p.Needs(check.Estimate, p.Size(t) > words), cur, p.Seen(check.NamedOf(t).Obj()), "a "+name(t)+" is allocated to be appended by its address; a slice of values holds it itself")
			}
			return true
		case p.Builtin(parent) == "" && hidden(p, parent) && p.Size(t) <= large/2 && data(p, t) && takes(p, parent, e):
			say(p, cur, p.Seen(check.NamedOf(t).Obj()), "a "+name(t)+" is allocated to be passed by its address to what is called through an interface or a variable; pass the value")
			return true
		}
	case *ast.SendStmt:
		if parent.Value == e && p.Size(t) <= wide && data(p, t) && types.Identical(p.TypeOf(parent.Chan).Underlying().(*types.Chan).Elem(), p.TypeOf(e)) {
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
		if n.Tok != token.DEFINE || len(n.Lhs) != 1 {
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
// variable that is set once and there is no other such use; or one of several
// that return it.
func only(p *check.Pass, v *types.Var) (at inspector.Cursor, ok bool) {
	if v == nil || !p.Local(v) {
		return at, false
	}
	for _, use := range p.Uses(v) {
		if p.Writes(use) {
			return at, false
		}
		if p.ExprUse(use)&check.Keeps == 0 {
			continue
		}
		if ok && !(isReturned(at) && isReturned(use)) {
			return at, false
		}
		at, ok = use, true
	}
	return at, ok
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
	case *types.Slice, *types.Map:
		if data(p, t) {
			say(p, cur, p.Seen(check.NamedOf(t).Obj()), "a "+name(t)+" is allocated to be listed by its address; hold the values themselves")
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
		if data(p, t) {
			say(p, cur, p.Seen(check.NamedOf(t).Obj()), "a "+name(t)+" is allocated to be held by its address; hold the values themselves")
		}
		return true
	}
	return false
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
		p.Needs(check.Interface, sel.Sel.IsExported() && p.Seen(outer.Obj())).ReportWith(assign, lits, min(p.HeatAt(cur), check.Warm), sel.Sel.Name+" is an allocation of its own; where nothing else holds it, hold it by value")
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

// part reports the piece at cur as the field of outer, where nothing but pieces
// of its own is ever put there.
func part(p *check.Pass, cur inspector.Cursor, field *types.Var, outer, t types.Type) {
	named := check.NamedOf(outer)
	if field == nil || named == nil || named.Obj().Pkg() == nil || types.IsInterface(field.Type()) || !owns(p, field, t) {
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
// made for it. What comes out of other variables and fields is as good where
// nothing is written into what they point to, so that copies do not differ.
func owns(p *check.Pass, field *types.Var, t types.Type) bool {
	fresh := func(e ast.Expr) bool {
		e = ast.Unparen(e)
		if made(p, e) != nil || p.Info.Types[e].IsNil() {
			return true
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
			if len(assign.Lhs) != len(assign.Rhs) || made(p, assign.Rhs[i]) == nil {
				return false
			}
			f = true
		}
	}
	return f
}

// unwritten reports whether nothing in this package writes into a small struct
// once it is made.
func unwritten(p *check.Pass, t types.Type) bool {
	if p.Size(t) > large/2 || !plain(p, t) {
		return false
	}
	st := t.Underlying().(*types.Struct)
	for f := range st.Fields() {
		for _, use := range p.Uses(f) {
			if _, ok := use.Parent().Node().(*ast.SelectorExpr); ok && p.Writes(use.Parent()) {
				return false
			}
		}
	}
	return true
}

// returned reports a small struct, number, text or time whose address is
// returned or passed for want of a way to say that there is none.
func returned(p *check.Pass, cur, at inspector.Cursor, e ast.Expr) {
	ret, isReturn := at.Parent().Node().(*ast.ReturnStmt)
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
		switch t := made(p, cur.Node().(ast.Expr)); {
		case t != nil && (p.Size(t) > large/2 || !data(p, t) || !absent(p, f, decl, i) && maker.MatchString(fn.Name())):
		case t != nil:
			say(p, cur, !p.Free(fn), "a "+name(t)+" is allocated to be returned by its address; it is small enough to be returned itself, where need be with whether it is there")
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

// maker matches the names of functions whose callers ask for something of their
// own, and so for its address.
var maker = regexp.MustCompile(`^(?i:new|make|create|open|start|init|default|with|alloc)`)

// data reports whether t is a small struct of the module that only holds data:
// without locks, without methods that need its address, and without pointers
// to its like.
func data(p *check.Pass, t types.Type) bool {
	return plain(p, t) && !refers(t.Underlying().(*types.Struct), check.NamedOf(t), check.NamedOf(t), 0)
}

// plain reports whether t is of the module, without locks, and without methods
// that need its address.
func plain(p *check.Pass, t types.Type) bool {
	named := check.NamedOf(t)
	if named == nil || named.Obj().Pkg() == nil || locks(t) {
		return false
	}
	if pkg := named.Obj().Pkg(); pkg != p.Code.Pkg {
		if first, _, _ := strings.Cut(pkg.Path(), "/"); !strings.Contains(first, ".") || check.Elsewhere(named.Obj(), p.Code.Pkg) {
			return false
		}
	}
	for m := range named.Methods() {
		if _, pointer := m.Signature().Recv().Type().(*types.Pointer); pointer && !reads(p, m) {
			return false
		}
	}
	return true
}

// reads reports whether the method m, of a pointer, only reads fields, so that
// it may as well be one of the value.
func reads(p *check.Pass, m *types.Func) bool {
	_, decl := p.Decl(m)
	if decl == nil || len(decl.Recv.List[0].Names) == 0 {
		return decl != nil
	}
	recv, _ := p.Info.Defs[decl.Recv.List[0].Names[0]].(*types.Var)
	if recv == nil {
		return true // _
	}
	for _, use := range p.Uses(recv) {
		sel, ok := use.Parent().Node().(*ast.SelectorExpr)
		if !ok || p.Info.Selections[sel] == nil || p.Info.Selections[sel].Kind() != types.FieldVal {
			return false
		}
		at := use.Parent()
		for ; !p.Writes(at); at = at.Parent() {
			switch at.Parent().Node().(type) {
			case *ast.SelectorExpr, *ast.IndexExpr, *ast.ParenExpr:
				continue
			}
			break
		}
		if p.Writes(at) {
			return false
		}
	}
	return true
}
