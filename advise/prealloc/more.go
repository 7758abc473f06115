package prealloc

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// more reports, as hints, what the loop at cur lets grow where run says
// nothing: slices that only some rounds append to, or that are declared
// elsewhere, and maps. The number of rounds bounds their length; whether it is
// near, a profile knows.
func more(p *check.Pass, cur inspector.Cursor, said map[*types.Var]bool) {
	n := bound(p, cur)
	heat := min(p.HeatAt(cur), check.Warm)
	if n == "" || heat == check.Cold {
		return
	}
	loop := cur.Node().(ast.Stmt)
	for at := range cur.Preorder((*ast.AssignStmt)(nil), (*ast.FuncLit)(nil)) {
		assign, ok := at.Node().(*ast.AssignStmt)
		if !ok || innermost(at) != loop {
			continue
		}
		v, what := grows(p, assign)
		if v == nil || said[v] || v.Pos() >= loop.Pos() && v.Pos() < loop.End() {
			continue
		}
		decl := origin(p, cur, v)
		if decl == nil {
			continue
		}
		said[v] = true
		if _, isMap := v.Type().Underlying().(*types.Map); !isMap && stays(p, v, loop) {
			continue
		}
		p.Report(decl, heat, v.Name()+" grows "+what+" with the rounds over "+n+"; where most rounds add to it, allocate that size first")
	}
}

// bound returns what says how many rounds the loop at cur has, or "".
func bound(p *check.Pass, cur inspector.Cursor) string {
	if n := p.Rounds(cur.Node().(ast.Stmt)); n >= 0 && n <= 2*check.SmallLoop {
		return ""
	}
	switch loop := cur.Node().(type) {
	case *ast.RangeStmt:
		if check.IsInteger(p.TypeOf(loop.X)) || check.IsString(p.TypeOf(loop.X)) || counted(p, loop) {
			return types.ExprString(loop.X)
		}
	case *ast.ForStmt:
		cond, ok := loop.Cond.(*ast.BinaryExpr)
		if !ok || loop.Init == nil || cond.Op != token.LSS && cond.Op != token.LEQ {
			return ""
		}
		if _, steps := loop.Post.(*ast.IncDecStmt); steps && check.IsInteger(p.TypeOf(cond.Y)) {
			return types.ExprString(cond.Y)
		}
	}
	return ""
}

// innermost returns the innermost loop around cur, nil where a function
// literal is nearer.
func innermost(cur inspector.Cursor) ast.Stmt {
	for at := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncLit)(nil)) {
		loop, _ := at.Node().(ast.Stmt)
		return loop
	}
	return nil
}

// grows returns the local variable that assign appends to, or whose entry it
// sets, and what it is.
func grows(p *check.Pass, assign *ast.AssignStmt) (*types.Var, string) {
	if len(assign.Lhs) != 1 || len(assign.Rhs) != 1 || assign.Tok != token.ASSIGN {
		return nil, ""
	}
	if index, ok := assign.Lhs[0].(*ast.IndexExpr); ok {
		v := p.Var(index.X)
		if !p.Local(v) || p.IsConst(index.Index) {
			return nil, ""
		}
		if _, isMap := v.Type().Underlying().(*types.Map); !isMap {
			return nil, ""
		}
		return v, "as a map"
	}
	v := p.Var(assign.Lhs[0])
	call, ok := assign.Rhs[0].(*ast.CallExpr)
	if !p.Local(v) || !ok || p.Builtin(call) != "append" || p.Var(call.Args[0]) != v || call.Ellipsis.IsValid() {
		return nil, ""
	}
	return v, "as a slice"
}

// origin returns the statement that declares v without a size, before the loop
// at cur and in no other loop.
func origin(p *check.Pass, cur inspector.Cursor, v *types.Var) ast.Stmt {
	around, _ := check.Func(cur)
	for at := range around.Preorder((*ast.DeclStmt)(nil), (*ast.AssignStmt)(nil)) {
		if at.Node().Pos() > cur.Node().Pos() {
			break
		}
		switch stmt := at.Node().(type) {
		case *ast.DeclStmt:
			gen := stmt.Decl.(*ast.GenDecl)
			for _, spec := range gen.Specs {
				spec, ok := spec.(*ast.ValueSpec)
				if ok && len(spec.Names) == 1 && p.Info.Defs[spec.Names[0]] == v {
					if len(spec.Values) == 0 || len(spec.Values) == 1 && unsized(p, spec.Values[0]) {
						return sameLoop(p, at, cur, stmt)
					}
					return nil
				}
			}
		case *ast.AssignStmt:
			for i, lhs := range stmt.Lhs {
				if p.Var(lhs) != v {
					continue
				}
				if len(stmt.Rhs) == len(stmt.Lhs) && unsized(p, stmt.Rhs[i]) {
					return sameLoop(p, at, cur, stmt)
				}
				return nil
			}
		}
	}
	return nil
}

// sameLoop returns stmt where the loop at cur runs as often as stmt at decl
// does, or once for each element of what another loop goes over, whose lengths
// can be summed.
func sameLoop(p *check.Pass, decl, cur inspector.Cursor, stmt ast.Stmt) ast.Stmt {
	outer := innermost(cur.Parent())
	if outer == innermost(decl) {
		return stmt
	}
	if around, ok := outer.(*ast.RangeStmt); !ok || !counted(p, around) || innermostOf(cur, outer) != innermost(decl) {
		return nil
	}
	return stmt
}

// innermostOf returns the innermost loop around loop, which is around cur.
func innermostOf(cur inspector.Cursor, loop ast.Stmt) ast.Stmt {
	for at := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil)) {
		if at.Node() == loop {
			return innermost(at.Parent())
		}
	}
	return nil
}

// visited reports, as hints, what a function literal lets grow that is given to
// a method of something with a length.
func visited(p *check.Pass, cur inspector.Cursor, said map[*types.Var]bool) {
	call := cur.Node().(*ast.CallExpr)
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 || !sized(p, sel.X) {
		return
	}
	lit, ok := call.Args[0].(*ast.FuncLit)
	if !ok {
		return
	}
	for at := range cur.Preorder((*ast.AssignStmt)(nil)) {
		v, what := grows(p, at.Node().(*ast.AssignStmt))
		if v == nil || said[v] || check.Within(at.Node(), lit) && v.Pos() >= lit.Pos() || innermost(at) != nil {
			continue
		}
		if decl := origin(p, cur, v); decl != nil {
			said[v] = true
			p.Report(decl, min(p.HeatAt(cur), check.Warm), v.Name()+" grows "+what+" as "+types.ExprString(call.Fun)+" goes on; allocate the size that "+types.ExprString(sel.X)+".Len() gives first")
		}
	}
}

// sized reports whether e has a method Len that returns a number.
func sized(p *check.Pass, e ast.Expr) bool {
	obj, _, _ := types.LookupFieldOrMethod(p.TypeOf(e), true, p.Code.Pkg, "Len")
	fn, ok := obj.(*types.Func)
	return ok && fn.Signature().Params().Len() == 0 && fn.Signature().Results().Len() == 1 && check.IsInteger(fn.Signature().Results().At(0).Type())
}

// unsized reports whether e makes an empty slice or map without a size.
func unsized(p *check.Pass, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return len(e.Elts) == 0
	case *ast.CallExpr:
		if p.Builtin(e) != "make" {
			return false
		}
		_, isMap := p.TypeOf(e).Underlying().(*types.Map)
		return isMap && len(e.Args) == 1 || emptySlice(p, e)
	}
	return false
}
