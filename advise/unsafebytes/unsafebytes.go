// Package unsafebytes is a check for a correctness trap: see Check.
package unsafebytes

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags writes to the bytes of a string.
var Check = check.New(check.Check{
	Name:     "unsafebytes",
	Severity: check.Trap,
	Doc: `a write to the bytes of a string, through unsafe.StringData

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
		if p.ExprUse(cur)&check.Writes != 0 {
			p.Report(e, "these bytes belong to a string and are written to; copy them with []byte(s)")
		}
	}
}

// view reports whether e makes the bytes of a string a slice without copying:
// unsafe.Slice(unsafe.StringData(s), n) or *(*[]byte)(unsafe.Pointer(&s)).
func view(p *check.Pass, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		if p.Builtin(e) != "Slice" || len(e.Args) != 2 {
			return false
		}
		data, ok := ast.Unparen(e.Args[0]).(*ast.CallExpr)
		return ok && p.Builtin(data) == "StringData"
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
