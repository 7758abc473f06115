package prealloc

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// built reports, as a hint, a strings.Builder or bytes.Buffer that is declared
// empty at cur and written to in a loop over what has a length, without Grow.
func built(p *check.Pass, cur inspector.Cursor) {
	v, ok := p.Info.Defs[cur.Node().(*ast.Ident)].(*types.Var)
	if !ok || !p.Local(v) || !check.IsNamed(v.Type(), "strings", "Builder") && !check.IsNamed(v.Type(), "bytes", "Buffer") || !blank(p, cur) {
		return
	}
	var writes []ast.Node
	n, estimate := "", false
	for _, use := range p.Uses(v) {
		sel, ok := use.Parent().Node().(*ast.SelectorExpr)
		if !ok {
			continue
		}
		switch sel.Sel.Name {
		case "Grow", "Reset", "Truncate":
			return
		case "Write", "WriteString", "WriteByte", "WriteRune":
		default:
			continue
		}
		loop, _ := repeats(p, use, v)
		if !loop.Valid() {
			continue
		}
		if of := bound(p, loop); of != "" {
			n = of
			outer, _ := repeats(p, loop, v)
			estimate = estimate || outer.Valid() || !each(use, loop, func(*ast.AssignStmt) bool { return false })
			writes = append(writes, use.Parent().Parent().Node())
		}
	}
	if n != "" {
		p.Needs(check.Estimate, estimate).ReportWith(cur.Node(), writes, min(p.HeatAt(cur), check.Warm), v.Name()+" grows with the rounds over "+n+"; where their lengths can be summed or estimated, Grow it first")
	}
}

// blank reports whether the identifier at cur is declared without memory.
func blank(p *check.Pass, cur inspector.Cursor) bool {
	switch decl := cur.Parent().Node().(type) {
	case *ast.ValueSpec:
		_, pointer := p.TypeOf(cur.Node().(ast.Expr)).(*types.Pointer)
		return len(decl.Values) == 0 && !pointer
	case *ast.AssignStmt:
		if len(decl.Lhs) != 1 || len(decl.Rhs) != 1 {
			return false
		}
		e := decl.Rhs[0]
		if u, ok := e.(*ast.UnaryExpr); ok {
			e = u.X
		}
		switch e := e.(type) {
		case *ast.CompositeLit:
			return len(e.Elts) == 0
		case *ast.CallExpr:
			return p.Builtin(e) == "new"
		}
	}
	return false
}
