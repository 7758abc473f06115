// Package boxing is an allocation check: see Check.
package boxing

import (
	"go/ast"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags numbers that become interface values.
var Check = check.New(check.Check{
	Name:     "boxing",
	Exercise: 8,
	Severity: check.Advice,
	Doc: `numbers passed as any

An interface holds a pointer: a number above 255 is allocated to be pointed to. A type parameter in the
place of any keeps the value as it is. Putting a slice into a sync.Pool boxes its header likewise, where a
pointer to it costs nothing.`,
	When: "the call is hot and the callee is yours to change.",
	WhenNot: "functions of other modules; calls into fmt, log and log/slog, whose output costs more, and what only a " +
		"debug " +
		"mode calls; constants; bytes and booleans; functions that keep values of several types; start-up code and error " +
		"paths.",
	Measured: "type parameters: 2 allocations -> 0; slog with int pairs still boxes, 2 -> 2 (Go 1.26.8)",
	Own:      true,
	Run:      run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		fn := p.Callee(call)
		if fn == nil || fn.Pkg() == nil || p.Cold(cur) {
			continue
		}
		if check.FuncName(fn) == "Pool.Put" && fn.Pkg().Path() == "sync" {
			pool(p, call)
			continue
		}
		if _, decl := p.Decl(fn); decl == nil && !container(fn) {
			continue
		}
		if mixed(p, fn) {
			continue
		}
		if guarded(cur) {
			continue
		}
		if arg := boxed(p, fn, call, number); arg != nil && !prints(p, fn, 3) {
			p.Needs(check.Interface, fixed(p, fn)).Report(arg, types.ExprString(arg)+
				" is boxed to be passed as any to "+fn.Name()+"; a type parameter keeps it as it is")
		}
	}
}

// prints reports whether fn hands its variadic arguments on to fmt, log or
// log/slog, itself or through so many functions of this package.
func prints(p *check.Pass, fn *types.Func, through int) bool {
	cur, decl := p.Decl(fn)
	sig := fn.Signature()
	if through == 0 || decl == nil || !sig.Variadic() {
		return false
	}
	rest := sig.Params().At(sig.Params().Len() - 1)
	for at := range cur.Preorder((*ast.CallExpr)(nil)) {
		call := at.Node().(*ast.CallExpr)
		if !call.Ellipsis.IsValid() {
			continue
		}
		if id, ok := ast.Unparen(call.Args[len(call.Args)-1]).(*ast.Ident); !ok || p.Info.Uses[id] != rest {
			continue
		}
		callee := p.Callee(call)
		if callee == nil || callee.Pkg() == nil {
			continue
		}
		switch callee.Pkg().Path() {
		case "fmt", "log", "log/slog":
			return true
		}
		if prints(p, callee, through-1) {
			return true
		}
	}
	return false
}

// guarded reports whether the code at cur runs only where something asks for
// more to be said or checked, such as a level of logging.
func guarded(cur inspector.Cursor) bool {
	for at := cur; at.Node() != nil; at = at.Parent() {
		switch parent := at.Parent().Node().(type) {
		case *ast.IfStmt:
			if at.Node() == parent.Body && mode.MatchString(types.ExprString(parent.Cond)) {
				return true
			}
		case *ast.FuncDecl, *ast.FuncLit, nil:
			return false
		}
	}
	return false
}

// mode matches conditions on what is on for debugging only.
var mode = regexp.MustCompile(`(?i)debug|trace|verbose|leakdetect|enabled?\(|canlog|\.v\(\d`)

// fixed reports whether fn cannot do without any: its signature is not free, or
// it hands on what it is given as such.
func fixed(p *check.Pass, fn *types.Func) bool {
	if !p.Free(fn) || fn.Signature().Variadic() {
		return true
	}
	params := fn.Signature().Params()
	for i := range params.Len() {
		iface, ok := params.At(i).Type().Underlying().(*types.Interface)
		if use, known := p.ParamUse(fn, i); ok && iface.Empty() && (!known || use&(check.Keeps|check.Hands) != 0) {
			return true
		}
	}
	return false
}

// mixed reports whether fn keeps what it is given as any, and is given values of
// several types in this package: they have no other type in common.
func mixed(p *check.Pass, fn *types.Func) bool {
	params := fn.Signature().Params()
	for i := range params.Len() {
		iface, ok := params.At(i).Type().Underlying().(*types.Interface)
		if use, known := p.ParamUse(fn, i); !ok || !iface.Empty() || !known || use&(check.Keeps|check.Hands) == 0 {
			continue
		}
		var one types.Type
		for _, use := range p.Uses(fn) {
			at := use.Parent()
			if _, ok := at.Node().(*ast.SelectorExpr); ok {
				at = at.Parent()
			}
			call, ok := at.Node().(*ast.CallExpr)
			if !ok || i >= len(call.Args) {
				continue
			}
			t := types.Default(p.TypeOf(call.Args[i]))
			if one != nil && !types.Identical(one, t) {
				return true
			}
			one = t
		}
	}
	return false
}

func pool(p *check.Pass, call *ast.CallExpr) {
	t := p.TypeOf(call.Args[0])
	switch t.Underlying().(type) {
	case *types.Slice, *types.Struct, *types.Array:
		p.Report(call.Args[0], "putting a value of type "+types.TypeString(t, types.RelativeTo(p.Code.Pkg))+
			" into a sync.Pool allocates to box it; put a pointer")
	}
}

// container reports whether fn keeps what it is given as any.
func container(fn *types.Func) bool {
	switch fn.Pkg().Path() {
	case "container/heap", "container/list", "container/ring", "sync":
		return true
	}
	return false
}

// boxed returns the first of the arguments that is of the kind and becomes an
// interface without methods.
func boxed(p *check.Pass, fn *types.Func, call *ast.CallExpr, kind func(types.Type) bool) ast.Expr {
	if call.Ellipsis.IsValid() {
		return nil
	}
	params := fn.Signature().Params()
	for i, arg := range call.Args {
		var t types.Type
		switch last := params.Len() - 1; {
		case fn.Signature().Variadic() && i >= last:
			t = params.At(last).Type().(*types.Slice).Elem()
		case i < params.Len():
			t = params.At(i).Type()
		default:
			return nil
		}
		if _, isParam := types.Unalias(t).(*types.TypeParam); isParam {
			continue
		}
		iface, ok := t.Underlying().(*types.Interface)
		if ok && iface.Empty() && !p.IsConst(arg) && kind(p.TypeOf(arg)) {
			return arg
		}
	}
	return nil
}

// number reports whether t is a number of more than one byte.
func number(t types.Type) bool {
	if _, isParam := types.Unalias(t).(*types.TypeParam); isParam {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0 && b.Kind() != types.Int8 && b.Kind() != types.Uint8
}
