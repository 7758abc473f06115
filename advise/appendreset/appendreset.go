// Package appendreset is a check for a correctness trap: see Check.
package appendreset

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags slices that each round of a loop appends to and none empties.
var Check = check.New(check.Check{
	Name:     "appendreset",
	Severity: check.Trap,
	Doc: `dst = AppendX(dst, …) in a loop that reads dst in each round and never empties it

Each round sees the results of all rounds before, and the slice grows for ever. Pass
dst[:0].`,
	When:    "always.",
	WhenNot: "slices that are read after the loop only; slices that the loop empties or declares.",
	Run:     run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.AssignStmt)(nil)) {
		assign := cur.Node().(*ast.AssignStmt)
		call := appends(p, assign)
		if call == nil {
			continue
		}
		v, loop := p.Var(assign.Lhs[0]), p.Loop(cur)
		if loop == nil || check.DeclaredIn(v, loop) || emptied(p, v, loop) || !consumed(p, cur, v) {
			continue
		}
		p.Report(call.Args[0], v.Name()+" still holds the results of the rounds before; pass "+v.Name()+"[:0]")
	}
}

// appends returns the call if assign is x = appendSomething(x, …), else nil.
func appends(p *check.Pass, assign *ast.AssignStmt) *ast.CallExpr {
	if len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
		return nil
	}
	call, ok := assign.Rhs[0].(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	fn, v := p.Callee(call), p.Var(assign.Lhs[0])
	if fn == nil || v == nil || p.Var(call.Args[0]) != v || !strings.HasPrefix(strings.ToLower(fn.Name()), "append") {
		return nil
	}
	if !check.Is[*types.Slice](v.Type()) {
		return nil
	}
	return call
}

// emptied reports whether the loop assigns v other than by appending, or takes its address.
func emptied(p *check.Pass, v *types.Var, loop ast.Stmt) bool {
	for _, use := range p.Uses(v) {
		if !check.Within(use.Node(), loop) {
			continue
		}
		switch parent := use.Parent().Node().(type) {
		case *ast.UnaryExpr:
			return true // its address is taken
		case *ast.AssignStmt:
			for _, lhs := range parent.Lhs {
				if lhs == use.Node() && appends(p, parent) == nil && p.Appends(parent) != v {
					return true
				}
			}
		}
	}
	return false
}

// consumed reports whether a statement after the one at cur, in the same block, passes
// all of v to a function that does not append to it.
func consumed(p *check.Pass, cur inspector.Cursor, v *types.Var) bool {
	for next, ok := cur.NextSibling(); ok; next, ok = next.NextSibling() {
		for at := range next.Preorder((*ast.Ident)(nil)) {
			if p.Info.Uses[at.Node().(*ast.Ident)] != v {
				continue
			}
			call, ok := at.Parent().Node().(*ast.CallExpr)
			if !ok || p.Builtin(call) != "" {
				continue
			}
			fn := p.Callee(call)
			if fn == nil || !strings.HasPrefix(strings.ToLower(fn.Name()), "append") {
				return true
			}
		}
	}
	return false
}
