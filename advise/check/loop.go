package check

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/cfg"

	"github.com/isobar-go/isobar/advise/life"
)

// SmallLoop is the largest number of rounds for which a loop is ignored.
const SmallLoop = 8

// Loop returns the innermost loop of its function that runs the code at cur repeatedly, or nil. It
// skips loops of at most SmallLoop rounds and loops that cur always leaves in its first round.
func (c *Code) Loop(cur inspector.Cursor) ast.Stmt {
	fn, body := Func(cur)
	if body == nil {
		return nil
	}
	var from *cfg.Block // the block that runs cur
	for at := cur; at.Node() != fn.Node(); at = at.Parent() {
		loop, ok := inRounds(at)
		if !ok {
			continue
		}
		if n := c.Rounds(loop); n >= 0 && n <= SmallLoop {
			continue
		}
		if from == nil {
			from = c.block(body, cur)
		}
		if from == nil || again(from, loop) {
			return loop
		}
	}
	return nil
}

// inRounds returns the loop that is the parent of at, if at runs in each of its rounds.
func inRounds(at inspector.Cursor) (ast.Stmt, bool) {
	switch loop := at.Parent().Node().(type) {
	case *ast.ForStmt:
		return loop, at.Node() != loop.Init
	case *ast.RangeStmt:
		return loop, at.Node() != loop.X
	}
	return nil, false
}

// block returns the control-flow block that runs the code at cur, or where that code
// begins; nil if there is none.
func (c *Code) block(body *ast.BlockStmt, cur inspector.Cursor) *cfg.Block {
	blocks, ok := c.flows.Load(body)
	if !ok {
		graph := cfg.New(body, func(call *ast.CallExpr) bool { return !c.Stops(call) })
		of := map[ast.Node]*cfg.Block{}
		for _, b := range graph.Blocks {
			for _, n := range b.Nodes {
				of[n] = b
			}
		}
		blocks, _ = c.flows.LoadOrStore(body, of)
	}
	of := blocks.(map[ast.Node]*cfg.Block)
	for at := cur; at.Node() != body && at.Node() != nil; at = at.Parent() {
		if b := of[at.Node()]; b != nil {
			return b
		}
	}
	for at := range cur.Preorder() { // a statement that spans several blocks
		if b := of[at.Node()]; b != nil {
			return b
		}
	}
	return nil
}

// again reports whether control can get from a block to the next round of loop without
// leaving the loop.
func again(from *cfg.Block, loop ast.Stmt) bool {
	seen := map[*cfg.Block]bool{}
	ahead := slices.Clone(from.Succs)
	for len(ahead) > 0 {
		b := ahead[len(ahead)-1]
		ahead = ahead[:len(ahead)-1]
		done := b.Kind == cfg.KindForDone || b.Kind == cfg.KindRangeDone
		if b.Stmt == loop && !done {
			return true
		}
		if !seen[b] && b.Stmt != nil && b.Stmt != loop && Within(b.Stmt, loop) {
			seen[b] = true
			ahead = append(ahead, b.Succs...)
		}
	}
	return false
}

// Stops reports whether call ends the goroutine or the program.
func (c *Code) Stops(call *ast.CallExpr) bool {
	fn := c.Callee(call)
	return fn != nil && life.Stops(fn) || c.Builtin(call) == "panic"
}

// Rounds returns the number of rounds of a loop with constant bounds, -1 for any other loop.
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
			if cond.Op == token.LEQ {
				to++
			}
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
