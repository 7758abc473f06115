package prealloc

import (
	"go/ast"
	"go/token"
	"go/types"
	"math"
	"slices"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// apart is the size of keys and elements beyond which a map holds pointers to
// them, so that most of what it takes is no matter of its own size.
const apart = 128

// holdsPointers reports whether t is a map whose entries are allocated apart.
func holdsPointers(p *check.Pass, t types.Type) bool {
	m, ok := t.Underlying().(*types.Map)
	if !ok {
		return false
	}
	large := func(n int64) bool { return n > apart && n < math.MaxInt64 } // a type parameter may be anything
	return large(p.Size(m.Elem())) || large(p.Size(m.Key()))
}

// more reports, as hints, what the assignment at cur lets grow where known
// says nothing: slices that only some rounds append to, that are declared
// further out, or that several others are appended to, and maps. Whether the
// length is near what bounds it, or can be estimated, a profile does not know,
// but it knows whether that matters.
func more(p *check.Pass, cur inspector.Cursor, said map[*types.Var]bool) {
	v, what := grows(p, cur.Node().(*ast.AssignStmt))
	if v == nil || said[v] {
		return
	}
	if holdsPointers(p, v.Type()) {
		return
	}
	heat := min(p.HeatAt(cur), check.Warm)
	decl := origin(p, cur, v)
	if decl == nil || heat == check.Cold {
		return
	}
	loop, call := repeats(p, cur, v)
	known := call == nil
	var bounds ast.Node // the loop that the size is said to be of
	if loop.Valid() {
		outer, _ := repeats(p, loop, v)
		if !outer.Valid() {
			bounds = loop.Node()
		}
		known = !outer.Valid() && each(cur, loop, func(assign *ast.AssignStmt) bool {
			grown, _ := grows(p, assign)
			return grown == v
		})
	}
	var message string
	switch n := ""; {
	case loop.Valid():
		if n = bound(p, loop); n == "" {
			if what == "as a map" {
				return
			}
			known, bounds = false, nil
			message = v.Name() + " grows " + what + " in a loop whose rounds nothing here counts; where their number can be told or estimated, allocate that size first"
			break
		}
		message = v.Name() + " grows " + what + " with the rounds over " + n + "; where most rounds add to it, allocate that size first"
	case call != nil:
		message = v.Name() + " grows " + what + " as " + types.ExprString(call.Fun) + " goes on; where the number of its rounds can be told or estimated, allocate that size first"
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sized(p, sel.X) {
			known = true
			message = v.Name() + " grows " + what + " as " + types.ExprString(call.Fun) + " goes on; allocate the size that " + types.ExprString(sel.X) + ".Len() gives first"
		}
	case what == "as a slice" && spreads(p, v) >= 2:
		message = v.Name() + " grows by several slices; sum their lengths and allocate that capacity first"
	default:
		return
	}
	said[v] = true
	pass := p.Needs(check.Estimate, !known)
	if !renewed(p, v, decl) {
		pass = p.Unless(known, begins(cur, decl), bounds)
	}
	pass.ReportWith(decl, appends(p, v), heat, message)
}

// copied reports a map without a size that the call at cur copies several maps
// to, one in each round of a loop.
func copied(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, said map[*types.Var]bool) {
	v := p.Var(call.Args[0])
	if v == nil || said[v] || !p.Local(v) || holdsPointers(p, v.Type()) {
		return
	}
	decl := origin(p, cur, v)
	if loop, _ := repeats(p, cur, v); decl == nil || !loop.Valid() || p.HeatAt(cur) == check.Cold {
		return
	}
	said[v] = true
	p.Needs(check.Estimate, true).ReportWith(decl, []ast.Node{call}, min(p.HeatAt(cur), check.Warm), v.Name()+" grows by all maps that are copied to it; allocate the sum of their lengths first")
}

// renewed reports whether v, which decl declares, is set to something else than
// what it grew to, so that it begins to grow more than once.
func renewed(p *check.Pass, v *types.Var, decl ast.Node) bool {
	for _, use := range p.Uses(v) {
		assign, ok := use.Parent().Node().(*ast.AssignStmt)
		if !ok || assign == decl || !slices.Contains(assign.Lhs, use.Node().(ast.Expr)) {
			continue
		}
		if grown, _ := grows(p, assign); grown != v {
			return true
		}
	}
	return false
}

// begins returns what runs once for each that grows: decl, which declares it, or
// the beginning of the function around cur, where it is a result.
func begins(cur inspector.Cursor, decl ast.Node) ast.Node {
	if around := check.FuncDecl(cur); decl == cur.Node() && around != nil {
		return around.Body.List[0]
	}
	return decl
}

// repeats returns the innermost loop that runs the code at cur several times
// for one declaration of v, or the call that is given the function literal that
// does.
func repeats(p *check.Pass, cur inspector.Cursor, v *types.Var) (loop inspector.Cursor, call *ast.CallExpr) {
	for at := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncLit)(nil), (*ast.FuncDecl)(nil)) {
		n := at.Node()
		if v.Pos() >= n.Pos() && v.Pos() < n.End() {
			break
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			outer, ok := at.Parent().Node().(*ast.CallExpr)
			if ok && outer.Fun != n && p.Builtin(outer) == "" {
				return inspector.Cursor{}, outer
			}
			return inspector.Cursor{}, nil
		case ast.Stmt:
			if rounds := p.Rounds(n); (rounds < 0 || rounds > 2*check.SmallLoop) && leavesNot(cur) {
				return at, nil
			}
		}
	}
	return inspector.Cursor{}, nil
}

