// Package unsafebytes is a check for a correctness trap: see Check.
package unsafebytes

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags writes to the bytes of a string.
var Check = check.New(check.Check{
	Name:     "unsafebytes",
	Severity: check.Trap,
	Doc: `the bytes of a string, had through unsafe.StringData, that are written to

Strings never change: the compiler, maps and other holders of the same string rely on
it, and constants lie in memory that cannot be written. Copy with []byte(s) what must change.`,
	When:    "always.",
	WhenNot: "code that only reads the bytes.",
	Run:     run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil), (*ast.StarExpr)(nil)) {
		e := cur.Node().(ast.Expr)
		if !view(p, e) && !helper(p, e) {
			continue
		}
		if p.ExprUse(cur)&check.Writes != 0 && sure(p, cur) {
			p.Report(e, "these bytes belong to a string and are written to; copy them with []byte(s)")
		}
	}
}

// view reports whether e makes the bytes of a string a slice without copying:
// unsafe.Slice(unsafe.StringData(s), n) or *(*[]byte)(unsafe.Pointer(&s)).
func view(p *check.Pass, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		if p.Builtin(e) != "Slice" && !unsafeFunc(p, e, "Slice") || len(e.Args) != 2 {
			return false
		}
		data, ok := ast.Unparen(e.Args[0]).(*ast.CallExpr)
		return ok && unsafeFunc(p, data, "StringData")
	case *ast.StarExpr:
		ptr, ok := p.Conversion(e.X, func(t types.Type) bool {
			to, ok := t.Underlying().(*types.Pointer)
			return ok && check.IsBytes(to.Elem())
		})
		if !ok {
			return false
		}
		addr, ok := p.Conversion(ptr, func(t types.Type) bool { return types.Identical(t, types.Typ[types.UnsafePointer]) })
		if !ok {
			return false
		}
		u, ok := ast.Unparen(addr).(*ast.UnaryExpr)
		return ok && u.Op == token.AND && check.IsString(p.TypeOf(u.X))
	}
	return false
}

func unsafeFunc(p *check.Pass, call *ast.CallExpr, name string) bool {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	b, ok := p.Info.Uses[sel.Sel].(*types.Builtin)
	return ok && b.Name() == name
}

// helper reports whether e calls a function of this package that returns such
// a view.
func helper(p *check.Pass, e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	cur, decl := p.Decl(p.Callee(call))
	if decl == nil {
		return false
	}
	for at := range cur.Preorder((*ast.ReturnStmt)(nil)) {
		for _, r := range at.Node().(*ast.ReturnStmt).Results {
			if view(p, ast.Unparen(r)) {
				return true
			}
		}
	}
	return false
}

// sure reports whether a write is seen, and not only possible: what is handed
// to code of other packages might be written to.
func sure(p *check.Pass, cur inspector.Cursor) bool {
	call, ok := cur.Parent().Node().(*ast.CallExpr)
	if !ok || call.Fun == cur.Node() {
		return variable(p, cur)
	}
	fn := p.Callee(call)
	for i, arg := range call.Args {
		if arg != cur.Node() {
			continue
		}
		if _, decl := p.Decl(fn); decl != nil {
			return i < fn.Signature().Params().Len() && writes(p, fn.Origin().Signature().Params().At(i), 0)
		}
		return p.Builtin(call) == "copy" && i == 0 || p.Builtin(call) == "clear" || stdWrites(fn)
	}
	return false
}

func stdWrites(fn *types.Func) bool {
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() + "." + fn.Name() {
	case "slices.Sort", "slices.SortFunc", "slices.Reverse", "sort.Slice", "io.ReadFull", "crypto/rand.Read":
		return true
	}
	return false
}

// variable follows the view into the local variable that it is assigned to.
func variable(p *check.Pass, cur inspector.Cursor) bool {
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	if !ok {
		_, index := cur.Parent().Node().(*ast.IndexExpr)
		return index
	}
	for i, rhs := range assign.Rhs {
		if rhs == cur.Node() && len(assign.Lhs) == len(assign.Rhs) {
			v := p.Var(assign.Lhs[i])
			return v != nil && writes(p, v, 0)
		}
	}
	return false
}

// writes reports whether v is written to for certain.
func writes(p *check.Pass, v *types.Var, depth int) bool {
	for _, use := range p.Uses(v) {
		switch parent := use.Parent().Node().(type) {
		case *ast.IndexExpr:
			if p.ExprUse(use)&check.Writes != 0 {
				return true
			}
		case *ast.CallExpr:
			fn := p.Callee(parent)
			if len(parent.Args) > 0 && parent.Args[0] == use.Node() && (p.Builtin(parent) == "copy" ||
				p.Builtin(parent) == "clear" || stdWrites(fn)) {
				return true
			}
			for i, arg := range parent.Args {
				if _, decl := p.Decl(fn); arg == use.Node() && decl != nil && depth < 3 && i < fn.Signature().Params().Len() &&
					writes(p, fn.Origin().Signature().Params().At(i), depth+1) {
					return true
				}
			}
		}
	}
	return false
}
