// Package dummy is an allocation check: see Check.
package dummy

import (
	"go/ast"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags functions named dummy.
var Check = check.New(check.Check{
	Name:     "dummy",
	Severity: check.Advice,
	Doc:      "a function named dummy",
	When:     "never.",
	WhenNot:  "functions of another name.",
	Measured: "1 allocation -> 1",
	Run: func(p *check.Pass) {
		for cur := range p.Root.Preorder((*ast.FuncDecl)(nil)) {
			if cur.Node().(*ast.FuncDecl).Name.Name == "dummy" {
				p.Report(cur.Node(), "a function named dummy")
			}
		}
	},
})