// leavesNot reports whether what follows the code at cur may go on with the
// loop around it.
func leavesNot(cur inspector.Cursor) bool {
	for at, ok := cur.NextSibling(); ok; at, ok = at.NextSibling() {
		switch s := at.Node().(type) {
		case *ast.ReturnStmt:
			return false
		case *ast.BranchStmt:
			return s.Tok != token.BREAK
		}
	}
	return true
}

// bound returns what says how many rounds the loop at cur has, or "".
func bound(p *check.Pass, cur inspector.Cursor) string {
	switch loop := cur.Node().(type) {
	case *ast.RangeStmt:
		if check.IsInteger(p.TypeOf(loop.X)) || check.IsString(p.TypeOf(loop.X)) || counted(p, loop) {
			return types.ExprString(loop.X)
		}
	case *ast.ForStmt:
		cond, ok := loop.Cond.(*ast.BinaryExpr)
		if !ok || loop.Init == nil || !check.IsInteger(p.TypeOf(cond.Y)) {
			return ""
		}
		switch loop.Post.(type) {
		case *ast.IncDecStmt, *ast.AssignStmt:
		default:
			return ""
		}
		if init, ok := loop.Init.(*ast.AssignStmt); ok && p.IsConst(cond.Y) && (cond.Op == token.GTR || cond.Op == token.GEQ) {
			return types.ExprString(init.Rhs[0]) // it counts down
		}
		return types.ExprString(cond.Y)
	}
	return ""
}

