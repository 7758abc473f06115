// Package poolretain is a check for a correctness trap: see Check.
package poolretain

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags memory of a pool that is used after it was put back.
var Check = check.New(check.Check{
	Name:     "poolretain",
	Severity: check.Trap,
	Doc: `memory from a sync.Pool that is used, returned or stored although it is put back

The next Get hands the same memory to somebody else, who overwrites it. Copy what must
live on (bytes.Clone), or let the receiver put it back.`,
	When:    "always.",
	WhenNot: "copies; values put back on another path than the one that returns.",
	Run:     run,
})

func run(p *check.Pass) {
	p.Calls("sync", []string{"Pool.Put"}, func(cur inspector.Cursor, call *ast.CallExpr, _ string) {
		v := root(p, call.Args[0])
		fn, body := check.Func(cur)
		if v == nil || body == nil {
			return
		}
		if deferred(fn) { // defer func() { … Put(v) }()
			fn, body = check.Func(fn)
		} else if _, ok := cur.Parent().Node().(*ast.DeferStmt); !ok {
			after(p, cur, derived(p, fn, v))
			return
		}
		if body == nil || !fromPool(p, v) {
			return
		}
		vars := derived(p, fn, v)
		for at := range fn.Preorder((*ast.ReturnStmt)(nil), (*ast.AssignStmt)(nil)) {
			if in, _ := check.Func(at); in.Node() == fn.Node() {
				leaks(p, at.Node(), vars)
			}
		}
	})
}

// root returns the local variable that e names, or whose memory e points to or slices; nil for none.
func root(p *check.Pass, e ast.Expr) *types.Var {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v := p.Var(e); p.Local(v) {
			return v
		}
	case *ast.UnaryExpr:
		return root(p, e.X)
	case *ast.StarExpr:
		return root(p, e.X)
	case *ast.SliceExpr:
		return root(p, e.X)
	case *ast.TypeAssertExpr:
		return root(p, e.X)
	case *ast.CallExpr:
		if p.Builtin(e) == "append" {
			return root(p, e.Args[0])
		}
		if _, ok := p.IsCall(e, "bytes", "Buffer.Bytes"); ok {
			return root(p, e.Fun.(*ast.SelectorExpr).X)
		}
	}
	return nil
}

// refers reports whether copies of a value of type t share memory.
func refers(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map:
		return true
	}
	return false
}

// derived returns v and the local variables of fn that share its memory.
func derived(p *check.Pass, fn inspector.Cursor, v *types.Var) map[*types.Var]bool {
	vars := map[*types.Var]bool{v: true}
	for range 3 {
		for at := range fn.Preorder((*ast.AssignStmt)(nil)) {
			for _, lhs := range at.Node().(*ast.AssignStmt).Lhs {
				to := p.Var(lhs)
				if p.Local(to) && refers(to.Type()) && slices.ContainsFunc(p.Given(to), func(e ast.Expr) bool {
					return vars[root(p, e)]
				}) {
					vars[to] = true
				}
			}
		}
	}
	return vars
}

// fromPool reports whether v is assigned the result of a Get.
func fromPool(p *check.Pass, v *types.Var) bool {
	return slices.ContainsFunc(p.Given(v), func(e ast.Expr) bool {
		_, ok := p.IsCall(check.Base(e), "sync", "Pool.Get")
		return ok
	})
}

// deferred reports whether fn is a deferred function literal.
func deferred(fn inspector.Cursor) bool {
	_, ok := fn.Parent().Parent().Node().(*ast.DeferStmt)
	return ok && check.CallOf(fn) != nil
}

// leaks reports a return or assignment that lets memory out of a function that puts it
// back when it returns.
func leaks(p *check.Pass, n ast.Node, vars map[*types.Var]bool) {
	const message = "the memory goes back to the pool when the function ends, and is overwritten; return or store a copy"
	shares := func(e ast.Expr) bool { return vars[root(p, e)] && refers(p.TypeOf(e)) }
	switch n := n.(type) {
	case *ast.ReturnStmt:
		for _, e := range n.Results {
			if shares(e) {
				p.Report(e, message)
			}
		}
	case *ast.AssignStmt:
		if len(n.Lhs) != len(n.Rhs) {
			return
		}
		for i, e := range n.Rhs {
			if shares(e) && root(p, check.Base(n.Lhs[i])) == nil {
				p.Report(e, message)
			}
		}
	}
}

// after reports the first use of vars in the statements after a Put in the same block.
func after(p *check.Pass, put inspector.Cursor, vars map[*types.Var]bool) {
	stmt := put.Parent()
	if _, ok := stmt.Node().(*ast.ExprStmt); !ok {
		return
	}
	for next, ok := stmt.NextSibling(); ok; next, ok = next.NextSibling() {
		for at := range next.Preorder((*ast.Ident)(nil)) {
			id := at.Node().(*ast.Ident)
			v, isVar := p.Info.Uses[id].(*types.Var)
			if !isVar || !vars[v] {
				continue
			}
			if overwritten(put.Node().(*ast.CallExpr).Args[0], at) {
				return
			}
			p.Report(id, id.Name+" was put back into the pool; somebody else may have it now")
			return
		}
	}
}

// overwritten reports whether a statement assigns to the variable, or to what it points to if that was put back.
func overwritten(put ast.Expr, id inspector.Cursor) bool {
	_, led := ast.Unparen(put).(*ast.StarExpr)
	if _, ok := id.Parent().Node().(*ast.StarExpr); ok && led {
		id = id.Parent()
	}
	assign, ok := id.Parent().Node().(*ast.AssignStmt)
	return ok && slices.Contains(assign.Lhs, id.Node().(ast.Expr))
}
