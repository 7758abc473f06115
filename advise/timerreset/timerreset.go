// Package timerreset is a check for a correctness trap: see Check.
package timerreset

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags timers that are reset without being stopped and drained.
var Check = check.New(check.Check{
	Name:     "timerreset",
	Severity: check.Trap,
	Until:    "go1.23",
	Doc: `Timer.Reset without stopping and draining the timer, before Go 1.23

A timer that fired leaves its time in the channel; after Reset the next receive gets that
stale one at once. Before Go 1.23: if !t.Stop() { select { case <-t.C: default: } }.`,
	When: "the module is built for Go before 1.23.",
	WhenNot: "Go 1.23 and later; timers that were just received from, or whose result of Stop the package uses; " +
		"timers of AfterFunc.",
	Run: run,
})

func run(p *check.Pass) {
	p.Calls("time", []string{"Timer.Reset"}, func(cur inspector.Cursor, call *ast.CallExpr, _ string) {
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return
		}
		timer := types.ExprString(sel.X)
		if !receives(p.Root, timer) || received(cur, timer) || drained(p, timer) {
			return
		}
		p.Report(call, timer+" may have fired: before Go 1.23, stop and drain it before Reset")
	})
}

// receives reports whether the code at cur receives from the timer's channel.
func receives(cur inspector.Cursor, timer string) bool {
	for at := range cur.Preorder((*ast.UnaryExpr)(nil)) {
		if from(at.Node(), timer) {
			return true
		}
	}
	return false
}

// from reports whether n is <-timer.C.
func from(n ast.Node, timer string) bool {
	u, ok := n.(*ast.UnaryExpr)
	if !ok || u.Op != token.ARROW {
		return false
	}
	sel, ok := u.X.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "C" && types.ExprString(sel.X) == timer
}

// received reports whether the code received from the timer's channel just before cur:
// in the select clause around it, or in an earlier statement.
func received(cur inspector.Cursor, timer string) bool {
	for at := cur; at.Node() != nil; at = at.Parent() {
		switch n := at.Node().(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			return false
		case *ast.CommClause:
			if comm, _ := at.FirstChild(); n.Comm != nil && receives(comm, timer) {
				return true
			}
		case ast.Stmt:
			for before, ok := at.PrevSibling(); ok; before, ok = before.PrevSibling() {
				if e, ok := before.Node().(*ast.ExprStmt); ok && from(e.X, timer) {
					return true
				}
			}
		}
	}
	return false
}

// drained reports whether the package uses the result of the timer's Stop. Code that
// does drains the timer, before Reset or after its last use.
func drained(p *check.Pass, timer string) (found bool) {
	p.Calls("time", []string{"Timer.Stop"}, func(cur inspector.Cursor, call *ast.CallExpr, _ string) {
		sel, ok := call.Fun.(*ast.SelectorExpr)
		_, ignored := cur.Parent().Node().(*ast.ExprStmt)
		found = found || ok && !ignored && types.ExprString(sel.X) == timer
	})
	return found
}
