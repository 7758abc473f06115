package prealloc

import (
	"go/ast"

	"golang.org/x/tools/go/ast/inspector"
)

// each reports whether every round of the loop gets to the statement at cur, or
// to another that adds, so that there are as many elements as rounds.
func each(cur, loop inspector.Cursor, adds func(*ast.AssignStmt) bool) bool {
	for at := cur; at.Parent() != loop; at = at.Parent() {
		for before, ok := at.PrevSibling(); ok; before, ok = before.PrevSibling() {
			if stmt, ok := before.Node().(ast.Stmt); ok && skips(stmt) {
				return false
			}
		}
		switch n := at.Parent().Node().(type) {
		case *ast.IfStmt:
			if n.Else == nil || !within(n.Body, adds) || !within(n.Else, adds) {
				return false
			}
		case *ast.CaseClause:
			other := false // there is a default
			for _, clause := range at.Parent().Parent().Node().(*ast.BlockStmt).List {
				if !within(clause, adds) {
					return false
				}
				other = other || clause.(*ast.CaseClause).List == nil
			}
			if !other {
				return false
			}
		case *ast.CommClause, *ast.ForStmt, *ast.RangeStmt:
			return false
		}
	}
	return true
}

// within reports whether a statement in n adds.
func within(n ast.Node, adds func(*ast.AssignStmt) bool) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if assign, ok := n.(*ast.AssignStmt); ok {
			found = found || adds(assign)
		}
		return !found
	})
	return found
}