// grows returns the local variable that assign appends to, or whose entry it
// sets, and what it is.
func grows(p *check.Pass, assign *ast.AssignStmt) (*types.Var, string) {
	if len(assign.Lhs) != 1 || len(assign.Rhs) != 1 || assign.Tok == token.DEFINE {
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
	if !p.Local(v) || !ok || p.Builtin(call) != "append" || p.Var(call.Args[0]) != v {
		return nil, ""
	}
	return v, "as a slice"
}

// appends returns the statements that let v grow.
func appends(p *check.Pass, v *types.Var) (nodes []ast.Node) {
	for _, use := range p.Uses(v) {
		at := use.Parent()
		if _, ok := at.Node().(*ast.IndexExpr); ok {
			at = at.Parent()
		}
		assign, ok := at.Node().(*ast.AssignStmt)
		if !ok || len(nodes) > 0 && nodes[len(nodes)-1] == assign {
			continue
		}
		if grown, _ := grows(p, assign); grown == v {
			nodes = append(nodes, assign)
		}
	}
	return nodes
}

// spreads returns how many statements append all of another slice to v.
func spreads(p *check.Pass, v *types.Var) (n int) {
	for _, node := range appends(p, v) {
		call, ok := node.(*ast.AssignStmt).Rhs[0].(*ast.CallExpr)
		if ok && call.Ellipsis.IsValid() && !p.IsConst(call.Args[1]) {
			n++
		}
	}
	return n
}

// origin returns the statement that declares v without a size, before what is
// at cur, or, where v is a named result, what is at cur.
func origin(p *check.Pass, cur inspector.Cursor, v *types.Var) ast.Node {
	decl := check.FuncDecl(cur)
	if decl == nil {
		return nil
	}
	if results := decl.Type.Results; results != nil && v.Pos() >= results.Pos() && v.Pos() < results.End() {
		if set(p, cur, v) {
			return nil
		}
		return cur.Node()
	}
	for at := range p.Root.Preorder((*ast.FuncDecl)(nil)) {
		if at.Node() == decl {
			return declares(p, at, cur, v)
		}
	}
	return nil
}

// declares is origin for what the function at around declares.
func declares(p *check.Pass, around, cur inspector.Cursor, v *types.Var) ast.Node {
	for at := range around.Preorder((*ast.DeclStmt)(nil), (*ast.AssignStmt)(nil)) {
		if at.Node().Pos() > cur.Node().Pos() {
			break
		}
		switch stmt := at.Node().(type) {
		case *ast.DeclStmt:
			for _, spec := range stmt.Decl.(*ast.GenDecl).Specs {
				spec, ok := spec.(*ast.ValueSpec)
				if !ok {
					continue
				}
				for i, name := range spec.Names {
					if p.Info.Defs[name] != v {
						continue
					}
					if len(spec.Values) > 0 && (len(spec.Values) != len(spec.Names) || !unsized(p, spec.Values[i])) || set(p, cur, v) {
						return nil
					}
					return stmt
				}
			}
		case *ast.AssignStmt:
			for i, lhs := range stmt.Lhs {
				if p.Var(lhs) != v {
					continue
				}
				if len(stmt.Rhs) == len(stmt.Lhs) && unsized(p, stmt.Rhs[i]) {
					return stmt
				}
				return nil
			}
		}
	}
	return nil
}

// set reports whether, before cur, v is given anything but an empty value or
// what is appended to it.
func set(p *check.Pass, cur inspector.Cursor, v *types.Var) bool {
	for _, use := range p.Uses(v) {
		assign, ok := use.Parent().Node().(*ast.AssignStmt)
		if !ok || assign.Pos() >= cur.Node().Pos() {
			continue
		}
		for i, lhs := range assign.Lhs {
			if lhs != use.Node() {
				continue
			}
			if grown, _ := grows(p, assign); grown != v && (len(assign.Lhs) != len(assign.Rhs) || !unsized(p, assign.Rhs[i])) {
				return true
			}
		}
	}
	return false
}

// sized reports whether e has a method Len that returns a number.
func sized(p *check.Pass, e ast.Expr) bool {
	obj, _, _ := types.LookupFieldOrMethod(p.TypeOf(e), true, p.Code.Pkg, "Len")
	fn, ok := obj.(*types.Func)
	return ok && fn.Signature().Params().Len() == 0 && fn.Signature().Results().Len() == 1 && check.IsInteger(fn.Signature().Results().At(0).Type())
}

// unsized reports whether e makes a slice or a map without a size: empty, or
// of the few elements that it begins with.
func unsized(p *check.Pass, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return p.Info.Types[e].IsNil()
	case *ast.CompositeLit:
		switch p.TypeOf(e).Underlying().(type) {
		case *types.Slice, *types.Map:
			return true
		}
	case *ast.CallExpr:
		if nothing, ok := p.Conversion(e, func(types.Type) bool { return true }); ok {
			return p.Info.Types[nothing].IsNil()
		}
		if p.Builtin(e) != "make" {
			return false
		}
		_, isMap := p.TypeOf(e).Underlying().(*types.Map)
		return isMap && len(e.Args) == 1 || emptySlice(p, e)
	}
	return false
}
