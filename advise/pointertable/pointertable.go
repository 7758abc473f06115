// Package pointertable is an allocation check: see Check.
package pointertable

import (
	"go/ast"
	"go/types"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags package-level maps keyed by pointer that only grow.
var Check = check.New(check.Check{
	Name:     "pointertable",
	Severity: check.Advice,
	Doc: `a package-level map keyed by pointer that is filled and never emptied

The map keeps every object alive that was ever entered, and an object that is copied or
moved loses its entry. Key it by a number, delete entries with their objects, or use weak pointers.`,
	When: "objects come and go; a few that stay, such as those of a configuration, cost nothing.",
	WhenNot: "maps from which something is deleted, that are cleared or replaced, or filled by init only; local maps; " +
		"exported ones.",
	Measured: "collection with 10^6 keys: 24 ms -> 1.3 ms by number, as pointerkey has it (Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.ValueSpec)(nil)) {
		for _, id := range cur.Node().(*ast.ValueSpec).Names {
			v, ok := p.Info.Defs[id].(*types.Var)
			if !ok || p.Local(v) || v.Exported() || !keyed(v.Type()) {
				continue
			}
			if fills, empties := table(p, v); fills && !empties {
				p.Report(id, "entries of "+id.Name+" are never deleted and keep their keys alive; delete them, or "+
					"key the map by a number")
			}
		}
	}
}

func keyed(t types.Type) bool {
	m, ok := t.Underlying().(*types.Map)
	if !ok {
		return false
	}
	ptr, ok := m.Key().Underlying().(*types.Pointer)
	return ok && check.Is[*types.Struct](ptr.Elem())
}

// table reports whether functions add to v, and whether anything removes entries from
// it or may, because v is passed on.
func table(p *check.Pass, v *types.Var) (fills, empties bool) {
	for _, use := range p.Uses(v) {
		switch parent := use.Parent().Node().(type) {
		case *ast.IndexExpr:
			if assign, ok := use.Parent().Parent().Node().(*ast.AssignStmt); ok && assign.Lhs[0] == parent && !p.Once(use) {
				fills = true
			}
		case *ast.RangeStmt, *ast.BinaryExpr:
		case *ast.CallExpr:
			if p.Builtin(parent) != "len" {
				empties = true
			}
		default:
			empties = true
		}
	}
	return fills, empties
}
