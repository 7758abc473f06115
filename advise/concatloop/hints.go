package concatloop

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// steps is how often a string must grow without a loop to be worth a hint.
const steps = 4

// hints reports strings that grow in other ways than run sees: those of fields
// and entries, in callbacks, by functions that join, at the front, or step by
// step.
func hints(p *check.Pass, seen map[site]bool) {
	said, straight := map[string]bool{}, map[*types.Var][]inspector.Cursor{}
	for cur := range p.Root.Preorder((*ast.AssignStmt)(nil)) {
		assign := cur.Node().(*ast.AssignStmt)
		if !joins(p, assign) {
			continue
		}
		name := types.ExprString(assign.Lhs[0])
		v := p.Var(assign.Lhs[0])
		switch loop := around(p, cur, root(assign.Lhs[0])); {
		case loop != nil:
			if v != nil && (seen[site{v, loop}] || restarts(p, v, loop) && !seldom(p, v, loop)) || said[name] && v == nil {
				continue
			}
			if v != nil && restarts(p, v, loop) {
				seen[site{v, loop}] = true
				p.ReportWith(assign, others(p, assign, v, loop), min(p.HeatAt(cur), check.Warm), name+" is copied each time it grows, until it begins anew; collect it in a []byte that is used again")
				continue
			}
			said[name] = true
			if v != nil {
				seen[site{v, loop}] = true
			}
			p.Hint(assign, p.HeatAt(cur), name+" is copied each time it grows; collect it in a strings.Builder")
		case p.Local(v):
			straight[v] = append(straight[v], cur)
			if len(straight[v]) == steps {
				first := straight[v][0]
				p.ReportWith(first.Node(), []ast.Node{straight[v][1].Node(), straight[v][2].Node(), assign}, min(p.HeatAt(first), check.Warm), name+" is copied each time it grows; collect it in a strings.Builder, or join it in one expression")
			}
		}
	}
}

// seldom reports whether v begins anew, empty, only in some of the rounds of
// loop, and grows in others.
func seldom(p *check.Pass, v *types.Var, loop ast.Stmt) bool {
	var body *ast.BlockStmt
	switch loop := loop.(type) {
	case *ast.ForStmt:
		body = loop.Body
	case *ast.RangeStmt:
		body = loop.Body
	default:
		return false
	}
	for _, use := range p.Uses(v) {
		assign, ok := use.Parent().Node().(*ast.AssignStmt)
		if !ok || !check.Within(assign, body) || joins(p, assign) {
			continue
		}
		for i, lhs := range assign.Lhs {
			if lhs != use.Node() {
				continue
			}
			value := p.Info.Types[assign.Rhs[min(i, len(assign.Rhs)-1)]].Value
			if value == nil || value.ExactString() != `""` {
				return false
			}
			for at := use.Parent(); ; at = at.Parent() { // a round may pass it by
				if _, ok := at.Node().(*ast.IfStmt); ok {
					break
				}
				if _, ok := at.Node().(*ast.CaseClause); ok {
					break
				}
				if at.Parent().Node() == body {
					return false
				}
			}
		}
	}
	return true
}

// around returns the outermost loop or function literal given to a call that
// is around cur, and that the variable v is declared before.
func around(p *check.Pass, cur inspector.Cursor, v *ast.Ident) (found ast.Stmt) {
	obj := p.Info.ObjectOf(v)
	if obj == nil {
		return nil
	}
	for at := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		n := at.Node()
		if obj.Pos() >= n.Pos() && obj.Pos() < n.End() {
			return found
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			call, ok := at.Parent().Node().(*ast.CallExpr)
			if !ok || call.Fun == n {
				return found
			}
			found = n.Body
		case *ast.FuncDecl:
			return found
		case ast.Stmt:
			if rounds := p.Rounds(n); rounds < 0 || rounds > check.SmallLoop {
				if found != nil || p.Loop(cur) != nil {
					found = n
				}
			}
		}
	}
	return found
}

// root returns the variable that e is part of.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return &ast.Ident{Name: "_"}
		}
	}
}

// joins reports whether assign puts its string and more into its place.
func joins(p *check.Pass, assign *ast.AssignStmt) bool {
	if len(assign.Lhs) != 1 || len(assign.Rhs) != 1 || !check.IsString(p.TypeOf(assign.Lhs[0])) {
		return false
	}
	if assign.Tok == token.ADD_ASSIGN {
		return true
	}
	if assign.Tok != token.ASSIGN {
		return false
	}
	same := types.ExprString(assign.Lhs[0])
	switch e := assign.Rhs[0].(type) {
	case *ast.BinaryExpr:
		for e.Op == token.ADD {
			if types.ExprString(e.X) == same || types.ExprString(e.Y) == same {
				return true
			}
			left, ok := e.X.(*ast.BinaryExpr)
			if !ok {
				return false
			}
			e = left
		}
	case *ast.CallExpr:
		_, sprint := p.IsCall(e, "fmt", "Sprint", "Sprintf", "Sprintln")
		_, join := p.IsCall(e, "strings", "Join")
		if !sprint && !join {
			return false
		}
		found := false
		for _, arg := range e.Args {
			if lit, ok := arg.(*ast.CompositeLit); ok {
				for _, elt := range lit.Elts {
					found = found || types.ExprString(elt) == same
				}
			}
			found = found || types.ExprString(arg) == same
		}
		return found
	}
	return false
}
