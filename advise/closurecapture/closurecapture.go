// Package closurecapture is an allocation check: see Check.
package closurecapture

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags goroutines in loops whose closures capture variables of the loop, before Go 1.26.
var Check = check.New(check.Check{
	Name:     "closurecapture",
	Exercise: 7,
	Severity: check.Advice,
	Until:    "go1.26",
	Doc: `a goroutine in a loop that captures the loop's variables

Each round makes a closure, and moves what it captures to the heap. Passing the values as arguments of the
literal used to save allocations. With Go 1.26 it costs more, so the check does not apply there.`,
	When:     "before Go 1.26.",
	WhenNot:  "goroutines whose variables the closure writes to; start-up code and error paths.",
	Measured: "12 allocations -> 22: reversed (10 items, Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.GoStmt)(nil)) {
		lit, ok := ast.Unparen(cur.Node().(*ast.GoStmt).Call.Fun).(*ast.FuncLit)
		if !ok || p.Loop(cur) == nil || p.Cold(cur) {
			continue
		}
		if names := captured(p, cur, lit); len(names) > 0 {
			p.Report(cur.Node(), "the goroutine captures "+strings.Join(names, ", ")+" of the loop; pass them as arguments")
		}
	}
}

// captured returns the names of the variables that loops around cur declare and lit reads; none if one is written to.
func captured(p *check.Pass, cur inspector.Cursor, lit *ast.FuncLit) (names []string) {
	body, _ := cur.FindNode(lit.Body)
	for at := range body.Preorder((*ast.Ident)(nil)) {
		v, _ := p.Info.Uses[at.Node().(*ast.Ident)].(*types.Var)
		if v == nil || slices.Contains(names, v.Name()) {
			continue
		}
		if loop := declaredBy(cur, v); loop != nil {
			if p.Assigned(v, loop) {
				return nil
			}
			names = append(names, v.Name())
		}
	}
	return names
}

// declaredBy returns the body of the loop around cur whose head declares v, or nil.
func declaredBy(cur inspector.Cursor, v *types.Var) *ast.BlockStmt {
	for at := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		var body *ast.BlockStmt
		switch loop := at.Node().(type) {
		case *ast.ForStmt:
			body = loop.Body
		case *ast.RangeStmt:
			body = loop.Body
		default:
			return nil // the function
		}
		if check.DeclaredIn(v, at.Node()) && v.Pos() < body.Pos() {
			return body
		}
	}
	return nil
}
