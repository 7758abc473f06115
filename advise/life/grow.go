package life

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Growth says how something grows: a slice by append, a map by assignment, a
// string by concatenation.
type Growth struct {
	Loop   *Loop     // the innermost loop whose rounds add to the same object, or nil
	Most   *Loop     // the outermost such loop, or nil
	Rounds ast.Expr  // what the loop ranges over, or its bound; nil if neither is an expression in the code
	Sized  bool      // made with a capacity
	Field  string    // the field that holds it between the rounds, as Type.field
	Of     ssa.Value // what has the field, or nil
	Begin  ssa.Value // the value that makes it in this function, or nil

	// Cuts are where what was there is cut to no elements: a loop that has one begins a new list in each round.
	Cuts []*ssa.Slice
}

// Growth returns how the target of an Append, MapGrow or Concat site grows.
func (p *Package) Growth(s *Site) (g Growth) {
	var from ssa.Value
	switch i := s.Instr.(type) {
	case *ssa.Call:
		if s.Kind != Append {
			return g
		}
		from = i.Call.Args[0]
	case *ssa.MapUpdate:
		from = i.Map
	case *ssa.BinOp:
		from = i
	default:
		return g
	}
	heads := map[*ssa.BasicBlock]bool{}
	p.begins(from, s.Kind, &g, heads, map[ssa.Value]bool{})
	if s.Kind != MapGrow && !setsField(s.Value, g.Field) { // what is only added to it does not stay
		g.Field, g.Of = "", nil
	}
	for _, l := range p.loopsOf(s.Func) {
		grows := heads[l.Head] || g.Field != "" && len(heads) == 0
		if m, ok := g.Begin.(ssa.Instruction); ok && s.Kind == MapGrow {
			grows = m.Parent() == s.Func && !l.Has(m.Block())
		}
		of, ok := g.Of.(ssa.Instruction)
		if !grows || !l.Has(s.Instr.Block()) || ok && l.Has(of.Block()) || // each round has another object
			slices.ContainsFunc(g.Cuts, func(cut *ssa.Slice) bool { return l.Has(cut.Block()) }) {
			continue
		}
		if g.Most = l; g.Loop == nil {
			g.Loop, g.Rounds = l, p.rounds(l)
		}
	}
	return g
}

// Outgrown reports whether the memory of a Make, Append, Literal or MapGrow site may be left for a larger one, as its
// list or map grows on in the function.
func (p *Package) Outgrown(s *Site) bool {
	return s.Kind == MapGrow || s.Value != nil && leads(s.Value, map[ssa.Value]bool{}, appends)
}

// leads reports whether is finds a use of a value, or of what is made of it in uses that is tells to go on with.
func leads(v ssa.Value, seen map[ssa.Value]bool, is func(v ssa.Value, use ssa.Instruction) (found, on bool)) bool {
	if seen[v] || v.Referrers() == nil {
		return false
	}
	seen[v] = true
	return slices.ContainsFunc(*v.Referrers(), func(use ssa.Instruction) bool {
		found, on := is(v, use)
		return found || on && leads(use.(ssa.Value), seen, is)
	})
}

// appends is for leads: it finds where a list is appended to.
func appends(v ssa.Value, use ssa.Instruction) (found, on bool) {
	switch i := use.(type) {
	case *ssa.Phi:
		return false, true
	case *ssa.Slice:
		return false, i.X == v
	case *ssa.Call:
		b, ok := i.Call.Value.(*ssa.Builtin)
		return ok && b.Name() == "append" && i.Call.Args[0] == v, false
	}
	return false, false
}

// setsField reports whether a field is set to a value, or to what is made of it.
func setsField(v ssa.Value, field string) bool {
	return leads(v, map[ssa.Value]bool{}, func(v ssa.Value, use ssa.Instruction) (found, on bool) {
		switch i := use.(type) {
		case *ssa.Store:
			at, ok := i.Addr.(*ssa.FieldAddr)
			return ok && i.Val == v && fieldName(at.X.Type(), at.Field) == field, false
		case *ssa.Phi, *ssa.Slice, *ssa.Call, *ssa.BinOp, *ssa.Extract:
			return false, true
		}
		return false, false
	})
}

