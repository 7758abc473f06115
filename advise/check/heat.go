package check

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"

	"golang.org/x/tools/go/ast/inspector"
)

// Heat is how often a line runs, as far as its package shows.
type Heat int

const (
	Cold Heat = iota // start-up, tests, error paths: no finding
	Warm             // nothing proves that it runs often
	Hot              // what runs for each event or is timed by a benchmark, and allocates enough there
)

// SmallLoop is the number of rounds up to which a loop does not count as one.
const SmallLoop = 8

// warm gives each function its heat: handlers and what benchmarks time are hot,
// and init, main and tests cold; the rest follows from the callers. Exported
// functions may have callers elsewhere and are never cold.
func (c *Code) warm(timed map[string]bool) {
	fixed, events, named := map[*types.Func]bool{}, c.handlers(), map[string]int{}
	for fn := range c.decls {
		named[fn.Name()]++
	}
	for fn, cur := range c.decls {
		c.heat[fn] = Warm
		switch {
		case c.file(cur.Node().Pos()).test,
			fn.Signature().Recv() == nil && (fn.Name() == "init" || fn.Name() == "main" && c.Pkg.Name() == "main"):
			c.heat[fn], fixed[fn] = Cold, true
		case handler(fn.Signature()) || events[fn] ||
			timed[fn.Name()] && named[fn.Name()] == 1 && !prints(cur.Node().(*ast.FuncDecl)):
			c.heat[fn], fixed[fn] = Hot, true
		}
	}
	for range 8 { // rounds: a longer chain of calls stays warm
		changed := false
		for fn := range c.decls {
			if fixed[fn] {
				continue
			}
			if h := c.fromCallers(fn); h != c.heat[fn] {
				c.heat[fn], changed = h, true
			}
		}
		if !changed {
			break
		}
	}
	for fn := range c.decls {
		for _, use := range c.callers(fn) {
			if isCalled(use) && !c.onErrorPath(use) {
				c.loops[fn] = max(c.loops[fn], c.rounds(use))
			}
		}
	}
}

// callers are the uses of fn outside of itself.
func (c *Code) callers(fn *types.Func) (uses []inspector.Cursor) {
	for _, use := range c.uses[fn] {
		if decl := enclosingDecl(use); decl == nil || c.Info.Defs[decl.Name] != fn { // not recursion
			uses = append(uses, use)
		}
	}
	return uses
}

func (c *Code) fromCallers(fn *types.Func) Heat {
	uses := c.callers(fn)
	heat := Warm
	if !fn.Exported() && len(uses) > 0 {
		heat = Cold
	}
	for _, use := range uses {
		h := c.heatAt(use, math.MaxInt32)
		if !isCalled(use) && (h != Cold || enclosingDecl(use) == nil) {
			h = Warm // a value: who knows who calls it, such as what looks it up in a table
		}
		heat = max(heat, h)
	}
	return heat
}

// isCalled reports whether the identifier at cur is what a call calls.
func isCalled(cur inspector.Cursor) bool {
	id := cur.Node().(ast.Expr)
	parent := cur.Parent()
	if sel, ok := parent.Node().(*ast.SelectorExpr); ok && sel.Sel == id {
		id, parent = sel, parent.Parent()
	}
	call, ok := parent.Node().(*ast.CallExpr)
	return ok && ast.Unparen(call.Fun) == id
}

func enclosingDecl(cur inspector.Cursor) *ast.FuncDecl {
	for c := range cur.Enclosing((*ast.FuncDecl)(nil)) {
		return c.Node().(*ast.FuncDecl)
	}
	return nil
}

// Handler reports whether t is the type of an HTTP handler's function.
func Handler(t types.Type) bool { return handler(t) }

func handler(t types.Type) bool {
	sig, ok := t.(*types.Signature)
	return ok && sig.Params().Len() == 2 && sig.Results().Len() == 0 &&
		IsNamed(sig.Params().At(0).Type(), "net/http", "ResponseWriter") && IsNamed(sig.Params().At(1).Type(), "net/http",
		"Request")
}

// HeatAt returns the heat of the code at cur; what runs only because of an
// error is cold.
func (p *Pass) HeatAt(cur inspector.Cursor) Heat { return p.heatAt(cur, p.check.Bytes) }

