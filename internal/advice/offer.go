package advice

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// offered says what to use instead of the callee, where something is known that fits the call.
func (k *subject) offered() string {
	if k.s != nil && runsOnce(k.s.Func) {
		return "; " + onlyOnce
	}
	text := k.offer(plainName(k.c.callee))
	if text == "" {
		return ""
	}
	return "; " + text
}

// copies reports whether io needs a buffer to copy: as the types of the arguments have it, and as was seen.
func (k *subject) copies() bool {
	seen := k.c.leaf == "" || strings.HasPrefix(k.c.leaf, "io.") && !k.c.several
	return seen && !k.has(0, "ReadFrom") && !k.has(1, "WriteTo")
}

// has reports whether the type of an argument has a method.
func (k *subject) has(n int, method string) bool {
	if given := k.given(); n < len(given) {
		of, _, _ := types.LookupFieldOrMethod(k.p.Info.TypeOf(given[n]), true, nil, method)
		_, is := of.(*types.Func)
		return is
	}
	return false
}

// settled reports whether an expression is a package variable that nothing in the package sets.
func (k *subject) settled(e ast.Expr) bool {
	id, _ := ast.Unparen(e).(*ast.Ident)
	v, ok := k.p.Info.Uses[id].(*types.Var)
	if !ok || v.Parent() != k.p.Pkg.Scope() {
		return false
	}
	return !k.p.Changed(k.p.SSA.Var(v.Name()))
}

// given are the arguments of the call; nil for none, or if the call is not found in the code.
func (k *subject) given() []ast.Expr {
	if k.s != nil {
		if call, ok := k.s.Node.(*ast.CallExpr); ok {
			return call.Args
		}
	}
	return nil
}

// compares reports whether an instruction only asks whether a value equals another.
func compares(use ssa.Instruction) bool {
	i, ok := use.(*ssa.BinOp)
	return ok && (i.Op == token.EQL || i.Op == token.NEQ)
}
