// Package boxing is an allocation check: see Check.
package boxing

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"

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
	WhenNot: "functions of other modules or with an empty body; calls into fmt, log and log/slog, whose output costs " +
		"more, and what only a debug mode calls; constants; bytes and booleans; functions that keep values of several " +
		"types; start-up code and error paths.",
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
		_, decl := p.Decl(fn)
		if decl == nil && !container(fn) || decl != nil && decl.Body != nil && len(decl.Body.List) == 0 {
			continue // not ours to change, or inlined to nothing
		}
		arg := boxed(p, fn, call)
		if arg == nil || prints(p, fn, 3) ||
			check.Guarded(cur, func(cond ast.Expr) bool { return mode.MatchString(types.ExprString(cond)) }) {
			continue
		}
		if held, mixed := held(p, fn); !mixed {
			fixed := held || !p.Free(fn) || fn.Signature().Variadic() // cannot do without any
			keeps := "a parameter of its own type"
			if p.AtLeast(call.Pos(), "go1.18") {
				keeps = "a type parameter"
			}
			p.Needs(check.Interface, fixed).Report(arg, types.ExprString(arg)+
				" is boxed to be passed as any to "+fn.Name()+"; "+keeps+" keeps it as it is")
		}
	}
}

// prints reports whether fn passes its variadic arguments to fmt, log or log/slog,
// directly or through other functions of this package, up to the given depth.
func prints(p *check.Pass, fn *types.Func, through int) bool {
	params := fn.Origin().Signature().Params()
	if through == 0 || !fn.Signature().Variadic() {
		return false
	}
	return slices.ContainsFunc(p.Uses(params.At(params.Len()-1)), func(use inspector.Cursor) bool {
		call, ok := use.Parent().Node().(*ast.CallExpr)
		if !ok || !call.Ellipsis.IsValid() {
			return false
		}
		callee := p.Callee(call)
		return callee != nil && callee.Pkg() != nil &&
			(slices.Contains([]string{"fmt", "log", "log/slog"}, callee.Pkg().Path()) || prints(p, callee, through-1))
	})
}

// mode matches conditions that hold only for debugging or tracing.
var mode = regexp.MustCompile(`(?i)debug|trace|verbose|leakdetect|enabled?\(|canlog|\.v\(\d`)

// held reports whether fn keeps or passes on an argument of type any, and whether calls
// in this package pass values of several types for it, which have only any in common.
func held(p *check.Pass, fn *types.Func) (held, mixed bool) {
	for i := range fn.Signature().Params().Len() {
		use, known := p.ParamUse(fn, i)
		if !isAny(fn.Signature().Params().At(i).Type()) || known && use&(check.Keeps|check.Hands) == 0 {
			continue
		}
		held = true
		var one types.Type
		for _, use := range p.Uses(fn) {
			call := check.CallOf(use)
			if call == nil || i >= len(call.Args) {
				continue
			}
			t := types.Default(p.TypeOf(call.Args[i]))
			mixed = mixed || known && one != nil && !types.Identical(one, t)
			one = t
		}
	}
	return held, mixed
}

// isAny reports whether t is an interface without methods, but no type parameter.
func isAny(t types.Type) bool {
	_, param := types.Unalias(t).(*types.TypeParam)
	iface, ok := t.Underlying().(*types.Interface)
	return ok && iface.Empty() && !param
}

func pool(p *check.Pass, call *ast.CallExpr) {
	t := p.TypeOf(call.Args[0])
	switch t.Underlying().(type) {
	case *types.Slice, *types.Struct, *types.Array:
		p.Report(call.Args[0], "putting a value of type "+types.TypeString(t, types.RelativeTo(p.Code.Pkg))+
			" into a sync.Pool allocates to box it; put a pointer")
	}
}

// container reports whether fn belongs to a standard package that keeps arguments of type any.
func container(fn *types.Func) bool {
	return slices.Contains([]string{"container/heap", "container/list", "container/ring", "sync"}, fn.Pkg().Path())
}

// boxed returns the first number among the arguments that is passed as an interface
// without methods, or nil.
func boxed(p *check.Pass, fn *types.Func, call *ast.CallExpr) ast.Expr {
	params := fn.Signature().Params()
	for i, arg := range call.Args {
		last := params.Len() - 1
		if call.Ellipsis.IsValid() || i > last && !fn.Signature().Variadic() {
			return nil
		}
		t := params.At(min(i, last)).Type()
		if fn.Signature().Variadic() && i >= last {
			t = t.(*types.Slice).Elem()
		}
		if isAny(t) && !p.IsConst(arg) && number(p.TypeOf(arg)) {
			return arg
		}
	}
	return nil
}

// number reports whether t is a number of more than one byte.
func number(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0 && b.Kind() != types.Int8 && b.Kind() != types.Uint8
}