// HeatOfPath is HeatAt without regard to errors.
func (p *Pass) HeatOfPath(cur inspector.Cursor) Heat { return p.heatOfPath(cur, p.check.Bytes) }

// What is worth a finding without a profile: so many bytes for each event, when each
// loop is taken to have a number of rounds; beside work that waits, so many times more
// at once.
const (
	worthBytes   = 512
	assumed      = 16
	waitingCosts = 8
)

// heatAt is heatOfPath, but cold for what runs only because of an error.
func (c *Code) heatAt(cur inspector.Cursor, bytes int) Heat {
	if c.onErrorPath(cur) {
		return Cold
	}
	return c.heatOfPath(cur, bytes)
}

// heatOfPath is the heat of the code at cur, which allocates so many bytes each time.
func (c *Code) heatOfPath(cur inspector.Cursor, bytes int) Heat {
	if bytes < waitingCosts*worthBytes && c.dwarfed(cur) {
		bytes = 0 // however many rounds, each waits
	}
	loops, later := c.rounds(cur), false
	for at := cur; at.Node() != nil; at = at.Parent() {
		switch n := at.Node().(type) {
		case *ast.FuncLit:
			switch {
			case c.onceLiteral(at):
				return Cold
			case (handler(c.TypeOf(n)) || c.literals[n]) && !c.file(n.Pos()).test:
				return inLoops(Hot, loops, bytes)
			}
			loops += c.rounds(at)
			call, ok := at.Parent().Node().(*ast.CallExpr)
			later = later || !ok || call.Fun != n
		case *ast.FuncDecl:
			return c.heatIn(n, loops, bytes)
		case *ast.ForStmt, *ast.RangeStmt:
			if c.consumes(n.(ast.Stmt)) && !c.file(n.Pos()).test {
				return inLoops(Hot, c.roundsWithin(cur, n), bytes)
			}
		}
	}
	if later {
		return Warm // of a function that a package variable holds
	}
	return Cold // the value of a package variable
}

// heatIn is the heat of code in so many loops of a function.
func (c *Code) heatIn(decl *ast.FuncDecl, loops, bytes int) Heat {
	heat := Warm
	if fn, ok := c.Info.Defs[decl.Name].(*types.Func); ok {
		heat = c.heat[fn]
		loops += c.loops[fn]
	}
	if heat == Cold && loops > 0 && !c.file(decl.Pos()).test && decl.Name.Name != "init" {
		return Warm // such as a loop of main, or one that only main calls
	}
	return inLoops(heat, loops, bytes)
}

// inLoops is the heat of code in so many loops of what runs for each event.
func inLoops(heat Heat, loops, bytes int) Heat {
	for range min(loops, 2) {
		bytes *= assumed
	}
	if bytes < worthBytes {
		return min(heat, Warm)
	}
	return heat
}

// rounds counts the loops with an end that run the code at cur. One without, such
// as that of a server, runs as often as something comes in.
func (c *Code) rounds(cur inspector.Cursor) int { return c.roundsWithin(cur, nil) }

// roundsWithin counts them inside of a loop.
func (c *Code) roundsWithin(cur inspector.Cursor, outer ast.Node) (n int) {
	for {
		loop := c.Loop(cur)
		if loop == nil || loop == outer {
			return n
		}
		if f, ok := loop.(*ast.ForStmt); (!ok || f.Cond != nil || f.Post != nil) && !c.consumes(loop) &&
			(c.timed || !c.configured(cur, loop)) {
			n++
		}
		for cur.Node() != loop {
			cur = cur.Parent()
		}
	}
}

// onceLiteral reports whether the function literal at cur is an argument of
// sync.Once.Do, sync.OnceFunc and the like.
func (c *Code) onceLiteral(cur inspector.Cursor) bool {
	call, ok := cur.Parent().Node().(*ast.CallExpr)
	if !ok {
		return false
	}
	_, ok = c.IsCall(call, "sync", "Once.Do", "OnceFunc", "OnceValue", "OnceValues")
	return ok
}

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

// prints reports whether decl is a method that is there for printing.
func prints(decl *ast.FuncDecl) bool {
	switch decl.Name.Name {
	case "String", "GoString", "Error":
		return decl.Recv != nil && decl.Type.Params.NumFields() == 0
	}
	return false
}
