// Package jsonloop is an allocation check: see Check.
package jsonloop

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags json.Marshal of messages that are only written.
var Check = check.New(check.Check{
	Name:     "jsonloop",
	Exercise: 11,
	Severity: check.Advice,
	Doc: `json.Marshal in a loop whose results are written to one place

Each call allocates its result. A json.Encoder made before the loop writes from a buffer that it keeps; it
ends each value with a newline. Single messages that are only written are flagged as well.`,
	When: "messages are large or many. The gain is small since Go keeps encoder states in a pool; generated code " +
		"gains more.",
	WhenNot:  "results that are kept, or returned to other callers that are not hot; start-up code and error paths.",
	Measured: "1.07 to 1.2 times the time, one allocation a message (Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	marshals := func(cur inspector.Cursor, call *ast.CallExpr, name string) {
		assign, ok := cur.Parent().Node().(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 2 || p.Cold(cur) {
			return
		}
		loop := p.Loop(cur)
		v := p.Var(assign.Lhs[0])
		switch {
		case !p.Local(v):
		case !written(p, v, loop):
		case loop != nil:
			p.Report(call, "json."+name+" allocates a result for each message; a json.Encoder made before the "+
				"loop writes to the same place from one buffer, where a newline may follow each")
		default:
			p.Report(call, "json."+name+" allocates a result that is only written; a json.Encoder writes it "+
				"from a buffer that package json keeps, where a newline may follow")
		}
	}
	for _, path := range packages {
		p.Calls(path, []string{"Marshal", "MarshalIndent"}, marshals)
	}
}

// packages are the packages with a Marshal like that of encoding/json.
var packages = []string{"encoding/json", "encoding/json/v2", "github.com/go-json-experiment/json",
	"github.com/goccy/go-json", "github.com/json-iterator/go", "github.com/segmentio/encoding/json",
	"github.com/bytedance/sonic"}

// written reports whether v is only passed to Write calls of something that exists before the loop.
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
		if w := p.Var(sel.X); w != nil && loop != nil && check.DeclaredIn(w, loop) {
			return false
		}
		writes = true
	}
	return writes
}
