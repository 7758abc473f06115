package optionalpointer

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

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
	var fn *types.Func // nil in a literal
	var results *types.Tuple
	steps := 2
	switch around := f.Node().(type) {
	case *ast.FuncDecl:
		if fn, _ = p.Info.Defs[around.Name].(*types.Func); fn == nil {
			return
		}
		results, steps = fn.Signature().Results(), len(around.Body.List)
	case *ast.FuncLit:
		results = p.TypeOf(around).(*types.Signature).Results()
	}
	if results == nil || results.Len() != len(ret.Results) {
		return
	}
	calls, _ := callsOf(p, fn)
	linked := 0
	if fn != nil && p.Free(fn) {
		linked = count(calls, func(call inspector.Cursor) bool { return becomes(p, call, links) })
	}
	if linked > 0 && linked == len(calls) {
		return // the address is needed
	}
	fixed := fn == nil || !p.Free(fn) || linked > 0
	inInterface := slices.ContainsFunc(calls, func(call inspector.Cursor) bool { return becomes(p, call, (*check.Pass).BecomesInterface) })
	makes := fn != nil && maker.MatchString(fn.Name())
	for i, result := range ret.Results {
		if result != e || types.IsInterface(results.At(i).Type()) {
			continue
		}
		t := made(p, cur.Node().(ast.Expr))
		switch {
		case t == nil:
			if own(p, e) && steps > 1 {
				say(p, cur, fixed, types.ExprString(e)+" is an allocation for one value; return it itself, with whether it is there")
			}
		case p.Size(t) <= large && data(p, t):
			if !makes || absent(p, f, i) || p.Size(t) <= large/2 && byValue(t) {
				say(p, cur, fixed, "a "+name(t)+" is allocated to be returned by its address; it is small enough to be returned itself, where need be with whether it is there")
			}
		case !movable(p, t):
		case p.Size(t) <= whole && !makes && copied(p, cur.Node().(ast.Expr)):
			say(p, cur, fixed, "a copy, a "+name(t)+", is allocated to be returned by its address; return it itself, where need be with whether it is there")
		case p.Size(t) <= large && steps > 1 && !inInterface && (hasMethod(t, "Next", "next") || !hasMethod(t, "Close", "close") && (callersUse(p, fn) || !makes)):
			say(p, cur, fixed || !callersUse(p, fn), "a "+name(t)+" is allocated to be returned by its address; returned itself, it lies in the caller's variable, whose methods may change it")
		}
	}
}

// copied reports whether e is the address of a local variable that begins as a copy
// of a value that is elsewhere, or that a call gives.
func copied(p *check.Pass, e ast.Expr) bool {
	if begins(p, e) == nil {
		return false
	}
	v := p.Var(ast.Unparen(e).(*ast.UnaryExpr).X)
	for cur := range p.Root.Preorder((*ast.AssignStmt)(nil)) {
		assign := cur.Node().(*ast.AssignStmt)
		for i, lhs := range assign.Lhs {
			if assign.Tok != token.DEFINE || p.Var(lhs) != v {
				continue
			}
			if len(assign.Lhs) != len(assign.Rhs) {
				return true
			}
			_, isLit := ast.Unparen(assign.Rhs[i]).(*ast.CompositeLit)
			return !isLit
		}
	}
	return false
}

// hasMethod reports whether t has a method of one of the names: what is gone through
// is kept in a variable while it is, what is to be closed must not be copied.
func hasMethod(t types.Type, names ...string) bool {
	for m := range check.NamedOf(t).Methods() {
		if slices.Contains(names, m.Name()) {
			return true
		}
	}
	return false
}

// callsOf returns the calls of fn in this package, and whether there is no other use
// of it.
func callsOf(p *check.Pass, fn *types.Func) (calls []inspector.Cursor, only bool) {
	if fn == nil {
		return nil, false
	}
	only = true
	for _, use := range p.Uses(fn) {
		if sel, ok := use.Parent().Node().(*ast.SelectorExpr); ok && sel.Sel == use.Node() {
			use = use.Parent()
		}
		if call, ok := use.Parent().Node().(*ast.CallExpr); ok && call.Fun == use.Node() {
			calls = append(calls, use.Parent())
		} else {
			only = false
		}
	}
	return calls, only
}

func count(calls []inspector.Cursor, f func(inspector.Cursor) bool) (n int) {
	for _, call := range calls {
		if f(call) {
			n++
		}
	}
	return n
}

// becomes reports whether f holds for the result of call, or for a use of the local
// variable that it is assigned to.
func becomes(p *check.Pass, call inspector.Cursor, f func(*check.Pass, inspector.Cursor) bool) bool {
	if assign, ok := call.Parent().Node().(*ast.AssignStmt); ok && p.Local(p.Var(assign.Lhs[0])) {
		return slices.ContainsFunc(p.Uses(p.Var(assign.Lhs[0])), func(at inspector.Cursor) bool { return f(p, at) })
	}
	return f(p, call)
}

// callersUse reports whether fn is called, and its callers do no more with what it
// returns than to keep it in a variable of theirs and to call its methods.
func callersUse(p *check.Pass, fn *types.Func) bool {
	calls, only := callsOf(p, fn)
	for _, call := range calls {
		switch parent := call.Parent().Node().(type) {
		case *ast.SelectorExpr:
		case *ast.AssignStmt:
			if len(parent.Lhs) != len(parent.Rhs) || !p.Local(p.Var(parent.Lhs[0])) {
				return false
			}
			for _, at := range p.Uses(p.Var(parent.Lhs[0])) {
				if _, method := at.Parent().Node().(*ast.SelectorExpr); !method && !p.Writes(at) && p.ExprUse(at)&(check.Keeps|check.Hands) != 0 || method && holds(p, at) {
					return false
				}
			}
		default:
			return false
		}
	}
	return only && len(calls) > 0
}

// links reports whether the pointer at cur is put into a field, a slice or a map.
func links(p *check.Pass, cur inspector.Cursor) bool {
	e := cur.Node().(ast.Expr)
	switch parent := cur.Parent().Node().(type) {
	case *ast.AssignStmt:
		i := slices.Index(parent.Rhs, e)
		if i < 0 || len(parent.Lhs) != len(parent.Rhs) {
			return false
		}
		switch ast.Unparen(parent.Lhs[i]).(type) {
		case *ast.SelectorExpr, *ast.IndexExpr:
			return true
		}
	case *ast.KeyValueExpr, *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		return p.Builtin(parent) == "append"
	}
	return false
}

// byValue reports whether t has a method of the value: it is meant as one.
func byValue(t types.Type) bool {
	named := check.NamedOf(t)
	if named == nil {
		return false
	}
	for m := range named.Methods() {
		if _, pointer := m.Signature().Recv().Type().(*types.Pointer); !pointer {
			return true
		}
	}
	return false
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

// absent reports whether the function at f returns nil as its result number i
// somewhere, for want of a value.
func absent(p *check.Pass, f inspector.Cursor, i int) bool {
	for cur := range f.Preorder((*ast.ReturnStmt)(nil)) {
		ret := cur.Node().(*ast.ReturnStmt)
		if g, _ := check.Func(cur); g.Node() == f.Node() && i < len(ret.Results) && p.Info.Types[ret.Results[i]].IsNil() {
			return true
		}
	}
	return false
}

// maker matches the names of functions whose callers ask for something of their
// own, and so for its address.
var maker = regexp.MustCompile(`^(?i:new|make|create|open|start|init|default|with|alloc)`)
