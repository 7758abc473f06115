package resultslice

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// mapCopy reports, as a hint, a call of a function that copies a map for a caller
// who only goes through it or looks something up.
func mapCopy(p *check.Pass, cur inspector.Cursor, fn *types.Func) {
	results := fn.Signature().Results()
	if results.Len() != 1 || !isMap(results.At(0).Type()) || !onlyRead(p, cur) {
		return
	}
	if made := copyOfMap(p, fn); made != nil {
		p.ReportWith(cur.Node(), made, min(p.HeatAt(cur), check.Warm), fn.Name()+" copies a map that is only read here; an iterator, or a function that is called for each entry, needs no copy")
	}
}

func isMap(t types.Type) bool {
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// onlyRead reports whether the map at cur is gone through, measured and looked into,
// and nothing else.
func onlyRead(p *check.Pass, cur inspector.Cursor) bool {
	e := cur.Node()
	switch parent := cur.Parent().Node().(type) {
	case *ast.RangeStmt:
		return parent.X == e
	case *ast.CallExpr:
		return p.Builtin(parent) == "len"
	case *ast.IndexExpr:
		return parent.X == e && !p.Writes(cur.Parent())
	case *ast.AssignStmt:
		if len(parent.Lhs) != 1 || len(parent.Rhs) != 1 || parent.Rhs[0] != e || !p.Local(p.Var(parent.Lhs[0])) {
			return false
		}
		read := false
		for _, use := range p.Uses(p.Var(parent.Lhs[0])) {
			if use.Node() == parent.Lhs[0] {
				continue
			}
			if !onlyRead(p, use) {
				return false
			}
			read = true
		}
		return read
	}
	return false
}

// copyOfMap returns what allocates in fn where all that it returns is a map into which
// it puts what another one has, entry by entry, and nothing else.
func copyOfMap(p *check.Pass, fn *types.Func) (made []ast.Node) {
	cur, decl := p.Decl(fn)
	if decl == nil {
		return nil
	}
	var v *types.Var
	for at := range cur.Preorder((*ast.ReturnStmt)(nil)) {
		ret := at.Node().(*ast.ReturnStmt)
		if f, _ := check.Func(at); f.Node() != decl {
			continue
		}
		if len(ret.Results) != 1 {
			return nil
		}
		if _, ok := p.IsCall(ret.Results[0], "maps", "Clone"); ok {
			return []ast.Node{ret.Results[0]}
		}
		if v != nil && p.Var(ret.Results[0]) != v || !p.Local(p.Var(ret.Results[0])) {
			return nil
		}
		v = p.Var(ret.Results[0])
	}
	if v == nil {
		return nil
	}
	copied := false
	for at := range cur.Preorder((*ast.AssignStmt)(nil)) {
		assign := at.Node().(*ast.AssignStmt)
		for i, lhs := range assign.Lhs {
			index, ok := lhs.(*ast.IndexExpr)
			switch {
			case ok && p.Var(index.X) == v:
				if len(assign.Lhs) != len(assign.Rhs) || !entry(p, at, index.Index, assign.Rhs[i]) {
					return nil
				}
				copied = true
				made = append(made, assign)
			case p.Var(lhs) == v:
				made = append(made, assign)
			}
		}
	}
	if !copied {
		return nil
	}
	return made
}

// entry reports whether key and value are those of the loop around cur, which goes
// through a map.
func entry(p *check.Pass, cur inspector.Cursor, key, value ast.Expr) bool {
	loop, ok := p.Loop(cur).(*ast.RangeStmt)
	return ok && isMap(p.TypeOf(loop.X)) && loop.Key != nil && loop.Value != nil &&
		p.Var(loop.Key) != nil && p.Var(loop.Key) == p.Var(key) && p.Var(loop.Value) != nil && p.Var(loop.Value) == p.Var(value)
}
