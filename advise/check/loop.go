package check

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"
)

// SmallLoop is the number of rounds up to which a loop does not count as one.
const SmallLoop = 8

// Loop returns the innermost loop of its function that runs the code at cur
// again and again: not one of few rounds, nor one that cur leaves after its
// first.
func (c *Code) Loop(cur inspector.Cursor) ast.Stmt {
	var out exit // what the code at cur leaves after it ran
	inSwitch := false
	again := false // it goes on with the next round: what follows in the loop is not reached
	name := label(cur)
	leave := func(list []ast.Stmt, from ast.Node, inSwitch bool) {
		if out == stays && !again {
			out, again = c.ends(list, inSwitch), continues(list, name) || skipsOn(list, from, name)
			if again {
				out = stays
			}
		}
	}
	from := cur.Node() // the statement of the list that holds cur
	for at := cur; at.Node() != nil; at = at.Parent() {
		parent := at.Parent().Node()
		switch n := at.Node().(type) {
		case *ast.FuncDecl, *ast.File:
			return nil
		case *ast.FuncLit:
			if n != cur.Node() {
				return nil
			}
		case *ast.BlockStmt:
			leave(n.List, from, inSwitch)
		case *ast.CaseClause:
			leave(n.Body, from, true)
		case *ast.CommClause:
			leave(n.Body, from, true)
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			inSwitch = true
		}
		body := loopBody(parent, at.Node())
		switch {
		case out == leavesFunction:
			return nil
		case body == nil:
		case at.Node() == body && out == leavesLoop:
			out, inSwitch = stays, false
		default:
			if n := c.Rounds(parent.(ast.Stmt)); n < 0 || n > SmallLoop {
				return parent.(ast.Stmt)
			}
			inSwitch, again = false, false
		}
		if body != nil {
			name = label(at.Parent().Parent())
		}
		from = at.Node()
	}
	return nil
}

// label returns the name of the innermost loop of its function around cur, or "".
func label(cur inspector.Cursor) string {
	for at := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		if named, ok := at.Parent().Node().(*ast.LabeledStmt); ok {
			return named.Label.Name
		}
		break
	}
	return ""
}

// nextRound reports whether s goes on with the next round of the loop called name.
func nextRound(s *ast.BranchStmt, name string) bool {
	return s.Tok == token.CONTINUE && (s.Label == nil || s.Label.Name == name)
}

// loopBody returns the body of parent where parent is a loop and child runs in
// each of its rounds.
func loopBody(parent, child ast.Node) *ast.BlockStmt {
	switch loop := parent.(type) {
	case *ast.ForStmt:
		if child != loop.Init {
			return loop.Body
		}
	case *ast.RangeStmt:
		if child != loop.X {
			return loop.Body
		}
	}
	return nil
}

// skipsOn reports whether what follows the statement from in its list may go on
// with the next round of the loop called name.
func skipsOn(list []ast.Stmt, from ast.Node, name string) bool {
	found := false
	for _, stmt := range list {
		if stmt.Pos() <= from.Pos() {
			continue
		}
		ast.Inspect(stmt, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit:
				return false
			case *ast.BranchStmt:
				found = found || nextRound(n, name)
			}
			return !found
		})
	}
	return found
}

// continues reports whether a list of statements ends with the next round of the
// loop called name.
func continues(list []ast.Stmt, name string) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1].(type) {
	case *ast.BranchStmt:
		return nextRound(s, name)
	case *ast.SelectStmt: // each clause returns or continues
		some := false
		for _, clause := range s.Body.List {
			body := clause.(*ast.CommClause).Body
			if continues(body, name) {
				some = true
			} else if len(body) == 0 {
				return false
			} else if _, ok := body[len(body)-1].(*ast.ReturnStmt); !ok {
				return false
			}
		}
		return some
	}
	return false
}

// exit is how far control goes at the end of a list of statements.
type exit int

const (
	stays exit = iota
	leavesLoop
	leavesFunction
)

func (c *Code) ends(list []ast.Stmt, inSwitch bool) exit {
	if len(list) == 0 {
		return stays
	}
	switch s := list[len(list)-1].(type) {
	case *ast.ReturnStmt:
		return leavesFunction
	case *ast.BranchStmt:
		if s.Tok == token.GOTO || s.Tok == token.BREAK && (s.Label != nil || !inSwitch) {
			return leavesLoop
		}
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok && c.Stops(call) {
			return leavesFunction
		}
	case *ast.SelectStmt: // runs one of its clauses
		out := leavesFunction
		for _, clause := range s.Body.List {
			out = min(out, c.ends(clause.(*ast.CommClause).Body, true))
		}
		return out
	}
	return stays
}

// Stops reports whether call ends the goroutine or the program.
func (c *Code) Stops(call *ast.CallExpr) bool {
	if c.Builtin(call) == "panic" {
		return true
	}
	if _, ok := c.IsCall(call, "os", "Exit"); ok {
		return true
	}
	_, ok := c.IsCall(call, "log", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln", "Logger.Fatal",
		"Logger.Fatalf", "Logger.Fatalln")
	return ok
}

// Rounds returns how many rounds a loop runs where its bounds are constants,
// otherwise -1.
func (c *Code) Rounds(loop ast.Stmt) int64 {
	switch loop := loop.(type) {
	case *ast.RangeStmt:
		if n, ok := c.constInt(loop.X); ok {
			return n
		}
		t := c.TypeOf(loop.X)
		if ptr, ok := t.Underlying().(*types.Pointer); ok {
			t = ptr.Elem()
		}
		if a, ok := t.Underlying().(*types.Array); ok {
			return a.Len()
		}
		if lit, ok := ast.Unparen(loop.X).(*ast.CompositeLit); ok {
			return int64(len(lit.Elts))
		}
	case *ast.ForStmt:
		init, ok := loop.Init.(*ast.AssignStmt)
		cond, ok2 := loop.Cond.(*ast.BinaryExpr)
		if !ok || !ok2 || len(init.Rhs) != 1 || cond.Op != token.LSS && cond.Op != token.LEQ {
			return -1
		}
		from, ok := c.constInt(init.Rhs[0])
		to, ok2 := c.constInt(cond.Y)
		if ok && ok2 && c.Var(init.Lhs[0]) == c.Var(cond.X) {
			return to - from
		}
	}
	return -1
}

func (c *Code) constInt(e ast.Expr) (int64, bool) {
	if v := c.Info.Types[e].Value; v != nil && v.Kind() == constant.Int {
		return constant.Int64Val(v)
	}
	return 0, false
}
