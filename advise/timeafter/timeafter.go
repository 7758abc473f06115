// Package timeafter is an allocation check: see Check.
package timeafter

import (
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags time.After in loops, and time.Tick.
var Check = check.New(check.Check{
	Name:     "timeafter",
	Exercise: 10,
	Severity: check.Advice,
	Doc: `time.After in a select that loops

Each round allocates a timer and its channel. One timer, reset in each round, serves all of them. From
Go 1.23 Reset needs no draining. The ticker of time.Tick cannot be stopped.`,
	When:     "another case of the select fires often, and sooner than the wait.",
	WhenNot:  "tests, start-up code.",
	Measured: "2,671 ns -> 1,231 ns; 3 allocations -> 0: the timer, its channel and the channel's buffer (Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	p.Calls("time", []string{"After", "Tick"}, func(cur inspector.Cursor, call *ast.CallExpr, name string) {
		if p.Once(cur) {
			return
		}
		sel := cur
		comm := clause(cur)
		if comm.Valid() {
			sel = comm.Parent().Parent()
		}
		switch rounds := p.Loop(sel) != nil; {
		case name == "Tick":
			if rounds || !p.AtLeast(call.Pos(), "go1.23") {
				p.Report(call, "nothing stops the ticker of time.Tick, before Go 1.23 not even the collector; make one with "+
					"time.NewTicker before the loop, and stop it")
			}
			return
		case !comm.Valid() && rounds:
			p.Report(call, "time.After allocates a timer each time, and its channel; make one timer before "+
				"the loop and Reset it, or, where nothing else is waited for, time.Sleep")
			return
		case !comm.Valid() && !held(p, cur):
			return
		case !rounds:
			if !p.AtLeast(call.Pos(), "go1.23") {
				p.Report(call, "the timer of time.After stays until it fires, before Go "+
					"1.23; make one with time.NewTimer, and stop it")
			} else if !looped(sel) {
				p.Report(call, "time.After allocates a timer and a channel in each call; one timer that is "+
					"kept, or a sync.Pool of them, serves many, as does asking first without a wait")
			}
			return
		}
		p.Report(call, "time.After allocates a timer in each round; make one before the loop and Reset it", fix(p, call,
			sel)...)
	})
}

// looped reports whether cur lies in a loop, even one of few rounds, or outside any function.
func looped(cur inspector.Cursor) bool {
	for at := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncLit)(nil)) {
		_, lit := at.Node().(*ast.FuncLit)
		return !lit
	}
	return check.FuncDecl(cur) == nil
}

// held reports whether cur is assigned to a variable that a select receives from.
func held(p *check.Pass, cur inspector.Cursor) bool {
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	return ok && p.Var(assign.Lhs[0]) != nil && slices.ContainsFunc(p.Uses(p.Var(assign.Lhs[0])),
		func(use inspector.Cursor) bool { return clause(use).Valid() })
}

// clause returns the select clause that receives from the channel at cur, or an invalid cursor.
func clause(cur inspector.Cursor) inspector.Cursor {
	at := cur.Parent().Parent()
	recv, ok := cur.Parent().Node().(*ast.UnaryExpr)
	_, stmt := at.Node().(*ast.ExprStmt)
	if _, comm := at.Parent().Node().(*ast.CommClause); !ok || recv.Op != token.ARROW || !stmt || !comm {
		return inspector.Cursor{}
	}
	return at.Parent()
}

// fix makes the timer before an endless loop with the select as a statement of its body, if the wait is a constant.
func fix(p *check.Pass, call *ast.CallExpr, sel inspector.Cursor) []analysis.TextEdit {
	if !p.AtLeast(call.Pos(), "go1.23") || !p.IsConst(call.Args[0]) {
		return nil
	}
	body := sel.Parent()
	loop, ok := body.Parent().Node().(*ast.ForStmt)
	if !ok || loop.Body != body.Node() || loop.Init != nil || loop.Cond != nil || loop.Post != nil {
		return nil
	}
	if _, ok := body.Parent().Parent().Node().(*ast.BlockStmt); !ok || p.Loop(body.Parent()) != nil {
		return nil
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	name, pkg, d := p.FreeName(call.Pos(), "timer"), p.Source(fun.X), p.Source(call.Args[0])
	return []analysis.TextEdit{
		check.Insert(loop.Pos(), name+" := "+pkg+".NewTimer("+d+")\n"+p.Indent(loop.Pos())+"defer "+name+".Stop()\n"+
			p.Indent(loop.Pos())),
		check.Insert(sel.Node().Pos(), name+".Reset("+d+")\n"+p.Indent(sel.Node().Pos())),
		check.Replace(call, name+".C"),
	}
}