// begins goes back to where the growing object was made, and records the loop heads on the way.
func (p *Package) begins(v ssa.Value, kind Kind, g *Growth, heads map[*ssa.BasicBlock]bool, seen map[ssa.Value]bool) {
	if seen[v] {
		return
	}
	seen[v] = true
	switch x := v.(type) {
	case *ssa.Phi:
		heads[x.Block()] = true
		for _, e := range x.Edges {
			p.begins(e, kind, g, heads, seen)
		}
	case *ssa.BinOp:
		if kind == Concat && x.Op == token.ADD {
			p.begins(x.X, kind, g, heads, seen)
			p.begins(x.Y, kind, g, heads, seen)
		}
	case *ssa.Call:
		if b, ok := x.Call.Value.(*ssa.Builtin); ok && b.Name() == "append" {
			p.begins(x.Call.Args[0], kind, g, heads, seen)
		}
	case *ssa.Slice:
		if n, ok := x.High.(*ssa.Const); ok && n.Int64() == 0 {
			g.Cuts = append(g.Cuts, x)
		}
		p.begins(x.X, kind, g, heads, seen)
	case *ssa.UnOp:
		if f, ok := x.X.(*ssa.FieldAddr); ok {
			g.Field, g.Of = fieldName(f.X.Type(), f.Field), f.X
		}
	case *ssa.MakeSlice:
		g.Begin, g.Sized = x, g.Sized || some(x.Cap)
	case *ssa.MakeMap:
		g.Begin, g.Sized = x, x.Reserve != nil && some(x.Reserve)
	case *ssa.Alloc:
		arr, ok := object(x.Type()).Underlying().(*types.Array)
		g.Begin, g.Sized = x, g.Sized || ok && arr.Len() > 0
	}
}

// some reports whether n may be more than zero.
func some(n ssa.Value) bool {
	c, ok := n.(*ssa.Const)
	return !ok || c.Int64() > 0
}

// rounds returns the expression that says how often a loop runs: what a range statement
// ranges over, or the bound of a counter; nil for none.
func (p *Package) rounds(l *Loop) ast.Expr {
	switch s := p.Stmt(l).(type) {
	case *ast.RangeStmt:
		switch p.Info.TypeOf(s.X).Underlying().(type) {
		case *types.Chan, *types.Signature:
			return nil
		}
		return s.X
	case *ast.ForStmt:
		cond, ok := s.Cond.(*ast.BinaryExpr)
		if !ok || cond.Op != token.LSS && cond.Op != token.LEQ && cond.Op != token.NEQ {
			return nil
		}
		if _, counted := s.Post.(*ast.IncDecStmt); counted {
			return cond.Y
		}
	}
	return nil
}

// Stmt returns the for or range statement of a loop, or nil.
func (p *Package) Stmt(l *Loop) (stmt ast.Stmt) {
	var from, to token.Pos // positions of the loop's instructions
	for b := range l.body {
		for _, instr := range b.Instrs {
			_, phi := instr.(*ssa.Phi) // its position is that of a variable
			if pos := instr.Pos(); !phi && pos.IsValid() && instr.Parent() == l.Head.Parent() {
				from, to = min(cmp.Or(from, pos), pos), max(to, pos)
			}
		}
	}
	fn := l.Head.Parent().Syntax()
	if fn == nil || !from.IsValid() {
		return nil
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		if n == nil || n.End() < to || n.Pos() > from {
			return false
		}
		switch s := n.(type) {
		case *ast.ForStmt:
			if s.Body.Pos() <= to {
				stmt = s
			}
		case *ast.RangeStmt:
			if s.Body.Pos() <= to {
				stmt = s
			}
		}
		return true
	})
	return stmt
}
