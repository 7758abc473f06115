// Package jsonloop is an allocation check: see Check.
package jsonloop

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags json.Marshal in loops that write.
var Check = check.New(check.Check{
	Name:     "jsonloop",
	Exercise: 11,
	Severity: check.Hint,
	Doc: `json.Marshal in a loop whose results are written to one place

Each call allocates its result. A json.Encoder made before the loop writes from a buffer
that it keeps; it ends each value with a newline.`,
	When:     "messages are large or many. The gain is small since Go keeps encoder states in a pool; generated code gains more.",
	WhenNot:  "single messages; results that are kept; start-up code and error paths.",
	Measured: "1.07 to 1.2 times the time, one allocation a message (Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	p.Calls("encoding/json", []string{"Marshal"}, func(cur inspector.Cursor, call *ast.CallExpr, _ string) {
		loop := p.Loop(cur)
		assign, ok := cur.Parent().Node().(*ast.AssignStmt)
		if loop == nil || !ok || len(assign.Lhs) != 2 {
			return
		}
		v := p.Var(assign.Lhs[0])
		if !p.Local(v) || !written(p, v, loop) {
			return
		}
		p.Report(call, p.HeatAt(cur), "json.Marshal allocates a result for each message; a json.Encoder made before the loop writes to the same place from one buffer")
	})
}

// written reports whether v is used for nothing but Write calls of something
// that is there before the loop.
func written(p *check.Pass, v *types.Var, loop ast.Stmt) bool {
	writes := false
	for _, use := range p.Uses(v) {
		call, ok := use.Parent().Node().(*ast.CallExpr)
		if !ok {
			if assign, ok := use.Parent().Node().(*ast.AssignStmt); ok && assign.Lhs[0] == use.Node() {
				continue
			}
			return false
		}
		if b := p.Builtin(call); b == "len" {
			continue
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Write" {
			return false
		}
		if w := p.Var(sel.X); w != nil && w.Pos() >= loop.Pos() && w.Pos() < loop.End() {
			return false
		}
		writes = true
	}
	return writes
}
