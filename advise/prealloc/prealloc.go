// Package prealloc is an allocation check: see Check.
package prealloc

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags slices that grow to a length known in advance.
var Check = check.New(check.Check{
	Name:     "prealloc",
	Exercise: 5,
	Severity: check.Advice,
	Doc: `append in a loop whose number of rounds is known, without capacity

The slice is allocated again and copied each time it is full. With the capacity set first there is one
allocation of the right size. With a profile, the
account names what grows otherwise: maps, fields, and slices that only some rounds append to.`,
	When: "the function is hot and every round appends.",
	WhenNot: "loops of few rounds; slices with a size, whatever it is; slices of the caller; start-up code. Slices that " +
		"stay in the function: from Go 1.25 they begin on the stack.",
	Measured: "17,021 ns, 9 allocations -> 7,002 ns, 1 (1,000 ints, Go 1.26.8)",
	Grows:    true,
	Run:      run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.RangeStmt)(nil)) {
		loop := cur.Node().(*ast.RangeStmt)
		if n := p.Rounds(loop); n >= 0 && n <= 2*check.SmallLoop {
			continue
		}
		if _, ok := cur.Parent().Node().(*ast.BlockStmt); !ok || !counted(p, loop) {
			continue
		}
		v, spread := appended(p, loop)
		if v == nil {
			continue
		}
		decl, literal := p.Declared(cur, v)
		if decl == nil || !emptySlice(p, literal) || p.Cold(cur) || used(p, v, decl, loop) || stays(p, v, loop) {
			continue
		}
		text, over := v.Name()+" grows to the length of ", types.ExprString(loop.X)
		var edits []analysis.TextEdit
		switch _, called := ast.Unparen(loop.X).(*ast.CallExpr); {
		case spread:
			text = v.Name() + " grows by all slices that " + over + " gives; sum their lengths and allocate that capacity first"
		case called:
			text += over + "; hold that in a variable, and allocate its length first"
		default:
			text += over + "; allocate that capacity first"
			edits = fix(p, cur, loop, v, literal)
		}
		p.ReportWith(decl, appends(p, v), text, edits...)
	}
}

// counted reports whether the number of rounds is len of what loop ranges over.
func counted(p *check.Pass, loop *ast.RangeStmt) bool {
	switch ast.Unparen(loop.X).(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr:
	default:
		return false
	}
	switch p.TypeOf(loop.X).Underlying().(type) {
	case *types.Slice, *types.Array, *types.Map:
		return true
	}
	return false
}

// appended returns the variable to which every round appends one element or, if spread
// is set, all elements of a slice.
func appended(p *check.Pass, loop *ast.RangeStmt) (v *types.Var, spread bool) {
	for _, stmt := range loop.Body.List {
		if skips(stmt) {
			return nil, false
		}
		assign, ok := stmt.(*ast.AssignStmt)
		if !ok || !p.Local(p.Appends(assign)) {
			continue
		}
		call := assign.Rhs[0].(*ast.CallExpr)
		if len(call.Args) != 2 || check.IsBytes(p.TypeOf(call)) && call.Ellipsis.IsValid() {
			continue
		}
		if v != nil {
			return nil, false
		}
		v, spread = p.Appends(assign), call.Ellipsis.IsValid()
	}
	return v, spread
}

// appends returns the statements that append to v.
func appends(p *check.Pass, v *types.Var) (nodes []ast.Node) {
	for _, use := range p.Uses(v) {
		if assign, ok := use.Parent().Node().(*ast.AssignStmt); ok && p.Appends(assign) == v {
			nodes = append(nodes, assign)
		}
	}
	return nodes
}

// skips reports whether stmt may end a round early.
func skips(stmt ast.Stmt) bool {
	found := false
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BranchStmt:
			found = found || n.Tok != token.FALLTHROUGH
		case *ast.FuncLit:
			return false
		}
		return !found
	})
	return found
}

// emptySlice reports whether e is nil, or an empty slice without capacity.
func emptySlice(p *check.Pass, e ast.Expr) bool {
	switch e := e.(type) {
	case nil:
		return true
	case *ast.CompositeLit:
		return len(e.Elts) == 0
	case *ast.CallExpr:
		return p.Builtin(e) == "make" && len(e.Args) == 2 && p.Info.Types[e.Args[1]].Value != nil &&
			p.Info.Types[e.Args[1]].Value.ExactString() == "0"
	}
	return false
}

// used reports whether anything touches v between its declaration and the loop.
func used(p *check.Pass, v *types.Var, decl ast.Stmt, loop *ast.RangeStmt) bool {
	return slices.ContainsFunc(p.Uses(v), func(use inspector.Cursor) bool {
		return use.Node().Pos() > decl.End() && use.Node().Pos() < loop.Pos()
	})
}

// stays reports whether v never leaves the function, and therefore begins on the stack.
func stays(p *check.Pass, v *types.Var, loop ast.Stmt) bool {
	if !p.AtLeast(loop.Pos(), "go1.25") {
		return false
	}
	return !slices.ContainsFunc(p.Uses(v), func(use inspector.Cursor) bool {
		return !check.Within(use.Node(), loop) && p.ExprUse(use)&(check.Keeps|check.Hands) != 0
	})
}

// fix sets the capacity: in the literal or make or, where a slice must stay nil if
// nothing is appended, by slices.Grow.
func fix(p *check.Pass, cur inspector.Cursor, loop *ast.RangeStmt, v *types.Var, literal ast.Expr) []analysis.TextEdit {
	n := "len(" + p.Source(loop.X) + ")"
	if literal != nil && changed(p, loop, v) {
		return nil
	}
	switch lit := literal.(type) {
	case *ast.CompositeLit: // that of a variable names its type
		return []analysis.TextEdit{check.Replace(lit, "make("+p.Source(lit.Type)+", 0, "+n+")")}
	case *ast.CallExpr:
		return []analysis.TextEdit{check.Insert(lit.Rparen, ", "+n)}
	}
	if !p.AtLeast(loop.Pos(), "go1.21") {
		return nil
	}
	name, edits, ok := p.Import(cur, "slices")
	if !ok {
		return nil
	}
	return append(edits, check.Insert(loop.Pos(), v.Name()+" = "+name+".Grow("+v.Name()+", "+n+")\n"+p.Indent(loop.Pos())))
}

// changed reports whether what loop ranges over is declared or assigned after v.
func changed(p *check.Pass, loop *ast.RangeStmt, v *types.Var) bool {
	over := p.Var(loop.X)
	between := func(n interface{ Pos() token.Pos }) bool { return n.Pos() > v.Pos() && n.Pos() < loop.Pos() }
	return !p.Local(over) || between(over) || slices.ContainsFunc(p.Uses(over), func(use inspector.Cursor) bool {
		assign, ok := use.Parent().Node().(*ast.AssignStmt)
		return ok && between(assign)
	})
}
