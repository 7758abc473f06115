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
	WhenNot: "Go 1.23 and later; timers that every way has received from, or whose result of Stop the package uses; " +
		"timers of AfterFunc.",
	Run: run,
})

func run(p *check.Pass) {
	p.Calls("time", []string{"Timer.Reset"}, func(cur inspector.Cursor, call *ast.CallExpr, _ string) {
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return
		}
		timer, scope := types.ExprString(sel.X), p.Root
		if _, local := sel.X.(*ast.Ident); local {
			for scope = range cur.Enclosing((*ast.FuncDecl)(nil)) {
			}
		}
		for at := range cur.Enclosing((*ast.CommClause)(nil)) {
			if receives(at.Node().(*ast.CommClause).Comm, timer) {
				return
			}
		}
		if passes(scope, timer) && !drained(p, timer) {
			p.Report(call, timer+" may have fired: before Go 1.23, stop and drain it before Reset")
		}
	})
}

// passes reports whether a select that waits for the timer may go on without it.
func passes(scope inspector.Cursor, timer string) bool {
	for at := range scope.Preorder((*ast.SelectStmt)(nil)) {
		waits, passes := false, false
		for _, s := range at.Node().(*ast.SelectStmt).Body.List {
			c := s.(*ast.CommClause)
			_, leaves := append([]ast.Stmt{c.Comm}, c.Body...)[len(c.Body)].(*ast.ReturnStmt)
			its := receives(c.Comm, timer)
			waits, passes = waits || its, passes || !its && !leaves
		}
		if waits && passes {
			return true
		}
	}
	return false
}

// receives reports whether a statement is a receive from the timer's channel.
func receives(s ast.Stmt, timer string) bool {
	var x ast.Expr
	switch s := s.(type) {
	case *ast.ExprStmt:
		x = s.X
	case *ast.AssignStmt:
		x = s.Rhs[0]
	}
	u, ok := x.(*ast.UnaryExpr)
	return ok && u.Op == token.ARROW && types.ExprString(u.X) == timer+".C"
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
