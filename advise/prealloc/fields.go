package prealloc

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// fields reports, as hints, fields and maps that the function at decl sets to
// an empty slice or map, and fills in a loop afterwards.
func fields(p *check.Pass, decl inspector.Cursor, said map[*types.Var]bool) {
	made := map[string]inspector.Cursor{} // by what is set: the statement
	for cur := range decl.Preorder((*ast.AssignStmt)(nil)) {
		assign := cur.Node().(*ast.AssignStmt)
		if len(assign.Lhs) != 1 || len(assign.Rhs) != 1 || assign.Tok != token.ASSIGN {
			continue
		}
		target := assign.Lhs[0]
		if index, ok := target.(*ast.IndexExpr); ok {
			target = index.X
		}
		name := types.ExprString(target)
		switch from, ok := made[name]; {
		case target == assign.Lhs[0] && holds(p, target) && !holdsPointers(p, p.TypeOf(target)) && unsized(p, assign.Rhs[0]) && !p.Info.Types[assign.Rhs[0]].IsNil():
			made[name] = cur
		case ok && fills(p, assign, name):
			if loop, over, once := since(p, cur, from); over != "" {
				delete(made, name)
				said[p.Var(target)] = true
				all := once && each(cur, loop, func(assign *ast.AssignStmt) bool {
					return len(assign.Lhs) == 1 && len(assign.Rhs) == 1 && fills(p, assign, name)
				})
				bounds := loop.Node()
				if !once {
					bounds = nil
				}
				p.Unless(all, from.Node(), bounds).ReportWith(from.Node(), []ast.Node{assign}, min(p.HeatAt(from), check.Warm), name+" grows with the rounds over "+over+"; where most rounds add to it, allocate that size first")
			}
		}
	}
}

// holds reports whether e is a field, or a variable that holds a map.
func holds(p *check.Pass, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return p.Info.Selections[e] != nil
	case *ast.Ident:
		_, isMap := p.TypeOf(e).Underlying().(*types.Map)
		return isMap
	}
	return false
}

// fills reports whether assign sets an entry of what is called name, or
// appends to it.
func fills(p *check.Pass, assign *ast.AssignStmt, name string) bool {
	if index, ok := assign.Lhs[0].(*ast.IndexExpr); ok {
		_, isMap := p.TypeOf(index.X).Underlying().(*types.Map)
		return isMap && !p.IsConst(index.Index)
	}
	call, ok := assign.Rhs[0].(*ast.CallExpr)
	return ok && p.Builtin(call) == "append" && types.ExprString(call.Args[0]) == name
}

// since returns the innermost loop around cur that is not around from as well,
// what bounds it, or "", and whether it runs only once after from.
func since(p *check.Pass, cur, from inspector.Cursor) (loop inspector.Cursor, over string, once bool) {
	for at := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncLit)(nil)) {
		stmt, ok := at.Node().(ast.Stmt)
		switch {
		case !ok || check.Within(from.Node(), stmt):
			return loop, over, ok || over != ""
		case over != "":
			return loop, over, false
		}
		if rounds := p.Rounds(stmt); rounds < 0 || rounds > 2*check.SmallLoop {
			if loop, over = at, bound(p, at); over == "" {
				return loop, "", false
			}
		}
	}
	return loop, over, true
}
